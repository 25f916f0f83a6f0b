"""Sentences on a training of a toy task: what is trained, how it went, and which head found the way."""

from collections.abc import Sequence

import numpy as np

from plots.text import counted, head_name, percent, quoted, scientific, sentence_case
from transformer.toy.jobs import JobView
from transformer.toy.tasks import SYMBOLS, TASKS, ToySettings
from transformer.toy.training import ToyStatus
from transformer.training.optimization import Noam
from transformer.training.replay import Film

SCHEDULE_WORDS = {
    "noam": "rising for {} updates, then falling (Noam)",
    "constant": "rising for {} updates, then constant",
    "none": "constant from the first update",
}
POSITION_WORDS = {
    "sinusoidal": "sine and cosine",
    "none": "no positions",
    "multiplied": "wrong: multiplied instead of divided",
}


def task_words(settings: ToySettings) -> str:
    """The task in words: "reverse: write it backwards; sequences of 10 out of 11 letters, a to k"."""
    symbols = SYMBOLS[settings.symbols]
    span = f"{symbols[0]} to {symbols[settings.vocabulary - 1]}"
    return (
        f"{settings.task}: {TASKS[settings.task]}; sequences of {settings.length} out of {settings.vocabulary} "
        f"{settings.symbols}, {span}"
    )


def model_words(settings: ToySettings) -> str:
    """The model and its training in a few facts."""
    peak = Noam(settings.d_model, settings.warmup_steps, settings.rate_factor).peak
    schedule = SCHEDULE_WORDS[settings.schedule].format(settings.warmup_steps)
    smoothing = f", label smoothing {settings.label_smoothing:g}" if settings.label_smoothing else ""
    return (
        f"{settings.num_layers} + {counted(settings.num_layers, 'layer')} of {counted(settings.num_heads, 'head')}, "
        f"d_model {settings.d_model}, {settings.norm}-norm, positions: {POSITION_WORDS[settings.positions]}; "
        f"learning rate: {schedule}, at most {scientific(peak)}{smoothing}; seed {settings.seed}"
    )


def run_words(view: JobView) -> str:
    """Where a run stands, in one sentence."""
    status = view.status
    after = f"after {_updates(status)}" if status else "before its first update"
    if view.state == "waiting":
        return (
            f"Place {view.place} in the line: the machine is busy with other trainings. Leave this page open, and "
            "yours starts by itself."
        )
    if view.state == "failed":
        return f"The training broke off {after}; please start it again."
    if view.state == "stopped":
        return f"Stopped {after}."
    if view.state == "left":
        return f"Ended {after}, because nobody was looking any more."
    if status is None:
        return "Starting: the training has a process of its own, which reads PyTorch first."
    right = f"it writes {exact_words(status)} entirely right"
    if status.end == "goal":
        return (
            f"Learned {after}, in {status.seconds:.0f} seconds: of {status.measured} sequences that it was never "
            f"trained on, {right}."
        )
    if status.end == "limit":
        return (
            f"Not learned within {_updates(status)} ({status.seconds:.0f} seconds): of "
            f"{status.measured} held-out sequences {right}; {percent(view.settings.goal)} was the goal."
        )
    pace = f"{status.rate:.0f}" if status.rate >= 10 else f"{status.rate:.1f}"
    return f"Training, {pace} updates a second: of {status.measured} held-out sequences {right} so far."


def time_left_words(status: ToyStatus, settings: ToySettings) -> str:
    """How long it may still take: up to the limit of updates, for nobody knows when the goal is met."""
    return f"{(settings.max_updates - status.update) / status.rate:.0f} s" if status.rate else "—"


def hits(film: Film, places: Sequence[set[int]]) -> np.ndarray:
    """Rows in which a head's largest cross-attention weight lies on a symbol that is right to be written next.

    places: for each symbol of the answer, where in the source it stands -> [moments, layers, heads], counts.
    """
    largest = film.reels[0].cross[:, :, :, : len(places)].argmax(axis=-1)  # moments layers heads rows
    right = np.stack([np.isin(largest[..., row], list(where)) for row, where in enumerate(places)], axis=-1)
    return right.sum(axis=-1)


def best_reader(film: Film, places: Sequence[set[int]]) -> tuple[int, int]:
    """The head of the cross-attention with the most hits at the last moment: layer and head, counted from 0."""
    last = hits(film, places)[-1]
    layer, head = np.unravel_index(int(last.argmax()), last.shape)
    return int(layer), int(head)


def reading_story(film: Film, places: Sequence[set[int]]) -> str:
    """Which head of the cross-attention reads the symbol that is to be written, and since when."""
    counts, rows = hits(film, places), len(places)
    layer, head = best_reader(film, places)
    name, best = head_name(layer, head, *counts.shape[1:]), int(counts[-1, layer, head])
    now = f"at update {film.steps[-1]:,}"
    if best * 2 <= rows:
        return (
            f"No head of the cross-attention reads the right symbol in most steps {now}: the best one, {name}, has its "
            f"largest weight on it in {best} of {rows}."
        )
    course = counts[:, layer, head]
    first = int((course >= best).argmax())
    since = (
        f"It was {course[0]} of {rows} before the first update, and {best} for the first time at update "
        f"{film.steps[first]:,}."
        if first
        else "That was so before the first update already: chance."
    )
    others = int((counts[-1] == best).sum()) - 1
    as_many = f" ({counted(others, 'other head')} as often)" if others else ""
    return (
        f"{sentence_case(name)} of the cross-attention has its largest weight on the symbol that is to be written in "
        f"{best} of {rows} steps {now}{as_many}. {since}"
    )


def comparison(runs: Sequence[tuple[str, JobView]]) -> str:
    """Two runs beside each other, each with its name; "" before both are over."""
    if any(view.active or view.status is None for _, view in runs):
        return ""
    told = [f"with {quoted(name)}, {_outcome(view.status)}" for name, view in runs]
    return (
        f"{sentence_case(told[0])}; {told[1]}. That is one seed: before you believe a difference, try a few others, "
        "for a lucky start can be worth more than a knob."
    )


def _outcome(status: ToyStatus) -> str:
    short = "" if status.end == "goal" else ", short of the goal"
    return f"{exact_words(status)} were right after {_updates(status)}{short}"


def _updates(status: ToyStatus) -> str:
    return f"{status.update:,} {'update' if status.update == 1 else 'updates'}"


def exact_words(status: ToyStatus) -> str:
    """The share of sequences written entirely right: "99.6 %"."""
    return f"{100 * status.exact_match:.1f} %".replace(".0 %", " %")
