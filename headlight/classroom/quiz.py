"""A quiz of a class: items in two forms, answered on each phone at its own pace.

A phone gets one form before the lesson and the other one after it, half of the phones form A first. So both forms, of
which one may be harder, are equally often before and after. All answers of a phone are one choice, such as "2,0,,1,,".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from zlib import crc32

FORMS = ("A", "B")
BEFORE, AFTER = "before", "after"
PER_FORM = 6  # items


@dataclass(frozen=True)
class QuizItem:
    """An item of a form: its question, its options with the misconception of each, "" for the right one."""

    name: str
    idea: str
    level: str
    form: str
    text: str
    options: tuple[str, ...]
    misconceptions: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("options", "misconceptions"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if len(self.options) != len(self.misconceptions) or self.misconceptions.count("") != 1:
            raise ValueError(f"{self.name} needs one right option and a misconception for each other one")

    @property
    def right(self) -> int:
        """Return the index of the right option."""
        return self.misconceptions.index("")


@dataclass(frozen=True)
class Quiz:
    """A quiz before or after a lesson. texts: of the phone's page."""

    when: str
    items: tuple[QuizItem, ...]
    texts: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        items = (each if isinstance(each, QuizItem) else QuizItem(**each) for each in self.items)
        object.__setattr__(self, "items", tuple(items))
        if self.when not in (BEFORE, AFTER) or any(len(self._form(form)) != PER_FORM for form in FORMS):
            raise ValueError(f"a quiz is before or after, and each of its forms has {PER_FORM} items")

    def _form(self, form: str) -> tuple[QuizItem, ...]:
        return tuple(item for item in self.items if item.form == form)

    def items_for(self, participant: str) -> tuple[QuizItem, ...]:
        """Return the items of a participant's form, which is the other one after the lesson."""
        return self._form(FORMS[(crc32(participant.encode()) + (self.when == AFTER)) % len(FORMS)])

    def read_choice(self, choice: object) -> str:
        """Return a phone's answers, an index or None for each item, as they are stored. Raises ValueError."""
        options = range(min(len(item.options) for item in self.items))
        if not isinstance(choice, list) or len(choice) != PER_FORM:
            raise ValueError(f"a quiz has {PER_FORM} answers")
        if not all(each is None or (type(each) is int and each in options) for each in choice):
            raise ValueError("an answer is the index of an option, or None")
        return ",".join("" if each is None else str(each) for each in choice)

    def answers(self, participant: str, choice: str) -> Iterator[tuple[QuizItem, int]]:
        """Yield each answered item of a stored choice with the index of the chosen option."""
        for item, chosen in zip(self.items_for(participant), chosen_options(choice), strict=True):
            if chosen is not None:
                yield item, chosen


def chosen_options(choice: str) -> list[int | None]:
    """Return a stored choice as phones have it: the index of an option for each item, or None."""
    return [int(each) if each else None for each in choice.split(",")]
