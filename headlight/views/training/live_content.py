"""Texts on a training of a toy task: task and model, its course, and the head that reads the right symbol."""

from collections.abc import Sequence

from headlight.app.finding import Finding, Templates
from headlight.language import number
from headlight.plots.names import head_name, sentence_case
from transformer.interpret.head_patterns import best_reader, count_hits
from transformer.toy.jobs import JobView
from transformer.toy.settings import SYMBOLS, ToySettings, ToyStatus
from transformer.training import TrainingReplay, noam_rate

TEMPLATES = Templates.beside(__file__)


def task_text(settings: ToySettings) -> str:
    """Name the task: "reverse: write it backwards; sequences of 10 out of 11 letters, a to k"."""
    symbols, count = SYMBOLS[settings.symbols], settings.vocabulary
    size = {"length": settings.length, "count": count, "first": symbols[0], "last": symbols[count - 1]}
    return TEMPLATES.text(f"task_{settings.task}", symbols=settings.symbols, **size)


def model_text(settings: ToySettings) -> str:
    """Describe the model and its training in a few facts."""
    peak = settings.rate_factor * noam_rate(settings.warmup_steps, settings.d_model, settings.warmup_steps)
    smoothing = TEMPLATES("smoothing", epsilon=settings.label_smoothing) if settings.label_smoothing else ""
    return TEMPLATES.text(
        "model",
        layers=settings.num_layers,
        heads=settings.num_heads,
        width=settings.d_model,
        norm=settings.norm,
        positions=TEMPLATES(f"positions_{settings.positions}"),
        schedule=TEMPLATES(f"schedule_{settings.schedule}", steps=settings.warmup_steps),
        peak=peak,
        smoothing=smoothing,
        seed=settings.seed,
    )


def state_text(view: JobView) -> str:
    """Return the state of a run as a sentence."""
    status = view.status
    after = TEMPLATES("after", updates=status.update) if status else TEMPLATES("before")
    if view.state in ("waiting", "failed", "stopped", "left"):
        return TEMPLATES.text(view.state, after=after, place=view.position)
    if status is None:
        return TEMPLATES.text("starting")
    name = status.end if status.end in ("goal", "limit") else "under_way"
    right = TEMPLATES("right", measured=status.measured, exact_match=exact_match_text(status))
    speed = {"seconds": status.seconds, "updates_per_second": status.updates_a_second}
    return TEMPLATES.text(name, after=after, right=right, goal=view.settings.goal, **speed)


def time_left_text(status: ToyStatus, settings: ToySettings) -> str:
    """Return the time until the limit of updates: nobody knows when the goal is met."""
    if not status.updates_a_second:
        return "—"
    return f"{(settings.max_updates - status.update) / status.updates_a_second:.0f} s"


def best_reader_words(replay: TrainingReplay, positions: Sequence[set[int]]) -> str:
    """Return how often the best reader reads the right symbol now, for the mark beside it."""
    hits = int(count_hits(replay.trajectories[0].cross[-1], positions).max())
    return TEMPLATES.text("most_often", hits=hits, symbols=len(positions))


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
    return number(f"{100 * status.exact_match:.1f} %".replace(".0 %", " %"))
