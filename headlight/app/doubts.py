"""What a visitor should know before trusting a translation: another language than the model's, words hardly known."""

import re
import tomllib
from pathlib import Path

from headlight.plots.text import percent
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


def language_doubt(text: str, source_language: str) -> str:
    """Say that a text looks like another language than the one that the model reads; "" where it does not."""
    seen = language_of(text)
    if source_language not in _SETS or seen in (None, source_language):
        return ""
    return f"This looks like {seen}; the model reads {source_language}."


def depth_doubt(trace: Trace, usual: OutputStatistics | None, *, drawn: bool = False) -> str:
    """Say, with figures, that the model is less sure or knows fewer words than in nearly all sentences of a corpus.

    "" where it does not, or where nothing was measured to compare with. How sure it is of tokens that were `drawn` says
    nothing of the sentence.
    """
    if usual is None:
        return ""
    reasons = []
    if not drawn and (lower := usual.less_sure(trace.mean_log_probability)) <= RARE:
        reasons.append(
            f"the model is surer of its words in {percent(1 - lower)} of {usual.sentences:,} other sentences"
        )
    split, words = split_words(trace.source_tokens[:-1])
    if split and usual.less_split(split / max(1, words)) >= 1 - RARE:
        reasons.append(f"it knows {split} of the {words} words only in {MANY_TOKENS} pieces or more")
    return f"Out of the model's depth? Here {' and '.join(reasons)}." if reasons else ""
