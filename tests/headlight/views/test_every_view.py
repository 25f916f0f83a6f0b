"""Every view with hostile texts and addresses, and with imported models: it opens, and shows text as text."""

from itertools import cycle
from urllib.parse import unquote

import pytest
from support.pages import VIEWS, open_address, page_text, shows_only_text, specs

from headlight.app import results
from headlight.app.parameters import PARAMETERS

HOSTILE = "<script>alert(1)</script> **b** [l](http://x.y) $x^2$ :red[no] \x00 🍕"
CHOICES = {"text", "checkpoint", "target", "source", "job", "jobs"}
SMALL = "random"  # SiLU, embeddings as they are, a bias per piece
BART = "bart-cnn"  # learned positions, a LayerNorm after them, a forced first token
BYT5 = "byt5"  # relative positions, RMSNorm, no division by √d_k, bytes as tokens
IMPORTED = (SMALL, BART, "nllb", BYT5)
GARBAGE = ("<b>", "9" * 3000, "-1")
NO_COMPLAINT = ("length limit", "never seen", "at most 39", "cannot begin", "same translation")  # of this very text


def views_of(address: str) -> set[str]:
    """Return the parameters that choose the view, which stay in a hostile address."""
    return {part.partition("=")[0] for part in address.partition("?")[2].split("&")}


@pytest.mark.parametrize("address", VIEWS)
def test_every_view_shows_a_hostile_text_as_text(address):
    app = open_address(address, text=HOSTILE)
    assert not app.error and shows_only_text(app)
    assert "<script" not in unquote("".join(chart.proto.spec for chart in app.get("plotly_chart")))


@pytest.mark.parametrize("address", VIEWS)
def test_every_view_falls_back_on_garbage_in_the_address(address):
    names = sorted(set(PARAMETERS) - CHOICES - views_of(address))
    app = open_address(address, **dict(zip(names, cycle(GARBAGE), strict=False)))
    assert not app.error and shows_only_text(app)


TRANSLATING = ("/", "/decoding", "/attention", "/research?research=attribution", "/positions", "/inside", "/what_if")


@pytest.mark.parametrize("address", TRANSLATING)
def test_a_text_that_cannot_be_translated_gets_a_message(address):
    app = open_address(address, text="word " * 500)
    assert not app.error and "at most 127" in page_text(app)


@pytest.mark.parametrize("name", IMPORTED)
@pytest.mark.parametrize("address", VIEWS)
def test_every_view_opens_with_an_imported_model_or_names_what_is_missing(address, name, imported, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", imported)
    address = address.replace("checkpoint=en-fr", "")
    app = open_address(address, checkpoint=name, text="red dog", instruction="nothing before the text")
    complaints = [each.value for each in app.warning if not any(part in each.value for part in NO_COMPLAINT)]
    assert not app.error and "Imported: " in page_text(app)
    assert all("sentence pairs" in each or "training replay" in each for each in complaints), complaints
    assert not complaints or any(part in address for part in ("calibration", "training=replay"))
    shown = page_text(app) + "".join(str([spec["data"], spec["layout"]]) for spec in specs(app))
    if name == BART:
        assert "repeats every" not in shown, "learned positions are no waves"
    if name in (SMALL, BART):
        assert "after ReLU" not in shown and "ReLU keeps" not in shown and "times √d_model" not in shown
    if name == BYT5:
        assert "LayerNorm" not in shown and "QKᵀ / √d_k" not in shown
