"""Head patterns in the one-file page: equal to those that Python computes for the same trace."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.texts import SENTENCES
from support.traces import CHECKPOINTS, NAME, trace_of, translator

from headlight.app.facts import pattern_facts
from headlight.components.bundle import joined
from headlight.views.live.content import live_words
from transformer.corpus.head_roles import ROLES_FILE, HeadRoles, load_roles, plainest_head
from transformer.interpret.head_patterns import measure_heads
from transformer.interpret.trace import Trace, keys_of, masked_maps
from transformer.interpret.what_if.intervention import Zero

KINDS = ("encoder", "decoder", "cross")
FUNCTIONS = Path(__file__).parents[1] / "javascript" / "live_patterns.js"


@pytest.fixture(scope="module")
def call(browser) -> Callable[..., object]:
    """A caller of the functions in live_patterns.js, by name.

    Arguments and result travel as text: Playwright looks at a list number by number.
    """
    context = browser.new_context()
    page = context.new_page()
    modules, (face,) = joined(FUNCTIONS)
    page.evaluate(f"{modules}globalThis.functions = {face};")

    def call_by_name(name: str, *arguments: object) -> object:
        return json.loads(
            page.evaluate(f"text => JSON.stringify(functions.{name}(...JSON.parse(text)))", json.dumps(arguments))
        )

    yield call_by_name
    context.close()


@pytest.fixture(scope="module")
def roles() -> HeadRoles:
    return load_roles(CHECKPOINTS / NAME / ROLES_FILE, translator().model)


@pytest.fixture(scope="module")
def words(roles) -> dict:
    """The words of the page, with thresholds and roles."""
    return json.loads(json.dumps(live_words(translator().checkpoint, roles)))


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """Sentences as they are translated, the last one with heads switched off."""
    whole = [trace_of(NAME, text) for text in SENTENCES[:17]]
    ablated = translator().trace(whole[2].source_text, interventions=(Zero("cross", 2), Zero("encoder", 1, 4)))
    return [*whole, ablated]


def sent(trace: Trace) -> dict:
    """Return tokens and maps of a trace as the engine gives them (see engine/headlight.js), arrays as lists."""
    maps = {
        kind: {"shape": trace.attention(kind).shape, "weights": trace.attention(kind).ravel().tolist()}
        for kind in KINDS
    }
    tokens = {
        "sourceTokens": trace.source_tokens,
        "decoderInputTokens": trace.decoder_input_tokens,
        "targetTokens": trace.target_tokens,
    }
    return {**tokens, **maps}


def test_the_patterns_of_heads_are_the_same(call, traces, roles, words):
    for trace, counted in [*((each, roles) for each in traces), (traces[0], None)]:
        known = words if counted else words | {"roles": None}
        found = call("patterns", sent(trace), known)
        for kind in KINDS:
            measured = measure_heads(kind, masked_maps(trace, kind), keys_of(trace, kind), trace.target_tokens)
            expected = json.loads(json.dumps(pattern_facts(measured, counted)))
            for name in ("confidence", "entropy"):
                ours, theirs = (np.array(each.pop(name), float) for each in (found[kind], expected))
                np.testing.assert_allclose(ours, theirs, atol=2e-6)
            assert found[kind] == expected


def test_the_first_head_is_the_same(call, traces, roles, words):
    for trace in traces:
        assert tuple(call("plainest", sent(trace), words)) == plainest_head(trace, "cross", roles)
        unmeasured = words | {"roles": None}
        assert tuple(call("plainest", sent(trace), unmeasured)) == plainest_head(trace, "cross")
