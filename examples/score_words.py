"""Score everyday words of checkpoints: nouns after "the", nouns as the first word, and verbs. Print a table.

    python -m examples.score_words checkpoints/en-de checkpoints/en-fr

A word counts as known in a sentence if a token of the greedy translation starts like an accepted translation, listed in
examples/words with its source. Its last two letters and all accents are ignored, so that
inflected forms and compounds count. Another meaning of the word counts as well, and a wrong article is not noticed.
"""

import re
import sys
import unicodedata
from pathlib import Path

from transformer import Translator

FOLDER = Path(__file__).parent / "words"
# Test: file and sentences; {w} is the word, {W} the word with a capital.
TESTS = {
    "nouns after “the”": (
        "words",
        ["I saw the {w} yesterday.", "He told me about the {w}.", "The {w} was very important for us."],
    ),
    "nouns, first word": ("words", ["{W} is important.", "{W} was not mentioned in the letter.", "{W}"]),
    "verbs": ("verbs", ["They want to {w}."]),
}


def plain(text: str) -> str:
    """Return the text in lower case without accents."""
    decomposed = unicodedata.normalize("NFD", text.lower())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def is_known(accepted: list[str], translation: str) -> bool:
    """Return True if a token of the translation starts like an accepted translation."""
    starts = tuple(plain(word)[: max(4, len(word) - 2)] for word in accepted)
    return any(token.startswith(starts) for token in re.findall(r"\w+", plain(translation)))


def read_words(path: Path) -> list[tuple[str, list[str]]]:
    """Return each English word with its accepted translations."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [(word, accepted.split("|")) for word, accepted in rows]


def share_known(translator: Translator, words: list[tuple[str, list[str]]], frame: str) -> float:
    """Return the share of words that are known in this sentence."""
    translations = translator.translate([frame.format(w=word, W=word.capitalize()) for word, _ in words])
    known = [is_known(accepted, text) for (_, accepted), text in zip(words, translations, strict=True)]
    return sum(known) / len(known)


def main() -> None:
    """Print a row for each sentence, and for each test the mean; a column for each checkpoint."""
    checkpoints = [Path(argument) for argument in sys.argv[1:]]
    translators = [Translator.load(checkpoint) for checkpoint in checkpoints]
    print("| test | sentence |", " | ".join(checkpoint.name for checkpoint in checkpoints), "|")
    print("|---|---|" + "---|" * len(checkpoints))
    for test, (file, frames) in TESTS.items():
        words = [read_words(FOLDER / f"{file}.{checkpoint.name}.tsv") for checkpoint in checkpoints]
        rows = []
        for frame in frames:
            rows.append([share_known(*each, frame) for each in zip(translators, words, strict=True)])
            print(f"| {test} | {frame} |", " | ".join(f"{share:.3f}" for share in rows[-1]), "|", flush=True)
        means = [sum(column) / len(column) for column in zip(*rows, strict=True)]
        print(f"| {test} | **mean** |", " | ".join(f"**{mean:.3f}**" for mean in means), "|", flush=True)


if __name__ == "__main__":
    main()
