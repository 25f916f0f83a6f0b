"""What a visitor should know before trusting a translation: another language than the model's, words hardly known."""

import re
import tomllib
from pathlib import Path

from headlight.plots.text import Finding, percent, signed
from transformer.decoding.output_statistics import MANY_TOKENS, OutputStatistics, split_words
from transformer.interpret.trace import Trace

RARE = 0.05  # of the corpus's sentences
LEAST_WORDS = 2  # that give a language away
_LANGUAGES = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
_LETTERS = {language: frozenset(signs["letters"]) for language, signs in _LANGUAGES.items()}
_SETS = {language: frozenset(signs["words"].split()) for language, signs in _LANGUAGES.items()}
_OWN = {
    language: words.difference(*(other for name, other in _SETS.items() if name != language))
    for language, words in _SETS.items()
}


def language_of(text: str) -> str | None:
    """Return the language that a text's function words tell, English name; None where they tell none.

    One language must have at least LEAST_WORDS of its own, and twice as many as any other.
    """
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower().replace("’", "'"))
    words += [f"{before}'" for before, _, after in (word.partition("'") for word in words) if after]
    words = list(dict.fromkeys(words))
    counts = {
        language: sum(word in own or not _LETTERS[language].isdisjoint(word) for word in words)
        for language, own in _OWN.items()
    }
    best = max(counts, key=lambda language: counts[language])
    others = max(count for language, count in counts.items() if language != best)
    return best if counts[best] >= max(LEAST_WORDS, 2 * others) else None


def describe_language(text: str, source_language: str) -> Finding | None:
    """Say that a text looks like another language than the one that the model reads; None where it does not."""
    seen = language_of(text)
    if source_language not in _SETS or seen in (None, source_language):
        return None
    return Finding(f"This looks like {seen}; the model reads {source_language}.")


def describe_depth(
    trace: Trace, usual: OutputStatistics | None, what: str = "sentence", *, drawn: bool = False
) -> Finding | None:
    """Say why a sentence seems too much for the model: it is surer, or knows more words, in nearly all others.

    None where it does not, or where nothing was measured to compare with. How sure it is of tokens that were `drawn`
    says nothing of the sentence. `what` is said to be out of its depth: the translation, where a token was forced.
    """
    if usual is None:
        return None
    # What frames a text, such as its language, covers no character of it, and is no word.
    pieces = zip(trace.source_tokens, trace.source_pieces, strict=False)
    split, words = split_words([token for token, piece in pieces if piece.end])
    mean, share, reasons = trace.mean_log_probability, split / max(1, words), []
    lower = usual.less_sure(mean)
    if lower <= RARE and not drawn:
        reasons.append(
            f"the mean log-probability of its output tokens is {signed(mean, 2)} (lower in {percent(lower)} of "
            "sentences)"
        )
    if split and usual.less_split(share) >= 1 - RARE:
        reasons.append(
            f"{percent(share)} of its words are split into {MANY_TOKENS} or more pieces "
            f"(usually {percent(usual.typical_split())})"
        )
    if not reasons:
        return None
    corpus = f"Usual is what {usual.sentences:,} sentences have, translated greedily ({usual.pairs})."
    return Finding(f"This {what} may be out of the model's depth.", f"Unusual: {'; '.join(reasons)}. {corpus}")
