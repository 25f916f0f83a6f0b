"""What stands on the teacher's screen of a class: computed of how the class stands and of where her page is."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.app.results import TranslationRequest
from headlight.classroom import Classroom, Kind, Phase, Round, Tally, View

from ..answer import number_words
from .asking import Asked

MOST_BINS = 6  # of a histogram of numbers


@dataclass(frozen=True)
class Place:
    """Where the teacher's page is: a lesson's step, from 1, with its texts and its question, or nothing but a page.

    away: the page shows something else than the step's figure. question: what can be asked, or a sentence that says why
    nothing can. tokens: of the sentence, for a question of her own.
    """

    page: str
    request: TranslationRequest
    lesson: str = ""
    away: bool = False
    title: str = ""
    step: int = 0
    of: int = 0
    say: Sequence[tuple[str, str]] = ()
    question: Asked | str = ""
    tokens: tuple[str, ...] = ()


def board(view: View, place: Place, before: Sequence[Tally] = (), *, bars: bool = False) -> dict:
    """Return what the teacher's screen shows, ready for JSON.

    before: of the rounds in which the current question was asked already. bars: whether she wants the histogram, which
    a round that takes answers has not yet: nobody is to follow the crowd.
    """
    classroom, current = view.classroom, view.classroom.current
    shown = bars_shown(classroom, bars)
    content: dict = {
        "code": classroom.code,
        "v": classroom.version,
        "phase": str(classroom.phase),
        "here": view.here,
        "signs": list(view.signs),
        "locked": classroom.locked,
        "rounds": len(classroom.rounds),
        "title": place.title,
        "step": place.step,
        "of": place.of,
        "say": list(place.say),
        "why": place.question if isinstance(place.question, str) else "",
        "tokens": list(place.tokens),
        "acts": acts(classroom, place, shown),
    }
    if current is None or view.tally is None:
        return content
    is_over = classroom.phase == Phase.REVEALED
    tallies = [*before, view.tally]
    labels, counts = _histogram(current, tallies)
    content["asked"] = {
        "round": current.number,
        "time": len(tallies),
        "text": current.question.text,
        "kind": str(current.question.kind),
        "options": list(current.question.options),
        "answered": view.tally.answered,
        "hands": list(current.hands) if current.question.kind == Kind.ONE and not is_over else None,
        "about": current.question.about,
        "labels": labels if shown else [],
        "bars": counts if shown else [],
        "right": list(current.truth.right) if is_over else [],
        "told": current.truth.sentence if is_over else "",
    }
    return content


def bars_shown(classroom: Classroom, wanted: bool) -> bool:
    """Return whether the histogram is to be seen, where the teacher wants it."""
    return classroom.phase == Phase.REVEALED or (wanted and classroom.phase == Phase.CLOSED)


def acts(classroom: Classroom, place: Place, shown: bool) -> list[str]:
    """Return what she can do now, by the names that the screen has for it, the next thing first."""
    onward = ["next"] if place.step else []
    match classroom.phase:
        case Phase.ASKING:
            return ["close", "reveal", *onward]
        case Phase.CLOSED:
            return [*([] if shown else ["bars"]), "reveal", "again", *onward]
    back = ["back"] if classroom.lesson and (place.away or not place.step) else []
    possible = [*back, *(["ask"] if _is_new(classroom, place) else []), *onward]
    if classroom.phase == Phase.REVEALED:
        return [*reversed(possible), "again"]
    return possible


def _is_new(classroom: Classroom, place: Place) -> bool:
    """Return whether the page's question is another one than that which was asked last, or about another sentence."""
    current = classroom.current
    if isinstance(place.question, str):
        return False
    if current is None:
        return True
    return (place.question.question, place.question.step) != (current.question, current.step)


def same_before(classroom: Classroom) -> list[Round]:
    """Return the rounds in which the current question was asked already, one after the other, just before."""
    found: list[Round] = []
    current = classroom.current
    if current is None:
        return found
    for each in reversed(classroom.rounds[:-1]):
        if each.discarded:
            continue
        if (each.question, each.step, each.truth.link) != (current.question, current.step, current.truth.link):
            break
        found.insert(0, each)
    return found


def _histogram(current: Round, tallies: Sequence[Tally]) -> tuple[list[str], list[list[int]]]:
    """Return a label for each bar, and its length in each round: options, or ranges that hold all numbers."""
    if current.question.kind != Kind.NUMBER:
        return list(current.question.options), [list(tally.counts) for tally in tallies]
    return binned([tally.numbers for tally in tallies])


def binned(rounds: Sequence[Sequence[float]], most: int = MOST_BINS) -> tuple[list[str], list[list[int]]]:
    """Return ranges of numbers as labels, and how many numbers of each round are in each.

    The middle nine tenths of all have ranges of one width, so that a joker's 1e9 takes no room: the first and the last
    range hold what lies beyond.
    """
    numbers = sorted(number for each in rounds for number in each)
    if not numbers:
        return [], [[] for _ in rounds]
    low, high = numbers[len(numbers) // 20], numbers[-1 - len(numbers) // 20]
    values = sorted(set(numbers))
    if len(values) <= most:
        return [number_words(each) for each in values], [[each.count(value) for value in values] for each in rounds]
    width = (high - low) / most or 1.0
    labels = [f"{number_words(low + at * width)} to {number_words(low + (at + 1) * width)}" for at in range(most)]
    places = [[min(max(int((number - low) / width), 0), most - 1) for number in each] for each in rounds]
    return labels, [[each.count(at) for at in range(most)] for each in places]
