"""How tokens, heads and numbers are written in figures and sentences."""

import functools
import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transformer.config import ModelConfig, NormType
from transformer.data.tokenizer import SPACE
from transformer.interpret.head_patterns import HeadMeasures, Pattern, is_punctuation
from transformer.interpret.trace import RowLabel
from transformer.interpret.what_if.intervention import Heads

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

# How tokens look, the same as in headlight/components/lib/tokens.js.
GLYPHS = {"</s>": "⟨end⟩", "<s>": "⟨start⟩", "<pad>": "⟨pad⟩", "<unk>": "⟨unknown⟩"}
CONTINUED = "·"  # before a token that goes on with the word before it, where the two cannot be joined
BLANK = "␣"  # a token, or a part of one, that is nothing but a blank
JOINTS = (" | ", " → ")  # within a label of two tokens; no token has a space
_LANGUAGE = re.compile(r">>.*<<|__\w+__|[a-z]{2,3}_[A-Z][A-Za-z]{1,3}")  # of Marian and M2M-100, of NLLB and mBART
_NAMED = re.compile(r"<.+>")  # a special token without a glyph, or a byte: "<mask>", "<0xC3>"
_ENDS_A_WORD = frozenset({"</s>", "<s>", "<pad>", SPACE})

# Source Sans, the page's font: each word names how many 48ths of a letter's height the signs after it are wide.
_SIGNS = (
    "12',.:;ij|·‘’ 13Il 14! 15()-[]f{}⟨⟩ 16° 17/\\rt 21\"*?sz“”„ 22cx 23JYvy 240123456789#$+<=>FL^_ek~– 25VXag 26ESTZ "
    "27A`bdhnopqu 28CKPRß 29B 30&DG→ 31U␣ 32HNOQ 35Mw 38W▁— 40% 41@ 44m 46…"
)
_WIDTHS = {" ": 10 / 48} | {sign: int(word[:2]) / 48 for word in _SIGNS.split() for sign in word[2:]}

LEAST_SHOWN = 0.005  # nats, or a share: two digits do not show less
NOTHING = "(nothing: the model ended the sentence at once)"  # in place of an empty translation

KIND_NAMES = {
    "encoder": "Encoder self-attention",
    "decoder": "Masked decoder self-attention",
    "cross": "Cross-attention",
}
ROW_LABELS = {"both tokens": RowLabel.BOTH, "output token": RowLabel.PREDICTED, "input token": RowLabel.FED}
AVERAGE = "average"  # over all layers or heads, in place of the number of one

# Where a head of each pattern has the largest weight of a row.
PATTERN_WORDS = {
    Pattern.PREVIOUS: "on the token before",
    Pattern.SAME: "on the row's own token, for a decoder row its input token",
    Pattern.NEXT: "on the token after",
    Pattern.MIRRORED: "on one line parallel to the antidiagonal",
    Pattern.END: "on the end of sentence",
    Pattern.BEGINNING: "on the beginning of sentence",
    Pattern.PUNCTUATION: "on a punctuation mark",
    Pattern.OUTPUT_ALIGNMENT: "on the source word aligned with the row's output token",
    Pattern.INPUT_ALIGNMENT: "on the source word aligned with the row's input token",
}
# Counted over all rows with a choice, also those that could not: decoder rows before the first punctuation mark, and
# rows that the line against the diagonal does not cross.
OF_ALL_ROWS = (Pattern.MIRRORED, Pattern.PUNCTUATION)


@dataclass(frozen=True)
class Finding:
    """What a figure shows of this very example: a headline of at most 12 words, and what belongs to it.

    As text, in captions, it is both.
    """

    headline: str
    more: str = ""

    def __str__(self) -> str:
        return f"{self.headline} {self.more}".rstrip()


@dataclass(frozen=True)
class TokenCell:
    """A token in a table as it looks, with what stands below it; pointing at it shows what it is to the letter."""

    token: str
    shown: str
    below: str = ""

    def html(self, tag: str, attributes: str = "") -> str:
        """Return the cell of an HTML table."""
        return f'<{tag}{attributes} title="{html.escape(self.token)}">{html.escape(self.shown + self.below)}</{tag}>'


