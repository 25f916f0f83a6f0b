"""One telling: what the live page's JavaScript says of a trace is what the app's Python says of the same trace."""

import dataclasses
import json

import numpy as np
import pytest
from playwright.sync_api import Page
from support.payloads import asked, payloads_page
from support.sentences import SENTENCES
from support.streams import CHECKPOINTS, trace_of
from support.traced import NAME, translator

from headlight.app.facts import pattern_facts
from headlight.views.live.content import live_words
from transformer.corpus.head_roles import ROLES_FILE, HeadRoles, load_roles, plainest_head
from transformer.interpret.head_patterns import measure_heads
from transformer.interpret.trace import Trace, keys_of, masked_maps
from transformer.interpret.what_if.intervention import Zero

KINDS = ("encoder", "decoder", "cross")
TOLD = SENTENCES[:17]


@pytest.fixture(scope="module")
def payloads(browser) -> Page:
    yield from payloads_page(browser)


@pytest.fixture(scope="module")
def roles() -> HeadRoles:
    return load_roles(CHECKPOINTS / NAME / ROLES_FILE, translator().model)


@pytest.fixture(scope="module")
def words(roles) -> dict:
    """What the page is told once."""
    return json.loads(json.dumps(live_words(translator().checkpoint, roles)))


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """Sentences as they are translated, one with a forced token, one without a head, one cut before its end."""
    whole = [trace_of(NAME, text) for text in TOLD]
    forced = translator().trace(whole[1].source_text, prefix=(int(whole[1].candidate_ids[0][3]),))
    ablated = translator().trace(whole[2].source_text, interventions=(Zero("cross", 2), Zero("encoder", 1, 4)))
    cut = dataclasses.replace(whole[3], finished=False)
    return [*whole, forced, ablated, cut]


def sent(trace: Trace) -> dict:
    """A trace as the engine gives it, arrays as lists (see engine/headlight.js)."""
    maps = {kind: {"shape": trace.attention(kind).shape, "weights": trace.attention(kind).ravel()} for kind in KINDS}
    given = {
        "sourceText": trace.source_text,
        "targetText": trace.target_text,
        "finished": trace.finished,
        "sourceIds": trace.source_ids,
        "sourceTokens": trace.source_tokens,
        "decoderInputTokens": trace.decoder_input_tokens,
        "targetIds": trace.target_ids,
        "targetTokens": trace.target_tokens,
        "targetProbabilities": trace.target_probabilities,
        "targetRanks": trace.target_ranks,
        "entropies": trace.entropies,
        "candidateIds": trace.candidate_ids.ravel(),
        "candidateProbabilities": trace.candidate_probabilities.ravel(),
        "candidateTokens": trace.candidate_tokens,
        **maps,
    }
    return json.loads(json.dumps(given, default=np.ndarray.tolist))


def as_json(value: object) -> object:
    return json.loads(json.dumps(value))


def test_the_patterns_of_heads_are_the_same(payloads, traces, roles, words):
    for trace, counted in [*((each, roles) for each in traces), (traces[0], None)]:
        known = words if counted else words | {"roles": None}
        found = asked(payloads, "patterns", sent(trace), known)
        for kind in KINDS:
            measured = measure_heads(kind, masked_maps(trace, kind), keys_of(trace, kind), trace.target_tokens)
            expected = as_json(pattern_facts(measured, counted))
            for name in ("confidence", "entropy"):
                ours, theirs = (np.array(each.pop(name), float) for each in (found[kind], expected))
                np.testing.assert_allclose(ours, theirs, atol=2e-6)
            assert found[kind] == expected


def test_the_first_head_is_the_same(payloads, traces, roles, words):
    for trace in traces:
        assert tuple(asked(payloads, "plainest", sent(trace), words)) == plainest_head(trace, "cross", roles)
        unmeasured = words | {"roles": None}
        assert tuple(asked(payloads, "plainest", sent(trace), unmeasured)) == plainest_head(trace, "cross")
