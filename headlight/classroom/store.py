"""Data of a class that predicts together, and the rules for answers; `teaching` has the acts of its teacher.

Stored are the class, its questions, times, and answers by participants' random numbers, hashed with the class's salt.
All of it is gone twelve hours after the class was opened, an hour after the teacher's last act, or when they end it.
"""

import json
import math
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import lru_cache

from .quiz import Quiz

MOST_CLASSES, MOST_PARTICIPANTS, MOST_ROUNDS, MOST_REMOVED = 200, 400, 100, 100
MOST_OPTIONS, MOST_LETTERS, MOST_OPTION_LETTERS, MOST_LINK = 8, 600, 200, 1500
LASTS, IDLE = 12 * 3600.0, 3600.0  # seconds: in all, and without an act of the teacher
AWAY = 300.0  # seconds since their last request after which a participant makes room for another one
REMEMBERED = 3600.0  # seconds that an ended class is known to be over, with nothing else kept of it
BETWEEN_ANSWERS = 1.0  # seconds, of one participant

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
_LINK = re.compile(r"[a-z_]*(\?[^\s\\]*)?")  # a page of the app and its query, nothing that leads elsewhere


class ClassError(Exception):
    """An act that a class refuses; its text is one friendly sentence."""


class NoClassError(ClassError):
    """There is no such class, or no longer."""


class NotTheTeacherError(ClassError):
    """The secret is not that of the class."""


class CodeTakenError(ClassError):
    """Another class has the code."""


class NoRoomError(ClassError):
    """There are as many classes, or rounds of one, as allowed."""


class StoreError(ClassError):
    """The store cannot be reached: nothing was acknowledged, and asking again is right."""


class Phase(StrEnum):
    """Phase of a class."""

    LOBBY = "lobby"  # open, nothing asked yet
    ASKING = "asking"
    CLOSED = "closed"
    REVEALED = "revealed"
    ENDED = "ended"


class Kind(StrEnum):
    """Way of answering a question, by the names of lessons."""

    ONE = "one"  # of several options
    SEVERAL = "several"  # of the options
    NUMBER = "number"
    QUIZ = "quiz"  # several items, of `Round.quiz`


class Outcome(StrEnum):
    """Outcome of an answer, or of an attempt to join."""

    KEPT = "kept"  # the answer is durable; the participant is in
    CLOSED = "closed"  # this round takes no answers, or no longer
    TOO_SOON = "too soon"  # after the participant's last one
    LOCKED = "locked"  # for those who are not in yet
    FULL = "full"
    WAITING = "waiting"  # a newcomer, who has to ask once more
    CROWDED = "crowded"  # too many newcomers from one address
    REMOVED = "removed"  # by the teacher
    NO_CLASS = "no class"


@dataclass(frozen=True)
class Question:
    """A question: a text and its options, or none for a NUMBER and a QUIZ; about: its sentence, "" for none.

    Raises ValueError where there are too few options or too much text.
    """

    text: str
    options: tuple[str, ...] = ()
    kind: Kind = Kind.ONE
    about: str = ""

    def __post_init__(self) -> None:
        for name in ("text", "about"):
            object.__setattr__(self, name, _one_line(getattr(self, name), MOST_LETTERS))
        object.__setattr__(self, "options", tuple(_one_line(each, MOST_OPTION_LETTERS) for each in self.options))
        object.__setattr__(self, "kind", Kind(self.kind))
        least, most = (0, 0) if self.kind in (Kind.NUMBER, Kind.QUIZ) else (2, MOST_OPTIONS)
        if not least <= len(self.options) <= most:
            raise ValueError(f"a question of the kind {self.kind} has {least} to {most} options: {self.options}")

    def read_choice(self, choice: object) -> str:
        """Return an answer as it is stored: "2", "0,3" or "0.52". Raises ValueError for answers of other questions."""
        if self.kind == Kind.NUMBER:
            if isinstance(choice, (int, float)) and not isinstance(choice, bool) and abs(choice) < 1e15:
                return f"{choice:.6g}"
            raise ValueError("a number is asked for")
        chosen = [choice] if self.kind == Kind.ONE else choice
        if not isinstance(chosen, list) or not all(
            type(each) is int and 0 <= each < len(self.options) for each in chosen
        ):
            raise ValueError("an option is chosen by its index, several by a list of them")
        if len(set(chosen)) != len(chosen):
            raise ValueError("each option is chosen once")
        return ",".join(map(str, sorted(chosen)))

    def chosen(self, choice: str) -> list[int]:
        """Return the indices of the options in a stored answer."""
        return [] if self.kind in (Kind.NUMBER, Kind.QUIZ) else [int(each) for each in choice.split(",") if each]


