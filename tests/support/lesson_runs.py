"""Ten sentences that no lesson has, as runs of shipped checkpoints, for the laws of lessons' measures."""

from collections.abc import Sequence
from pathlib import Path

from support.head_rows import word

from headlight.app import results
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.lessons.answer import Answer, Run, Undecided
from headlight.lessons.register import answer_of

LANGUAGES = ("en-de", "en-fr")
SENTENCES = (
    "She reads a book.",
    "The man who lives next door is a doctor.",
    "We have to go home now.",
    "My little brother is afraid of the big dog.",
    "Do you want to go to the cinema with me tonight?",
    "It was raining so hard that we stayed at home.",
    "If I had more money, I would buy a new house.",
    "They have been waiting for you since this morning.",
    "Nobody knows why he left.",
    "The children are playing in the garden.",
)


def named(tokens: Sequence[str]) -> list[str]:
    """The tokens as a lesson names them: a piece that continues a word with a dot before it."""
    befores = ("</s>", *tokens)
    return [
        f"·{token}" if word(token) and token[0] != "▁" and before not in ("<s>", "</s>", "<pad>", "▁") else token
        for before, token in zip(befores, tokens, strict=False)
    ]


def run_of(checkpoint: str, text: str, **address: str) -> Run:
    """A run of a shipped checkpoint, with what the address of the page says."""
    return Run(TranslationRequest(results.checkpoint(checkpoint), text), address)


def run_in(folder: Path, text: str) -> Run:
    """A run of a checkpoint in a folder."""
    return Run(TranslationRequest(CheckpointFiles.now(folder), text))


def measured(run: Run, measure: str, **arguments: str | int | float | bool) -> Answer | str:
    """Return a measure's answer, or the sentence that says why the run decides nothing."""
    try:
        return answer_of(run, measure, arguments)
    except Undecided as undecided:
        return str(undecided)


def decided(
    checkpoint: str, measure: str, *more: str, **arguments: str | int | float | bool
) -> list[tuple[Run, Answer]]:
    """All sentences, and some more, that decide a measure, with what it finds; each other one says why not."""
    answers = []
    for text in (*SENTENCES, *more):
        run = run_of(checkpoint, text)
        answer = measured(run, measure, **arguments)
        if isinstance(answer, str):
            assert answer[0].isupper() and answer.endswith("."), answer
        else:
            answers.append((run, answer))
    return answers
