"""The page on masks through Streamlit's own test runner: each view, what the URL restores, what is refused."""

import json

import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, open_page, page_text, specs

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


def charts(app: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def tables(app: AppTest) -> list[str]:
    return [element.proto.body for element in app.get("html") if 'class="places"' in element.proto.body]


def test_the_page_opens_with_the_batch_its_shapes_and_three_masks(runs):
    app = open_masks()
    assert app.title[0].value == "Masks"
    assert len(charts(app)) == 3
    source, target = tables(app)
    padding = len(runs["nothing"].source_tokens[0]) - runs["nothing"].source_lengths[0]
    assert source.count("&lt;pad&gt;") == source.count('"closed"') == padding > 0
    assert "▁teacher" in source and "▁Lehrer" in target and "▁Schw" in target
    assert "source_mask [2, 1, 1, 10]" in page_text(app) and "target_mask [2, 1, 11, 11]" in page_text(app)
    assert "covers 55 of 121 cells, the causal mask 55, both together 70" in page_text(app)
    assert "40 of 100 cells in every encoder head" in page_text(app)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_one_head_shows_scores_masked_scores_and_weights(kind, runs):
    app = open_masks(masks="one head", kind=kind, layer="2", head="5")
    head = masked_head(runs["nothing"], kind, 0, 1, 4)
    assert len(charts(app)) == 3
    row = tables(app)[0]
    assert row.count("−∞") == (~head.unmasked[2]).sum()
    assert f"{head.weights[2].max():.4f}" in row
    assert "fused kernel" in page_text(app)
    assert f"covers {(~head.unmasked).sum()} of {head.unmasked.size}" in page_text(app)
    assert ("rows" in [group.key for group in app.get("button_group")]) == (kind != "encoder")


def test_another_row_is_written_out_on_demand():
    app = open_masks(masks="one head", kind="decoder")
    app.selectbox(key="query").select("1").run()
    assert "Row 1, input token “<s>”: exp(score) summed over the 1 unmasked cell is" in page_text(app)
    assert "the model's own is 1.0000" in page_text(app)


@pytest.mark.parametrize(
    "query, words",
    [
        ({"lift": "causal"}, "goes to later tokens"),
        ({"lift": "padding"}, "goes to <pad>"),
        ({"lift": "padding", "reader": "encoder"}, "goes to <pad>"),
        ({"lift": "padding", "row": "2"}, "has no padding, so disabling its mask changes nothing"),
    ],
)
def test_without_the_mask_shows_both_runs_and_what_became_of_the_next_tokens(query, words, runs):
    app = open_masks(masks=WITHOUT, layer="3", head="2", **query)
    assert len(charts(app)) == 3
    assert words in page_text(app)
    assert ("trained without the mask would learn to copy" in page_text(app)) == (query["lift"] == "causal")
    before, after = (run.next_probabilities for run in (runs["nothing"], runs[query["lift"]]))
    row = int(query.get("row", "1")) - 1
    steps = runs["nothing"].target_lengths[row]
    step = abs(after - before)[row, :steps].argmax() + 1
    unchanged = "changes nothing" in words  # rounding is not told as change
    assert (f"Step {step} changed most" in page_text(app)) == (not unchanged)
    assert ("changed most" in page_text(app)) == (not unchanged)


def test_the_url_restores_view_sentence_head_and_second_text():
    query = {"masks": "one head", "row": "2", "kind": "cross", "layer": "3", "head": "7", "second": "Where is it?"}
    app = open_masks(**query)
    assert app.text_input(key="second").value == "Where is it?"
    for key in ("masks", "row"):
        assert app.segmented_control(key=key).value == query[key]
    for key in ("kind", "layer", "head"):
        assert app.segmented_control(key=f"{key}_buttons").value == query[key]
    assert "▁Where" in tables(app)[0]


@pytest.mark.parametrize("masks", ["one head", WITHOUT])
def test_garbage_in_the_url_falls_back(masks):
    app = open_masks(
        masks=masks, row="7", kind="x", layer="99", head="average", lift="all", reader="y", query="999", rows="no"
    )
    assert not app.error and len(charts(app)) == 3
    assert len(charts(open_masks(masks="evil", row="-1"))) == 3


def test_an_average_chosen_on_another_page_becomes_the_first_head_here():
    app = open_page("pages/translate.py", layer="average", head="4")
    for name in ("layer", "head"):  # Streamlit takes them out of the address with the page
        app.query_params.pop(name)
    app.switch_page(PAGE).run()
    app.segmented_control(key="masks").set_value("one head").run()
    assert not app.exception
    chosen = [app.segmented_control(key=f"{key}_buttons").value for key in ("kind", "layer", "head")]
    assert chosen == ["cross", "1", "4"]


def test_a_row_that_a_shorter_sentence_has_not_falls_back():
    app = open_masks(masks="one head", kind="decoder", query="8")
    assert "Row 8, " in page_text(app)
    app.text_input(key="second").input("No.").run()
    assert not app.exception and "Row 3, " in page_text(app)


@pytest.mark.parametrize("masks", ["the three masks", "one head", WITHOUT])
@pytest.mark.parametrize(
    "text, message", [("", "is empty"), ("  ", "is empty"), ("word " * 500, "at most 127"), ("x" * 100_000, "at most")]
)
def test_a_second_sentence_that_cannot_be_read_gets_a_message_and_nothing_is_lost(text, message, masks):
    app = open_masks(masks=masks, row="2")
    app.text_input(key="second").input(text).run()
    assert not app.exception
    assert [message in warning.value.replace("\\", "") for warning in app.warning] == [True]
    assert app.text_input(key="second").value == text, "what was typed stays"
    app.text_input(key="second").input("Where is my cat?").run()
    assert not app.warning and len(charts(app)) == 3
    assert app.segmented_control(key="masks").value == masks and app.segmented_control(key="row").value == "2"


@pytest.mark.parametrize("masks", ["the three masks", "one head", WITHOUT])
@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "**b** [l](http://x.y) $x^2$ :red[no]", "\x00 🍕", "a"])
def test_hostile_second_sentences_are_text_and_nothing_else(text, masks):
    app = open_masks(masks=masks, second=text, lift="padding", row="2")
    assert not app.exception and len(charts(app)) == 3
    for element in (*app.markdown, *app.info, *app.caption):
        assert "<script" not in element.value.replace("\\<", "")
        assert "](http://x.y)" not in element.value
    assert "<script" not in "".join(tables(app))


