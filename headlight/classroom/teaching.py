"""The acts of a class's teacher: open, ask, close, reveal, ask again, end.

    store = open_store()                       # the server's; cheap, the same each time
    teacher = open_class(store, lesson="attention")
    teacher.code, teacher.secret               # for the wall; for the teacher alone
    teacher.ask(Question("Same or another?", ("the same", "another")), Truth("It is another.", right=(1,)))
    teacher.look().here, teacher.look().tally.answered
    teacher.close_round(); teacher.look().tally.counts
    teacher.ask_again()                        # the same question once more, beside the first round
    teacher.reveal(); teacher.csv(); teacher.end()

`Teacher(store, code, secret)` leads a class in another process too. Every act raises NotTheTeacherError with a wrong
secret, NoClassError after the end, and StoreError where a repetition is right: all are ClassErrors, whose text is a
sentence to show.
"""

import csv
import hashlib
import hmac
import io
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from headlight.app.spreadsheet import as_text

from .quiz import COLUMNS, Quiz, chosen_options
from .store import (
    IDLE,
    LASTS,
    MOST_REMOVED,
    MOST_ROUNDS,
    Answer,
    ClassError,
    Classroom,
    CodeTakenError,
    Kind,
    NoClassError,
    NoRoomError,
    NotTheTeacherError,
    Phase,
    Question,
    Round,
    Truth,
)

if TYPE_CHECKING:
    from .sqlite_store import SqliteStore

ALPHABET = "2346789CDFHJKMNPRTVWX"  # no vowels; of those that look alike (B8, 0DOQ, 5S, 6G, 1IL, 2Z, UV) at most one
LENGTH, SIGN_LENGTH = 5, 4
HERE = 30.0  # seconds of presence after a request: a phone in a pocket asks every ten seconds
_TRIES = 50
_HAND = ""  # in place of a participant
MOST_HANDS = 999  # for an option


@dataclass(frozen=True)
class Tally:
    """Answers of a round: the count of each option, or all numbers in their order.

    answered: number of participants, of a quiz those who are done. right: number of right ones, None where nothing is
    right or wrong.
    """

    answered: int
    counts: tuple[int, ...] = ()
    numbers: tuple[float, ...] = ()
    right: int | None = None


@dataclass(frozen=True)
class View:
    """View of the teacher: the class, the signs of present participants, and the current round's answers so far."""

    classroom: Classroom
    signs: tuple[str, ...]
    tally: Tally | None

    @property
    def here(self) -> int:
        """Return the number of present participants."""
        return len(self.signs)


def read_code(text: str) -> str:
    """Return a typed code in its stored form, "" for any other text."""
    code = "".join(text[: 4 * LENGTH].upper().replace("-", " ").split())
    return code if len(code) == LENGTH and set(code) <= set(ALPHABET) else ""


