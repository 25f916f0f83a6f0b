"""Sentences on a training replay, and what they are computed from: how sharply each head attends, by snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headlight.plots.text import counted, head_name, pattern_words, percent, sentence_case, short_weight
from transformer.interpret.head_patterns import measure_head
from transformer.interpret.trace import blank_masked
from transformer.training.replay import ProbeTrajectory, TrainingReplay

MOST_WORDS, MOST_LETTERS = 16, 70  # early outputs repeat one word to the length limit
NOTHING = "(nothing: it ended at once)"
_LEAST_SNAPSHOTS = 3  # with fewer, there is nothing to compare a change with


@dataclass(frozen=True, eq=False)
class Focus:
    """The largest weight of a row, mean over the rows that have more than one key, of all heads of a kind.

    steps: [snapshots]; values: [snapshots, layers, heads], from 0 to 1, NaN where no row has a choice; `uniform` is
    the baseline, what a head would have that spreads every row evenly.
    """

    steps: np.ndarray
    values: np.ndarray
    uniform: float

    @property
    def known(self) -> bool:
        """Whether any row has more than one key to attend to."""
        return bool(np.isfinite(self.uniform))

    def changes(self) -> np.ndarray:
        """Difference of each snapshot to the one before it: [snapshots - 1, layers, heads]."""
        return np.diff(self.values, axis=0)

    def most_changed(self) -> tuple[int, int]:
        """The head, counted from 0, whose value differs most between the first snapshot and the last."""
        difference = np.abs(self.values[-1] - self.values[0])
        layer, head = np.unravel_index(difference.argmax(), difference.shape)
        return int(layer), int(head)


def attention_maps(trajectory: ProbeTrajectory, kind: str) -> np.ndarray:
    """All maps of a kind, [snapshots, layers, heads, queries, keys], cells that the causal mask disallows as NaN."""
    return blank_masked(getattr(trajectory, kind), kind)


def focus_of(replay: TrainingReplay, trajectory: ProbeTrajectory, kind: str) -> Focus:
    """The focus of every head of a kind at every snapshot."""
    maps = attention_maps(trajectory, kind)
    unmasked = (~np.isnan(maps[0, 0, 0])).sum(axis=-1)
    rows = unmasked > 1
    if not rows.any():
        return Focus(replay.steps, np.full(maps.shape[:3], np.nan), float("nan"))
    values = np.nanmax(maps[..., rows, :], axis=-1).mean(axis=-1)
    return Focus(replay.steps, values, float((1 / unmasked[rows]).mean()))


def axes_text(kind: str, source: str, target: str) -> str:
    """What the rows and the columns of a map are; source and target are names such as "English" and "French"."""
    if kind == "cross":
        return f"rows: {target}, as it was fed to the decoder; columns: {source}"
    return f"rows and columns: {source}" if kind == "encoder" else f"rows and columns: {target}, as it was fed"


def step_text(step: int) -> str:
    """A step as people write it: "step 1,250"."""
    return f"step {step:,}"


def progress_text(replay: TrainingReplay, snapshot: int) -> str:
    """Where in training a snapshot is: "Step 400 of 5,000"."""
    step = int(replay.steps[snapshot])
    return f"Step {step:,} of {replay.steps[-1]:,}"


def output_text(text: str) -> tuple[str, str]:
    """An output as it can be shown, and how many words of it are left out ("" for none)."""
    words = text.split()
    if not words:
        return NOTHING, ""
    shown = words[0] if len(words[0]) <= MOST_LETTERS else f"{words[0][:MOST_LETTERS]}…"
    taken = 1
    for word in words[1:MOST_WORDS]:
        if len(shown) + len(word) >= MOST_LETTERS:
            break
        shown, taken = f"{shown} {word}", taken + 1
    more = len(words) - taken
    return shown, f"… and {counted(more, 'more word')}" if more else ""


def loss_text(loss: float) -> str:
    """A loss with two decimals, one that they would round away with its first digit."""
    return f"{loss:.2f}" if loss >= 0.095 else f"{loss:.1g}"


def score_text(value: float, name: str) -> str:
    """A score as its readers write it: exact match in per cent, others with one decimal."""
    return percent(value) if name == "exact match" else f"{value:.1f}"


def spoken_text(replay: TrainingReplay, trajectory: ProbeTrajectory, snapshot: int, loss: str) -> str:
    """A snapshot for those who hear the slider: step, loss, and what the model wrote."""
    written, more = output_text(trajectory.outputs[snapshot])
    known = f"loss {loss}" if loss else "no loss yet"
    return f"step {replay.steps[snapshot]:,} of {replay.steps[-1]:,}: {known}, wrote: {written} {more}".rstrip()


def head_text(weights: np.ndarray, kind: str, keys: tuple[str, ...], focus: float, uniform: float) -> str:
    """One head at one snapshot: how sharply it attends, beside the uniform baseline, and its pattern, if any."""
    if not np.isfinite(uniform):
        return "Every row has a single key to read, so there is nothing to choose."
    sharp = f"A row's largest weight is {short_weight(focus)} on average (spread evenly: {short_weight(uniform)})."
    measured = measure_head(kind, weights, keys)
    return sharp if measured.label is None else f"{sharp} {sentence_case(pattern_words(measured, measured.label))}."


def head_story(focus: Focus, layer: int, head: int) -> str:
    """A head over the whole training: from what to what, and between which two snapshots it changed most."""
    name = sentence_case(head_name(layer, head, *focus.values.shape[1:]))
    if not focus.known:
        return f"{name}: every row has a single key to read, so its weights are 1 from the first snapshot to the last."
    values = focus.values[:, layer, head]
    first, last = (step_text(int(focus.steps[snapshot])) for snapshot in (0, -1))
    if len(values) == 1:
        return f"{name}: a row's largest weight is {short_weight(values[0])} on average at {first}."
    story = (
        f"{name}: a row's largest weight is {short_weight(values[0])} on average at {first} (spread evenly it would be "
        f"{short_weight(focus.uniform)}) and {short_weight(values[-1])} at {last}."
    )
    if len(values) < _LEAST_SNAPSHOTS:
        return story
    jump = int(np.abs(focus.changes()[:, layer, head]).argmax())
    low, high = (short_weight(values[snapshot]) for snapshot in (jump, jump + 1))
    if low == high:
        return f"{story} Between no two neighbouring snapshots does it change by 0.01 or more."
    before, after = (step_text(int(focus.steps[snapshot])) for snapshot in (jump, jump + 1))
    return f"{story} Of all neighbouring snapshots it changes most between {before} and {after}: from {low} to {high}."


def heads_story(focus: Focus) -> str:
    """Which head of the kind changed most, and by when each layer's heads did; "" where nothing can be compared."""
    snapshots, layers, heads = focus.values.shape
    if not focus.known or snapshots < _LEAST_SNAPSHOTS or layers * heads < 2:
        return ""
    layer, head = focus.most_changed()
    first, last = (short_weight(focus.values[snapshot, layer, head]) for snapshot in (0, -1))
    if first == last:
        return "No head of this kind differs by 0.01 or more between the first snapshot and the last."
    story = (
        f"Of all {counted(layers * heads, 'head')} of this kind, {head_name(layer, head, layers, heads)} differs most "
        f"between the first snapshot and the last: {first} and {last}."
    )
    if layers == 1 or heads == 1:
        return story
    return (
        f"{story} At least half of a layer's heads have their largest change between neighbouring snapshots behind "
        f"them by {_listed([f'{step} in layer {number}' for number, step in enumerate(_halves(focus), start=1)])}."
    )


