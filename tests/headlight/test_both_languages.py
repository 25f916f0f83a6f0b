"""Helpers that exist in Python and in JavaScript, by cases that tests/javascript/lib.test.js reads, too."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.traces import made_trace

from headlight.app.facts import pattern_words
from headlight.app.finding import Templates
from headlight.app.selection import Selection, parse_numbers
from headlight.language import form_of, speaking
from headlight.plots.names import head_name, kind_head_name, sentence_case
from headlight.plots.numbers import format_probability, percent, signed
from headlight.views.live.content import RULES
from headlight.views.research.atlas_content import describe_role
from transformer.corpus import Role
from transformer.interpret.head_patterns import Pattern
from transformer.model.heads import Head, Heads, heads_address, parse_heads

CASES = json.loads((Path(__file__).parents[1] / "cases_of_both_languages.json").read_text(encoding="utf-8"))
SIZES = CASES["sizes"]
SOURCE = SimpleNamespace(attention=lambda kind: np.zeros(SIZES[kind]))


def parse(text: str) -> list | None:
    head = Heads.parse(text)
    return head and [head.kind, head.layer, head.head]


def filled(argument: list) -> str:
    template, values = argument
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return str(Templates(lambda: {"texts": {"text": template}})("text", **values))


def plurals(interface: str) -> list[str]:
    with speaking(interface):
        return [form_of({"one": "one", "other": "other"}, {"count": count}) for count in range(3)]


def several(text: str) -> str:
    return heads_address(parse_heads(text, {kind: size[:2] for kind, size in SIZES.items()}))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("percent", percent),
        ("chance", format_probability),
        ("signed", lambda arguments: signed(*arguments)),
        ("plurals", plurals),
        ("sentences", sentence_case),
        ("templates", filled),
        ("headNames", lambda arguments: head_name(*arguments)),
        ("kindHeads", lambda head: kind_head_name(Head(*head))),
        ("addresses", parse),
        ("numbers", lambda text: list(parse_numbers(text, 5))),
        ("severalHeads", several),
        ("selections", lambda address: Selection.parse(address, SOURCE, Heads.parse(CASES["start"])).address),
    ],
)
def test_a_helper_writes_the_shared_cases(name, write):
    for argument, expected in CASES[name]:
        assert write(argument) == expected, argument


@pytest.mark.parametrize("case", CASES["traces"])
def test_what_follows_from_a_trace(case):
    expected = {name: case[name] for name in ("is_greedy", "runner_up", "log_probabilities")}
    fields = {name: value for name, value in case.items() if name not in expected}
    arrays = {
        name: np.array(value) for name, value in fields.items() if name.endswith(("ranks", "ities", "candidate_ids"))
    }
    trace = made_trace(**fields | arrays)
    steps = range(len(trace.target_ids))
    assert trace.is_greedy.tolist() == expected["is_greedy"]
    assert [trace.candidate_tokens[step][trace.runner_up(step)] for step in steps] == expected["runner_up"]
    assert trace.log_probabilities.tolist() == pytest.approx(expected["log_probabilities"], abs=1e-5)


@pytest.mark.parametrize("pattern", Pattern)
def test_every_pattern_has_its_words_wherever_it_is_named(pattern):
    words, short, _ = pattern_words()[pattern]
    assert words and max(map(len, short.split())) <= 7, "a word per line of a thumbnail"
    assert pattern in RULES["thresholds"]
    assert words in describe_role({pattern: Role(9, 9, 10)}, 10).headline
