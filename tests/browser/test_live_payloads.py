"""One telling: what the live page's JavaScript says of a trace is what the app's Python says of the same trace."""

import dataclasses
import html
import json
from difflib import SequenceMatcher

import numpy as np
import pytest
from playwright.sync_api import Page
from support.payloads import asked, payloads_page
from support.sentences import SENTENCES
from support.streams import CHECKPOINTS, trace_of
from support.traced import NAME, translator

from headlight.app.facts import pattern_facts
from headlight.plots.names import KIND_NAMES
from headlight.plots.numbers import signed
from headlight.views.attention.explorer_content import CROSS_FIRST, OPTIONS, addressed_choice
from headlight.views.live.content import live_words
from headlight.views.what_if.ablation import describe_change, describe_ranking, switches_payload
from headlight.views.what_if.change_content import compared_html
from transformer.corpus.head_roles import ROLES_FILE, HeadRoles, load_roles, plainest_head
from transformer.interpret.head_patterns import measure_heads
from transformer.interpret.trace import Trace, keys_of, masked_maps
from transformer.interpret.what_if.importance import HeadImportance, head_importance
from transformer.interpret.what_if.intervention import Zero
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

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


def test_an_address_asks_the_explorer_for_the_same(payloads, traces):
    trace, known = traces[0], {"options": OPTIONS, "kinds": CROSS_FIRST}
    for address in (
        {},
        {"kind": "decoder", "layer": "1", "head": "2", "heads": "1.2-3.8", "tokens": "k1-2", "rows": "input token"},
        {"kind": "nonsense", "layer": "9", "head": "1", "heads": "1.1-1.2", "tokens": "q999", "label": "x"},
        {"heads": "2.3-", "tokens": "q0", "view": "lines"},
    ):
        expected = addressed_choice(trace, address, "2.3")
        assert asked(payloads, "explorerChoice", address, sent(trace), known, "2.3") == expected


def losses_of(importance: HeadImportance) -> list[dict]:
    """As the engine yields them: the decoder's heads first."""
    return [
        {
            "kind": kind,
            "layer": layer,
            "head": head,
            "losses": importance.of(kind)[layer, head].tolist(),
            "turned": bool(importance.turned[kind][layer, head]),
        }
        for kind in ("decoder", "cross", "encoder")
        for layer, head in np.ndindex(importance.of(kind).shape[:2])
    ]


def test_the_switches_are_given_the_same(payloads, traces):
    model = translator().model
    for trace in (*traces[:6], traces[-3]):
        importance = head_importance(model, trace.source_ids, trace.target_ids)
        ours, ranking, first = asked(payloads, "switches", losses_of(importance), sent(trace), KIND_NAMES)
        expected, found = as_json(switches_payload(importance, trace)), describe_ranking(importance, trace)
        # Sums may differ in their last of sixteen digits.
        limit = expected.pop("limit")
        assert ours.pop("limit") == pytest.approx(limit, rel=1e-12)
        assert ours == expected
        assert ranking == {"headline": found.headline, "more": found.more}
        head = importance.default_head()
        assert (first["kind"], first["layer"], first["head"]) == (head.kind, head.layer, head.head)


def test_what_comes_without_heads_is_said_alike(payloads, traces):
    heads = [HeadRef(kind, layer, head) for kind in AttentionKind for layer, head in ((0, 1), (2, 4))]
    for trace in traces[:6]:
        for off in (heads[:1], heads[2:4], heads):
            changes = tuple(map(Zero.of, off))
            after = translator().trace(trace.source_text, interventions=changes)
            forced = translator().record(trace.source_text, interventions=changes, decoded=trace.target_ids)[0]
            given = [{"kind": one.kind, "layer": one.layer, "head": one.head} for one in off]
            told = asked(payloads, "change", sent(trace), sent(forced), sent(after), given, KIND_NAMES)
            found = describe_change(trace, forced, after, off)
            assert told == {"headline": found.headline, "more": found.more}
            rows = asked(payloads, "compared", sent(trace), sent(forced), sent(after))
            told = "".join(f'<tr><th scope="row">{name}</th>{row_html(cells)}</tr>' for name, cells in rows)
            assert f"<tbody>{told}</tbody>" in compared_html(trace, forced, after)


def row_html(cells: list) -> str:
    return "".join(map(cell_html, cells))


def cell_html(cell: dict | None) -> str:
    """A cell of the compared translations as Python writes it."""
    if cell is None:
        return "<td></td>"
    css = f' class="{cell["css"]}"' if "css" in cell else ""
    title = f' title="{html.escape(cell["title"])}"' if "title" in cell else ""
    shade = f' style="--shade: {cell["shade"]}"' if "shade" in cell else ""
    return f"<td{css}{title}{shade}>{html.escape(cell['text'])}</td>"


def test_numbers_are_written_alike(payloads):
    random = np.random.default_rng(1)
    halves = [0.125, 0.375, 0.5, 1.5, 2.5, 0.0, -0.125, 0.03125, 1562.5, 0.999, 0.9951, 0.005, 1e-6, 9.95, -9.949]
    numbers = [*halves, *random.random(300), *10 ** random.uniform(-8, 0, 300), *random.normal(size=300)]
    numbers = [float(number) for number in numbers]
    for digits in (0, 1, 2, 3):
        ours = payloads.evaluate(
            "([numbers, digits]) => numbers.map(n => payloads.text.fixed(n, digits))", [numbers, digits]
        )
        assert ours == [f"{number:.{digits}f}" for number in numbers]
        ours = payloads.evaluate(
            "([numbers, digits]) => numbers.map(n => payloads.text.signed(n, digits))", [numbers, digits]
        )
        assert ours == [signed(number, digits) for number in numbers]
    ours = payloads.evaluate("given => given.map(payloads.text.rint)", numbers)
    assert ours == np.rint(numbers).tolist()


def test_two_sequences_differ_alike(payloads):
    random = np.random.default_rng(2)
    for _ in range(200):
        one, other = (random.integers(0, 5, random.integers(0, 14)).tolist() for _ in range(2))
        matcher = SequenceMatcher(None, one, other, autojunk=False)
        assert asked(payloads, "opcodes", one, other) == as_json(matcher.get_opcodes())
        assert asked(payloads, "matchingBlocks", one, other) == as_json(matcher.get_matching_blocks())
