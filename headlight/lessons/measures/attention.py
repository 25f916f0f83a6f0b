"""Measures of what heads read in the run's sentence, and of what is lost where they may not read it."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from headlight.app import results
from headlight.app.finding import TokenAt
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, one_of, percentage
from headlight.lessons.glosses import glosses
from headlight.lessons.words import Say
from transformer import Greedy
from transformer.data.tokenizer import SPACE
from transformer.interpret.head_patterns import aligned_keys, is_word, word_ranges, words_of
from transformer.interpret.trace import Trace, keys_of

from .wording import (
    MOST_OPTIONS,
    NEAR,
    head_names,
    is_a_form,
    is_whole_word,
    language_of,
    lead,
    meanings_of,
    only_words,
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

    names: layer, head, heads (of this kind), row, word (what the row predicts), key, read and token (what it reads),
    value (its weight), and largest, the row's largest weights by the template weight.
    """
    trace = run.trace
    layer, head = results.default_head(run.request, kind).index
    weights = trace.attention(kind)[layer, head]
    outputs, keys = trace.source_tokens if kind == "encoder" else trace.target_tokens, keys_of(trace, kind)
    row = _farthest_plain_row(weights, outputs, keys, translated_keys(run, sure=True) if kind == "cross" else None)
    words, named = readable(outputs), readable(keys)
    ranked = [int(key) for key in np.argsort(-weights[row], kind="stable")]
    others = sorted((key for key in ranked if is_word(named[key])), key=lambda key: not is_whole_word(keys, key))
    largest = [{"token": TokenAt(named, key), "share": float(weights[row, key])} for key in ranked[:MOST_OPTIONS]]
    return one_of(
        token_options(keys, (ranked[0], *others), weights[row]),
        **head_names(layer, head)
        | {"heads": trace.attention(kind)[..., 0, 0].size, "row": row, "word": words[row]}
        | {"key": ranked[0], "read": named[ranked[0]], "largest": tuple(Say("weight", each) for each in largest)},
    )


def _agreed(trace: Trace) -> np.ndarray:
    return aligned_keys(trace.cross, trace.source_tokens, trace.target_tokens)


def translated_keys(run: Run, *, sure: bool = False) -> np.ndarray:
    """Return the key on which all heads agree for each row, -1 where a reader could not tell that it is translated.

    The gloss of the row's token must name the key; a token without a gloss must be long, or to be sure a form of it.
    """
    language, keys = language_of(run), _agreed(run.trace).copy()
    words = [word.removeprefix(SPACE).lower() for word in run.trace.source_tokens]
    for row, token in enumerate(run.trace.target_tokens if glosses(language) else ()):
        bare, word = token.removeprefix(SPACE), words[keys[row]]
        known = meanings_of(bare, language)
        alike = is_a_form(bare, word) if sure else len(bare) > LONGEST_ARTICLE
        if not (word in known if known else alike):
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
        raise Undecided("no_plain_row")
    whole = [row for row in rows if is_whole_word(words, row) and is_whole_word(keys, largest_key[row])]
    whole = [row for row in whole if words[row] != keys[largest_key[row]]] or whole  # a name that stays would tell
    return max(whole or rows, key=lambda row: (abs(row - largest_key[row]), leads[row]))


@measure
def without_word(run: Run) -> Answer:
    """Ask what is left of the translation when one source word is hidden from every head of cross-attention.

    It is a negation where the sentence has one, else the word that the fewest other tokens depend on. names: word, key
    (its number among the words, from 1), hidden, translation, left. Of an option: look (its text), and why: all_words
    or without, a template with the option's hidden word.
    """
    before, words, left = _hidden_words(run)
    text = before.target_text
    changed = [at for at in range(len(words)) if only_words(left[at]) != only_words(text)]
    once = [each for each in changed if is_word(words[each]) and words.count(words[each]) == 1]
    hidable = sorted(once, key=lambda each: (not _is_negation(words[each]), -_alike(text, left[each])))
    lost = {each: _lost_word(words[each], text, left[each], language_of(run)) for each in hidable}
    number = next((each for each in hidable if lost[each] is not None), None)
    if number is None:
        raise Undecided("no_telling_word")
    changed = [each for each in changed if not lost[number] or lost[number] in only_words(left[each]).split()]
    others = sorted(changed, key=lambda each: -_alike(left[number], left[each]))
    without = {left[number]: Say("truth"), text: Say("all_words")}
    for each in others:
        if only_words(left[each]) not in map(only_words, without):
            without[left[each]] = Say("without", {"hidden": TokenAt(words, each, "word")})
    texts = list(without)[:MOST_OPTIONS]
    if max(map(len, texts)) > LONGEST:
        raise Undecided("too_long_to_choose")
    looks = zip(texts, told_apart(texts, language_of(run), run.request.text), strict=True)
    options = (Option(str(at), values={"look": look, "why": without[each]}) for at, (each, look) in enumerate(looks))
    names: dict[str, Any] = {"word": words[number], "key": number, "translation": text, "left": left[number]}
    return one_of(options, "0", hidden=TokenAt(words, number, "word"), **names)


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
        raise Undecided("greedy_only")
    before = run.trace
    words = words_of(before.source_tokens)
    if len(words) < 2:
        raise Undecided("no_two_words_to_hide")
    decode = run.translator.tokenizer.decode
    return before, words, [decode(each.ids) for each in run.study.without_each_word()]


