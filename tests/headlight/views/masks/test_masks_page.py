"""The page on masks through Streamlit's own test runner: each view, what the URL restores, what is refused."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, headlines, numbers, open_page, page_text, shows_only_text, specs

from headlight.plots.text import in_words
from headlight.views.masks.content import (
    describe_head,
    describe_leak,
    describe_masks,
    describe_predictions,
    describe_shapes,
    row_words,
)
from transformer import Beam, Sampling, Translator
from transformer.interpret.mask_ablation import MaskedPass, masked_head, run_masked

PAGE = "pages/masks.py"
FIRST, SECOND = "I love my teacher.", "Tom lives in Boston with his three sisters."
WITHOUT = "without the mask"


@pytest.fixture(scope="module")
def runs() -> dict[str, MaskedPass]:
    translator = Translator.load(ROOT / "checkpoints" / "en-de", "cpu")
    sentences = [translator.trace(text) for text in (FIRST, SECOND)]
    return {
        disabled: run_masked(translator.model, translator.tokenizer, sentences, disabled)
        for disabled in ("nothing", "causal", "padding")
    }


def open_masks(**query: str) -> AppTest:
    return open_page(PAGE, **query)


def batch_tables(app: AppTest) -> list[str]:
    return [element.proto.body for element in app.get("html") if 'class="places"' in element.proto.body]


def test_the_page_opens_on_what_the_causal_mask_prevents_and_the_head_that_leaks_most(runs):
    app, masked, disabled = open_masks(), runs["nothing"], runs["causal"]
    steps = masked.target_lengths[0]
    leaks = {
        (layer, head): np.mean([weights[row, row + 1 :].sum() for row in range(steps - 1)])
        for layer, heads in enumerate(disabled.decoder.weights[:, 0])
        for head, weights in enumerate(heads)
    }
    layer, head = max(leaks, key=leaks.get)
    chosen = [app.segmented_control(key=f"{key}_buttons").value for key in ("layer", "head")]
    assert chosen == [str(layer + 1), str(head + 1)]
    leaking, with_mask, dots = specs(app)
    for spec in (leaking, with_mask):
        assert numbers(spec["data"][0]["z"]).shape == (steps, steps), "the second sentence's padding is left out"
    shown = [mark["x"] for mark in dots["data"] if mark["mode"] == "markers"]
    for run, sent in zip((masked, disabled), shown, strict=True):
        np.testing.assert_allclose(numbers(sent), run.target_probabilities[0, :steps], atol=1e-5)
    told = describe_leak(masked, disabled, masked_head(masked, "decoder", 0, layer, head))[0]
    assert headlines(app) == [told.headline, describe_predictions(masked, disabled, 0)[0].headline]


def test_every_view_of_a_head_begins_with_the_same():
    def shown(app):
        return [app.segmented_control(key=f"{key}_buttons").value for key in ("layer", "head")]

    second, one = {"second": "Where is my old brown dog now?"}, "one head"
    assert shown(open_masks(**second)) == shown(app := open_masks(masks=one, **second))
    app.segmented_control(key="kind_buttons").set_value("cross").run()
    assert shown(app) == shown(open_masks(disabled_mask="padding", reader="cross", **second))


def test_the_page_has_the_batch_and_three_masks_whose_captions_go_along(runs):
    app = open_masks(masks="the three masks")
    captions = [figure["layout"]["meta"]["caption"] for figure in specs(app)]
    assert [caption.split(":")[0] for caption in captions] == ["Padding mask", "Causal mask", "Both"]
    assert all("\\" not in caption for caption in captions) and "⟨pad⟩ fills up" in captions[0]
    source, target = batch_tables(app)
    padding = len(runs["nothing"].source_tokens[0]) - runs["nothing"].source_lengths[0]
    assert source.count("&lt;pad&gt;") == source.count('"closed"') == padding > 0
    assert "▁teacher" in source and "▁Lehrer" in target and "▁Schw" in target
    assert headlines(app) == [describe_masks(runs["nothing"], 0).headline]
    assert describe_shapes(runs["nothing"]) in page_text(app)
    assert Translator.load(ROOT / "checkpoints" / "en-de", "cpu").trace(SECOND).target_text in page_text(app)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_one_head_shows_scores_masked_scores_weights_and_a_row_by_hand(kind, runs):
    app = open_masks(masks="one head", kind=kind, layer="2", head="5")
    head = masked_head(runs["nothing"], kind, 0, 1, 4)
    assert len(specs(app)) == 3 and headlines(app) == [describe_head(head).headline]
    assert batch_tables(app)[0].count("−∞") == (~head.unmasked[2]).sum()
    assert ("rows" in [group.key for group in app.get("button_group")]) == (kind != "encoder")
    app.selectbox(key="query").select("1").run()
    assert in_words(row_words(head, 0)) in page_text(app)


@pytest.mark.parametrize(
    "query, words",
    [
        ({"disabled_mask": "causal"}, "leaks to later tokens"),
        ({"disabled_mask": "padding"}, "leaks to ⟨pad⟩"),
        (
            {"disabled_mask": "padding", "reader": "encoder", "row": "2"},
            "has no padding: nothing changes",
        ),
    ],
)
def test_without_the_mask_shows_both_runs_and_what_became_of_the_next_tokens(query, words, runs):
    app = open_masks(masks=WITHOUT, layer="3", head="2", **query)
    assert len(specs(app)) == 3 and words in page_text(app)
    assert ("trained without the mask" in page_text(app)) == (query["disabled_mask"] == "causal")
    told, _ = describe_predictions(runs["nothing"], runs[query["disabled_mask"]], int(query.get("row", "1")) - 1)
    assert (told.headline in headlines(app)) == ("nothing changes" not in words)
    assert len(headlines(app)) == (1 if "nothing changes" in words else 2)


def test_the_url_restores_view_sentence_head_and_second_text():
    query = {"masks": "one head", "row": "2", "kind": "cross", "layer": "3", "head": "7", "second": "Where is it?"}
    app = open_masks(**query)
    assert app.text_input(key="second").value == "Where is it?"
    for key in ("masks", "row"):
        assert app.segmented_control(key=key).value == query[key]
    for key in ("kind", "layer", "head"):
        assert app.segmented_control(key=f"{key}_buttons").value == query[key]
    assert "▁Where" in batch_tables(app)[0]


@pytest.mark.parametrize("masks", ["one head", WITHOUT, "evil"])
def test_garbage_in_the_url_falls_back(masks):
    app = open_masks(
        masks=masks,
        row="7",
        kind="x",
        layer="99",
        head="average",
        disabled_mask="all",
        reader="y",
        query="999",
        rows="no",
    )
    assert not app.error and len(specs(app)) == 3


def test_an_average_chosen_on_another_page_becomes_the_first_head_here():
    app = open_page("pages/translate.py", layer="average", head="4")
    for name in ("layer", "head"):  # Streamlit takes them out of the address with the page
        app.query_params.pop(name)
    app.query_params["masks"] = "one head"
    app.switch_page(PAGE).run()
    assert not app.exception
    chosen = [app.segmented_control(key=f"{key}_buttons").value for key in ("kind", "layer", "head")]
    assert chosen == ["cross", "1", "4"]


def test_a_row_that_a_shorter_sentence_has_not_falls_back():
    app = open_masks(masks="one head", kind="decoder", query="8")
    assert "Row 8, " in page_text(app)
    app.text_input(key="second").input("No.").run()
    assert not app.exception and "Row 3, " in page_text(app)


@pytest.mark.parametrize(
    "text, message, masks",
    [("  ", "is empty", "the three masks"), ("word " * 500, "at most 127", "one head"), ("x" * 99999, "most", WITHOUT)],
)
def test_a_second_sentence_that_cannot_be_read_gets_a_message_and_nothing_is_lost(text, message, masks):
    app = open_masks(masks=masks, row="2")
    app.text_input(key="second").input(text).run()
    assert not app.exception
    assert [message in warning.value.replace("\\", "") for warning in app.warning] == [True]
    assert app.text_input(key="second").value == text, "what was typed stays"
    app.text_input(key="second").input("Where is my cat?").run()
    assert not app.warning and len(specs(app)) == 3
    assert app.segmented_control(key="masks").value == masks and app.segmented_control(key="row").value == "2"


@pytest.mark.parametrize("masks", ["the three masks", "one head", WITHOUT])
def test_hostile_second_sentences_are_text_and_nothing_else(masks):
    text = "<script>alert(1)</script> **b** [l](http://x.y) $x^2$ :red[no] \x00 🍕"
    app = open_masks(masks=masks, second=text, disabled_mask="padding", row="2")
    assert not app.exception and len(specs(app)) == 3
    assert shows_only_text(app)
    assert "<script" not in "".join(batch_tables(app))


def test_the_same_sentence_twice_has_no_padding_and_says_so():
    app = open_masks(masks="the three masks", second=FIRST)
    assert "None of its rows is padding" in page_text(app) and '"closed"' not in "".join(batch_tables(app))
    assert "make it longer" in page_text(open_masks(second=FIRST, masks=WITHOUT, disabled_mask="padding"))


def test_an_empty_first_sentence_gets_the_message_of_every_page():
    app = open_masks(text="")
    assert any("is empty" in warning.value for warning in app.warning) and not specs(app)


@pytest.mark.parametrize("query", [{"decoding": "beam", "beam": "3"}, {"decoding": "sampling", "seed": "7"}])
def test_the_second_sentence_is_translated_by_the_same_strategy(query):
    translator = Translator.load(ROOT / "checkpoints" / "en-de", "cpu")
    strategy = Beam(size=3, alpha=0.6) if query["decoding"] == "beam" else Sampling(seed=7)
    assert translator.trace(SECOND, strategy=strategy).target_text in page_text(open_masks(**query))


def test_a_head_chosen_on_another_page_waits_for_the_view_that_can_show_it():
    app = open_page("pages/translate.py")
    app.segmented_control(key="head_buttons").set_value("7").run()
    layer = app.segmented_control(key="layer_buttons").value
    for name in ("kind", "layer", "head"):  # Streamlit takes them out of the address with the page
        app.query_params.pop(name, None)
    app.switch_page(PAGE).run()
    assert [group.key for group in app.get("button_group") if group.key == "kind_buttons"] == [], "the decoder's alone"
    app.segmented_control(key="masks").set_value("one head").run()
    chosen = [app.segmented_control(key=f"{key}_buttons").value for key in ("kind", "layer", "head")]
    assert chosen == ["cross", layer, "7"]
