"""Measures of what heads read in the run's sentence, and of what is lost where they may not read it."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from headlight.app import results
from headlight.app.results import what_if
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page, translated
from headlight.plots.numbers import percent
from headlight.plots.tokens import NOTHING, quoted, quoted_at
from transformer import Greedy
from transformer.interpret.head_patterns import aligned_keys, is_word, words_of
from transformer.interpret.trace import Trace, keys_of

from .wording import (
    MOST_OPTIONS,
    NEAR,
    head_in,
    head_names,
    is_whole_word,
    listed,
    quoted_all,
    readable,
    token_options,
)

LINE = 0.3  # a weight that is drawn as a line to be seen
PLAIN = 0.4  # by which a row's largest weight leads, to be seen at once
LONGEST = 90  # letters of a translation that is an option
NEGATIONS = frozenset({"not", "never", "no", "nobody", "nothing"})
_HARMLESS, _MISSED = 3, 3  # options of either sort


@measure
def most_read(run: Run, kind: str) -> Answer:
    """Ask which key the head that is shown first reads most, in the plain row whose key stands farthest from it.

    names: layer and head (from 1), heads (of this kind), row (from 1), word (what the row predicts), key (from 1) and
    read (what it reads).
    """
    trace = run.trace
    layer, head = results.default_head(run.request, kind)
    weights = trace.attention(kind)[layer, head]
    outputs = trace.source_tokens if kind == "encoder" else trace.target_tokens
    words, keys = readable(outputs), readable(keys_of(trace, kind))
    row = _farthest_plain_row(weights, outputs, keys_of(trace, kind), _agreed(trace) if kind == "cross" else None)
    ranked = np.argsort(-weights[row], kind="stable")
    best, shares = int(ranked[0]), [percent(float(weight)) for weight in weights[row]]
    return Answer(
        Kind.ONE,
        f"While it writes {quoted(words[row])}, this head looks at {quoted_at(keys, best)}: {shares[best]}.",
        "The largest weights of this row: "
        + ", ".join(f"{quoted_at(keys, key)} {shares[key]}" for key in ranked[:MOST_OPTIONS])
        + ".",
        token_options(
            keys_of(trace, kind), [key for key in ranked if is_word(keys[key])], lambda key: f"That gets {shares[key]}."
        ),
        frozenset({str(best)}),
        names={
            **head_names(layer, head),
            "heads": str(trace.attention(kind).shape[0] * trace.attention(kind).shape[1]),
            "row": str(row + 1),
            "word": words[row],
            "key": str(best + 1),
            "read": keys[best],
        },
    )


def _agreed(trace: Trace) -> np.ndarray:
    return aligned_keys(trace.cross, trace.source_tokens, trace.target_tokens)


def _farthest_plain_row(
    weights: np.ndarray, words: Sequence[str], keys: Sequence[str], agreed: np.ndarray | None
) -> int:
    """Return the row whose one large weight stands farthest from its own place, whole words first.

    agreed: the key of each row on which it must stand. Raises Undecided without any row that has one.
    """
    ordered, largest = np.sort(weights, axis=1), weights.argmax(axis=1)
    lead = ordered[:, -1] - ordered[:, -2] if weights.shape[1] > 1 else np.zeros(len(weights))
    rows = [row for row, key in enumerate(largest) if is_word(words[row]) and is_word(keys[key]) and lead[row] >= PLAIN]
    rows = [row for row in rows if agreed is None or agreed[row] == largest[row]]
    if not rows:
        raise Undecided("No row of this head reads one word clearly more than all others here.")
    whole = [row for row in rows if is_whole_word(words, row) and is_whole_word(keys, largest[row])]
    whole = [row for row in whole if words[row] != keys[largest[row]]] or whole  # a name that stays would tell
    return max(whole or rows, key=lambda row: (abs(row - largest[row]), lead[row]))


@measure
def without_word(run: Run) -> Answer:
    """Ask what is left of the translation when one source word is hidden from every head of cross-attention.

    It is a negation where the sentence has one, else the word that the fewest other tokens depend on. names: word, key
    (its number among the words, from 1), translation, left.
    """
    before, words, left = _hidden_words(run)
    changed = [at for at, text in enumerate(left) if _only_words(text) != _only_words(before.target_text)]
    if not any(is_word(words[at]) for at in changed):
        raise Undecided("Here each word alone can be hidden, and the translation stays the same.")
    once = [each for each in changed if is_word(words[each]) and words.count(words[each]) == 1]
    if not once:
        raise Undecided("The words that this translation needs stand in the sentence twice.")
    hidable = [each for each in once if _is_negation(words[each])][:1] or once
    number = max(hidable, key=lambda each: _alike(before.target_text, left[each]))
    others = [each for each in changed if _only_words(left[each]) != _only_words(left[number])]
    others.sort(key=lambda each: -_alike(left[number], left[each]))
    feedback = {left[number]: "", before.target_text: "So it reads with all its words."}
    for each in others:
        if _only_words(left[each]) not in map(_only_words, feedback):
            feedback[left[each]] = f"That is left without {quoted_at(words, each, 'word')}."
    if max(map(len, list(feedback)[:MOST_OPTIONS])) > LONGEST:
        raise Undecided("This translation is too long to choose among several ways to read it.")
    hidden = quoted_at(words, number, "word")
    texts = list(feedback)[:MOST_OPTIONS]
    return Answer(
        Kind.ONE,
        f"Without {hidden} it reads {translated(left[number])}",
        f"With all words it reads {translated(before.target_text)} What {hidden} alone told is missing, or guessed.",
        tuple(Option(str(at), quoted(text) if text else NOTHING, feedback[text]) for at, text in enumerate(texts)),
        frozenset({"0"}),
        names={
            "word": words[number],
            "key": str(number + 1),
            "translation": before.target_text,
            "left": left[number],
        },
    )


def _is_negation(word: str) -> bool:
    return word.lower() in NEGATIONS or word.lower().endswith(("n't", "n’t"))


def _only_words(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


def _alike(one: str, other: str) -> float:
    return SequenceMatcher(None, one.split(), other.split(), autojunk=False).ratio()


def _hidden_words(run: Run) -> tuple[Trace, list[str], list[str]]:
    """Return the trace, the words of its source, and the translation without each; Undecided without any word."""
    if not isinstance(run.request.strategy, Greedy):
        raise Undecided("This is asked of greedy decoding: choose it in the bar.")
    before = run.trace
    words = words_of(before.source_tokens)
    if len(words) < 2:
        raise Undecided("This sentence has no two words of which one could be hidden.")
    decode = run.translator.tokenizer.decode
    return before, words, [decode(each.ids) for each in what_if.translations_without_each_word(run.request)]


@measure
def harmless_words(run: Run) -> Answer:
    """Ask which source words can be hidden, one at a time, and the translation stays the same.

    names: key (the number of the first of them among the words, from 1), count, of.
    """
    before, words, left = _hidden_words(run)
    harmless = [number for number, text in enumerate(left) if text == before.target_text]
    missed = [number for number in range(len(words)) if number not in harmless]
    if not harmless or not missed:
        which = "Each word and mark is missed" if not harmless else "No word or mark alone is missed"
        raise Undecided(f"{which} here when it is hidden.")
    chosen = sorted([*harmless[:_HARMLESS], *missed[:_MISSED]])
    name = [quoted_at(words, number, "word") for number in range(len(words))]
    return Answer(
        Kind.SEVERAL,
        f"{len(harmless)} of {len(words)} words and marks can go, one at a time: "
        f"{listed([name[each] for each in harmless])}.",
        f"Without {name[missed[0]]} it reads {translated(left[missed[0]])} It reads as before without "
        f"{' or '.join(name[each] for each in harmless[:_HARMLESS])}.",
        tuple(Option(str(each), name[each], f"Without it: {translated(left[each])}") for each in chosen),
        frozenset(str(each) for each in chosen if each in harmless),
        names={"key": str(harmless[0] + 1), "count": str(len(harmless)), "of": str(len(words))},
    )


@measure
def mean_of_heads(run: Run) -> Answer:
    """Ask for the mean of all cross-attention heads in percent, at the weight that `most_read` asks for.

    names: layer and head, row and key (from 1), word, read, weight (of the one head), heads (how many there are).
    """
    trace, at = run.trace, results.default_head(run.request, "cross")
    row = _farthest_plain_row(trace.cross[at], trace.target_tokens, trace.source_tokens, _agreed(trace))
    pair = row, int(trace.cross[at][row].argmax())
    count, own = trace.cross.shape[0] * trace.cross.shape[1], float(trace.cross[at][pair])
    mean = float(trace.cross.mean(axis=(0, 1), dtype=np.float64)[pair])
    if abs(own - mean) < NEAR:
        raise Undecided("One head and the mean of all hardly differ here.")
    word, read = readable(trace.target_tokens)[pair[0]], readable(trace.source_tokens)[pair[1]]
    return Answer(
        Kind.NUMBER,
        f"On average the {count} heads put {percent(mean)} on {quoted(read)}, this one {percent(own)}.",
        f"The weights of all {count} heads for {quoted(word)} on {quoted(read)}, added and divided by {count}: "
        f"{percent(mean)}.",
        value=100 * mean,
        tolerance=100 * NEAR,
        bounds=(0.0, 100.0),
        names={
            **head_names(*at),
            "row": str(pair[0] + 1),
            "key": str(pair[1] + 1),
            "word": word,
            "read": read,
            "weight": percent(own),
            "heads": str(count),
        },
    )


@measure
@of_the_page
def lines_cross(run: Run) -> Answer:
    """Ask for a sentence in which two lines cross: a later output word reads an earlier source word.

    Of each output word the strongest line counts, from LINE on, of the head in the address or else the first one.
    names: layer and head (from 1) to begin with.
    """
    trace, first = run.trace, results.default_head(run.request, "cross")
    asked = head_in(run.address)
    is_there = asked and asked.fits({"cross": trace.cross.shape[:2]})
    weights = trace.cross[(asked.layer, asked.head) if asked and is_there else first]
    lines = strong_lines(weights, trace.source_tokens, trace.target_tokens)
    crossing = next(((one, other) for one in lines for other in lines if one[0] < other[0] and one[1] > other[1]), None)
    outputs, sources = readable(trace.target_tokens), readable(trace.source_tokens)
    read = [f"{quoted(outputs[row])} reads {quoted(sources[key])}" for row, key in lines]
    if crossing:
        words = quoted_all(outputs[row] for row, _ in crossing)
        keys = quoted_all(sources[key] for _, key in crossing)
        truth = f"The lines of {words} cross: they read {keys}, which stand the other way round in the source."
    else:
        truth = "No two of the strongest lines cross in this sentence."
    return Answer(
        Kind.DO,
        truth,
        f"Lines cross where both languages order words differently. Now {listed(read) or 'no line is strong'}.",
        done=crossing is not None,
        names=head_names(*first),
    )


def strong_lines(weights: np.ndarray, keys: Sequence[str], outputs: Sequence[str]) -> list[tuple[int, int]]:
    """Return row and key of the strongest line of each output word that reads a word with LINE or more."""
    lines = [(row, int(weights[row].argmax())) for row, token in enumerate(outputs) if is_word(token)]
    return [(row, key) for row, key in lines if weights[row, key] >= LINE and is_word(keys[key])]
