"""Payload of the teacher's screen of a class, computed from the class and the teacher's page."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from headlight.app.results import TranslationRequest
from headlight.classroom import TIMES, Classroom, Kind, Phase, Round, Tally, View

from ..quiz_bank import bank, fill
from ..words import number_words, phrase
from .asking import ClassQuestion

_say = partial(phrase, "board")

MOST_BINS = 6  # of a histogram of numbers


@dataclass(frozen=True)
class Screen:
    """Page of the teacher: a lesson's step, from 1, with its texts and its question, or nothing but a page.

    away: the page is another one than the step's. question: of the step, or a sentence with the reason why there is
    none. tokens: of the sentence, for a question of the teacher's own.
    """

    page: str
    request: TranslationRequest
    lesson: str = ""
    away: bool = False
    title: str = ""
    step: int = 0
    of: int = 0
    say: Sequence[tuple[str, str]] = ()
    question: ClassQuestion | str = ""
    tokens: tuple[str, ...] = ()


def board(view: View, screen: Screen, before: Sequence[Tally] = (), *, bars: bool = False) -> dict:
    """Return the payload of the teacher's screen, ready for JSON.

    before: of the earlier rounds of the current question. bars: the teacher wants the histogram, which an open round
    does not have: nobody is to follow the crowd.
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
        "title": screen.title,
        "step": screen.step,
        "of": screen.of,
        "say": list(screen.say),
        "why": screen.question if isinstance(screen.question, str) else "",
        "tokens": list(screen.tokens),
        "acts": acts(classroom, screen, shown),
        "quiz": {when: bank()["texts"][when] for when in TIMES},
    }
    is_over = classroom.phase == Phase.REVEALED
    if current is None or view.tally is None or (is_over and screen.page == "lessons"):  # it would cover the summary
        return content
    tallies, done = [*before, view.tally], view.tally.answered
    labels, counts = _histogram(current, tallies)
    content["question"] = {
        "round": current.number,
        "time": len(tallies),
        "text": current.question.text,
        "kind": str(current.question.kind),
        "options": list(current.question.options),
        "answered": done,
        "hands": list(current.hands) if current.question.kind == Kind.ONE and not is_over else None,
        "about": current.question.about,
        "beside": screen.page == "inside",  # whose numbers the questions need
        "labels": labels if shown else [],
        "bars": counts if shown else [],
        "right": list(current.truth.right) if is_over else [],
        "truth": current.truth.sentence if is_over else "",
        "done": fill(bank()["texts"]["count"], done=done, here=max(view.here, done)) if current.quiz else "",
    }
    return content


def bars_shown(classroom: Classroom, bars: bool) -> bool:
    """Return whether the histogram is visible, where the teacher wants it or not."""
    return classroom.phase == Phase.REVEALED or (bars and classroom.phase == Phase.CLOSED)


def acts(classroom: Classroom, screen: Screen, shown: bool) -> list[str]:
    """Return the teacher's possible acts, by the screen's names, the next one first."""
    onward = ["next"] if screen.step else []
    match classroom.phase:
        case Phase.ASKING if classroom.rounds[-1].quiz:
            return ["close"]
        case Phase.ASKING:
            return ["close", "reveal", *onward]
        case Phase.CLOSED:
            return [*([] if shown else ["bars"]), "reveal", "again", *onward]
    back = ["back"] if classroom.lesson and (screen.away or not screen.step) else []
    possible = [*back, *(["ask"] if _is_new(classroom, screen) else []), *onward]
    if classroom.phase == Phase.REVEALED:
        return [*reversed(possible), "again"]
    return possible


def _is_new(classroom: Classroom, screen: Screen) -> bool:
    """Return whether the page's question is another one than the last, or about another sentence."""
    current = classroom.current
    if isinstance(screen.question, str):
        return False
    return current is None or (screen.question.question, screen.question.step) != (current.question, current.step)


def same_before(classroom: Classroom) -> list[Round]:
    """Return the earlier rounds of the current question, one after the other, just before it."""

    def key(each: Round) -> tuple[object, ...]:
        return each.question, each.step, each.truth.link

    rounds = [each for each in classroom.rounds if not each.discarded]
    if classroom.current is None:
        return []
    return list(takewhile(lambda each: key(each) == key(rounds[-1]), rounds[-2::-1]))[::-1]


def _histogram(current: Round, tallies: Sequence[Tally]) -> tuple[list[str], list[list[int]]]:
    """Return a label for each bar, and its length in each round: of options, or of ranges of numbers."""
    if current.question.kind != Kind.NUMBER:
        return list(current.question.options), [list(tally.counts) for tally in tallies]
    return binned([tally.numbers for tally in tallies])


def binned(rounds: Sequence[Sequence[float]]) -> tuple[list[str], list[list[int]]]:
    """Return ranges of numbers as labels, and the count of each round's numbers in each.

    The middle nine tenths of all numbers have ranges of one width, so that a joker's 1e9 takes no room; outliers are in
    the first and the last range.
    """
    numbers = sorted(number for each in rounds for number in each)
    if not numbers:
        return [], [[] for _ in rounds]
    low, high = numbers[len(numbers) // 20], numbers[-1 - len(numbers) // 20]
    values = sorted(set(numbers))
    if len(values) <= MOST_BINS:
        return [number_words(each) for each in values], [[each.count(value) for value in values] for each in rounds]
    width = (high - low) / MOST_BINS or 1.0
    labels = [_say("range", low=low + at * width, high=low + (at + 1) * width) for at in range(MOST_BINS)]
    bins = [[min(max(int((number - low) / width), 0), MOST_BINS - 1) for number in each] for each in rounds]
    return labels, [[each.count(at) for at in range(MOST_BINS)] for each in bins]
