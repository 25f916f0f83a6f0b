"""Measures of learning: of the replay of a training, and of a training under way."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from headlight.app import results
from headlight.app.results import replays, training_runs
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page, one_of
from headlight.lessons.words import Say
from headlight.views.training.live_content import state_text
from headlight.views.training.replay_content import focus_of, shortened
from transformer.interpret.head_patterns import Focus
from transformer.model.heads import Head
from transformer.model.names import AttentionKind
from transformer.toy.jobs import JobView
from transformer.toy.settings import Task, ToySettings
from transformer.training import ProbeTrajectory, TrainingReplay

FACTORS = (0.1, 0.3, 3.0)  # of the right update: where the wrong ones lie
RISE = 0.1  # of a head's largest weights: less is no sharpening
REPEATS, VARIES = 0.6, 0.4  # shares of the commonest token: from here on one is repeated; up to here none is
OF_THE_TASK = "reverse"  # the checkpoint whose training stands for a live one of this task


@dataclass(frozen=True)
class _Replayed:
    """A checkpoint's replay, and the trajectory of the run's sentence or else the first one."""

    replay: TrainingReplay
    trajectory: ProbeTrajectory

    def names(self, kind: str = "cross", **snapshots: int) -> dict[str, Any]:
        """Return probe, target, updates (all), changed (the head of a kind that did most), and updates of snapshots.

        Besides layer and head, those of the head.
        """
        layer, head = self.focus(kind)[1]
        names = {"probe": self.trajectory.source_text, "target": self.trajectory.target_text}
        updates = {name: int(self.replay.steps[at]) for name, at in {"updates": -1, **snapshots}.items()}
        return names | updates | {"changed": Head(AttentionKind(kind), layer, head), "layer": layer, "head": head}

    def written(self, snapshot: int) -> str:
        """Return the beginning of what is written at a snapshot."""
        return shortened(self.trajectory.outputs[snapshot])

    def focus(self, kind: str) -> tuple[Focus, tuple[int, int]]:
        """Return a kind's focus, and the head that changed most, with which the replay begins. Raises Undecided."""
        focus = focus_of(self.replay, self.trajectory, kind)
        if not focus.known:
            raise Undecided("one_key_in_each_row")
        return focus, focus.most_changed()

    def sharpening(self, kind: str) -> tuple[int, dict[str, Any]]:
        """Return the snapshot at which the head that changed most has gone half of its way to be sharp, and names.

        names: those above, and its rows' largest weight: spread, half_sharp and sharp. Raises Undecided without a rise.
        """
        focus, head = self.focus(kind)
        values = np.asarray(focus.values[:, *head], dtype=np.float64)
        if values[-1] - values[0] < RISE:
            raise Undecided("hardly_sharper")
        half = int((values >= (values[0] + values[-1]) / 2).argmax())
        weights = {"spread": values[0], "half_sharp": values[half], "sharp": values[-1]}
        return half, self.names(kind, snapshot=half) | weights

    @property
    def right(self) -> list[bool]:
        """Return whether the target is written word for word at each snapshot."""
        return [output.split() == self.trajectory.target_text.split() for output in self.trajectory.outputs]

    @property
    def first_right(self) -> int:
        """Return the first snapshot at which the target is written. Raises Undecided where there is no such change."""
        if not any(self.right) or self.right[0]:
            raise Undecided("never_right_for_the_first_time")
        return self.right.index(True)

    @property
    def losses(self) -> np.ndarray:
        """Return the loss at each snapshot: the first known one before the first update's."""
        steps, losses = self.replay.losses.T
        return np.interp(self.replay.steps, steps, losses)


@measure
def first_output(run: Run) -> Answer:
    """Ask what the model writes before its first update.

    names: those of `_Replayed`, output, tokens (how many it writes), most (how many of them are the commonest one), and
    counted, both in words.
    """
    replayed = _replayed(run)
    if replayed.replay.steps[0] or "warm_start" in run.translator.checkpoint.training:
        raise Undecided("no_random_weights")
    tokens = [piece.id for piece in run.translator.tokenizer.pieces(replayed.trajectory.outputs[0])]
    most = max(Counter(tokens).values(), default=0)
    share = most / len(tokens) if tokens else 0.0
    if VARIES < share < REPEATS:
        raise Undecided("neither_one_nor_many")
    return one_of(
        map(Option, ("repeats", "varies", "nothing")),
        "nothing" if not tokens else "repeats" if share >= REPEATS else "varies",
        counted=Say("all_alike" if most == len(tokens) else "some_alike", {"count": most}),
        **replayed.names() | {"output": replayed.written(0), "tokens": len(tokens), "most": most},
    )


@measure
def first_right(run: Run) -> Answer:
    """Ask at which snapshot the model writes the target for the first time.

    names: those of `_Replayed`, before (the snapshot before) and its output; of an option: update and output. One that
    has the target as well, but later, has the words “again”.
    """
    replayed = _replayed(run)
    first, steps = replayed.first_right, replayed.replay.steps
    snapshots = sorted({first, *(_nearest(steps, factor * steps[first]) for factor in FACTORS)})
    if len(snapshots) < 2:
        raise Undecided("too_few_snapshots_to_choose")
    options = [
        Option(
            str(steps[at]),
            values={"update": int(steps[at]), "output": replayed.written(at)},
            tells="again" if replayed.right[at] and at > first else "",
        )
        for at in snapshots
    ]
    names = replayed.names(snapshot=first, before=first - 1)
    return one_of(options, str(steps[first]), **names | {"output": replayed.written(first - 1)})