def norm_name(config: ModelConfig) -> str:
    """Return what a model's norms are called."""
    return "RMSNorm" if config.norm_type == NormType.RMS else "LayerNorm"


def with_norms(sentence: str, config: ModelConfig) -> str:
    """Return a sentence about the paper's LayerNorms as it holds for a model, whose norms may be others."""
    return sentence.replace("LayerNorm", norm_name(config))


def token_label(token: str) -> str:
    """A token for a tick or a hover text: escaped, since Plotly renders HTML and the token may be a user's text."""
    return html.escape(token, quote=False)


# Where a token begins in a sentence: at its start, after a blank, a quotation mark, or between two of one label.
_TOKEN_MARK = re.compile(rf"(?<![^\s“|]){SPACE}(?=[^\s”|])")
_SPECIAL_IN_SENTENCE = re.compile(rf"(?<![^\s“|])(?:{'|'.join(map(re.escape, GLYPHS))})(?![^\s”|.,:;])")


def chip_text(token: str) -> str:
    """Return a token as it looks in a row of chips, joined to those of its word: "teacher", "⟨end⟩"."""
    if token in GLYPHS:
        return GLYPHS[token]
    return token.removeprefix(SPACE).replace(SPACE, BLANK) or BLANK[: len(token)]


def shown_token(token: str) -> str:
    """Return a token as it looks alone: "teacher", one that continues a word "·s", a special one "⟨end⟩"."""
    return f"{CONTINUED}{chip_text(token)}" if _continues(token) else chip_text(token)


def shown_tokens(labels: Sequence[str]) -> list[str]:
    """Return the tokens of a sentence as they look on an axis, or labels of two tokens each: "liebe → meinen".

    The first one continues nothing, nor does what follows a special token or a blank; where no token has the mark of a
    word's beginning, as in the tasks of letters, none continues another.
    """
    return list(_shown_tokens(tuple(labels)))


@functools.lru_cache(maxsize=256)  # a figure asks for the same ones a dozen times, to fit itself into its room
def _shown_tokens(labels: tuple[str, ...]) -> tuple[str, ...]:
    for joint in JOINTS:
        if any(joint in label for label in labels):
            firsts, seconds = zip(*((*label.split(joint, 1), "")[:2] for label in labels), strict=True)
            pairs = zip(labels, _shown_tokens(firsts), _shown_tokens(seconds), strict=True)
            return tuple(f"{one}{joint}{other}" if joint in label else one for label, one, other in pairs)
    if not any(label.startswith(SPACE) for label in labels):
        return tuple(map(chip_text, labels))
    befores = ("</s>", *labels)
    return tuple(
        chip_text(label) if before in _ENDS_A_WORD or _LANGUAGE.fullmatch(before) else shown_token(label)
        for before, label in zip(befores, labels, strict=False)
    )


def in_words(sentence: str) -> str:
    """Return a sentence that names tokens, “▁my”, as it reads: without the mark ▁, special tokens as ⟨end⟩."""
    shown = _TOKEN_MARK.sub("", sentence).replace(f"“{SPACE}”", f"“{BLANK}”")
    return _SPECIAL_IN_SENTENCE.sub(lambda found: GLYPHS[found[0]], shown)


def token_cells(tokens: Sequence[str]) -> list[TokenCell]:
    """Return the tokens of a sentence as cells of a table."""
    return [TokenCell(*pair) for pair in zip(tokens, shown_tokens(tokens), strict=True)]


def _continues(token: str) -> bool:
    """Tell whether a token goes on with the word before it, by itself: punctuation marks and special tokens do not."""
    is_named = _LANGUAGE.fullmatch(token) or _NAMED.fullmatch(token)
    return bool(token) and not (token.startswith(SPACE) or is_named or is_punctuation(token))


def head_name(layer: int | None, head: int | None, layers: int, heads: int) -> str:
    """A head counted from 1, or what an average goes over, such as "average over the 8 heads of layer 2"."""
    if layer is not None and head is not None:
        return one_head_name(layer, head)
    if layer is not None:
        return f"average over the {pluralize(heads, 'head')} of layer {layer + 1}"
    if head is not None:
        return f"average over head {head + 1} of all {pluralize(layers, 'layer')}"
    return f"average over all {pluralize(layers, 'layer')} and {pluralize(heads, 'head')}"


