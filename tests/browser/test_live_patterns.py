"""Head patterns in the one-file page: equal to those that Python computes for the same trace."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.texts import SENTENCES
from support.traces import CHECKPOINTS, KINDS, NAME, trace_of, translator

from headlight.app.facts import pattern_facts
from headlight.components.bundle import joined
from headlight.views.live.content import live_words
from transformer.corpus.head_roles import find_roles, plainest_head
from transformer.interpret.head_patterns import measure_heads
from transformer.interpret.trace import Trace, keys_of, masked_maps
from transformer.interpret.what_if.intervention import Zero

FUNCTIONS = Path(__file__).parents[1] / "javascript" / "live_patterns.js"


def as_in_the_engine(trace: Trace) -> dict:
    """Return tokens and maps of a trace in the engine's form (see engine/headlight.js), arrays as lists."""
    maps = {kind: trace.attention(kind) for kind in KINDS}
    return {
        "sourceTokens": trace.source_tokens,
        "decoderInputTokens": trace.decoder_input_tokens,
        "targetTokens": trace.target_tokens,
        **{kind: {"shape": each.shape, "weights": each.ravel().tolist()} for kind, each in maps.items()},
    }


@pytest.mark.parametrize("measured", [True, False], ids=["with roles", "without roles"])
def test_the_patterns_of_heads_and_the_first_head_are_the_same(page, measured):
    modules, (face,) = joined(FUNCTIONS)
    page.evaluate(f"{modules}globalThis.functions = {face};")

    def call(name: str, *arguments: object) -> object:
        """Call a function of the page; text is faster than Playwright's own conversion."""
        script = f"text => JSON.stringify(functions.{name}(...JSON.parse(text)))"
        return json.loads(page.evaluate(script, json.dumps(arguments)))

    roles = find_roles(CHECKPOINTS / NAME, translator().model)
    words = json.loads(json.dumps(live_words(translator().checkpoint, roles)))
    roles, words = (roles, words) if measured else (None, words | {"roles": None})
    traces = [trace_of(NAME, text) for text in SENTENCES[: 17 if measured else 3]]
    off = (Zero("cross", 2), Zero("encoder", 1, 4))
    for trace in (*traces, translator().trace(traces[2].source_text, interventions=off)):
        patterns = call("patterns", as_in_the_engine(trace), words)
        for kind in KINDS:
            heads = measure_heads(kind, masked_maps(trace, kind), keys_of(trace, kind), trace.target_tokens)
            expected = json.loads(json.dumps(pattern_facts(heads, roles)))
            for name in ("confidence", "entropy"):
                ours, theirs = (np.array(each.pop(name), float) for each in (patterns[kind], expected))
                np.testing.assert_allclose(ours, theirs, atol=2e-6)
            assert patterns[kind] == expected
        assert tuple(call("plainest", as_in_the_engine(trace), words)) == plainest_head(trace, "cross", roles).index
