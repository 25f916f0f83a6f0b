"""The switches of heads and both translations side by side: what the view sends, for numbers made by hand."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from support.made import SOURCE, made_trace
from support.pages import components, open_page, page_text

from headlight.views.what_if.ablation import switches_payload
from headlight.views.what_if.change_content import aligned, compared_html
from transformer.interpret.what_if.importance import HeadImportance
from transformer.model.head_ref import HeadRef


def importance(turned=()):
    """Of a model with 2 encoder layers, 1 decoder layer, 3 heads; a translation of three tokens."""
    shapes = {"encoder": (2, 3), "decoder": (1, 3), "cross": (1, 3)}
    losses = {kind: np.zeros((*shape, 3)) for kind, shape in shapes.items()}
    losses["cross"][0, 1], losses["encoder"][1, 2], losses["decoder"][0, 0] = (
        [0.5, 1, 0],
        [0.2, 0.1, 0],
        [-0.3, -0.1, 0],
    )
    turns = {kind: np.zeros(shape, dtype=bool) for kind, shape in shapes.items()}
    for kind, layer, head in turned:
        turns[kind][layer, head] = True
    return HeadImportance(**losses, log_probabilities=np.array([-0.1, -0.2, 0]), turned=turns)


def test_it_begins_with_the_head_that_turns_the_translation_else_with_the_greatest_loss():
    assert importance().default_head() == HeadRef("cross", 0, 1)
    assert importance([("encoder", 0, 0), ("encoder", 1, 2)]).default_head() == HeadRef("encoder", 1, 2)


def test_each_switch_has_the_loss_of_its_head_in_the_order_of_the_model():
    payload = switches_payload(importance([("decoder", 0, 2)]), made_trace(target_ranks=np.ones(3)))
    assert [each["kind"] for each in payload["kinds"]] == ["encoder", "decoder", "cross"]
    encoder, decoder, cross = payload["kinds"]
    assert encoder["losses"] == [[0, 0, 0], [0, 0, 0.3]] and cross["losses"] == [[0, 1.5, 0]]
    assert decoder["losses"] == [[-0.4, 0, 0]]
    assert decoder["turned"] == [[False, False, True]] and payload["limit"] == 1.5
    assert decoder["words"][0][0].startswith("Without masked decoder self-attention layer 1, head 1 log P")
    beam = switches_payload(importance([("decoder", 0, 2)]), made_trace())  # its second token is second best
    assert beam["kinds"][1]["turned"] == [[False] * 3] and "Greedy" not in beam["kinds"][1]["words"][0][2]


def reading(ids, *sources):
    """A translation whose tokens read one source token each."""
    return made_trace(target_ids=ids, cross=np.eye(len(SOURCE))[None, None, list(sources)])


@pytest.mark.parametrize(
    "old, new, columns",
    [
        ((1, 2, 3), (1, 9, 2, 3), [(0, 0), (None, 1), (1, 2), (2, 3)]),
        ((1, 2, 3), (3,), [(0, None), (1, None), (2, 0)]),
        ((1, 2, 3), (1, 8, 9), [(0, 0), (1, 1), (2, 2)]),
    ],
)
def test_equal_tokens_stand_under_one_another(old, new, columns):
    assert list(aligned(reading(old, *range(len(old))), reading(new, *range(len(new))))) == columns


def test_of_changed_tokens_those_stand_under_one_another_that_read_the_same_words():
    old = reading((1, 2, 3, 4), 0, 1, 2, 4)
    assert list(aligned(old, reading((7, 8, 4), 1, 2, 4))) == [(0, None), (1, 0), (2, 1), (3, 2)]
    assert list(aligned(old, reading((7, 8, 9, 4), 3, 1, 3, 4)))[-4:] == [(1, 1), (2, None), (None, 2), (3, 3)]


def test_rows_that_would_repeat_another_are_left_out():
    before, forced = made_trace(), made_trace(target_probabilities=np.array([0.8, 0.25, 0.6]))
    names = [re.findall(r'<th scope="row">(.*?)</th>', compared_html(before, each, each)) for each in (before, forced)]
    assert names == [["unchanged", "log P"], ["unchanged", "log P", "log P, changed"]]


def test_both_translations_with_their_log_probabilities_and_hostile_tokens_as_text():
    before = made_trace(
        target_tokens=("<s>", "▁a", "<b>"), target_probabilities=np.array([0.01, 0.5, 0.25]), num_forced=1
    )
    forced = made_trace(target_probabilities=np.array([0.02, 0.6, 0.05]), num_forced=1)
    after = made_trace(
        target_tokens=("<s>", "▁a", "<script>"),
        target_ids=(20, 21, 7),
        target_probabilities=np.array([0.9, 0.6, 0.9]),
        num_forced=1,
    )
    rows = re.findall(r"<tr>(.*?)</tr>", compared_html(before, forced, after))
    cells = [re.findall(r"<td(.*?)>(.*?)</td>", row) for row in rows]
    texts = [[text for _, text in row] for row in cells]
    assert texts[0] == ["⟨start⟩", "a", "&lt;b&gt;"] and texts[1] == ["", "−0.69", "−1.39"], "forced ones have none"
    assert texts[2] == ["", "−0.51", "−3.00"] and texts[4] == ["", "−0.51", "−0.11"]
    (_, (gained, _), (lost, _)) = cells[2]
    assert 'class="gained"' in gained and "--shade: 0.113" in gained
    assert 'class="lost"' in lost and "--shade: 1.000" in lost
    same, turned = cells[3][1:]
    assert same == (' class="token" title="▁a"', "a"), "to the letter on hover"
    assert turned == (' class="token turned" title="&lt;script&gt;"', "&lt;script&gt;")


def test_of_a_longer_new_translation_every_token_has_its_log_probability():
    before = made_trace(target_probabilities=np.array([0.5, 0.5, 0.5]))
    after = made_trace(
        target_ids=(1, 2, 3, 4, 5),
        target_tokens=("▁a", "▁b", "▁c", "▁d", "</s>"),
        target_probabilities=np.full(5, 0.25),
    )
    after = replace(after, cross=np.full((1, 1, 5, len(SOURCE)), 1 / len(SOURCE)))
    *_, last = re.findall(r"<tr>(.*?)</tr>", compared_html(before, before, after))
    assert last.startswith('<th scope="row">log P, new</th>') and last.count("−1.39") == 5


@pytest.mark.parametrize("ablated_by", ["zero", "mean", "uniform"])
def test_the_view_switches_off_what_the_address_says(ablated_by):
    app = open_page("pages/what_if.py", off="cross.3.4-encoder.9.9", ablated_by=ablated_by)
    assert "Without cross-attention layer 3, head 4:" in page_text(app)
    (switches,) = components(app)
    sent = json.loads(switches.proto.json)
    assert sent["off"] == "cross.3.4" and sent["limit"] > 0


def test_several_heads_are_counted_and_named_on_hover():
    app = open_page("pages/what_if.py", off="cross.3.4-encoder.1.2-cross.3.1-cross.2.2")
    (heading,) = [each for each in app.markdown if each.value.startswith("Without ")]
    assert heading.value.startswith("Without 4 heads: **")
    assert heading.proto.help == (
        "cross-attention layer 3, head 4; encoder self-attention layer 1, head 2; cross-attention layer 3, head 1; "
        "cross-attention layer 2, head 2"
    )


def test_with_all_heads_on_nothing_is_compared():
    said = page_text(open_page("pages/what_if.py", off="none"))
    assert "All heads are on." in said and "log P, changed" not in said
