"""Shared parts of measures: margins, options made of tokens, and names of heads, tokens and numbers."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from os.path import commonprefix
from typing import Any
from unicodedata import normalize

import numpy as np

from headlight.app import results
from headlight.app.finding import TokenAt
from headlight.lessons.answer import Option, Run, Undecided
from headlight.lessons.glosses import fitting, glosses, shown_glosses
from headlight.lessons.words import Say
from headlight.plots.numbers import LEAST_SHOWN
from headlight.plots.tokens import BLANK, CONTINUED, nothing, quoted, shown_token, shown_tokens
from transformer.data.tokenizer import SPACE
from transformer.interpret.head_patterns import is_word, word_ranges
from transformer.interpret.trace import Trace
from transformer.model.heads import Head, Heads

NEAR = 0.1  # between two weights, or shares of rows: less does not decide
NEAR_NATS = 0.2  # between two log-probabilities, what they lose, or two entropies
MISSED = 1.0  # nats that are lost at least where something is called a cause
NEAR_CHANCES = 0.05  # between two probabilities
MOST_OPTIONS = 4
_WORD = re.compile(r"[\w'’-]+")
ACCENTS = dict.fromkeys(range(0x300, 0x370))  # a normal form has them as letters of their own


def token_options(tokens: Sequence[str], positions: Iterable[int], values: np.ndarray) -> tuple[Option, ...]:
    """Return an option, its token, for the first MOST_OPTIONS positions of a sentence. Raises Undecided."""
    chosen, names = list(dict.fromkeys(map(int, positions)))[:MOST_OPTIONS], readable(tokens)
    if len(chosen) < 2:
        raise Undecided("one_word")
    return tuple(Option(str(at), value=float(values[at]), values={"token": TokenAt(names, at)}) for at in chosen)


def head_names(layer: int, head: int) -> dict[str, Any]:
    """Return the names of a head: layer, head and head_name."""
    return {"layer": layer, "head": head, "head_name": Say("head_name", {"layer": layer, "head": head})}


def first_head(run: Run, kind: str) -> dict[str, Any]:
    """Return the names of the head of a kind to begin with: those of `head_names`, its first dimension, and d_k."""
    layer, head = results.default_head(run.request, kind).index
    d_k = run.translator.model.config.d_k
    return head_names(layer, head) | {"dimension": head * d_k, "d_k": d_k}


def head_in(address: Mapping[str, str]) -> Head | None:
    """Return the head of an address, None where it names no single one."""
    heads = Heads.parse(address.get("head", ""))
    return heads if isinstance(heads, Head) else None


def lead(row: np.ndarray) -> float:
    """Return the distance of a row's largest number to the second, 0 for fewer than two."""
    return float(np.subtract(*np.sort(row)[:-3:-1])) if len(row) > 1 else 0.0


def readable(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return tokens as sentences name them: a piece that continues a word as ·s, nothing but a blank as ␣."""
    shown = shown_tokens(tokens)
    return tuple(
        look if look.startswith(CONTINUED) else BLANK if token == SPACE else token
        for token, look in zip(tokens, shown, strict=True)
    )


def row_tokens(trace: Trace, kind: str) -> tuple[str, ...]:
    """Return the token that each row of a kind of attention predicts, in the encoder its own, as sentences name it."""
    return readable(trace.source_tokens if kind == "encoder" else trace.target_tokens)


def readable_candidates(trace: Trace, tokens: Sequence[str]) -> tuple[str, ...]:
    """Return tokens that might stand in a translation as sentences name them (see `readable`)."""
    if not any(token.startswith(SPACE) for token in (*trace.target_tokens, *tokens)):
        return tuple(tokens)  # a task of letters
    shown = map(shown_token, tokens)
    return tuple(look if look.startswith(CONTINUED) else token for token, look in zip(tokens, shown, strict=True))


def is_whole_word(tokens: Sequence[str], at: int) -> bool:
    """Return whether a token is a word of its own, not a part of one."""
    return tokens[at].startswith(SPACE) and range(at, at + 1) in word_ranges(tokens)


def is_a_form(one: str, other: str) -> bool:
    """Return whether one token continues the other, gern and gerne, or ends otherwise: bois, boit, Tokio, Tōkyō."""
    letters = [normalize("NFD", token.removeprefix(SPACE).lower()).translate(ACCENTS) for token in (one, other)]
    shared = len(commonprefix(letters))
    return shared == min(map(len, letters)) or (shared >= 3 and 2 * shared >= max(map(len, letters)))


def only_words(text: str) -> str:
    """Return a text in small letters without its marks."""
    return re.sub(r"\W+", " ", text).strip().lower()


def language_of(run: Run) -> str:
    """Return the language that a run translates into, "" where the checkpoint does not say it."""
    return str(run.translator.checkpoint.data.get("target_language", ""))


def told_apart(texts: Sequence[str], language: str, sentence: str = "") -> list[str]:
    """Return translations in quotation marks: words that not all of them have alike are **bold**, with glosses.

    sentence: the English one, which tells the meanings of a word apart.
    """
    meanings, counts = shown_glosses(language), [Counter(_WORD.findall(text.lower())) for text in texts]
    different = {word for each in counts for word in each if len({count[word] for count in counts}) > 1}

    def look(match: re.Match[str]) -> str:
        word, known = match[0], _meaning(match[0], meanings)
        return f"**{word}**{f' ({fitting(known, sentence)})' if known else ''}" if word.lower() in different else word

    return [quoted(_WORD.sub(look, text)) if text else nothing() for text in texts]


def _meaning(word: str, meanings: Mapping[str, str]) -> str:
    forms = word, word.lower(), word.lower().rpartition("'")[2]
    return next((meanings[form] for form in forms if form in meanings), "")


def meanings_of(word: str, language: str) -> set[str]:
    """Return the English words in the gloss of a word, none without a gloss."""
    return {*re.findall(r"\w+", _meaning(word, glosses(language)))}


def translations_of(words: Set[str], text: str, language: str) -> set[str]:
    """Return the words of a translation, in small letters, whose gloss has one of these English words."""
    return {word.lower() for word in re.findall(r"\w+", text) if words & meanings_of(word, language)}


def moved(loss: float) -> Say:
    """Return the change of a log P that loses so many nats in words: "falls by 0.43", "rises by 0.12"."""
    by = abs(float(loss))
    return Say("stays" if by < LEAST_SHOWN else "falls" if loss > 0 else "rises", {"by": by})


def word_steps(trace: Trace) -> list[int]:
    """Return the steps, from 0, that were open to choice and write a word or a part of one."""
    return [step for step in trace.scored_steps if is_word(trace.target_tokens[step])]


def require_greedy(run: Run) -> None:
    """Raise Undecided unless the translation is what greedy decoding finds."""
    if not run.trace.is_greedy.all():
        raise Undecided("greedy_only")
