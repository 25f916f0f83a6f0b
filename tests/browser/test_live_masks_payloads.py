"""One telling: what the live page says of masks and positions is what the app says of the same numbers."""

import json

import numpy as np
import pytest
from playwright.sync_api import Page
from support.payloads import asked, payloads_page
from support.streams import CHECKPOINTS, trace_of
from support.traced import NAME, translator

from headlight.views.live.content import live_words
from headlight.views.live.replay import MOST_BYTES, find_replay, reduced, replay_words
from headlight.views.masks import content as masks
from headlight.views.positions import content as positions
from headlight.views.training.replay_content import (
    WORDS,
    ShownHead,
    focus_of,
    head_story,
    heads_story,
    output_story,
    replay_payload,
)
from transformer.arrays import cosine, to_array
from transformer.interpret.mask_ablation import (
    DisabledMask,
    MaskedPass,
    leakiest_head,
    masked_head,
    run_masked,
    without_padding,
)
from transformer.interpret.positions import (
    Encoding,
    distance_law,
    dot_products,
    embedding_sum,
    encoding,
    shared_tokens,
)
from transformer.interpret.trace import Trace
from transformer.model.layers import multiplied_positions
from transformer.model.names import AttentionKind

SHORT, LONG = "I love my teacher.", "Tom lives in Boston with his three sisters."


@pytest.fixture(scope="module")
def payloads(browser) -> Page:
    yield from payloads_page(browser)


@pytest.fixture(scope="module")
def words() -> dict:
    return json.loads(json.dumps(live_words(translator().checkpoint)))


def told(found) -> dict:
    return {"headline": found.headline, "more": found.more}


def tried(found) -> dict:
    finding, attempt = found
    return {**told(finding), "attempt": attempt}


def sent(trace: Trace) -> dict:
    return {
        "sourceTokens": trace.source_tokens,
        "decoderInputTokens": trace.decoder_input_tokens,
        "targetTokens": trace.target_tokens,
    }


def sent_pass(run: MaskedPass, sentence: int) -> dict:
    """One sentence of a pass as engine/masks.js gives it."""
    steps, made = run.target_lengths[sentence], {}
    for kind in AttentionKind:
        captured = run.attention(kind)
        arrays = {name: getattr(captured, name)[:, sentence] for name in ("scores", "weights")}
        flat = {name: array.ravel().tolist() for name, array in arrays.items()}
        unmasked = captured.unmasked[sentence].ravel().astype(int).tolist()
        made[kind.value] = {"shape": list(arrays["scores"].shape), **flat, "unmasked": unmasked}
    return {
        **made,
        "targetProbabilities": run.target_probabilities[sentence, :steps].tolist(),
        "bestTokens": list(run.best_tokens[sentence][:steps]),
    }


@pytest.mark.parametrize("sentence", [0, 1])
@pytest.mark.parametrize("kind, mask", [("decoder", "causal"), ("cross", "padding"), ("encoder", "padding")])
def test_what_masks_do_is_said_alike(payloads, words, sentence, kind, mask):
    traces = [trace_of(NAME, text) for text in (SHORT, LONG)]
    model, tokenizer = translator().model, translator().tokenizer
    masked, disabled = (run_masked(model, tokenizer, traces, each) for each in (DisabledMask.NOTHING, mask))
    best = leakiest_head(masked, disabled, kind, sentence)
    for layer, number in ((0, 0), (1, 3), best or (2, 2)):
        head = masked_head(masked, kind, sentence, layer, number)
        place = {"sentence": sentence, "kind": kind, "layer": layer, "head": number}
        asked_for = {**place, "mask": mask, "row": 2, "forced": model.config.num_forced}
        passes = [sent_pass(run, sentence) for run in (masked, disabled)]
        ours = asked(payloads, "masks", [sent(trace) for trace in traces], passes, asked_for, words["masks"]["words"])
        assert ours["masks"] == told(masks.describe_masks(masked, sentence))
        assert ours["source"] == masks.describe_source_mask(masked, sentence)
        assert ours["head"] == told(masks.describe_head(head))
        assert ours["hand"] == [list(line) for line in masks.row_by_hand(head, 2)]
        assert ours["row"] == masks.row_words(head, 2)
        leak = masks.describe_leak(masked, disabled, without_padding(head) if mask == "causal" else head)
        assert ours["leak"] == (tried(leak) if leak else None)
        assert ours["leakiest"] == (dict(zip(("layer", "head"), best, strict=True)) if best else None)
        if mask == "padding" and sentence == 1:
            assert best is None, "the longer sentence has no padding"
            assert ours["noPadding"] == tried(masks.describe_no_padding(masked, disabled, sentence))
        else:
            assert ours["predictions"] == tried(masks.describe_predictions(masked, disabled, sentence))


