"""Measures of learning: of the replay of a training, and of a training under way."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from headlight.app import results
from headlight.app.results import replays, training_runs
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page
from headlight.plots.names import kind_words, one_head_name, sentence_case
from headlight.plots.numbers import percent, pluralize
from headlight.plots.tokens import NOTHING
from headlight.views.training.live_content import exact_match_text, state_text
from headlight.views.training.replay_content import focus_of, shortened
from transformer.interpret.head_patterns import Focus
from transformer.model.names import AttentionKind
from transformer.toy.jobs import JobView
from transformer.toy.settings import Task, ToySettings
from transformer.training import ProbeTrajectory, TrainingReplay

from .wording import head_names

FACTORS = (0.1, 0.3, 3.0)  # of the right update: where the wrong ones lie
RISE = 0.1  # of a head's largest weights: less is no sharpening
REPEATS, VARIES = 0.6, 0.4  # shares of the commonest token: from here on one is repeated; up to here none is
OF_THE_TASK = "reverse"  # the checkpoint whose training stands for a live one of this task


@dataclass(frozen=True)
class _Replayed:
    """A checkpoint's replay, and the trajectory of the run's sentence or else the first one."""

    replay: TrainingReplay
    trajectory: ProbeTrajectory

    def names(self, kind: str = "cross", snapshot: int | None = None) -> dict[str, Any]:
        """Return probe, target, updates, kind and its head that changed most, and the update of a snapshot if given."""
        _, (layer, head) = self.focus(kind)
        names = {
            "probe": self.trajectory.source_text,
            "target": self.trajectory.target_text,
            "updates": f"{self.replay.steps[-1]:,}",
            "kind": kind,
            **head_names(layer, head),
            "head_name": f"{kind_words(kind)} {one_head_name(layer, head)}",
        }
        return names if snapshot is None else names | {"snapshot": self.replay.steps[snapshot]}

    def update(self, snapshot: int) -> str:
        """Return the update of a snapshot, as it is written."""
        return f"update {self.replay.steps[snapshot]:,}"

    def focus(self, kind: str) -> tuple[Focus, tuple[int, int]]:
        """Return a kind's focus, and the head that changed most, with which the replay begins. Raises Undecided."""
        focus = focus_of(self.replay, self.trajectory, kind)
        if not focus.known:
            raise Undecided("In this sentence no row has more than one key to read.")
        return focus, focus.most_changed()

    def sharpening(self, kind: str) -> np.ndarray:
        """Return the focus of the head that changed most at each snapshot."""
        focus, head = self.focus(kind)
        return np.asarray(focus.values[:, *head], dtype=np.float64)

    @property
    def right(self) -> list[bool]:
        """Return whether the target is written word for word at each snapshot."""
        return [output.split() == self.trajectory.target_text.split() for output in self.trajectory.outputs]

    @property
    def losses(self) -> np.ndarray:
        """Return the loss at each snapshot: the first known one before the first update's."""
        steps, losses = self.replay.losses.T
        return np.interp(self.replay.steps, steps, losses)


@measure
def first_output(run: Run) -> Answer:
    """Ask what the model writes before its first update.

    names: those of `_Replayed`, tokens (how many it writes) and most (how many of them are the commonest one).
    """
    replayed = _replayed(run)
    training = run.translator.checkpoint.training
    if replayed.replay.steps[0] or "warm_start" in training:
        raise Undecided("This replay does not begin with random weights.")
    written = replayed.trajectory.outputs[0]
    tokens = [piece.id for piece in run.translator.tokenizer.pieces(written)]
    most = max(Counter(tokens).values(), default=0)
    share = most / len(tokens) if tokens else 0.0
    if VARIES < share < REPEATS:
        raise Undecided("What it writes at first is neither plainly one token nor plainly many.")
    labels = {
        "repeats": "one token again and again",
        "varies": "many different tokens without any sense",
        "nothing": "nothing: it ends the sentence at once",
    }
    counted = f"Of the {pluralize(len(tokens), 'token')} that it writes, {most} are one and the same."
    counted = f"It writes the same token {pluralize(most, 'time')}." if most == len(tokens) else counted
    return Answer(
        Kind.ONE,
        f"Before the first update it writes: {_quoted(written)}",
        f"Look at the replay at update 0. {counted}",
        tuple(Option(name, label, counted) for name, label in labels.items()),
        {"nothing" if not tokens else "repeats" if share >= REPEATS else "varies"},
        names=replayed.names() | {"tokens": len(tokens), "most": most},
    )


