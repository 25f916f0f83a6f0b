"""Answers of measures: options, the right ones, and the numbers that decide.

Measures are a closed register: a lesson's file names one of them with its arguments. No right answer is a constant: it
is measured on the model and the sentence of a `Run`.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.plots.numbers import percent
from transformer import Greedy, Translator
from transformer.interpret.study import Study
from transformer.interpret.trace import Trace
from transformer.model.names import Name

from .words import Say, Words, fill, lesson_words, number_words, phrase, phrase_of, text_of

RELATIVE = 0.02  # share of a measured number by which an estimate may be off
Value = str | int | float | bool


class Kind(Name):
    """Way of answering a question."""

    ONE = "one"  # of several options
    SEVERAL = "several"  # of the options, all that are right
    NUMBER = "number"
    DO = "do"  # by doing something on the page


@dataclass(frozen=True)
class Option:
    """An option: its `name` in records, its measured number where numbers decide, and `values` of its words.

    tells: the ending of its own templates, where that is not its name. label and feedback: its words once they are
    told, see `Answer.in_words`.
    """

    name: str
    label: str = ""
    feedback: str = ""
    value: float | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    tells: str = ""


@dataclass(frozen=True)
class Answer:
    """The answer to a question about one run: numbers, which `in_words` puts into words.

    right: names of the right options. value: of a NUMBER, within `bounds`; an estimate may be off by `tolerance`, for
    None by the share RELATIVE. done: of a DO. names: values of {names} in the step's words, see `texts`; tells: which
    of them is the truth. Told are truth, one sentence with its numbers, which ends every feedback; calculation, the
    last hint; and the options' words.
    Tokens in all texts are as the tokenizer writes them, between quotation marks.
    """

    kind: Kind
    truth: str = ""
    calculation: str = ""
    options: tuple[Option, ...] = ()
    right: Set[str] = frozenset()
    value: float = 0.0
    tolerance: float | None = None
    bounds: tuple[float, float] | None = None
    done: bool = False
    names: Mapping[str, Any] = field(default_factory=dict)
    tells: str = "truth"

    def in_words(self, words: Words) -> "Answer":
        """Return the answer in words: the templates `tells`, working, option and feedback, with all names filled.

        The words of an option are option_NAME and feedback_NAME where there are such, else option and feedback. Its
        values go before the answer's names. {every} is the template `each`, filled for every option, in a list; {value}
        is the answer's number.
        """
        options = tuple(self._option_in_words(option, words) for option in self.options)
        every = tuple(Say("each", {**each.values, "label": each.label, "value": each.value}) for each in options)
        names = {"every": every, "value": self.value, **self.names}
        truth, working = (phrase_of(name, names, words) for name in (self.tells, "working"))
        plain = {name: fill(f"{{{name}}}", self.names, words) for name in self.names if _is_words(self.names[name])}
        return replace(self, truth=truth, calculation=working, options=options, names={**self.names, **plain})

    def _option_in_words(self, option: Option, words: Words) -> Option:
        names = {**self.names, "value": option.value, **option.values}
        label = phrase_of(_template_of("option", option, words), names, words)
        names["label"] = label
        feedback = _template_of("feedback", option, words)
        return replace(option, label=label, feedback=phrase_of(feedback, names, words) if feedback in words else "")

    @property
    def texts(self) -> dict[str, str]:
        """Return the names as texts and addresses have them: INDICES from 1, shares in percent, heads as addresses."""
        return {name: text_of(name, value) for name, value in self.names.items()}

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
        within = "" if self.bounds is None else phrase("step", "within", low=self.bounds[0], high=self.bounds[1])
        return f"{within} {phrase('step', 'error', near=near)}".lstrip()


def _template_of(template: str, option: Option, words: Words) -> str:
    special = f"{template}_{option.tells or option.name}"
    return special if special in words else template


def _is_words(value: object) -> bool:
    return isinstance(value, Say) or (isinstance(value, tuple) and any(map(_is_words, value)))


def _is_number(choice: object) -> TypeGuard[float]:
    return isinstance(choice, (int, float)) and not isinstance(choice, bool)


class Undecided(Exception):  # noqa: N818 -- no error: the sentence does not decide the question
    """A sentence or a model does not decide a question: the name of the reason in texts.toml, and its values."""

    def __init__(self, reason: str, values: Mapping[str, Any] | None = None):
        super().__init__(reason, values)

    def __str__(self) -> str:
        reason, values = self.args
        return fill(lesson_words()["undecided"][reason], values or {})


def one_of(
    options: Iterable[Option],
    right: str = "",
    *,
    by: float = 0.0,
    reason: str = "alike",
    tells: str = "truth",
    **names: Any,
) -> Answer:
    """Return a question for the option named `right`, else for that of the largest number; its values join the names.

    Raises Undecided with the reason where the number is not larger than all others by `by`.
    """
    best, *others = sorted(options := tuple(options), key=lambda each: (each.name != right, -(each.value or 0.0)))
    if not others or (not right and (best.value or 0.0) - (others[0].value or 0.0) < by):
        raise Undecided(reason)
    values = {**best.values, "value": best.value, **names}
    return Answer(Kind.ONE, options=options, right={best.name}, names=values, tells=tells)


def percentage(share: float, **names: Any) -> Answer:
    """Return a question for a share in percent, to be estimated within ten; it joins the names as `share`."""
    return Answer(Kind.NUMBER, value=100 * share, tolerance=10.0, bounds=(0.0, 100.0), names={"share": share, **names})


def largest(options: Iterable[Option]) -> set[str]:
    """Return the name of the option whose number is the largest."""
    return {max(options, key=lambda option: option.value or 0.0).name}


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