@dataclass(frozen=True)
class Truth:
    """Answer of a question. No participant gets any of it before it is revealed.

    right: indices of right options, none where nothing is right or wrong. value, margin: of a NUMBER. feedback: on each
    option; sentence: for all others. link: a page of this app with its query, such as "decoding?lesson=decoding.3",
    where a student can try the question.
    """

    sentence: str = ""
    right: tuple[int, ...] = ()
    value: float | None = None
    margin: float = 0.0
    feedback: tuple[str, ...] = ()
    link: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sentence", _one_line(self.sentence, MOST_LETTERS))
        object.__setattr__(self, "feedback", tuple(_one_line(each, MOST_LETTERS) for each in self.feedback))
        object.__setattr__(self, "right", tuple(self.right))
        if len(self.link) > MOST_LINK or not _LINK.fullmatch(self.link):
            raise ValueError(f"a link is a page of the app and its query: {self.link!r}")
        if self.value is not None and not (math.isfinite(self.value) and math.isfinite(self.margin)):
            raise ValueError(f"the number is not finite: {self.value} ± {self.margin}")

    def is_right(self, question: Question, choice: str) -> bool | None:
        """Return whether a stored answer is right, None where nothing is right or wrong."""
        if question.kind == Kind.NUMBER:
            return None if self.value is None else abs(float(choice) - self.value) <= self.margin
        if question.kind == Kind.ONE:
            return question.chosen(choice)[0] in self.right if self.right else None
        return set(question.chosen(choice)) == set(self.right) if self.right else None

    def feedback_on(self, question: Question, choice: str | None) -> str:
        """Return the feedback for a participant, by their stored answer or None."""
        if choice is not None and question.kind == Kind.ONE and len(self.feedback) == len(question.options):
            return self.feedback[question.chosen(choice)[0]] or self.sentence
        return self.sentence


@dataclass(frozen=True)
class Round:
    """A round of a question: its step, such as "attention.3", and times.

    version: of the class when the round began. closed: None while it is open. discarded: it counts for nothing. hands:
    raised hands for each option, as the teacher counted them; () for none. quiz: of a QUIZ, which is never revealed.
    """

    number: int  # from 1
    question: Question
    truth: Truth
    step: str
    version: int
    opened: float
    closed: float | None = None
    discarded: bool = False
    hands: tuple[int, ...] = ()
    quiz: Quiz | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hands", tuple(self.hands))
        if isinstance(self.quiz, dict):
            object.__setattr__(self, "quiz", Quiz(**self.quiz))

    def read_choice(self, choice: object) -> str:
        """Return an answer as it is stored. Raises ValueError for answers of other questions."""
        return self.quiz.read_choice(choice) if self.quiz else self.question.read_choice(choice)


@dataclass(frozen=True)
class Classroom:
    """A class: `version` grows with each change of it, not with answers. Times are seconds since 1970.

    teacher: hash of the teacher's secret. salt: of participants' numbers. lesson, step: of the teacher. locked: for
    newcomers. removed: participants whom the teacher has removed.
    """

    code: str
    teacher: str
    salt: str
    opened: float
    ends: float
    lesson: str = ""
    step: int = 0
    phase: Phase = Phase.LOBBY
    version: int = 1
    rounds: tuple[Round, ...] = ()
    locked: bool = False
    removed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "phase", Phase(self.phase))
        object.__setattr__(self, "removed", tuple(self.removed))

    @property
    def current(self) -> Round | None:
        """Return the open, closed or revealed round."""
        return self.rounds[-1] if self.rounds and self.phase not in (Phase.LOBBY, Phase.ENDED) else None

    def document(self) -> str:
        """Return it as JSON, which `from_document` reads."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    def ended(self, now: float) -> "Classroom":
        """Return the rest of a class that is over: its code."""
        return Classroom(
            code=self.code,
            teacher="",
            salt="",
            opened=self.opened,
            ends=min(self.ends, now + REMEMBERED),
            phase=Phase.ENDED,
            version=self.version + 1,
            locked=True,
        )


@lru_cache(maxsize=MOST_CLASSES)  # most requests find the document of the request before
def from_document(document: str) -> Classroom:
    """Return the class that `Classroom.document` wrote."""
    content = json.loads(document)
    rounds = tuple(
        Round(**each | {"question": Question(**each["question"]), "truth": Truth(**each["truth"])})
        for each in content["rounds"]
    )
    return Classroom(**content | {"rounds": rounds})


@dataclass(frozen=True)
class Answer:
    """A participant's answer in a round: hashed number, choice as `Question.read_choice` returns it, and time."""

    round: int
    participant: str
    choice: str
    at: float


def judge(classroom: Classroom | None, answer: Answer, last: Answer | None, *, is_in: bool, others: int) -> Outcome:
    """Return the outcome of an answer, by the participant's last one of its round and the number of participants."""
    if classroom is None:
        return Outcome.NO_CLASS
    if classroom.phase != Phase.ASKING or len(classroom.rounds) != answer.round:
        return Outcome.CLOSED
    if not is_in:
        return entry(classroom, others)
    if last and last.choice != answer.choice and answer.at - last.at < BETWEEN_ANSWERS:
        return Outcome.TOO_SOON
    return Outcome.KEPT


def entry(classroom: Classroom | None, others: int) -> Outcome:
    """Return the outcome of an attempt to join a class of so many others."""
    if classroom is None or classroom.phase == Phase.ENDED:
        return Outcome.NO_CLASS
    if classroom.locked:
        return Outcome.LOCKED
    return Outcome.FULL if others >= MOST_PARTICIPANTS else Outcome.KEPT


def _one_line(text: str, most: int) -> str:
    line = _UNSEEN.sub(" ", text).strip()
    return line if len(line) <= most else f"{line[: most - 1]}…"
