"""A trace in a notebook: the explorer in a frame, at the chosen heads."""

import html
import re

import pytest

from headlight import Trace, Translator
from transformer.interpret.head_patterns import most_confident_head


@pytest.fixture(scope="module")
def trace(translator) -> Trace:
    return Translator(translator.checkpoint).trace("big red dog.", target="groß rot alt Hund Hund.")


def page_of(frame: str) -> str:
    return html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])


def test_a_notebook_displays_the_explorer_in_an_isolated_frame(trace):
    frame = trace._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert page_of(frame).startswith("<!doctype html>") and "default-src 'none'" in page_of(frame)
    layer, head = most_confident_head(trace.cross, trace.source_tokens)
    assert f'"head":"cross.{layer + 1}.{head + 1}"' in page_of(frame)
    chosen = trace.show("decoder", layer=2, heads=[0, 3]).page
    assert '"head":"decoder.3.1-decoder.3.4"' in chosen
    every = "-".join(f"encoder.{layer}.{head}" for layer in (1, 2) for head in (1, 2, 3, 4))
    assert f'"head":"{every}"' in trace.show("encoder").page
    assert len(repr(trace)) < 300 and "cross [3, 4, 11, 7]" in repr(trace)


@pytest.mark.parametrize(
    "wrong",
    [("self", 0, 0), ("cross", 3, 0), ("cross", 0, 4), ("cross", -1, 0), ("cross", 0, []), (None, 2), (None, None, 2)],
)
def test_missing_heads_are_refused(trace, wrong):
    with pytest.raises(ValueError):
        trace.show(*wrong)
