"""The view of masks through Streamlit's test runner: both maps, the batch, a second sentence."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.pages import headlines, numbers, open_page, page_text, specs, tables, unfolded

from headlight.views.inside.masks_content import describe_leak, describe_masks, describe_predictions
from transformer.interpret.mask_ablation import masked_head, run_masked

FIRST, SECOND = "I love my teacher.", "Tom lives in Boston with his three sisters."


def open_masks(**query: str) -> AppTest:
    return open_page("pages/inside.py", inside="masks", **query)


def chosen(app: AppTest) -> list[str]:
    return [app.segmented_control(key=f"{key}_buttons").value for key in ("kind", "layer", "head")]


def test_the_view_opens_on_the_decoder_head_that_leaks_most(shipped):
    app, trace = open_masks(), shipped.trace(FIRST)
    runs = [run_masked(shipped.model, shipped.tokenizer, [trace], mask) for mask in ("nothing", "causal")]
    steps = len(trace.target_ids)
    leaks = np.triu(runs[1].decoder.weights[:, 0].astype(np.float64), 1).sum(axis=(-2, -1))
    layer, head = np.unravel_index(leaks.argmax(), leaks.shape)
    assert chosen(app) == ["decoder", str(layer + 1), str(head + 1)]
    with_mask, leaking, dots = specs(app)
    for spec in (with_mask, leaking):
        assert numbers(spec["data"][0]["z"]).shape == (steps, steps), "nothing is padded"
    shown = [mark["x"] for mark in dots["data"] if mark["mode"] == "markers"]
    for run, sent in zip(runs, shown, strict=True):
        np.testing.assert_allclose(numbers(sent), run.target_probabilities[0], atol=1e-5)
    leak, _ = describe_leak(*runs, masked_head(runs[0], "decoder", 0, layer, head))
    assert headlines(app) == [leak.headline, describe_predictions(*runs, 0)[0].headline]
    assert "be useless for decoding" in page_text(app)


@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_the_padding_mask_is_removed_of_the_shorter_sentence(shipped, kind):
    app = open_masks(head=f"{kind}.3.2")
    traces = [shipped.trace(text) for text in (FIRST, SECOND)]
    runs = [run_masked(shipped.model, shipped.tokenizer, traces, mask) for mask in ("nothing", "padding")]
    leak, _ = describe_leak(*runs, masked_head(runs[0], kind, 0, 2, 1))
    assert headlines(app) == [leak.headline, describe_predictions(*runs, 0)[0].headline] and len(specs(app)) == 3
    swapped = open_masks(head=f"{kind}.3.2", text=SECOND, second=FIRST)
    assert headlines(swapped) == headlines(app)
    assert headlines(open_masks(head=f"{kind}.1.1", second=FIRST)) == ["Nothing changes: this sentence has no padding."]


def test_the_fold_has_the_batch_and_three_masks(shipped):
    assert not tables(app := open_masks())
    app = unfolded(app, "batch")
    captions = [figure["layout"]["meta"]["caption"] for figure in specs(app)[3:]]
    assert [caption.split(":")[0] for caption in captions] == ["Padding mask", "Causal mask", "Both"]
    traces = [shipped.trace(text) for text in (FIRST, SECOND)]
    batch = run_masked(shipped.model, shipped.tokenizer, traces)
    sides = (batch.source_lengths, batch.target_lengths)
    padding = sum(max(lengths) - length for lengths in sides for length in lengths)
    assert tables(app).count("⟨pad⟩") == tables(app).count('"closed"') == padding > 0
    assert headlines(app)[-1] == describe_masks(batch, 0).headline


def test_a_second_sentence_that_cannot_be_read_gets_a_message_and_stays():
    app = open_masks(head="cross.1.1")
    for text, message in (("word " * 500, "at most 127"), ("x" * 99999, "most")):
        app.text_input(key="second").input(text).run()
        assert not app.exception
        assert [message in warning.value.replace("\\", "") for warning in app.warning] == [True]
        assert app.text_input(key="second").value == text.strip()
    app.text_input(key="second").input("  ").run()
    assert not app.warning and app.text_input(key="second").value == SECOND, "an emptied field"
    app.text_input(key="second").input("Where is my cat?").run()
    assert not app.warning and len(specs(app)) == 3
