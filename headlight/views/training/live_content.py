"""Sentences on a training of a toy task: what is trained, how it went, and which head reads the right symbol."""

from collections.abc import Sequence

import numpy as np

from headlight.plots.text import counted, head_name, percent, quoted, scientific, sentence_case
from transformer.toy.jobs import JobView
from transformer.toy.settings import ToySchedule, ToySettings, ToyStatus
from transformer.toy.tasks import SYMBOLS, Task
from transformer.training.optimization import Noam
from transformer.training.replay import TrainingReplay

TASK_TEXTS = {Task.COPY: "write the same again", Task.REVERSE: "write it backwards", Task.SORT: "write it in order"}
SCHEDULE_TEXTS = {
    ToySchedule.NOAM: "rising for {} updates, then falling (Noam)",
    ToySchedule.CONSTANT: "rising for {} updates, then constant",
    ToySchedule.NONE: "constant from the first update",
}
POSITION_TEXTS = {
    "sinusoidal": "sine and cosine",
    "learned": "learned",
    "none": "no positions",
    "multiplied": "wrong: multiplied instead of divided",
}


def task_text(settings: ToySettings) -> str:
    """The task: "reverse: write it backwards; sequences of 10 out of 11 letters, a to k"."""
    symbols = SYMBOLS[settings.symbols]
    span = f"{symbols[0]} to {symbols[settings.vocabulary - 1]}"
    return (
        f"{settings.task}: {TASK_TEXTS[settings.task]}; sequences of {settings.length} out of {settings.vocabulary} "
        f"{settings.symbols}, {span}"
    )


def model_text(settings: ToySettings) -> str:
    """The model and its training in a few facts."""
    peak = Noam(settings.d_model, settings.warmup_steps, settings.rate_factor).peak
    schedule = SCHEDULE_TEXTS[settings.schedule].format(settings.warmup_steps)
    smoothing = f", label smoothing {settings.label_smoothing:g}" if settings.label_smoothing else ""
    return (
        f"{settings.num_layers} + {counted(settings.num_layers, 'layer')} of {counted(settings.num_heads, 'head')}, "
        f"d_model {settings.d_model}, {settings.norm}-norm, positions: {POSITION_TEXTS[settings.positions]}; "
        f"learning rate: {schedule}, at most {scientific(peak)}{smoothing}; seed {settings.seed}"
    )


def state_text(view: JobView) -> str:
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
    right = f"it writes {exact_match_text(status)} entirely right"
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
    pace = f"{status.updates_a_second:.0f}" if status.updates_a_second >= 10 else f"{status.updates_a_second:.1f}"
    return f"Training, {pace} updates a second: of {status.measured} held-out sequences {right} so far."


def time_left_text(status: ToyStatus, settings: ToySettings) -> str:
    """How long it may still take: up to the limit of updates, for nobody knows when the goal is met."""
    if not status.updates_a_second:
        return "—"
    return f"{(settings.max_updates - status.update) / status.updates_a_second:.0f} s"


def hits(replay: TrainingReplay, positions: Sequence[set[int]]) -> np.ndarray:
    """Rows in which a head's largest cross-attention weight lies on a symbol that is right to be written next.

    positions: for each symbol of the answer, where in the source it stands -> [snapshots, layers, heads], counts.
    """
    largest = replay.trajectories[0].cross[:, :, :, : len(positions)].argmax(axis=-1)  # snapshots layers heads rows
    right = np.stack([np.isin(largest[..., row], list(where)) for row, where in enumerate(positions)], axis=-1)
    return right.sum(axis=-1)


def best_reader(replay: TrainingReplay, positions: Sequence[set[int]]) -> tuple[int, int]:
    """The head of the cross-attention with the most hits at the last snapshot: layer and head, counted from 0."""
    last = hits(replay, positions)[-1]
    layer, head = np.unravel_index(int(last.argmax()), last.shape)
    return int(layer), int(head)


def reading_story(replay: TrainingReplay, positions: Sequence[set[int]]) -> str:
    """Which head of the cross-attention reads the symbol that is to be written, and since when."""
    counts, rows = hits(replay, positions), len(positions)
    layer, head = best_reader(replay, positions)
    name, best = head_name(layer, head, *counts.shape[1:]), int(counts[-1, layer, head])
    now = f"at update {replay.steps[-1]:,}"
    if best * 2 <= rows:
        return (
            f"No head of the cross-attention reads the right symbol in most steps {now}: the best one, {name}, has its "
            f"largest weight on it in {best} of {rows}."
        )
    course = counts[:, layer, head]
    first = int((course >= best).argmax())
    since = (
        f"It was {course[0]} of {rows} before the first update, and {best} for the first time at update "
        f"{replay.steps[first]:,}."
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
    outcomes = [f"with {quoted(name)}, {_outcome(view.status)}" for name, view in runs]
    return (
        f"{sentence_case(outcomes[0])}; {outcomes[1]}. That is one seed: before you believe a difference, try a few "
        "others, for a lucky start can be worth more than a hyperparameter."
    )


def _outcome(status: ToyStatus) -> str:
    short = "" if status.end == "goal" else ", short of the goal"
    return f"{exact_match_text(status)} were right after {_updates(status)}{short}"


def _updates(status: ToyStatus) -> str:
    return f"{status.update:,} {'update' if status.update == 1 else 'updates'}"


def exact_match_text(status: ToyStatus) -> str:
    """The share of sequences written entirely right: "99.6 %"."""
    return f"{100 * status.exact_match:.1f} %".replace(".0 %", " %")