def test_the_same_sentence_twice_has_no_padding_and_says_so():
    app = open_masks(second=FIRST)
    assert "type a longer or shorter second sentence" in page_text(app)
    assert '"closed"' not in "".join(tables(app))
    app = open_masks(second=FIRST, masks=WITHOUT, lift="padding")
    assert "no sentence of this batch has any" in page_text(app)


def test_an_empty_first_sentence_gets_the_message_of_every_page():
    app = open_masks(text="")
    assert any("is empty" in warning.value for warning in app.warning) and not charts(app)


@pytest.mark.parametrize("query", [{"decoding": "beam", "beam": "3"}, {"decoding": "sampling", "seed": "7"}])
def test_the_second_sentence_is_translated_by_the_same_strategy(query):
    translator = Translator.load(ROOT / "checkpoints" / "en-de", "cpu")
    strategy = Beam(size=3, alpha=0.6) if query["decoding"] == "beam" else Sampling(seed=7)
    app = open_masks(**query)
    assert translator.trace(SECOND, strategy=strategy).target_text in page_text(app)


def test_what_is_said_below_a_mask_goes_along_with_its_figure():
    captions = [figure["layout"]["meta"]["caption"] for figure in specs(open_page(PAGE))]
    assert captions[0].startswith("Padding mask: sentence 1. Sentences of a batch differ in length; <pad> fills up")
    assert captions[1].startswith("Causal mask: sentence 1. A row predicts the next token.")
    assert all("\\" not in caption for caption in captions)