@measure
def first_right(run: Run) -> Answer:
    """Ask at which snapshot the model writes the target for the first time.

    names: those of `_Replayed`.
    """
    replayed = _replayed(run)
    outputs, right = replayed.trajectory.outputs, replayed.right
    if not any(right) or right[0]:
        raise Undecided("At no snapshot does it write this sentence's target for the first time.")
    first, steps = right.index(True), replayed.replay.steps
    snapshots = sorted({first, *(_nearest(steps, factor * steps[first]) for factor in FACTORS)})
    feedback = {at: f"By then it wrote: {_quoted(outputs[at])}" for at in snapshots}
    feedback |= {at: "By then it wrote it, but not for the first time." for at in snapshots if right[at] and at > first}
    if len(snapshots) < 2:
        raise Undecided("The replay of this model's training has too few snapshots to choose from.")
    return Answer(
        Kind.ONE,
        f"The first snapshot at which it writes the target is {replayed.update(first)} of {steps[-1]:,}.",
        f"At the snapshot before, {replayed.update(first - 1)}, it still wrote: {_quoted(outputs[first - 1])}",
        tuple(Option(str(steps[at]), replayed.update(at), feedback[at]) for at in snapshots),
        {str(steps[first])},
        names=replayed.names(snapshot=first),
    )


@measure
def loss_or_head(run: Run, kind: str) -> Answer:
    """Ask what comes first: half the fall of the loss, half the sharpening of a kind's head, or the target's words.

    The head is the one that changed most.

    names: those of `_Replayed` (snapshot: where the head is half as sharp), at_loss, spread and sharp: its rows'
    largest weight at both ends.
    """
    replayed = _replayed(run)
    values, losses = replayed.sharpening(kind), replayed.losses
    half, at_loss = _half_way(values), int((losses <= (losses[0] + losses[-1]) / 2).argmax())
    right = replayed.right
    if not any(right) or right[0]:
        raise Undecided("At no snapshot does it write this sentence's target for the first time.")
    at = {"loss": at_loss, "head": half, "words": right.index(True)}
    first, second = sorted(at, key=at.__getitem__)[:2]
    if at[first] == at[second]:
        raise Undecided("Here two of them come between the same two snapshots.")
    begin, middle, end = (percent(values[at]) for at in (0, half, -1))
    feedback = {
        "loss": f"It goes from {losses[0]:.2f} to {losses[-1]:.2f} in the training, past half at "
        f"{replayed.update(at_loss)}.",
        "head": f"Its rows' largest weight goes from {begin} to {end}, past half at {replayed.update(half)}.",
        "words": f"The first snapshot that writes it is {replayed.update(at['words'])}.",
    }
    labels = {"loss": "half of the fall of the loss", "head": "half of the sharpening of this head"}
    labels["words"] = f"“{replayed.trajectory.target_text}”, word for word"
    names = replayed.names(kind, half)
    return Answer(
        Kind.ONE,
        f"The loss passes half of its fall at {replayed.update(at_loss)}, the head half of its sharpening at "
        f"{replayed.update(half)}; the sentence is right at {replayed.update(at['words'])}.",
        f"The loss is halfway down at {(losses[0] + losses[-1]) / 2:.2f}, lower from {replayed.update(at_loss)} on. "
        f"{sentence_case(one_head_name(names['layer'], names['head']))} goes from {begin} to {end}: at "
        f"{replayed.update(half)} it is {middle}.",
        tuple(Option(name, label, feedback[name]) for name, label in labels.items()),
        {first},
        names=names | {"at_loss": replayed.replay.steps[at_loss], "spread": values[0], "sharp": values[-1]},
    )


@measure
def first_sharp_kind(run: Run) -> Answer:
    """Ask in which kind of attention the head that changed most is half as sharp first.

    names: those of `_Replayed` for the first kind.
    """
    replayed = _replayed(run)
    half, feedback = {}, {}
    for kind in map(str, AttentionKind):
        values = replayed.sharpening(kind)
        half[kind] = _half_way(values)
        feedback[kind] = (
            f"Its {one_head_name(*replayed.focus(kind)[1])} goes from {percent(values[0])} to {percent(values[-1])} "
            f"and is past half of that at {replayed.update(half[kind])}."
        )
    first, second = sorted(half, key=lambda kind: half[kind])[:2]
    if half[first] == half[second]:
        raise Undecided("Here two kinds of attention become sharp between the same two snapshots.")
    return Answer(
        Kind.ONE,
        f"First comes {kind_words(first)}, at {replayed.update(half[first])}; the next one only at "
        f"{replayed.update(half[second])}.",
        " ".join(f"{sentence_case(kind_words(kind))}: {text[0].lower()}{text[1:]}" for kind, text in feedback.items()),
        tuple(
            Option(kind, kind_words(kind), text, float(replayed.replay.steps[half[kind]]))
            for kind, text in feedback.items()
        ),
        {first},
        names=replayed.names(first, half[first]),
    )


