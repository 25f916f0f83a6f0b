"""The quiz on attention: its bank of items, of which some are about a model and computed on a shipped checkpoint.

`shipped/quiz.toml` has all texts. An item with a fact takes the first of its sentences for which the fact is so.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.classroom import COLUMNS, Quiz, QuizItem
from headlight.language import language
from headlight.plots.numbers import percent
from headlight.plots.tokens import in_words
from transformer.checkpoint import locate
from transformer.errors import UserError
from transformer.interpret.what_if.intervention import Zero

from .answer import Run, Undecided
from .measures.wording import is_whole_word
from .quiz_bank import bank, fill
from .register import answer_of

OTHERS_READ = 0.3  # least weight of another head on the word that a head reads
Fact = tuple[str, dict[str, Any]]  # the name of the option that is right, and values of {names}


def quiz_items() -> tuple[QuizItem, ...]:
    """Return all items of both forms. Raises UserError where no sentence shows an item's fact."""
    return _items(language())


@functools.cache
def _items(interface: str) -> tuple[QuizItem, ...]:
    return tuple(map(_item, bank()["item"]))


def class_quiz(when: str) -> Quiz:
    """Return the quiz for a class, before or after a lesson. Raises UserError."""
    return Quiz(when, quiz_items(), bank()["phone"])


def alone_payload() -> dict:
    """Return the quiz of a single visitor for its component, ready for JSON. Raises UserError."""
    items = [{**vars(item), "right": item.right} for item in quiz_items()]
    columns = ["question", "participant", "answer", "right", *COLUMNS]
    return {"items": items, "texts": bank()["phone"] | bank()["alone"], "columns": columns}


def _item(table: Mapping[str, Any]) -> QuizItem:
    key, names = _fact(table) if "fact" in table else (True, {})
    options = [(each.get("right", each.get("when")) == key, each) for each in table["options"]]
    misconceptions = tuple("" if is_right else each["misconception"] for is_right, each in options)
    texts = tuple(fill(each["say"], **names) for _, each in options)
    about = {name: table[name] for name in ("name", "idea", "level", "form")}
    return QuizItem(**about, text=fill(table["ask"], **names), options=texts, misconceptions=misconceptions)


def _fact(table: Mapping[str, Any]) -> Fact:
    """Return the fact of an item for the first of its sentences that shows it. Raises UserError."""
    checkpoint = CheckpointFiles.now(locate(bank()["checkpoint"]))
    for text in table["sentences"]:
        run = Run(TranslationRequest(checkpoint, text))
        try:
            key, names = FACTS[table["fact"]](run)
        except Undecided:
            continue
        if any(each.get("when") == key for each in table["options"]):
            return key, {"text": text, "translation": run.trace.target_text} | names
    raise UserError(f"No sentence of the quiz's item {table['name']} shows what it asks: the checkpoint has changed.")


def _mark_without_effect(run: Run) -> Fact:
    """Find the word of which a head gives most weight to the full stop; the translation without that mark."""
    trace = run.trace
    key = trace.source_tokens.index(".") if "." in trace.source_tokens else -1
    heads = trace.cross.reshape(-1, *trace.cross.shape[-2:])
    rows = [row for row in range(len(trace.target_tokens)) if is_whole_word(trace.target_tokens, row)]
    if key < 0 or not rows:
        raise Undecided("no_full_stop")
    head, row = max(((head, row) for head in range(len(heads)) for row in rows), key=lambda at: heads[at][key])
    if heads[head, row].argmax() != key:
        raise Undecided("no_full_stop")
    left = run.study.without_each_word()[-1]
    same = run.translator.tokenizer.decode(left.ids) == trace.target_text
    names = {"word": in_words(trace.target_tokens[row]), "weight": percent(float(heads[head, row, key]))}
    return ("same" if same else "other"), names


def _heads_that_matter(run: Run) -> Fact:
    """Count the heads without which, each alone, the translation changes."""
    names = answer_of(run, "heads_that_change", {}).names
    count, heads = names["count"], names["heads"]
    return ("few" if 2 <= count <= heads / 4 else "other"), {"count": count, "heads": heads}


def _head_without_effect(run: Run) -> Fact:
    """Switch off the head that reads a word most, where another head reads that word as well."""
    names = answer_of(run, "most_read", {"kind": "cross"}).names
    layer, head, row, key = (names[each] for each in ("layer", "head", "row", "key"))
    weights = run.trace.cross[:, :, row, key].copy()
    weight, weights[layer, head] = float(weights[layer, head]), 0.0
    same = run.study.under(Zero("cross", layer, head)).trace.target_ids == run.trace.target_ids
    known = {"word": in_words(names["word"]), "read": in_words(names["read"]), "weight": percent(weight)}
    return ("same" if same and np.max(weights) >= OTHERS_READ else "other"), known


_FUNCTIONS = (_mark_without_effect, _heads_that_matter, _head_without_effect)
FACTS: dict[str, Callable[[Run], Fact]] = {each.__name__[1:]: each for each in _FUNCTIONS}
