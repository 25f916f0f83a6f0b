"""Texts on a training of a toy task: task and model, its course, and the head that reads the right symbol."""

from collections.abc import Sequence

from headlight.app.finding import Finding, Templates
from headlight.plots.names import head_name, sentence_case
from headlight.plots.numbers import percent, pluralize, scientific
from transformer.interpret.head_patterns import best_reader, count_hits
from transformer.toy.jobs import JobView
from transformer.toy.settings import SYMBOLS, Task, ToySchedule, ToySettings, ToyStatus
from transformer.training import TrainingReplay, noam_rate

_TASKS = {Task.COPY: "write the same again", Task.REVERSE: "write it backwards", Task.SORT: "write it in order"}
_SCHEDULES = {
    ToySchedule.NOAM: "rising for {} updates, then falling (Noam)",
    ToySchedule.CONSTANT: "rising for {} updates, then constant",
    ToySchedule.NONE: "constant from the first update",
}
_POSITIONS = {
    "sinusoidal": "sine and cosine",
    "learned": "learned",
    "none": "no positions",
    "multiplied": "wrong: multiplied instead of divided",
    "relative": "relative: a learned bias by distance",
}

TEMPLATES = Templates.beside(__file__)


def task_text(settings: ToySettings) -> str:
    """Name the task: "reverse: write it backwards; sequences of 10 out of 11 letters, a to k"."""
    symbols = SYMBOLS[settings.symbols]
    return (
        f"{settings.task}: {_TASKS[settings.task]}; sequences of {settings.length} out of {settings.vocabulary} "
        f"{settings.symbols}, {symbols[0]} to {symbols[settings.vocabulary - 1]}"
    )


def model_text(settings: ToySettings) -> str:
    """Describe the model and its training in a few facts."""
    peak = settings.rate_factor * noam_rate(settings.warmup_steps, settings.d_model, settings.warmup_steps)
    schedule = _SCHEDULES[settings.schedule].format(settings.warmup_steps)
    smoothing = f", label smoothing {settings.label_smoothing:g}" if settings.label_smoothing else ""
    return (
        f"{settings.num_layers} + {pluralize(settings.num_layers, 'layer')} of "
        f"{pluralize(settings.num_heads, 'head')}, d_model {settings.d_model}, {settings.norm}-norm, positions: "
        f"{_POSITIONS[settings.positions]}; learning rate: {schedule}, at most {scientific(peak)}{smoothing}; seed "
        f"{settings.seed}"
    )


def state_text(view: JobView) -> str:
    """Return the state of a run as a sentence."""
    status = view.status
    after = f"after {pluralize(status.update, 'update')}" if status else "before its first update"
    match view.state:
        case "waiting":
            return f"Place {view.position} in the line. Leave this page open, and your training starts by itself."
        case "failed":
            return f"The training broke off {after}; please start it again."
        case "stopped":
            return f"Stopped {after}."
        case "left":
            return f"Ended {after}, because nobody was looking any more."
    if status is None:
        return "Starting: the training has a process of its own, which reads PyTorch first."
    right = f"of {status.measured} held-out sequences it writes {exact_match_text(status)} entirely right"
    if status.end == "goal":
        return f"Learned {after}, in {status.seconds:.0f} seconds: {right}."
    if status.end == "limit":
        goal = percent(view.settings.goal)
        return f"Not learned {after} ({status.seconds:.0f} seconds): {right}; {goal} was the goal."
    return f"Training, {status.updates_a_second:.1f} updates per second: {right} so far."


def time_left_text(status: ToyStatus, settings: ToySettings) -> str:
    """Return the time until the limit of updates: nobody knows when the goal is met."""
    if not status.updates_a_second:
        return "—"
    return f"{(settings.max_updates - status.update) / status.updates_a_second:.0f} s"


def best_reader_words(replay: TrainingReplay, positions: Sequence[set[int]]) -> str:
    """Return how often the best reader reads the right symbol now, for the mark beside it."""
    hits = int(count_hits(replay.trajectories[0].cross[-1], positions).max())
    return f"reads the right symbol most often: {hits} of {len(positions)}"


def reading_story(replay: TrainingReplay, positions: Sequence[set[int]]) -> Finding:
    """Return the head of the cross-attention that reads the symbol to be written, and the update since which it does.

    positions: for each symbol of the answer, where in the source it stands.
    """
    counts = count_hits(replay.trajectories[0].cross, positions)  # snapshots layers heads
    layer, head = best_reader(replay.trajectories[0].cross[-1], positions)
    course, steps = counts[:, layer, head], replay.steps
    first = int((course >= course[-1]).argmax())
    name = sentence_case(head_name(layer, head, *counts.shape[1:]))
    finding = TEMPLATES("reads", head=name, reader=(layer, head), hits=int(course[-1]), symbols=len(positions))
    course_numbers = {"last": steps[-1], "begin": steps[0], "begin_hits": int(course[0]), "since": steps[first]}
    return finding.followed_by(TEMPLATES("course", **course_numbers))


def comparison(runs: Sequence[tuple[str, JobView]]) -> Finding | None:
    """Compare two named runs: by their updates where both reach the goal, else by their exact match.

    None before both are over.
    """
    ended = [(name, view.status) for name, view in runs if view.status and not view.active]
    if len(ended) < len(runs):
        return None
    (first, status), (second, other) = ended
    names, updates = (
        {"first": first, "second": second},
        {"first_updates": status.update, "second_updates": other.update},
    )
    if status.end == other.end == "goal":
        finding = TEMPLATES("needs", **names, **updates)
    else:
        right = {"first_right": exact_match_text(status), "second_right": exact_match_text(other)}
        finding = TEMPLATES("gets", **names, **right)
    longer = {"first_longer": status.symbols_when_longer, "second_longer": other.symbols_when_longer}
    is_measured = None not in longer.values()
    return finding.followed_by(
        TEMPLATES("longer", **names, **longer) if is_measured else None, TEMPLATES("one_seed", **updates)
    )


def exact_match_text(status: ToyStatus) -> str:
    """Write the share of sequences written entirely right: "99.6 %"."""
    return f"{100 * status.exact_match:.1f} %".replace(".0 %", " %")
