"""Runs for tests of lessons' measures: sentences that no lesson has, as runs of shipped checkpoints."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from support.head_rows import word

from headlight.app import results
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.lessons.answer import Answer, Run, Undecided
from headlight.lessons.file import shipped_words
from headlight.lessons.register import answer_of

LANGUAGES = ("en-de", "en-fr")
SENTENCES = (
    "She reads a book.",
    "The man who lives next door is a doctor.",
    "My little brother is afraid of the big dog.",
    "Do you want to go to the cinema with me tonight?",
    "They have been waiting for you since this morning.",
    "Nobody knows why he left.",
)


def named(tokens: Sequence[str]) -> list[str]:
    """Return the tokens as a lesson names them: a piece that continues a word with a dot before it."""
    befores = ("</s>", *tokens)
    return [
        f"·{token}" if word(token) and token[0] != "▁" and before not in ("<s>", "</s>", "<pad>", "▁") else token
        for before, token in zip(befores, tokens, strict=False)
    ]


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return the softmax over the last axis in float64."""
    powers = np.exp(scores.astype(np.float64) - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def run_of(checkpoint: str, text: str, **address: str) -> Run:
    """Return a run of a shipped checkpoint, with values of the page's address."""
    return Run(TranslationRequest(results.checkpoint(checkpoint), text), address)


def run_in(folder: Path, text: str) -> Run:
    """Return a run of a checkpoint in a folder."""
    return Run(TranslationRequest(CheckpointFiles.now(folder), text))


def outcome_of(run: Run, measure: str, **arguments: str | int) -> Answer | str:
    """Return a measure's answer, or the sentence with the reason why the run decides nothing."""
    try:
        return answer_of(run, measure, arguments).in_words(shipped_words(measure))
    except Undecided as undecided:
        return str(undecided)


def decided(measure: str, *more: str, most: int = 4, **arguments: str | int) -> list[tuple[Run, Answer]]:
    """Return the first runs of the sentences, and of some more, that decide a measure, with their answers.

    The languages take turns.
    """
    matches: list[tuple[Run, Answer]] = []
    for at, text in enumerate((*SENTENCES, *more)):
        run = run_of(LANGUAGES[at % 2], text)
        answer = outcome_of(run, measure, **arguments)
        matches += [(run, answer)] if isinstance(answer, Answer) else []
        if len(matches) == most:
            break
    assert matches, measure
    return matches


def again(run: Run, measure: str, **address: str) -> Answer | str:
    """Return a measure's outcome for the same sentence and checkpoint at another address."""
    return outcome_of(run_of(run.request.checkpoint.name, run.request.text, **address), measure)


def numbers_of(answer: Answer) -> dict[str, float]:
    """Return the number of each option that has one."""
    return {option.name: option.value for option in answer.options if option.value is not None}


def right_of(answer: Answer) -> str:
    """Return the one right option's name."""
    (name,) = answer.right
    return name