def output_story(replay: TrainingReplay, trajectory: ProbeTrajectory) -> str:
    """When the model first wrote the target of its own accord, and since when always."""
    right = np.array([output.split() == trajectory.target_text.split() for output in trajectory.outputs])
    last = step_text(int(replay.steps[-1]))
    if not right.any():
        written, more = output_text(trajectory.outputs[-1])
        wrote = f"“{written}” {more}".rstrip()
        return f"At none of these snapshots does the model write the target; at {last} it writes {wrote}."
    first = int(right.argmax())
    since = len(right) - int((~right[::-1]).argmax()) if not right.all() else 0
    if first == len(right) - 1:
        return f"The model writes the target at the last snapshot, {last}, and at none before."
    start = f"The model writes the target for the first time at {step_text(int(replay.steps[first]))}"
    if since == len(right):
        return f"{start}, but no longer at the last snapshot, {last}."
    if since == first:
        return f"{start}, and at every snapshot kept from then on."
    return f"{start}, and at every snapshot kept from {step_text(int(replay.steps[since]))} on; in between it wavers."


def _halves(focus: Focus) -> list[str]:
    """For each layer the step by which at least half of its heads made their largest change."""
    jumps = np.abs(focus.changes()).argmax(axis=0) + 1  # layers heads
    middle = (jumps.shape[1] + 1) // 2 - 1
    return [step_text(int(focus.steps[snapshots[middle]])) for snapshots in np.sort(jumps, axis=1)]


def _listed(texts: list[str]) -> str:
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def earlier_steps(training: Mapping, last: int) -> list[int]:
    """The steps at which the trainings of a joined replay ended but the last, as training.json has them; none where
    what it has makes no sense.
    """
    given = training.get("earlier_steps")
    found = given if isinstance(given, list) else [given]
    whole = all(type(step) is int for step in found)
    return found if whole and all(before < after for before, after in pairwise([0, *found, last])) else []


def begins_at_random(training: Mapping) -> bool:
    """Whether step 0 of the replay is a model with random weights, although the last training had a warm start: the
    replay shows the earlier trainings too, from the first on.
    """
    return training.get("replay_start") == "random weights"


def earlier_words(earlier: Sequence[int]) -> str:
    """That a replay shows several trainings, and where each but the first began."""
    count = {1: "Two", 2: "Three", 3: "Four", 4: "Five"}.get(len(earlier), f"{len(earlier) + 1}")
    steps = [f"{step:,}" for step in earlier]
    where, whose = (f"step {steps[0]}", "first one") if len(earlier) == 1 else (f"steps {_listed(steps)}", "one before")
    return (
        f"{count} trainings, one after the other: after {where} the learning rate rose anew, from the mean of the last "
        f"saves of the {whose}. “learning-rate schedule” has the last one's."
    )


def averaging_words(training: Mapping) -> str:
    """How the checkpoint was made from trainings, as training.json has it; empty where it is one's last weights."""
    averaged = training.get("averaged_steps")
    if not isinstance(averaged, list) or len(averaged) < 2:
        return ""
    further = training.get("averaged_with")
    with_it = f", averaged with {further}" if isinstance(further, str) and further else ""
    return (
        "The replay shows the sentences it was recorded with, not the one above, and the weights as they were at each "
        f"step. The checkpoint of the other pages is the mean of {len(averaged)} saves of this training{with_it}; the "
        "BLEU of the curve was measured with such means of saves. They may translate otherwise than the last snapshot."
    )
