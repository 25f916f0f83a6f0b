"""Measures of what heads read in the run's sentence, and of what is lost where they may not read it."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from headlight.app import results
from headlight.app.results import what_if
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page
from headlight.plots.numbers import short_weight
from headlight.plots.tokens import NOTHING, quoted, quoted_at
from transformer import Greedy
from transformer.arrays import entropy
from transformer.interpret.head_patterns import is_word, strongest_word_pair, words_of
from transformer.interpret.trace import Trace, keys_of

from .wording import MOST_OPTIONS, NEAR, head_in, head_names, listed, quoted_all, token_options

LINE = 0.3  # a weight that is drawn as a line to be seen
LONGEST = 90  # letters of a translation that is an option
NEGATIONS = frozenset({"not", "never", "no", "nobody", "nothing"})
_HARMLESS, _MISSED = 3, 3  # options of either sort


@measure
def most_read(run: Run, kind: str) -> Answer:
    """Ask which key the head that is shown first reads most, in the row whose choice is plainest.

    names: layer and head (from 1), row (from 1), word (what the row predicts), key (from 1) and read (what it reads).
    """
    trace = run.trace
    layer, head = results.default_head(run.request, kind)
    weights = trace.attention(kind)[layer, head]
    keys = keys_of(trace, kind)
    words = trace.source_tokens if kind == "encoder" else trace.target_tokens
    ordered = np.sort(weights, axis=1)
    rows = np.array([is_word(word) for word in words])
    lead = ordered[:, -1] - ordered[:, -2] if weights.shape[1] > 1 else np.zeros(len(weights))
    row = int(np.where(rows, lead, -1.0).argmax())
    if not rows.any() or lead[row] < NEAR:
        raise Undecided("No row of this head reads one token clearly more than all others here.")
    ranked = np.argsort(-weights[row], kind="stable")
    best, digits = int(ranked[0]), [short_weight(float(weight)) for weight in weights[row]]
    return Answer(
        Kind.ONE,
        f"For {quoted(words[row])} this head reads {quoted(keys[best])} with a weight of {digits[best]}.",
        "The largest weights of this row: "
        + ", ".join(f"{quoted(keys[key])} {digits[key]}" for key in ranked[:MOST_OPTIONS])
        + ".",
        token_options(keys, ranked, lambda key: f"Its weight is {digits[key]}."),
        frozenset({str(best)}),
        names={
            **head_names(layer, head),
            "row": str(row + 1),
            "word": words[row],
            "key": str(best + 1),
            "read": keys[best],
        },
    )


@measure
def most_spread(run: Run) -> Answer:
    """Ask for which output word the cross-attention head that is shown first spreads its weight most.

    Decided where the row of the highest entropy has the smallest of all largest weights, too. names: layer and head,
    row (all from 1), word.
    """
    trace, at = run.trace, results.default_head(run.request, "cross")
    weights = trace.cross[at]
    words = [row for row, token in enumerate(trace.target_tokens) if is_word(token)]
    largest = weights.max(axis=1)
    ranked = sorted(words, key=lambda row: largest[row])
    if len(ranked) < 2 or largest[ranked[1]] - largest[ranked[0]] < NEAR:
        raise Undecided("No word's row is clearly more spread than all others here.")
    spread = ranked[0]
    if spread != max(words, key=lambda row: entropy(weights)[row]):
        raise Undecided("Two rows are spread here, each in its own way.")
    name = {row: quoted_at(trace.target_tokens, row, "output token") for row in ranked}
    digits = {row: short_weight(float(largest[row])) for row in ranked}
    return Answer(
        Kind.ONE,
        f"The largest weight of {name[spread]} is only {digits[spread]}: its row is spread most.",
        "The largest weight of each row: " + ", ".join(f"{name[row]} {digits[row]}" for row in ranked) + ".",
        token_options(
            trace.target_tokens, ranked, lambda row: f"The largest weight of its row is {digits[row]}.", "output token"
        ),
        frozenset({str(spread)}),
        names={**head_names(*at), "row": str(spread + 1), "word": trace.target_tokens[spread]},
    )


@measure
def without_word(run: Run) -> Answer:
    """Ask what is left of the translation when one source word is hidden from every head of cross-attention.

    It is a negation where the sentence has one, else the word that the fewest other tokens depend on. names: word, key
    (its number among the words, from 1), translation, left.
    """
    before, words, left = _hidden_words(run)
    changed = [number for number, text in enumerate(left) if text != before.target_text]
    if not changed:
        raise Undecided("Here each word alone can be hidden, and the translation stays the same.")
    negations = [number for number in changed if words[number].lower() in NEGATIONS]
    number = negations[0] if negations else max(changed, key=lambda each: _alike(before.target_text, left[each]))
    others = [each for each in changed if left[each] != left[number]]
    others.sort(key=lambda each: -_alike(left[number], left[each]))
    told = {left[number]: "", before.target_text: "So it reads with all its words."}
    for each in others:
        told.setdefault(left[each], f"That is left without {quoted_at(words, each, 'word')}.")
    if max(map(len, list(told)[:MOST_OPTIONS])) > LONGEST:
        raise Undecided("This translation is too long to choose among several ways to read it.")
    hidden = quoted_at(words, number, "word")
    texts = list(told)[:MOST_OPTIONS]
    return Answer(
        Kind.ONE,
        f"Without {hidden} it reads {quoted(left[number] or NOTHING)}",
        f"With all words it reads {quoted(before.target_text)} What {hidden} alone gave is missing.",
        tuple(Option(str(at), quoted(text or NOTHING), told[text]) for at, text in enumerate(texts)),
        frozenset({"0"}),
        names={
            "word": words[number],
            "key": str(number + 1),
            "translation": before.target_text,
            "left": left[number],
        },
    )


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
        f"{len(harmless)} of {len(words)} words and marks can be hidden alone: "
        f"{listed([name[each] for each in harmless])}.",
        f"Without {name[missed[0]]} it reads {quoted(left[missed[0]] or NOTHING)} Without {name[harmless[0]]} it "
        "reads as before.",
        tuple(Option(str(each), name[each], f"Without it: {left[each] or NOTHING}") for each in chosen),
        frozenset(str(each) for each in chosen if each in harmless),
        names={"key": str(harmless[0] + 1), "count": str(len(harmless)), "of": str(len(words))},
    )


@measure
def mean_of_heads(run: Run) -> Answer:
    """Ask for the mean over all cross-attention heads, where one of them puts its largest weight between two words.

    names: layer and head, row and key (from 1), word, read, weight (of the one head), heads (how many there are).
    """
    trace, at = run.trace, results.default_head(run.request, "cross")
    pair = strongest_word_pair(trace.cross[at], trace.source_tokens, trace.target_tokens)
    if pair is None:
        raise Undecided("This head puts no weight between two words here.")
    count, own = trace.cross.shape[0] * trace.cross.shape[1], float(trace.cross[at][pair])
    mean = float(trace.cross.mean(axis=(0, 1), dtype=np.float64)[pair])
    if abs(own - mean) < NEAR:
        raise Undecided("One head and the mean of all hardly differ here.")
    word, read = trace.target_tokens[pair[0]], trace.source_tokens[pair[1]]
    return Answer(
        Kind.NUMBER,
        f"On average the {count} heads put {short_weight(mean)} on {quoted(read)}, this one {short_weight(own)}.",
        f"The weights of all {count} heads for {quoted(word)} on {quoted(read)}, added and divided by {count}: "
        f"{short_weight(mean)}.",
        value=mean,
        tolerance=NEAR,
        bounds=(0.0, 1.0),
        names={
            **head_names(*at),
            "row": str(pair[0] + 1),
            "key": str(pair[1] + 1),
            "word": word,
            "read": read,
            "weight": short_weight(own),
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
    is_there = asked and all(0 <= number < size for number, size in zip(asked, trace.cross.shape[:2], strict=True))
    layer, head = asked if asked and is_there else first
    weights = trace.cross[layer, head]
    lines = strong_lines(weights, trace.source_tokens, trace.target_tokens)
    crossing = next(((one, other) for one in lines for other in lines if one[0] < other[0] and one[1] > other[1]), None)
    read = [f"{quoted(trace.target_tokens[row])} reads {quoted(trace.source_tokens[key])}" for row, key in lines]
    if crossing:
        words = quoted_all(trace.target_tokens[row] for row, _ in crossing)
        keys = quoted_all(trace.source_tokens[key] for _, key in crossing)
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
