"""A quiz of a class: items in two forms, answered on each phone at its own pace.

A phone gets one form before the lesson and the other one after it; half of the phones begin with form A. So a form that
is harder makes no gain. All answers of a phone are one choice, stored as "2,0,,1,,".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from zlib import crc32

FORMS, TIMES = ("A", "B"), ("before", "after")
PER_FORM = 6  # items
COLUMNS = ("quiz", "form", "item", "idea", "level", "misconception")  # of a table of answers, after those of questions


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

    def items_for(self, participant: str) -> list[QuizItem]:
        """Return the items of a participant's form, which is the other one after the lesson."""
        form = FORMS[(crc32(participant.encode()) + TIMES.index(self.when)) % len(FORMS)]
        return [item for item in self.items if item.form == form]

    def payload_for(self, participant: str) -> dict[str, object]:
        """Return what a participant's page shows: nothing of what is right."""
        items = [{"text": item.text, "options": item.options} for item in self.items_for(participant)]
        return {"items": items, "texts": self.texts}

    def read_choice(self, choice: object) -> str:
        """Return a phone's answers, an index or None for each item, as they are stored. Raises ValueError."""
        options = range(min(len(item.options) for item in self.items))
        if not isinstance(choice, list) or len(choice) != PER_FORM:
            raise ValueError(f"a quiz has {PER_FORM} answers")
        if not all(each is None or (type(each) is int and each in options) for each in choice):
            raise ValueError("an answer is the index of an option, or None")
        return ",".join("" if each is None else str(each) for each in choice)

    def rows(self, participant: str, choice: str) -> Iterator[tuple[str, ...]]:
        """Yield of each answered item its question, the answer, whether it is right, and COLUMNS."""
        for item, chosen in zip(self.items_for(participant), chosen_options(choice), strict=True):
            if chosen is not None:
                judged = (item.text, item.options[chosen], "yes" if chosen == item.right else "no")
                yield (*judged, self.when, item.form, item.name, item.idea, item.level, item.misconceptions[chosen])


def chosen_options(choice: str) -> list[int | None]:
    """Return a stored choice as phones have it: the index of an option for each item, or None."""
    return [int(each) if each else None for each in choice.split(",")]