@measure
def harmless_words(run: Run) -> Answer:
    """Ask which words, no marks, can be hidden, one at a time, and the translation stays the same.

    names: key (the number of the first of them among the words, from 1), harmless (all of them), count; missed, a word
    that is not, and left, what is left without it. Of an option: token and left.
    """
    before, words, left = _hidden_words(run)
    full, hidable = before.target_text, [at for at, word in enumerate(words) if is_word(word)]
    harmless = [at for at in hidable if left[at] == full]
    missed = [at for at in hidable if only_words(left[at]) != only_words(full)]
    if not harmless or not missed:
        raise Undecided("all_words_missed_or_none")
    chosen, token = sorted([*harmless[:_PER_SORT], *missed[:_PER_SORT]]), partial(TokenAt, words, noun="word")
    return Answer(
        Kind.SEVERAL,
        options=tuple(Option(str(at), values={"token": token(at), "left": left[at]}) for at in chosen),
        right={str(at) for at in harmless[:_PER_SORT]},
        names={"key": harmless[0], "harmless": tuple(map(token, harmless)), "count": len(harmless)}
        | {"missed": token(missed[0]), "left": left[missed[0]]},
    )


@measure
def mean_of_heads(run: Run) -> Answer:
    """Ask for the mean of all cross-attention heads in percent, at the weight that `most_read` asks for.

    names: layer, head, row, key, word, read, weight (of the one head), mean, heads (how many there are), layers,
    heads_each.
    """
    trace, at = run.trace, results.default_head(run.request, "cross").index
    row = _farthest_plain_row(
        trace.cross[at], trace.target_tokens, trace.source_tokens, translated_keys(run, sure=True)
    )
    key = int(trace.cross[at][row].argmax())
    weights = trace.cross[..., row, key]
    weight, mean = float(weights[at]), float(weights.mean(dtype=np.float64))
    if abs(weight - mean) < NEAR:
        raise Undecided("head_like_mean")
    word, read = readable(trace.target_tokens)[row], readable(trace.source_tokens)[key]
    names = {"row": row, "key": key, "word": word, "read": read, "weight": weight, "mean": mean}
    names |= {"heads": weights.size, "layers": weights.shape[0], "heads_each": weights.shape[1]}
    return percentage(mean, **head_names(*at), **names)


@measure
def lines_cross(run: Run) -> Answer:
    """Ask for a sentence in which two lines cross: a later output word reads an earlier source word.

    names: layer and head that show it most plainly; the first head where it has such lines, or where none has; outputs
    and sources (the tokens of two lines that cross) and lines (all thick ones, by the template line, or no_line).
    """
    trace, first = run.trace, results.default_head(run.request, "cross").index
    outputs, sources = whole_words(trace.target_tokens), whole_words(trace.source_tokens)
    mean = trace.cross.mean(axis=(0, 1))
    crossings = [
        (head == first, *(min(float(table[line]) for line in pair) for table in (mean, trace.cross[head])), head, pair)
        for head in np.ndindex(trace.cross.shape[:2])
        for pair in combinations(aligned_lines(run, head), 2)  # by rows they are in order
        if pair[0][1] > pair[1][1]
        and len({outputs[row] for row, _ in pair}) == len({sources[key] for _, key in pair}) == 2
    ]
    *_, at, pair = max(crossings, default=(first, ()))
    written, read = readable(trace.target_tokens), readable(trace.source_tokens)
    lines = (Say("line", {"word": written[row], "read": read[key]}) for row, key in aligned_lines(run, at))
    return Answer(
        Kind.DO,
        tells="truth" if pair else "truth_none",
        done=bool(pair),
        names=head_names(*at)
        | {"outputs": tuple(written[row] for row, _ in pair), "sources": tuple(read[key] for _, key in pair)}
        | {"lines": tuple(lines) or Say("no_line")},
    )


def aligned_lines(run: Run, head: tuple[int, int]) -> list[tuple[int, int]]:
    """Return row and key of each line of a head from LINE on to the word that is translated, see `translated_keys`."""
    mean, weights, agreed = run.trace.cross.mean(axis=(0, 1)), run.trace.cross[head], translated_keys(run)
    lines = [(row, int(key)) for row, key in enumerate(agreed) if key >= 0 and weights[row].argmax() == key]
    return [line for line in lines if weights[line] >= LINE and mean[line] >= AGREED]


def whole_words(tokens: Sequence[str]) -> list[str]:
    """Return for each token the word that it belongs to."""
    words = list(tokens)
    for positions in word_ranges(tokens):
        words[positions.start : positions.stop] = ["".join(tokens[at] for at in positions)] * len(positions)
    return words