def sign_of(participant: str) -> str:
    """Return the short sign of a participant for the teacher and the phone."""
    number, letters = crc32(participant.encode()), len(ALPHABET)
    return "".join(ALPHABET[number // letters**digit % letters] for digit in range(SIGN_LENGTH))


def open_class(store: "SqliteStore", lesson: str = "", step: int = 0) -> "Teacher":
    """Open a class and return its teacher, who alone has the secret. Raises NoRoomError."""
    secret, opened = secrets.token_urlsafe(24), store.now()
    for _ in range(_TRIES):
        classroom = Classroom(
            code="".join(secrets.choice(ALPHABET) for _ in range(LENGTH)),
            teacher=_hashed(secret),
            salt=secrets.token_hex(16),
            opened=opened,
            ends=opened + IDLE,
            lesson=lesson,
            step=step,
        )
        try:
            store.create(classroom)
        except CodeTakenError:
            continue
        return Teacher(store, classroom.code, secret)
    raise NoRoomError("No code is free: please try again later.")


class Teacher:
    """Teacher's handle to a class, authorised by its secret; every act returns the class after it."""

    def __init__(self, store: "SqliteStore", code: str, secret: str):
        self._store, self.code, self.secret = store, read_code(code), secret

    def look(self) -> View:
        """Return the state of the class, about once per second."""
        classroom = self._read()
        here = self._store.seen_since(self.code, self._store.now() - HERE)
        signs = tuple(sorted(map(sign_of, here)))
        tally = self._tally(classroom.current) if classroom.current else None
        return View(classroom=classroom, signs=signs, tally=tally)

    def ask(self, question: Question, truth: Truth | None = None, step: str = "") -> Classroom:
        """Ask a question; an open one is closed. step: in addresses, such as "attention.3"."""
        content = {"question": question, "truth": truth or Truth(), "step": step[:100]}
        return self._change(lambda old: self._with_round(old, **content))

    def ask_quiz(self, quiz: Quiz, text: str) -> Classroom:
        """Open a quiz; text: for the wall. It ends with `close_round`, and nothing of it is revealed."""
        content = {"question": Question(text, kind=Kind.QUIZ), "truth": Truth(), "step": f"quiz.{quiz.when}"}
        return self._change(lambda old: self._with_round(old, **content, quiz=quiz))

    def ask_again(self) -> Classroom:
        """Ask the last question once more, in a round of its own: none of its answers counts for the new one."""

        def again(old: Classroom) -> Classroom:
            if not old.rounds:
                raise ClassError("Nothing has been asked yet.")
            last = old.rounds[-1]
            return self._with_round(old, question=last.question, truth=last.truth, step=last.step, quiz=last.quiz)

        return self._change(again)

    def close_round(self) -> Classroom:
        """Take no more answers."""
        return self._change(lambda old: self._closed(old, Phase.CLOSED) if old.phase == Phase.ASKING else old)

    def reveal(self) -> Classroom:
        """Give participants the histogram, what is right, and their feedback; an open round is closed with it."""
        return self._change(
            lambda old: self._closed(old, Phase.REVEALED) if old.phase in (Phase.ASKING, Phase.CLOSED) else old
        )

    def discard(self) -> Classroom:
        """Throw the current round away: it is in no table, and the class waits for the next question."""

        def without(old: Classroom) -> Classroom:
            if old.current is None:
                return old
            rounds = (*old.rounds[:-1], replace(self._closed(old, Phase.LOBBY).rounds[-1], discarded=True))
            return replace(old, phase=Phase.LOBBY, rounds=rounds)

        return self._change(without)

    def wait(self) -> Classroom:
        """Clear the phones between two questions."""
        return self._change(
            lambda old: old if old.phase == Phase.LOBBY else replace(self._closed(old, Phase.LOBBY), phase=Phase.LOBBY)
        )

    def count_hands(self, hands: tuple[int, ...]) -> Classroom:
        """Note the raised hands for each option of the question, in place of earlier ones.

        They count beside the answers of phones. Raises ClassError where the question has no hands.
        """

        def counted(old: Classroom) -> Classroom:
            last = old.current
            if last is None or old.phase == Phase.REVEALED or last.question.kind != Kind.ONE:
                raise ClassError("Hands are counted for one of several options, before the answer is shown.")
            if len(hands) != len(last.question.options) or not all(0 <= each <= MOST_HANDS for each in hands):
                raise ClassError(f"Each option has 0 to {MOST_HANDS} hands.")
            return replace(old, rounds=(*old.rounds[:-1], replace(last, hands=hands)))

        return self._change(counted)

    def lock(self, locked: bool = True) -> Classroom:
        """Lock the class to newcomers, or unlock it."""
        return self._change(lambda old: old if old.locked == locked else replace(old, locked=locked))

    def remove(self, sign: str) -> Classroom:
        """Remove the participants of a sign for good, with their answers to a question that is not revealed yet."""
        gone = [each for each in self._store.seen_since(self.code, 0.0) if sign_of(each) == sign]

        def without(old: Classroom) -> Classroom:
            if len(old.removed) + len(gone) > MOST_REMOVED:
                raise NoRoomError("Too many have been removed one by one: please empty the room.")
            return replace(old, removed=(*old.removed, *gone)) if gone else old

        return self._expel(self._change(without), gone)

    def empty(self) -> Classroom:
        """Remove all participants, with their answers to a question that is not revealed yet, and open the door.

        Phones that are still there come in again, at most so many a minute from one address.
        """
        salt = secrets.token_hex(16)  # another one: no server takes a phone for one that it has admitted
        return self._expel(self._change(lambda old: replace(old, salt=salt, removed=(), locked=False)), None)

    def _expel(self, classroom: Classroom, participants: list[str] | None) -> Classroom:
        is_open = classroom.current is not None and classroom.phase != Phase.REVEALED
        self._store.expel(self.code, participants, classroom.rounds[-1].number if is_open else None)
        return classroom

    def go(self, lesson: str, step: int) -> Classroom:
        """Note the teacher's lesson and step, for another device of theirs."""
        return self._change(
            lambda old: old if (old.lesson, old.step) == (lesson, step) else replace(old, lesson=lesson, step=step)
        )

    def tally(self, number: int) -> Tally:
        """Return the answers of a round, counted from 1."""
        rounds = {each.number: each for each in self._read().rounds}
        if number not in rounds:
            raise ClassError(f"There is no round {number}.")
        return self._tally(rounds[number])

    def csv(self) -> bytes:
        """Return every answer of every round that counts as CSV in UTF-8, without a cell that a spreadsheet calculates.

        Participants have numbers that mean nothing else; raised hands are of participant 0.
        """
        rounds = [each for each in self._read().rounds if not each.discarded]
        answers = {each.number: self._store.answers(self.code, each.number) for each in rounds}
        known = sorted({answer.participant for each in answers.values() for answer in each})
        names = {_HAND: 0} | {participant: number for number, participant in enumerate(known, start=1)}
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(["round", "step", "question", "participant", "answer", "right", "seconds", *COLUMNS])
        for each in rounds:
            for answer in (*_hands(each), *answers[each.number]):
                seconds = round(max(0.0, answer.at - each.opened), 1)
                for question, words, right, *more in _judged(each, answer):
                    cells = (each.number, each.step, question, names[answer.participant], words, right, seconds, *more)
                    writer.writerow(map(as_text, cells))
        return text.getvalue().encode()

    def end(self) -> Classroom:
        """End the class and delete its data for good: first take its `csv`.

        For an hour the store knows that the class is over.
        """
        return self._change(lambda old: old.ended(self._store.now()))

    def _read(self) -> Classroom:
        classroom = self._store.read(self.code)
        if classroom is None:
            raise NoClassError(f"There is no class {self.code}, or no longer.")
        self._check(classroom)
        return classroom

    def _check(self, classroom: Classroom) -> None:
        if classroom.phase == Phase.ENDED:
            raise NoClassError(f"The class {self.code} has ended.")
        if not hmac.compare_digest(classroom.teacher, _hashed(self.secret)):
            raise NotTheTeacherError("This is not the secret of the class's teacher.")

    def _change(self, change: Callable[[Classroom], Classroom]) -> Classroom:
        def checked(old: Classroom) -> Classroom:
            self._check(old)
            new = change(old)
            ends = min(old.opened + LASTS, self._store.now() + IDLE) if new.phase != Phase.ENDED else new.ends
            return new if new is old else replace(new, version=old.version + 1, ends=ends)

        return self._store.change(self.code, checked)

    def _with_round(self, old: Classroom, **content: Any) -> Classroom:
        if len(old.rounds) >= MOST_ROUNDS:
            raise NoRoomError(f"A class can ask {MOST_ROUNDS} times: please open another one.")
        old = self._closed(old, Phase.CLOSED)
        now = self._store.now()
        number, version = len(old.rounds) + 1, old.version + 1
        new = Round(number=number, version=version, opened=now, **content)
        return replace(old, phase=Phase.ASKING, rounds=(*old.rounds, new))

    def _closed(self, old: Classroom, phase: Phase) -> Classroom:
        """Return the class with its last round closed, where it is open, and in another phase."""
        if not old.rounds:
            return replace(old, phase=phase)
        last = old.rounds[-1]
        phase = Phase.LOBBY if last.quiz else phase
        closed = self._store.now() if last.closed is None else last.closed
        return replace(old, phase=phase, rounds=(*old.rounds[:-1], replace(last, closed=closed)))

    def _tally(self, current: Round) -> Tally:
        return tally_of(current, self._store.answers(self.code, current.number))


def tally_of(current: Round, answers: list[Answer]) -> Tally:
    """Return the tally of a round, raised hands among its answers."""
    question, truth = current.question, current.truth
    if current.quiz:
        return Tally(answered=sum(None not in chosen_options(answer.choice) for answer in answers))
    choices = [answer.choice for answer in (*_hands(current), *answers)]
    chosen = [index for choice in choices for index in question.chosen(choice)]
    is_judged = bool(truth.right) or truth.value is not None
    return Tally(
        answered=len(choices),
        counts=tuple(chosen.count(index) for index in range(len(question.options))),
        numbers=tuple(sorted(map(float, choices))) if question.kind == Kind.NUMBER else (),
        right=sum(bool(truth.is_right(question, choice)) for choice in choices) if is_judged else None,
    )


def _hands(current: Round) -> list[Answer]:
    """Return raised hands as answers at the end of the round."""
    at = current.opened if current.closed is None else current.closed
    return [
        Answer(round=current.number, participant=_HAND, choice=str(option), at=at)
        for option, count in enumerate(current.hands)
        for _ in range(count)
    ]


def _judged(current: Round, answer: Answer) -> Iterable[Sequence[str]]:
    """Return question, answer and judgement for the table, of a quiz those of each item, with its COLUMNS."""
    if current.quiz:
        return current.quiz.rows(answer.participant, answer.choice)
    right = {None: "", True: "yes", False: "no"}[current.truth.is_right(current.question, answer.choice)]
    return [(current.question.text, _in_words(current.question, answer.choice), right, *[""] * len(COLUMNS))]


def _in_words(question: Question, choice: str) -> str:
    return choice if question.kind == Kind.NUMBER else ", ".join(question.options[at] for at in question.chosen(choice))


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
