"""Texts of Home: example cards per pair of languages, and the effect of hidden words on a translation."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from headlight.plots.tokens import quoted
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.head_patterns import word_ranges
from transformer.interpret.trace import Trace

MOST_NAMED = 3  # words of a translation in a headline


@dataclass(frozen=True)
class Card:
    """Something that translation has to solve: a question, and the sentences in which it is seen, by a short name."""

    title: str
    question: str
    sentences: dict[str, str]


_IT = {f"The {animal}": f"The {animal} is hungry because it has not eaten." for animal in ("cat", "dog", "child")}


def _card(title: str, question: str, sentence: str) -> Card:
    return Card(title, question, {sentence: sentence})


CARDS = {
    ("English", "German"): (
        _card("Where does the verb go?", "Follow the line of “read”.", "I think that he has never read this book."),
        Card("er, sie or es?", "… is hungry because it has not eaten.", _IT),
        _card("One word or two?", "“bus stop” becomes one long word.", "I am waiting at the bus stop."),
    ),
    ("English", "French"): (
        _card("Where does the colour go?", "Follow the line of “red”.", "The red car is very fast."),
        _card("One word or two?", "“not” becomes two words.", "He does not speak French."),
        _card("Where does “them” go?", "French puts it before the verb.", "I see them every day."),
    ),
}


def cards_of(source_language: str, target_language: str, probes: Sequence[tuple[str, str]]) -> tuple[Card, ...]:
    """Return the cards of a pair of languages; for others one for each of the first sentences of a training replay."""
    made = (Card(source, f"In its training replay: {target}", {"try it": source}) for source, target in probes[:3])
    return CARDS.get((source_language, target_language)) or tuple(made)


def changed_outputs(before: Trace, after: Trace) -> list[int]:
    """Return the positions of the output tokens that are not in the translation before, in its order."""
    matcher = SequenceMatcher(None, before.target_ids, after.target_ids, autojunk=False)
    return [
        position
        for tag, _, _, start, stop in matcher.get_opcodes()
        if tag in ("replace", "insert")
        for position in range(start, stop)
    ]


def words_of(tokens: Sequence[str], ranges: Sequence[range] | None = None) -> list[str]:
    """Return the words and punctuation marks of a sentence as they are written."""
    return ["".join(tokens[i] for i in each).replace("▁", "") for each in ranges or word_ranges(tokens)]


def describe_hidden(
    before: Trace, after: Trace, hidden: Sequence[range], harmless: Sequence[range] | None = None
) -> str:
    """Say what the translation lost under hidden source words, and which can be hidden alone without a change.

    `harmless`: single words without which the translation is the same; None where that was not measured.
    """
    if not hidden:
        return "Click a word to hide it from the model. What happens?"
    words = word_ranges(before.source_tokens)
    if len(hidden) == len(words):
        return f"With every word hidden {_outcome(before, after)}."
    without = " and ".join(map(quoted, words_of(before.source_tokens, hidden)))
    if len(hidden) > MOST_NAMED:
        without = f"{len(hidden)} words and marks"
    spare = ""
    if harmless is not None and len(hidden) == 1:
        named = f": {', '.join(map(quoted, words_of(before.source_tokens, harmless)))}"
        some = f"{len(harmless)} of {len(words)} words and marks can go alone without any change"
        spare = f" {some}{named if len(harmless) <= MOST_NAMED else ''}." if harmless else " Here every word matters."
    return f"Without {without} {_outcome(before, after)}.{spare}"


def _outcome(before: Trace, after: Trace) -> str:
    """Say how a translation differs from the one before, in few words."""
    if before.target_ids == after.target_ids:
        return "the translation stays the same"
    if not after.target_text.strip():
        return "nothing is left of the translation"
    old, new = words_of(before.target_tokens), words_of(after.target_tokens)
    lost: list[str] = []
    gained: list[str] = []
    parts = 0
    for tag, start, stop, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            lost, gained, parts = lost + old[start:stop], gained + new[begin:end], parts + 1
    if parts > 1 or max(len(lost), len(gained)) > MOST_NAMED:
        kept = sum(block.size for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
        return f"{len(old) - kept} of {len(old)} words and marks change"
    if not gained:
        return f"the translation loses {quoted(' '.join(lost))}"
    if not lost:
        return f"the translation gains {quoted(' '.join(gained))}"
    return f"{quoted(' '.join(lost))} becomes {quoted(' '.join(gained))}"


def harmless_words(before: Trace, without_each: Sequence[Hypothesis]) -> list[range]:
    """Return the words without which the same translation is found."""
    each_word = zip(word_ranges(before.source_tokens), without_each, strict=True)
    return [word for word, without in each_word if without.ids == before.target_ids]