@measure
@of_the_page
def path_through_map(run: Run) -> Answer:
    """Ask parallel to which diagonal the path through a head's map lies, of the live training that the address names.

    Without one of a task with a path it is the shipped training that learned to reverse. names: task.
    """
    view = _job(run)
    if view and view.replay and view.settings.task != Task.SORT:
        task, replay = str(view.settings.task), view.replay
    elif OF_THE_TASK in replays.replay_names():
        task, replay = OF_THE_TASK, replays.replay(results.checkpoint(OF_THE_TASK))
    else:
        raise Undecided("Here is no training of this task yet.")
    keys = replay.trajectories[0].cross[-1].argmax(axis=-1)  # layers heads queries
    rows = np.arange(keys.shape[-1])
    counts = {"main": _longest(keys - rows), "other": _longest(keys + rows)}
    longest = max(counts, key=lambda name: counts[name])
    outcome = longest if counts[longest] > len(rows) / 2 else "none"
    if outcome != "none" and abs(counts["main"] - counts["other"]) < len(rows) / 4:
        raise Undecided("By now this training has no plain path through a map.")
    lines = {"main": "top left to bottom right", "other": "top right to bottom left"}
    options = [
        Option(
            name,
            f"the one from {line}",
            f"At most {counts[name]} of {len(rows)} rows lie on one line parallel to it.",
            float(counts[name]),
        )
        for name, line in lines.items()
    ]
    neither = f"In one head {counts[longest]} of {len(rows)} rows lie on one line."
    return Answer(
        Kind.ONE,
        f"At update {replay.steps[-1]:,} of a training on “{task}”, {counts[longest]} of {len(rows)} rows of one head "
        f"have their largest weight on one line, parallel to that from {lines[longest]}.",
        "To write the first letter it must read the last one, to write the second the one before it."
        if task == Task.REVERSE
        else "To write the first letter it must read the first one, to write the second the one after it.",
        (*options, Option("none", "no diagonal: there will be no path", neither)),
        {outcome},
        names={"task": task},
    )


@measure
@of_the_page
def learned_live(run: Run) -> Answer:
    """Ask for a live training that reaches its goal; the address names it. names: goal, the exact match to reach."""
    view = _job(run)
    status = view.status if view else None
    done = bool(status and status.end == "goal")
    truth = state_text(view) if view else "No training has been started here yet."
    if status and done:
        truth = f"After {pluralize(status.update, 'update')} it writes {exact_match_text(status)} entirely right."
    return Answer(
        Kind.DO,
        truth,
        "Press “Start training”, and wait: the training ends by itself when it has reached its goal.",
        done=done,
        names={"goal": (view.settings if view else ToySettings()).goal},
    )


def _quoted(output: str) -> str:
    """Return the beginning of an output between quotation marks."""
    return f"“{shortened(output)}”" if output else NOTHING


def _replayed(run: Run) -> _Replayed:
    """Return the checkpoint's replay. Raises Undecided where it has none."""
    if run.request.checkpoint.name not in replays.replay_names():
        raise Undecided("There is no replay of this model's training.")
    replay = replays.replay(run.request.checkpoint)
    if len(replay.steps) < 3 or not len(replay.losses):
        raise Undecided("The replay of this model's training has too few snapshots.")
    of_sentence = {each.source_text: each for each in replay.trajectories}
    trajectory = of_sentence.get(run.request.text, replay.trajectories[0])
    return _Replayed(replay, trajectory)


def _nearest(steps: np.ndarray, update: float) -> int:
    """Return the snapshot nearest to an update, but the one at 0, by their ratio."""
    return 1 + int(np.abs(np.log(steps[1:] / update)).argmin())


def _half_way(values: np.ndarray) -> int:
    """Return the first snapshot past half of the way from the first to the last. Raises Undecided without a rise."""
    if values[-1] - values[0] < RISE:
        raise Undecided("In this training a head hardly becomes sharper.")
    return int((values >= (values[0] + values[-1]) / 2).argmax())


def _longest(lines: np.ndarray) -> int:
    """Return the most rows of one head that lie on one line; lines: the number of each row's, [layers, heads, rows]."""
    return max(max(Counter(row.tolist()).values()) for row in lines.reshape(-1, lines.shape[-1]))


def _job(run: Run) -> JobView | None:
    name = run.address.get("job", "")
    return training_runs.jobs().look(name) if name else None
