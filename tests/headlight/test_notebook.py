"""A trace in a notebook: the explorer in a frame, at the heads that are asked for."""

import html
import re

import pytest

import headlight as hl
from headlight import Trace, Translator
from transformer.interpret.head_patterns import most_confident_head


@pytest.fixture(scope="module")
def trace(translator) -> Trace:
    return Translator(translator.checkpoint).trace("big red dog.", target="groß rot alt Hund Hund.")


def page_of(shown: str) -> str:
    return html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])


def test_a_notebook_shows_the_explorer_in_a_frame_that_reaches_nothing(trace):
    shown = trace._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert page_of(shown).startswith("<!doctype html>") and "default-src 'none'" in page_of(shown)
    layer, head = most_confident_head(trace.cross, trace.source_tokens)
    assert f'"head":"cross.{layer + 1}.{head + 1}"' in page_of(shown)
    chosen = trace.show("decoder", layer=2, heads=[0, 3]).page
    assert '"head":"decoder.3.1-decoder.3.4"' in chosen
    every = "-".join(f"encoder.{layer}.{head}" for layer in (1, 2) for head in (1, 2, 3, 4))
    assert f'"head":"{every}"' in trace.show("encoder").page
    assert len(repr(trace)) < 300 and "cross [3, 4, 11, 7]" in repr(trace)


@pytest.mark.parametrize(
    "wrong",
    [("self", 0, 0), ("cross", 3, 0), ("cross", 0, 4), ("cross", -1, 0), ("cross", 0, []), (None, 2), (None, None, 2)],
)
def test_heads_that_are_not_there_are_refused(trace, wrong):
    with pytest.raises(ValueError):
        trace.show(*wrong)


def test_every_name_of_the_public_face_is_there():
    assert [name for name in hl.__all__ if getattr(hl, name, None) is None] == []