def one_head_name(layer: int, head: int) -> str:
    """A head counted from 1: "layer 3, head 4"."""
    return f"layer {layer + 1}, head {head + 1}"


def kind_words(kind: str) -> str:
    """A kind of attention within a sentence: "cross-attention"."""
    name = KIND_NAMES[kind]
    return f"{name[0].lower()}{name[1:]}"


def kind_head_name(heads: Heads) -> str:
    """One head with its kind of attention, within a sentence: "cross-attention layer 3, head 4"."""
    return f"{kind_words(heads.kind)} {one_head_name(heads.layer, heads.head)}"  # type: ignore[arg-type]


def sentence_case(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def pluralize(count: int, noun: str) -> str:
    """A number with its noun: "1 head", "8 heads", "8,000 tokens"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def signed(value: float, digits: int = 4) -> str:
    """A number with a true minus sign, and without one before zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.") else text.replace("-", "−")


def scientific(value: float, digits: int = 3) -> str:
    """A small number with so many significant digits: 6.99·10⁻⁴; 0 for exactly 0."""
    if not value:
        return "0"
    number, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{number}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def format_error(value: float) -> str:
    """A numerical error with one digit: 6·10⁻⁸; 0 for exactly 0."""
    return scientific(value, digits=1)


def short_weight(value: float) -> str:
    """Two decimals, as in every sentence, without the leading zero, as statistics tables have it: .07, .99, 1.00."""
    return f"{value:.2f}".removeprefix("0")


def format_probability(probability: float) -> str:
    """A probability in percent with one decimal, small ones with one digit; never rounded to all or to nothing."""
    probability = float(probability)  # float32 would round once more, at 100 times the probability
    if probability > 0.999:
        return "> 99.9 %"
    if probability < 1e-6:
        return "< 0.0001 %"
    return f"{probability * 100:.{1 if probability >= 0.001 else -int(np.floor(np.log10(probability))) - 2}f} %"


def two_digits(value: float) -> str:
    """A value as it stands in a small cell: ".59", "−.12", "2.2", "11"; "0" for what rounds to nothing."""
    if abs(value) < LEAST_SHOWN:
        return "0"
    if abs(value) < 0.995:
        return signed(value, 2).replace("0.", ".", 1)
    return signed(value, 1 if abs(value) < 9.95 else 0)


def percent(share: float) -> str:
    """A share in whole percent; "under 1 %" and "over 99 %" where rounding would claim too much."""
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.995 <= share < 1:
        return "over 99 %"
    return f"{share * 100:.0f} %"


def pattern_words(head: HeadMeasures, pattern: Pattern) -> str:
    """How many rows follow a pattern: "in 11 of the 12 rows that could (92 %) the largest weight is on the token
    before".
    """
    count = head.counts[pattern]
    rows = pluralize(count.eligible, "row")
    could = "" if pattern in OF_ALL_ROWS else " that could"
    share = f"{count.rows} of the {rows}{could} ({percent(head.shares[pattern])})"
    return f"in {share} the largest weight is {PATTERN_WORDS[pattern]}"


def quoted(token: str) -> str:
    """A token between quotation marks, its word boundary as written by the tokenizer."""
    return f"“{token}”"


def quoted_at(tokens: Sequence[str], place: int, noun: str = "position") -> str:
    """A token between quotation marks; where another one reads the same, with its number, from 1: “▁no” (query 3)."""
    number = f" ({noun} {place + 1})" if list(tokens).count(tokens[place]) > 1 else ""
    return quoted(tokens[place]) + number


def format_distinct(*values: float, digits: int = 2, most: int = 7) -> list[str]:
    """Numbers with so many decimals, or more where fewer would make two different ones look equal."""
    while digits < most and len({signed(value, digits) for value in values}) < len(set(values)):
        digits += 1
    return [signed(value, digits) for value in values]


def text_width(text: str, size: float) -> float:
    """Return the pixels that a text takes on the page in letters of this size: hardly ever less than it does."""
    return size * sum(_WIDTHS.get(unicodedata.normalize("NFD", sign)[0], 1.0) for sign in text)