def alone(finding, beside: str = "") -> dict:
    """A finding as the live page has it, which shows no settings beside the model."""
    return {"headline": finding.headline, "more": finding.more.replace(beside, "")}


@pytest.mark.parametrize("d_model, base, kind", [(64, 10000.0, "sinusoidal"), (30, 100.0, "sinusoidal")])
def test_what_an_encoding_is_like_is_said_alike(payloads, words, d_model, base, kind):
    shown, dims = encoding(64, d_model, base), [3, 8, 29]
    config = {"d_model": d_model, "positions": kind, "position_base": base, "first_position": 0}
    same_encoding(payloads, words["positions"], config, shown, dims)


def test_what_a_table_with_a_slip_is_like_is_said_alike(payloads, words):
    multiplied = Encoding(to_array(multiplied_positions(40, 16)), 1 / 10000)
    config = {"d_model": 16, "positions": "multiplied", "position_base": 10000, "first_position": 0}
    same_encoding(payloads, words["positions"], config, multiplied, [4, 15])


def same_encoding(payloads: Page, words: dict, config: dict, shown: Encoding, dims: list[int]) -> None:
    table, length = shown.table.ravel().tolist(), shown.length
    ours = asked(payloads, "encoding", config, table, length, dims, words["still"], words["words"])
    products = dot_products(shown)
    law = distance_law(products)
    np.testing.assert_allclose(ours["products"], products.ravel(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours["means"], law.means, rtol=0, atol=1e-12)
    assert ours["size"] == positions.describe_size(shown)
    # The app says the same of the settings beside the model, which the live page has not.
    empty = Encoding(shown.table[:, :2], shown.base)
    assert ours["curves"] == told(positions.describe_curves(empty, shown, dims))
    matrix = positions.describe_matrix(shown, shown)
    still = positions.said("still_settings", still=matrix.headline.split()[3], d_model=shown.d_model, last=length - 1)
    assert ours["matrix"] == alone(matrix, still)
    likeness = positions.describe_products(law, law)
    there = likeness.more.split(" (this model: ")[1].split(")")[0]
    assert ours["similarity"] == alone(likeness, f" (this model: {there})")


def test_what_a_learned_table_is_like_is_said_alike(payloads, words):
    random = np.random.default_rng(5)
    tables = {stack: random.normal(size=(9, 6)).astype(np.float32) for stack in ("encoder", "decoder")}
    given = {stack: table.ravel().tolist() for stack, table in tables.items()}
    for similar, found in ((False, positions.describe_norms), (True, positions.describe_likeness)):
        told_of = " ".join(found(stack, np.asarray(table, dtype=np.float64)) for stack, table in tables.items())
        expected = told(positions.describe_learned(tables["encoder"], told_of))
        ours, cosines = asked(payloads, "learned", given, 6, 9, similar, words["positions"]["words"])
        assert ours == expected
    rows = tables["encoder"].astype(np.float64)
    np.testing.assert_allclose(np.reshape(cosines, (9, 9)), [cosine(rows, row) for row in rows], atol=1e-12)


@pytest.mark.parametrize(
    "one, other",
    [
        ("Tom sees Mary.", "Mary sees Tom."),
        ("Tom sees Mary.", "Tom sees Mary."),
        ("Tom sees the dog and the cat.", "The cat sees Tom."),
        ("Yes.", "No!"),
    ],
)
def test_what_another_order_does_is_said_alike(payloads, words, one, other):
    traces, model = [trace_of(NAME, text) for text in (one, other)], translator().model
    sums = [embedding_sum(model, trace.source_ids, trace.source_tokens) for trace in traces]
    translations = tuple(trace.target_text for trace in traces)
    for without in (("the same", "the same"), ("one", "another")):
        expected = told(positions.describe_order(*sums, translations, without))
        given = [
            {
                "tokens": summed.tokens,
                **{name: getattr(summed, name).ravel().tolist() for name in ("embeddings", "positions", "total")},
                "withoutPositions": text,
            }
            for summed, text in zip(sums, without, strict=True)
        ]
        ours, copies, limit = asked(payloads, "order", *given, translations, False, words["positions"]["words"])
        assert ours == expected
    places = [(copy.token, copy.first, copy.second) for copy in positions.plainest(shared_tokens(*sums))]
    assert [(copy["token"], copy["first"], copy["second"]) for copy in copies] == places
    parts = np.concatenate([sums[0].embeddings, sums[0].positions, sums[0].total])
    assert limit == pytest.approx(float(np.percentile(np.abs(parts), 99)), rel=1e-5)


def test_words_are_exchanged_alike(payloads):
    for text in ("Tom sees Mary.", "Hello!", "one two", "", "…", " a  b\tc?! ", "été à Rome…", "\U0001f600 x"):
        assert asked(payloads, "exchanged", text) == positions.exchanged(text), text


def test_dimensions_of_an_address_are_those_there_are(payloads):
    for text, expected in (
        ("8.9.24", [8, 9, 24]),
        ("24, 8 8", [8, 24]),
        ("99.5", [5]),
        ("", [2, 3]),
        ("x", [2, 3]),
        ("-7", [7]),
    ):
        assert asked(payloads, "dimensions", text, 32, ["2", "3"]) == expected
    assert asked(payloads, "dimensions", "99", 32, []) == [0, 1]


@pytest.mark.parametrize("name", ["en-de", "reverse"])
def test_a_replay_is_told_alike(payloads, words, name):
    """Head by head what the app's player would be given of the same, reduced replay."""
    whole, names = find_replay(CHECKPOINTS / name), ("one", "other")
    told_of = replay_words(whole, names, {})
    assert len(json.dumps(told_of)) <= MOST_BYTES
    (chosen,) = [each for each in whole.trajectories if each.source_text == told_of["source"]]
    replay, trajectory = reduced(whole, chosen)
    focus = focus_of(replay, trajectory, "cross")
    for layer, head in ((0, 0), (1, 3), focus.most_changed()):
        expected = json.loads(
            json.dumps(replay_payload(replay, trajectory, focus, ShownHead("cross", layer, head), names))
        )
        place = {"layer": layer, "head": head}
        ours, story = asked(payloads, "replay", json.loads(json.dumps(told_of)), place, words["law"])
        for curve, other in zip(ours.pop("curves"), expected.pop("curves"), strict=True):
            for line, own in zip(curve.pop("lines"), other.pop("lines"), strict=True):
                assert line.pop("y") == pytest.approx(own.pop("y"), abs=1.01e-4)  # a half, rounded either way
                assert line == own
            for dot, own in zip(curve.pop("at"), other.pop("at"), strict=True):
                assert dot == (own and pytest.approx(own, abs=1e-4))
            assert curve == other
        assert {part: ours[part] for part in expected} == expected
        output = output_story(replay, trajectory)
        heads = f"{head_story(focus, layer, head)} {heads_story(focus, (layer, head))}".rstrip()
        assert story == {"headline": output.headline, "more": f"{output.more} {heads}".strip(), "attempt": WORDS["try"]}


def test_a_replay_that_is_too_large_does_not_go_along(monkeypatch):
    monkeypatch.setattr("headlight.views.live.replay.MOST_BYTES", 5_000)
    assert replay_words(find_replay(CHECKPOINTS / "reverse"), ("", ""), {}) is None
    assert replay_words(None, ("", ""), {}) is None