@measure
def loss_or_head(run: Run, kind: str) -> Answer:
    """Ask what comes first: half the fall of the loss, half the sharpening of a kind's head, or the target's words.

    The head is the one that changed most.

    names: those of `_Replayed.sharpening` (snapshot: where the head is half as sharp), at_loss and at_words (updates),
    and the loss: first_loss, half_loss and last_loss.
    """
    replayed = _replayed(run)
    half, sharpening = replayed.sharpening(kind)
    first_loss, *_, last_loss = losses = replayed.losses
    half_loss = (first_loss + last_loss) / 2
    at = {"loss": int((losses <= half_loss).argmax()), "head": half, "words": replayed.first_right}
    first, second = sorted(at, key=at.__getitem__)[:2]
    if at[first] == at[second]:
        raise Undecided("same_snapshots")
    names = replayed.names(kind, at_loss=at["loss"], at_words=at["words"]) | sharpening
    names |= {"first_loss": first_loss, "half_loss": half_loss, "last_loss": last_loss}
    return one_of(map(Option, at), first, **names)


@measure
def first_sharp_kind(run: Run) -> Answer:
    """Ask in which kind of attention the head that changed most is half as sharp first.

    names: those of `_Replayed.sharpening`, of an option for its kind, else for the first one; kind, the first one's
    option; next, the snapshot of the next one.
    """
    replayed = _replayed(run)
    halves = {str(kind): replayed.sharpening(str(kind))[1] for kind in AttentionKind}
    options = [Option(kind, value=float(names["snapshot"]), values=names) for kind, names in halves.items()]
    first, second = sorted(options, key=lambda option: option.value or 0)[:2]
    if first.value == second.value:
        raise Undecided("same_snapshots_of_kinds")
    return one_of(options, first.name, kind=Say(f"option_{first.name}"), next=second.values["snapshot"])


@measure
@of_the_page
def path_through_map(run: Run) -> Answer:
    """Ask parallel to which diagonal the path through a head's map lies, of the live training that the address names.

    Without one of a task with a path it is the shipped training that learned to reverse. names: task, update, rows,
    on_line (how many of them), the templates line and reading; of an option: line and value (the rows on it).
    """
    view = _job(run)
    if view and view.replay and view.settings.task != Task.SORT:
        task, replay = str(view.settings.task), view.replay
    elif OF_THE_TASK in replays.replay_names():
        task, replay = OF_THE_TASK, replays.replay(results.checkpoint(OF_THE_TASK))
    else:
        raise Undecided("no_training_of_task")
    keys = replay.trajectories[0].cross[-1].argmax(axis=-1)  # layers heads queries
    rows = np.arange(keys.shape[-1])
    counts = {"main": _longest(keys - rows), "other": _longest(keys + rows)}
    longest = max(counts, key=lambda name: counts[name])
    outcome = longest if counts[longest] > len(rows) / 2 else "none"
    if outcome != "none" and abs(counts["main"] - counts["other"]) < len(rows) / 4:
        raise Undecided("no_plain_path")
    lines = [Option(name, value=float(count), values={"line": Say(name)}) for name, count in counts.items()]
    names: dict[str, Any] = {"task": task, "reading": Say("backwards" if task == Task.REVERSE else "forwards")}
    names |= {"update": int(replay.steps[-1]), "rows": len(rows), "on_line": counts[longest]}
    return one_of([*lines, Option("none")], outcome, line=Say(longest), **names)


@measure
@of_the_page
def learned_live(run: Run) -> Answer:
    """Ask for a live training that reaches its goal; the address names it. names: goal, the exact match to reach.

    At the goal: count (of updates) and right (percent), else state.
    """
    view = _job(run)
    names: dict[str, Any] = {"goal": (view.settings if view else ToySettings()).goal}
    if view is None:
        return Answer(Kind.DO, tells="not_begun", names=names)
    if view.status is None or view.status.end != "goal":
        return Answer(Kind.DO, tells="going_on", names=names | {"state": state_text(view)})
    names |= {"count": view.status.update, "right": 100 * view.status.exact_match}
    return Answer(Kind.DO, done=True, names=names)


def _replayed(run: Run) -> _Replayed:
    """Return the checkpoint's replay. Raises Undecided where it has none."""
    if run.request.checkpoint.name not in replays.replay_names():
        raise Undecided("no_replay")
    replay = replays.replay(run.request.checkpoint)
    if len(replay.steps) < 3 or not len(replay.losses):
        raise Undecided("too_few_snapshots")
    of_sentence = {each.source_text: each for each in replay.trajectories}
    trajectory = of_sentence.get(run.request.text, replay.trajectories[0])
    return _Replayed(replay, trajectory)


def _nearest(steps: np.ndarray, update: float) -> int:
    """Return the snapshot nearest to an update, but the one at 0, by their ratio."""
    return 1 + int(np.abs(np.log(steps[1:] / update)).argmin())


def _longest(lines: np.ndarray) -> int:
    """Return the most rows of one head that lie on one line; lines: the number of each row's, [layers, heads, rows]."""
    return max(max(Counter(row.tolist()).values()) for row in lines.reshape(-1, lines.shape[-1]))


def _job(run: Run) -> JobView | None:
    name = run.address.get("job", "")
    return training_runs.jobs().look(name) if name else None
