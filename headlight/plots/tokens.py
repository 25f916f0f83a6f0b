"""Tokens as text, in figures and sentences, by the rules of headlight/components/lib/tokens.js."""

import functools
import html
import re
from collections.abc import Sequence

from headlight.language import ENGLISH, LANGUAGES, convention, language, quotations, texts_beside
from transformer.data.tokenizer import SPACE
from transformer.interpret.content import is_language
from transformer.interpret.head_patterns import is_punctuation

GLYPHS = LANGUAGES[ENGLISH]["glyphs"]
CONTINUED = "·"  # before a token that continues a word, where it stands apart from that word
BLANK = "␣"  # a token, or a part of one, that is nothing but a blank
_JOINTS = (" | ", " → ")  # within a label of two tokens; no token has a space
_NAMED = re.compile(r"<.+>|\[[A-Z]+\]")  # a special token without a glyph, or a byte: "<mask>", "<0xC3>", "[SEP]"
_WORD_ENDS = frozenset({"</s>", "<s>", "<pad>", SPACE})

# The beginning of a token in a sentence: at its start, after a blank, a quotation mark, or between two of one label.
_TOKEN_MARK = re.compile(rf"(?<![^\s“|]){SPACE}(?=[^\s”|])")
_SPECIAL_IN_SENTENCE = re.compile(rf"(?<![^\s“|])(?:{'|'.join(map(re.escape, GLYPHS))})(?![^\s”|.,:;])")
nothing = functools.partial(texts_beside(__file__), "nothing")  # in place of an empty translation


def token_label(token: str) -> str:
    """Escape a token for a tick or a hover text: Plotly renders HTML, and the token may be a user's text."""
    return html.escape(token, quote=False)


def chip_text(token: str) -> str:
    """Return a token as it looks in a row of chips, joined to those of its word: "teacher", "⟨end⟩"."""
    if token in GLYPHS:
        return str(convention("glyphs")[token])
    return token.removeprefix(SPACE).replace(SPACE, BLANK) or BLANK[: len(token)]


def shown_token(token: str) -> str:
    """Return a token as it looks alone: "teacher", one that continues a word "·s", a special one "⟨end⟩"."""
    return f"{CONTINUED}{chip_text(token)}" if _continues(token) else chip_text(token)


def shown_tokens(labels: Sequence[str]) -> list[str]:
    """Return the tokens of a sentence as they look on an axis, or labels of two tokens each: "liebe → meinen".

    The first one continues nothing, nor does a token after a special one or a blank; where no token has the mark of a
    word's beginning, as in the tasks of letters, none continues another.
    """
    return list(_shown_tokens(tuple(labels), language()))


@functools.lru_cache(maxsize=256)  # a figure needs the same labels a dozen times to fit itself into its room
def _shown_tokens(labels: tuple[str, ...], interface: str) -> tuple[str, ...]:
    for joint in _JOINTS:
        if any(joint in label for label in labels):
            firsts, seconds = zip(*((*label.split(joint, 1), "")[:2] for label in labels), strict=True)
            pairs = zip(labels, _shown_tokens(firsts, interface), _shown_tokens(seconds, interface), strict=True)
            return tuple(f"{one}{joint}{other}" if joint in label else one for label, one, other in pairs)
    if not any(label.startswith(SPACE) for label in labels):
        return tuple(map(chip_text, labels))
    befores = ("</s>", *labels)
    return tuple(
        chip_text(label) if before in _WORD_ENDS or is_language(before) else shown_token(label)
        for before, label in zip(befores, labels, strict=False)
    )


def _continues(token: str) -> bool:
    """Return True for a token that continues a word by itself, unlike punctuation marks and special tokens."""
    is_named = is_language(token) or _NAMED.fullmatch(token)
    return bool(token) and not (token.startswith(SPACE) or is_named or is_punctuation(token))


def in_words(sentence: str) -> str:
    """Return a sentence that names tokens, “▁my”, as it reads: without the mark ▁, special tokens as ⟨end⟩.

    Quotations are written as in the language of the interface.
    """
    shown = _TOKEN_MARK.sub("", sentence).replace(f"“{SPACE}”", f"“{BLANK}”")
    return quotations(_SPECIAL_IN_SENTENCE.sub(lambda match: convention("glyphs")[match[0]], shown))


def spoken(text: str) -> str:
    """Return a token, or a sentence that names tokens, as screen readers say it: "I", "end"."""
    return in_words(text).replace("⟨", "").replace("⟩", "")


def quoted(token: str) -> str:
    """Return a token between quotation marks, its word boundary as written by the tokenizer."""
    return f"“{token}”"


def quoted_at(tokens: Sequence[str], index: int, noun: str = "position") -> str:
    """Return a token between quotation marks, with its number from 1 if another one equals it: “▁no” (query 3)."""
    number = f" ({convention('places').get(noun, noun)} {index + 1})" if list(tokens).count(tokens[index]) > 1 else ""
    return quoted(tokens[index]) + number
