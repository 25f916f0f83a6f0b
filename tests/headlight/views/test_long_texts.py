"""Views of a text of 512 tokens, the length of texts for summaries: limits on data and on runs of the model."""

import numpy as np
import pytest
from support.pages import VIEWS, open_address, page_text, unpack_facts
from support.t5 import NAME, TEXT, write_summarizer

from headlight.app import results
from headlight.app.facts import STEPS
from headlight.app.selection import Selection
from headlight.views.attention.long_explorer import LongExplorer, long_words
from transformer.interpret.trace import Trace
from transformer.model.heads import Head

MOST_SENT = 12_000_000  # bytes of a page
MOST_READ = 100 * 512  # tokens that the first layer of a stack reads for a page: 100 passes of such a text
WITHOUT_THE_TEXT = ("/lessons", "/training")
# Captions of what views leave out.
LIMITED = {
    "/attention": "every head is drawn small",
    "/research?research=attribution": "at most 256",
    "/research?research=contrast": "at most 256",
    "/decoding?decoding=beam&decoding_view=beam+search": "ends. To read each of them again",
    "/?map=1": "each says its value alone",
    "/inside": "at most 90 tokens",
    "/inside?inside=masks": "cells that this page draws",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the checkpoint."""
    folder = tmp_path_factory.mktemp("checkpoints")
    write_summarizer(tmp_path_factory.mktemp("model"), folder, layers=3)
    return folder


@pytest.fixture(autouse=True)
def only_this(folder, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", folder)


@pytest.fixture(scope="module")
def trace(folder) -> Trace:
    result = results.load_translator(results.CheckpointFiles.now(folder / NAME)).trace(TEXT)
    assert len(result.source_ids) > 500 and len(result.target_ids) > 100
    return result


@pytest.fixture
def read(folder):
    """Count the tokens that the first layer of each stack reads while the test runs."""
    model = results.translator(results.checkpoint(NAME)).model
    counts = {"encoder": 0, "decoder": 0}

    def counted(name):
        def hook(module, inputs, out):
            counts[name] += inputs[0].shape[0] * inputs[0].shape[1]

        return hook

    hooks = [getattr(model, name)[0].register_forward_hook(counted(name)) for name in counts]
    yield counts
    for hook in hooks:
        hook.remove()


def opened(address: str, **more: str):
    query = {"instruction": "nothing before the text", "checkpoint": NAME, "text": TEXT, **more}
    return open_address(address, **query)


def sent_by(node) -> int:
    """Return the bytes of an element with its children."""
    proto, children = getattr(node, "proto", None), getattr(node, "children", {}).values()
    return getattr(proto, "ByteSize", int)() + sum(map(sent_by, children))


@pytest.mark.parametrize(
    "address",
    dict.fromkeys([*LIMITED, *(each for each in VIEWS if not each.startswith(WITHOUT_THE_TEXT) and "&" not in each)]),
)
def test_a_view_of_a_long_text_names_its_limit_and_sends_and_reads_little(address, read):
    app = opened(address)
    assert not app.error
    assert LIMITED.get(address, "") in page_text(app)
    assert sent_by(app._tree) <= MOST_SENT
    assert max(read.values()) <= MOST_READ, read


def test_the_explorer_gets_every_head_small_and_the_chosen_ones_whole(trace):
    assert "more than the 5,000,000" in long_words(trace)
    long = LongExplorer(trace)
    facts, arrays = unpack_facts(long.blob(Selection((Head("cross", 1, 2),))))
    maps, small = trace.cross, arrays["cross"]
    block = -(-max(maps.shape[2:]) // 64)
    row, column = small.shape[2] - 1, 3
    square = maps[2, 5, row * block :, column * block : (column + 1) * block]
    assert small.shape[:3] == (3, 8, -(-maps.shape[2] // block))
    assert small[2, 5, row, column] == round(float(square.max()) * STEPS)
    np.testing.assert_allclose(arrays["mean"] / STEPS, maps[1, 2], atol=0.5001 / STEPS)

    both, arrays = unpack_facts(long.blob(Selection((Head("encoder", 0, 0), Head("encoder", 2, 7)))))
    mean = (trace.encoder[0, 0] + trace.encoder[2, 7]) / 2
    np.testing.assert_allclose(arrays["mean"] / STEPS, mean, atol=0.51 / STEPS)
    assert both["chosen"] != facts["chosen"] and both["id"] == facts["id"]
