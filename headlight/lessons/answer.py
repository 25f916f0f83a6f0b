"""Answers of measures: options, the right ones, and the numbers that decide.

Measures are a closed register: a lesson's file names one of them with its arguments. No right answer is a constant: it
is measured on the model and the sentence of a `Run`.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, TypeGuard

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.plots.numbers import percent
from headlight.plots.tokens import NOTHING
from transformer import Greedy, Translator
from transformer.interpret.study import Study
from transformer.interpret.trace import Trace
from transformer.model.heads import Head
from transformer.model.names import Name

RELATIVE = 0.02  # share of a measured number by which an estimate may be off
# Names, or their last words, that count from 0 in code and from 1 in texts and addresses.
INDICES = frozenset({"layer", "head", "row", "key", "query", "step", "dimension", "token", "against"})
Value = str | int | float | bool


class Kind(Name):
    """Way of answering a question."""

    ONE = "one"  # of several options
    SEVERAL = "several"  # of the options, all that are right
    NUMBER = "number"
    DO = "do"  # by doing something on the page


@dataclass(frozen=True)
class Option:
    """An option: its `name` in records, its label, its feedback, and its measured number where numbers decide."""

    name: str
    label: str
    feedback: str = ""
    value: float | None = None


def largest(options: Iterable[Option]) -> set[str]:
    """Return the name of the option whose number is the largest."""
    return {max(options, key=lambda option: option.value or 0.0).name}


@dataclass(frozen=True)
class Answer:
    """The answer to a question about one run.

    right: names of the right options. value: of a NUMBER, within `bounds`; an estimate may be off by `tolerance`, for
    None by the share RELATIVE. done: of a DO. truth: one sentence with its numbers, which ends every feedback.
    calculation: the last hint. names: values of {names} in the file, see `texts`. Tokens in all texts are as the
    tokenizer writes them, between quotation marks.
    """

    kind: Kind
    truth: str
    calculation: str
    options: tuple[Option, ...] = ()
    right: Set[str] = frozenset()
    value: float = 0.0
    tolerance: float | None = None
    bounds: tuple[float, float] | None = None
    done: bool = False
    names: Mapping[str, Any] = field(default_factory=dict)

    @property
    def texts(self) -> dict[str, str]:
        """Return the names as texts and addresses have them: INDICES from 1, shares in percent, heads as addresses."""
        return {name: _text_of(name, value) for name, value in self.names.items()}

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
        """Return the error that an estimated number may have."""
        return RELATIVE * abs(self.value) if self.tolerance is None else self.tolerance

    @property
    def scale(self) -> str:
        """Return the range of a NUMBER and the precision of an estimate in words, which reveal nothing of its value."""
        near = percent(RELATIVE) if self.tolerance is None else number_words(self.tolerance)
        within = "" if self.bounds is None else "From {} to {}. ".format(*map(number_words, self.bounds))
        return f"{within}It may be off by up to {near}."


def _text_of(name: str, value: object) -> str:
    if isinstance(value, Head):
        return value.address
    if isinstance(value, Integral):
        return str(int(value) + (name.rpartition("_")[2] in INDICES))
    return percent(float(value)) if isinstance(value, Real) else str(value)


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
    """A sentence or a model does not decide a question; the text is a sentence with the reason."""


@dataclass(frozen=True)
class Run:
    """Subject of a measure: a translation, and for a DO the address of the page."""

    request: TranslationRequest
    address: Mapping[str, str] = field(default_factory=dict)

    @property
    def greedy(self) -> TranslationRequest:
        """Return the request for the same text translated greedily, with nothing forced."""
        return replace(self.request, strategy=Greedy(), prefix=(), rank=1)

    @property
    def study(self) -> Study:
        """Return the translation with all measures of it. Raises UserError."""
        return results.study(self.request)

    @property
    def trace(self) -> Trace:
        """Return the translation with the attention of every head. Raises UserError."""
        return self.study.trace

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
    """Mark a measure that reads `Run.address`: its answers are not cached."""
    function.reads_address = True  # type: ignore[attr-defined]
    return function
