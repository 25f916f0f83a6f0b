"""Measures of what heads read in the run's sentence, and of what is lost where they may not read it."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import combinations

import numpy as np

from headlight.app import results
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, largest, measure
from headlight.lessons.glosses import glosses
from headlight.lessons.words import translated
from headlight.plots.numbers import percent
from headlight.plots.tokens import quoted, quoted_at
from transformer import Greedy
from transformer.data.tokenizer import SPACE
from transformer.interpret.head_patterns import aligned_keys, is_word, word_ranges, words_of
from transformer.interpret.trace import Trace, keys_of

from .wording import (
    MOST_OPTIONS,
    NEAR,
    head_names,
    in_percent,
    is_whole_word,
    language_of,
    lead,
    listed,
    meanings_of,
    only_words,
    quoted_all,
    readable,
    token_options,
    told_apart,
    translations_of,
)

LINE = 0.3  # a weight that is drawn as a line to be seen
AGREED = 0.25  # least mean of all heads where they agree on a word
PLAIN = 0.4  # by which a row's largest weight leads, to be seen at once
LONGEST_ARTICLE = 3  # letters of a short word
LONGEST = 90  # letters of a translation that is an option
NEGATIONS = frozenset({"not", "never", "no", "nobody", "nothing"})
_PER_SORT = 3  # options that are harmless, and that are missed


@measure
def most_read(run: Run, kind: str) -> Answer:
    """Ask which key the head that is shown first reads most, in the plain row whose key stands farthest from it.

    names: layer, head, heads (of this kind), row, word (what the row predicts), key and read (what it reads).
    """
    trace = run.trace
    layer, head = results.default_head(run.request, kind).index
    weights = trace.attention(kind)[layer, head]
    outputs, keys = trace.source_tokens if kind == "encoder" else trace.target_tokens, keys_of(trace, kind)
    row = _farthest_plain_row(weights, outputs, keys, translated_keys(run) if kind == "cross" else None)
    words, named = readable(outputs), readable(keys)
    ranked = np.argsort(-weights[row], kind="stable")
    best, shares = int(ranked[0]), [percent(float(weight)) for weight in weights[row]]
    others = sorted((key for key in ranked if is_word(named[key])), key=lambda key: not is_whole_word(keys, key))
    options = token_options(keys, (best, *others), weights[row], lambda key: f"That gets {shares[key]}.")
    return Answer(
        Kind.ONE,
        f"While it writes {quoted(words[row])}, this head looks at {quoted_at(named, best)}: {shares[best]}.",
        "The largest weights of this row: "
        + ", ".join(f"{quoted_at(named, key)} {shares[key]}" for key in ranked[:MOST_OPTIONS])
        + ".",
        options,
        largest(options),
        names=head_names(layer, head)
        | {"heads": trace.attention(kind)[..., 0, 0].size, "row": row, "word": words[row]}
        | {"key": best, "read": named[best]},
    )


def _agreed(trace: Trace) -> np.ndarray:
    return aligned_keys(trace.cross, trace.source_tokens, trace.target_tokens)


def translated_keys(run: Run) -> np.ndarray:
    """Return the key on which all heads agree for each row, -1 where a reader could not tell that it is translated.

    The gloss of the row's token must name the key; a token without a gloss must be long.
    """
    language, keys = language_of(run), _agreed(run.trace).copy()
    words = [word.removeprefix(SPACE).lower() for word in run.trace.source_tokens]
    for row, token in enumerate(run.trace.target_tokens if glosses(language) else ()):
        bare = token.removeprefix(SPACE)
        known = meanings_of(bare, language)
        if words[keys[row]] not in known if known else len(bare) <= LONGEST_ARTICLE:
            keys[row] = -1
    return keys


def _farthest_plain_row(
    weights: np.ndarray, words: Sequence[str], keys: Sequence[str], agreed: np.ndarray | None
) -> int:
    """Return the row whose one large weight stands farthest from its own place, whole words first.

    agreed: the key of each row on which it must stand. Raises Undecided without any row that has one.
    """
    largest_key, leads = weights.argmax(axis=1), [lead(row) for row in weights]
    rows = [
        row
        for row, key in enumerate(largest_key)
        if is_word(words[row]) and is_word(keys[key]) and leads[row] >= PLAIN and (agreed is None or agreed[row] == key)
    ]
    if not rows:
        raise Undecided("No row of this head reads one word clearly more than all others here.")
    whole = [row for row in rows if is_whole_word(words, row) and is_whole_word(keys, largest_key[row])]
    whole = [row for row in whole if words[row] != keys[largest_key[row]]] or whole  # a name that stays would tell
    return max(whole or rows, key=lambda row: (abs(row - largest_key[row]), leads[row]))


@measure
def without_word(run: Run) -> Answer:
    """Ask what is left of the translation when one source word is hidden from every head of cross-attention.

    It is a negation where the sentence has one, else the word that the fewest other tokens depend on. names: word, key
    (its number among the words, from 1), translation, left.
    """
    before, words, left = _hidden_words(run)
    text = before.target_text
    changed = [at for at in range(len(words)) if only_words(left[at]) != only_words(text)]
    once = [each for each in changed if is_word(words[each]) and words.count(words[each]) == 1]
    hidable = sorted(once, key=lambda each: (not _is_negation(words[each]), -_alike(text, left[each])))
    lost = {each: _lost_word(words[each], text, left[each], language_of(run)) for each in hidable}
    number = next((each for each in hidable if lost[each] is not None), None)
    if number is None:
        raise Undecided("No word that stands here once takes along a word that would show which one was hidden.")
    changed = [each for each in changed if not lost[number] or lost[number] in only_words(left[each]).split()]
    others = sorted(changed, key=lambda each: -_alike(left[number], left[each]))
    feedback = {left[number]: "", text: "That is the translation when no word is hidden."}
    for each in others:
        if only_words(left[each]) not in map(only_words, feedback):
            feedback[left[each]] = f"That is the translation without {quoted_at(words, each, 'word')}."
    texts = list(feedback)[:MOST_OPTIONS]
    if max(map(len, texts)) > LONGEST:
        raise Undecided("This translation is too long to choose among several ways to read it.")
    hidden, looks = quoted_at(words, number, "word"), told_apart(texts, language_of(run))
    return Answer(
        Kind.ONE,
        f"Without {hidden} the model writes {translated(left[number])}",
        f"With all words it writes {translated(text)} Only {hidden} is hidden: the other words still say the rest.",
        tuple(Option(str(at), look, feedback[each]) for at, (each, look) in enumerate(zip(texts, looks, strict=True))),
        {"0"},
        names={"word": words[number], "key": number, "translation": text, "left": left[number]},
    )


def _lost_word(word: str, full: str, left: str, language: str) -> str | None:
    """Return a word that is lost with a hidden one whose translation it is; "" in a language without glosses."""
    names = NEGATIONS if _is_negation(word) else {word.removeprefix(SPACE).lower()}
    lost = sorted(translations_of(names, full, language) - {*only_words(left).split()})
    return "" if not glosses(language) else lost[0] if lost else None


def _is_negation(word: str) -> bool:
    return word.lower() in NEGATIONS or word.lower().endswith(("n't", "n’t"))


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
    return before, words, [decode(each.ids) for each in run.study.without_each_word()]


@measure
def harmless_words(run: Run) -> Answer:
    """Ask which words, no marks, can be hidden, one at a time, and the translation stays the same.

    names: key (the number of the first of them among the words, from 1).
    """
    before, words, left = _hidden_words(run)
    full, hidable = before.target_text, [at for at, word in enumerate(words) if is_word(word)]
    harmless = [at for at in hidable if left[at] == full]
    missed = [at for at in hidable if only_words(left[at]) != only_words(full)]
    if not harmless or not missed:
        raise Undecided("Each word is missed here when it is hidden, or none.")
    chosen = sorted([*harmless[:_PER_SORT], *missed[:_PER_SORT]])
    name = [quoted_at(words, number, "word") for number in range(len(words))]
    return Answer(
        Kind.SEVERAL,
        f"Hidden alone, {listed([name[each] for each in harmless])} change{'s' * (len(harmless) == 1)} nothing.",
        f"Without {name[missed[0]]} the model writes {translated(left[missed[0]])}",
        tuple(Option(str(each), name[each], f"Without it: {translated(left[each])}") for each in chosen),
        {str(each) for each in harmless[:_PER_SORT]},
        names={"key": harmless[0]},
    )


@measure
def mean_of_heads(run: Run) -> Answer:
    """Ask for the mean of all cross-attention heads in percent, at the weight that `most_read` asks for.

    names: layer, head, row, key, word, read, weight (of the one head), heads (how many there are), layers,
    heads_each.
    """
    trace, at = run.trace, results.default_head(run.request, "cross").index
    row = _farthest_plain_row(trace.cross[at], trace.target_tokens, trace.source_tokens, translated_keys(run))
    key = int(trace.cross[at][row].argmax())
    weights = trace.cross[..., row, key]
    weight, mean = float(weights[at]), float(weights.mean(dtype=np.float64))
    if abs(weight - mean) < NEAR:
        raise Undecided("One head and the mean of all hardly differ here.")
    word, read = readable(trace.target_tokens)[row], readable(trace.source_tokens)[key]
    return Answer(
        Kind.NUMBER,
        f"On average the {weights.size} heads give {percent(mean)} to {quoted(read)}, the one head {percent(weight)}.",
        f"Add the weights of {quoted(read)} in all heads while the model writes {quoted(word)}, and divide "
        f"the sum by {weights.size}: {percent(mean)}.",
        **in_percent(mean),
        names=head_names(*at)
        | {"row": row, "key": key, "word": word, "read": read, "weight": weight, "heads": weights.size}
        | {"layers": weights.shape[0], "heads_each": weights.shape[1]},
    )


@measure
def lines_cross(run: Run) -> Answer:
    """Ask for a sentence in which two lines cross: a later output word reads an earlier source word.

    names: layer and head that show it most plainly; the first head where it has such lines, or where none has.
    """
    trace, first = run.trace, results.default_head(run.request, "cross").index
    outputs, sources = whole_words(trace.target_tokens), whole_words(trace.source_tokens)
    mean = trace.cross.mean(axis=(0, 1))
    crossings = [
        (head == first, *(min(float(table[line]) for line in pair) for table in (mean, trace.cross[head])), head, pair)
        for head in np.ndindex(trace.cross.shape[:2])
        for pair in combinations(aligned_lines(trace, head), 2)  # by rows they are in order
        if pair[0][1] > pair[1][1]
        and len({outputs[row] for row, _ in pair}) == len({sources[key] for _, key in pair}) == 2
    ]
    *_, at, pair = max(crossings, default=(first, ()))
    written, read = readable(trace.target_tokens), readable(trace.source_tokens)
    truth = "No two thick lines from a word to its translation cross in this sentence."
    if pair:
        words, keys = quoted_all(written[row] for row, _ in pair), quoted_all(read[key] for _, key in pair)
        truth = f"The lines of {words} cross: they go to {keys}, which stand in the other order in your sentence."
    lines = [f"{quoted(written[row])} looks at {quoted(read[key])}" for row, key in aligned_lines(trace, at)]
    return Answer(
        Kind.DO,
        truth,
        f"Lines cross where both languages order words differently. Now {listed(lines) or 'no line is thick'}.",
        done=bool(pair),
        names=head_names(*at),
    )


def aligned_lines(trace: Trace, head: tuple[int, int]) -> list[tuple[int, int]]:
    """Return row and key of each line of a head from LINE on to the word on which all heads plainly agree."""
    mean, weights, agreed = trace.cross.mean(axis=(0, 1)), trace.cross[head], _agreed(trace)
    lines = [(row, int(key)) for row, key in enumerate(agreed) if key >= 0 and weights[row].argmax() == key]
    return [line for line in lines if weights[line] >= LINE and mean[line] >= AGREED]


def whole_words(tokens: Sequence[str]) -> list[str]:
    """Return for each token the word that it belongs to."""
    words = list(tokens)
    for positions in word_ranges(tokens):
        words[positions.start : positions.stop] = ["".join(tokens[at] for at in positions)] * len(positions)
    return words
