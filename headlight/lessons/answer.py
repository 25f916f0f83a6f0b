"""What a measure finds of a run, as the answer to a question: options, the right one, and what is so of each.

Measures are a closed register: a lesson's file names one of them with its arguments. What is right is nowhere a
constant: it is measured on the model and the sentence of a `Run`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.plots.numbers import percent
from headlight.plots.tokens import NOTHING
from transformer import Greedy, Translator
from transformer.interpret.trace import Trace
from transformer.model.names import Name

RELATIVE = 0.02  # how far an estimated number may lie from the measured one, as a share of it
Value = str | int | float | bool


class Kind(Name):
    """How a question is answered."""

    ONE = "one"  # of several options
    SEVERAL = "several"  # of the options, all that are right
    NUMBER = "number"
    DO = "do"  # by doing something on the page


@dataclass(frozen=True)
class Option:
    """An option by a `name` that is kept, its label, and what is so of it: "This row puts .03 on “eaten”." """

    name: str
    label: str
    told: str = ""


@dataclass(frozen=True)
class Answer:
    """The answer to a question about one run.

    right: names of the right options. value: of a NUMBER, with how far off an estimate may be: by `tolerance`, or where
    that is None by `relative`, a share of it; what it can be at all lies within `bounds`, where there are some. done:
    whether what is to be done has been done. truth: one sentence with its numbers, which ends every feedback.
    calculation: how it is found, with its numbers, the last hint. names: texts for {names} in the file. Tokens in all
    of them are as the tokenizer writes them, between quotation marks.
    """

    kind: Kind
    truth: str
    calculation: str
    options: tuple[Option, ...] = ()
    right: frozenset[str] = frozenset()
    value: float = 0.0
    tolerance: float | None = None
    relative: float = RELATIVE
    bounds: tuple[float, float] | None = None
    done: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    def is_right(self, choice: object) -> bool:
        """Return whether a choice is right: an option's name, several names, or a number; of a DO, whether it is done.

        A choice of another kind, from another question or a broken browser, is wrong.
        """
        if self.kind == Kind.DO:
            return self.done
        if self.kind == Kind.NUMBER:
            return _is_number(choice) and abs(choice - self.value) <= self.margin
        if self.kind == Kind.ONE:
            return isinstance(choice, str) and choice in self.right
        return isinstance(choice, list) and all(isinstance(each, str) for each in choice) and set(choice) == self.right

    @property
    def margin(self) -> float:
        """Return how far off an estimated number may be."""
        return self.relative * abs(self.value) if self.tolerance is None else self.tolerance

    @property
    def scale(self) -> str:
        """Say of a NUMBER what it may be, and how near an estimate must come; that tells nothing of the answer."""
        near = percent(self.relative) if self.tolerance is None else number_words(self.tolerance)
        within = "" if self.bounds is None else "From {} to {}. ".format(*map(number_words, self.bounds))
        return f"{within}Within {near} of it counts as right."


def _is_number(choice: object) -> TypeGuard[float]:
    return isinstance(choice, (int, float)) and not isinstance(choice, bool)


def number_words(value: float) -> str:
    """Return a number with three significant digits and a true minus sign: 0.52, −1.7, 4,000."""
    rounded = float(f"{value:.3g}")
    return (f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}").replace("-", "−")


def ended(text: str) -> str:
    """Return a text as the end of a sentence: with a full stop, unless a quoted sentence brings its own."""
    return text if text.endswith((".”", "!”", "?”", ".)")) and len(text) > len("“.”") else f"{text}."


def translated(text: str) -> str:
    """Return a translation as the end of a sentence."""
    return ended(f"“{text}”" if text else NOTHING)


class Undecided(Exception):  # noqa: N818 -- no error: the sentence does not decide the question
    """A sentence or a model does not decide a question; its text is a sentence that says why."""


@dataclass(frozen=True)
class Run:
    """What a measure measures: a translation, and for a DO what the address of the page says now."""

    request: TranslationRequest
    address: Mapping[str, str] = field(default_factory=dict)

    @property
    def greedy(self) -> TranslationRequest:
        """Return the same text translated greedily, with nothing forced."""
        return replace(self.request, strategy=Greedy(), prefix=(), rank=1)

    @property
    def trace(self) -> Trace:
        """Return the translation with the attention of every head. Raises UserError."""
        return results.trace(self.request)

    @property
    def translator(self) -> Translator:
        """Return the translator of the run's checkpoint."""
        return results.translator(self.request.checkpoint)


Measure = Callable[..., Answer]
MEASURES: dict[str, Measure] = {}


def measure(function: Measure) -> Measure:
    """Enter a function of a run into the register, under its own name."""
    MEASURES[function.__name__] = function
    return function


def of_the_page(function: Measure) -> Measure:
    """Mark a measure of something that is done on the page: it reads `Run.address`, and is never kept."""
    function.reads_address = True  # type: ignore[attr-defined]
    return function
