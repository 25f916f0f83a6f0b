"""A step of a lesson for one run: its texts filled, its question measured, its hints, feedback on a choice."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from zlib import crc32

from headlight.app import results
from headlight.plots.tokens import CONTINUED, in_words, shown_tokens
from transformer.data.tokenizer import SPACE
from transformer.model.names import AttentionKind

from .answer import Answer, Kind, Option, Run, Undecided
from .file import MOST_HINTS, Lesson, Step, shipped_words
from .glosses import fitting, shown_glosses
from .register import answer_of
from .visit import Try
from .words import NAME, ended, fill, names_in, phrase

_QUOTED = re.compile(r"“([^”]{1,20})”( \()?")
_STYLED = re.compile(r"(\*\*[^*]+\*\*|\*[^*]+\*|`[^`]+`)")
_BOLD = re.compile(r"(\*\*[^*]+\*\*)")
_STYLES = {"**": "strong", "*": "em", "`": "code"}
_MOST_TRIED = 6  # sentences of a lesson
_TELLING = 4  # letters that a meaning and an option share: reads, reading
HOME_HEAD = "{home_head}"  # in an address: the head of cross-attention that Home shows for the sentence

Text = list[tuple[str, str]]  # parts of a text with their style, "" for none


@dataclass(frozen=True)
class StepView:
    """A step for one run: `answer` is None where nothing is asked, or where `undecided` has the reason."""

    lesson: Lesson
    number: int  # of the step, from 0
    run: Run
    answer: Answer | None = None
    undecided: str = ""

    @property
    def step(self) -> Step:
        """Return the step of the lesson's file."""
        return self.lesson.steps[self.number]

    @property
    def key(self) -> str:
        """Return the question's key: another checkpoint, sentence, language or task has another one."""
        request = self.run.request
        parts = filter(None, (request.language, request.source_language, request.task))
        return " ".join([self.address_of_step, request.checkpoint.name, *parts, request.text])

    @property
    def address_of_step(self) -> str:
        """Return the step as addresses have it: "attention.3"."""
        return f"{self.lesson.name}.{self.number + 1}"

    @property
    def options(self) -> tuple[Option, ...]:
        """Return the options in a shuffled order, which is the same for the same question."""
        if self.answer is None:
            return ()
        return tuple(sorted(self.answer.options, key=lambda option: crc32(f"{option.name} {self.key}".encode())))

    def text(self, words: str) -> Text:
        """Return one of the step's texts with its names filled, in parts by style; [] where nothing fills them."""
        if self.undecided and NAME.search(words):
            return []
        return [(style, self.fill(part)) for style, part in map(_styled, filter(None, _STYLED.split(words)))]

    def fill(self, words: str) -> str:
        """Return a text with its {names} filled; one that the measure lacks stays."""
        return in_words(fill(words, self.answer.names if self.answer else {}))

    def plain(self, words: str) -> str:
        """Return a text with its names filled and without its styles."""
        return plain_text(self.text(words))

    def glossed(self, *texts: Text) -> list[Text]:
        """Return texts with the meaning of a word of the translation behind its first occurrence.

        A token that a piece continues has no meaning of its own, and a meaning that is an option would tell the answer.
        Of several meanings those count that the sentence has, if it has any.
        """
        reads = self.run.translator.checkpoint.data.get("target_language", "")
        meanings = shown_glosses(reads)
        if self.answer is None or not meanings:
            return list(texts)
        trace = results.trace(self.run.request)
        unexplained = {token.removeprefix(SPACE) for token in trace.source_tokens}
        looks = shown_tokens(trace.target_tokens)
        unexplained |= {look for look, after in pairwise(looks) if after.startswith(CONTINUED)}
        labels = [self.fill(option.label) for option in self.answer.options]
        options = {name[:_TELLING].lower() for label in labels for name, _ in _QUOTED.findall(label)}

        def meaning(match: re.Match[str]) -> str:
            word = match[1]
            tells = {each[:_TELLING] for each in meanings.get(word, "").lower().split("/")}
            if word not in meanings or word in unexplained or tells & options:
                return match[0]
            unexplained.add(word)
            return f"“{word}” ({fitting(meanings[word], self.run.request.text)}" + (", " if match[2] else ")")

        return [[(style, _QUOTED.sub(meaning, part)) for style, part in text] for text in texts]

    def label(self, option: Option) -> str:
        """Return an option's label as plain text."""
        return without_marks(self.marked_label(option))

    def marked_label(self, option: Option) -> str:
        """Return an option's label with its names filled, its **marks**, and its meaning where each option has one."""
        labels = {each.name: self.fill(each.label) for each in self.options}
        glossed = {name: plain_text(self.glossed([("", text)])[0]) for name, text in labels.items()}
        return (labels if any(labels[name] == glossed[name] for name in labels) else glossed)[option.name]

    def address(self, *, shown: bool = False) -> dict[str, str] | None:
        """Return the page's address, with the answer `shown` or not; None where its names are not known."""
        values, names = {**self.step.at, **(self.step.show if shown else {})}, self.answer.texts if self.answer else {}
        if any(HOME_HEAD in value for value in values.values()):
            names["home_head"] = results.default_head(self.run.request, AttentionKind.CROSS).address
        if any(name not in names for value in values.values() for name in names_in(value)):
            return None
        return {key: NAME.sub(lambda match: names[match[1]], value) for key, value in values.items()}

    def hints(self) -> list[str]:
        """Return three hints: the file's, a narrower choice, the calculation."""
        if self.answer is None:
            return []
        narrowed = self.narrowed()
        of_file = [self.fill(hint) for hint in self.step.hints]
        return [*of_file, *([narrowed] if narrowed else []), in_words(self.answer.calculation)][:MOST_HINTS]

    def narrowed(self) -> str:
        """Return a hint that excludes an option, or a range whose middle is wrong; "" where it tells all or nothing."""
        answer = self.answer
        assert answer is not None
        if answer.kind == Kind.NUMBER:
            least, most = answer.bounds or (-math.inf, math.inf)
            near = max(0.2 * abs(answer.value), 1.2 * answer.margin)
            for below, above in ((near, 3 * near), (3 * near, near))[:: (-1) ** crc32(self.key.encode())]:
                low, high = max(answer.value - below, least), min(answer.value + above, most)
                if answer.tolerance is not None and float(answer.value).is_integer():  # a count
                    low, high = math.floor(low), math.ceil(high)
                low, high = (float(f"{each:.2g}") for each in (low, high))
                if not answer.is_right((low + high) / 2) and (low, high) != answer.bounds:
                    return phrase("step", "between", low=low, high=high)
            return ""
        wrong = [option for option in self.options if option.name not in answer.right]
        if answer.kind == Kind.DO or len(wrong) < 2 - (answer.kind == Kind.SEVERAL):
            return ""
        return in_words(phrase("step", "not", label=_inside(without_marks(wrong[0].label))))

    def feedback(self, choice: object, *, whole: bool = True) -> str:
        """Return the feedback on a choice, and for the `whole` the truth; of a DO the state, which tells no answer."""
        answer = self.answer
        if answer is None:
            return ""
        truth = answer.truth if whole or answer.kind == Kind.DO else ""
        if whole and answer.kind == Kind.DO and not answer.done:
            truth = f"{truth} {answer.calculation}"
        return in_words(" ".join(filter(None, (self.predicted(choice), truth))))

    def predicted(self, choice: object) -> str:
        """Return the choice and the feedback on it; "" for a right one: the truth says that."""
        answer = self.answer
        assert answer is not None
        labels = {option.name: option for option in answer.options}
        if answer.kind == Kind.ONE and isinstance(choice, str) and choice in labels:
            option = labels[choice]
            if choice in answer.right:
                return ""
            choice_words = phrase("step", "choice", label=_inside(without_marks(option.label)))
            return f"{choice_words} {option.feedback}".rstrip()
        if answer.kind == Kind.SEVERAL and isinstance(choice, list):
            chosen = {each for each in choice if isinstance(each, str) and each in labels}
            hit, others = len(answer.right & chosen), len(chosen - answer.right)
            if chosen == answer.right:
                return ""
            name = "some_wrong" if others else "some"
            return phrase("step", name, hits=hit, all=len(answer.right), count=others)
        if answer.kind == Kind.NUMBER and isinstance(choice, (int, float)):
            return f"{phrase('step', 'number', number=choice)} {off_words(answer, choice)}".rstrip()
        return ""


def off_words(answer: Answer, number: float) -> str:
    """Return the side of the measured number on which an estimate lies in words; "" for one that is right."""
    if answer.is_right(number):
        return ""
    return phrase("step", "too_low" if number < answer.value else "too_high")


def _inside(label: str) -> str:
    """Return a label as the end of a sentence, in quotation marks unless it has some."""
    return ended(label if "“" in label else f"“{label}”")


def bold_text(label: str) -> Text:
    """Return an option's label in parts by style: bold between ** and **. No other mark is one: a token may be a *."""
    return [_styled(part) if _BOLD.fullmatch(part) else ("", part) for part in filter(None, _BOLD.split(label))]


def without_marks(label: str) -> str:
    """Return an option's label without the marks of its bold parts."""
    return plain_text(bold_text(label))


def plain_text(text: Text) -> str:
    """Return a styled text without its styles."""
    return "".join(part for _, part in text)


def _styled(part: str) -> tuple[str, str]:
    for mark, style in _STYLES.items():
        if part.startswith(mark) and part.endswith(mark) and len(part) > 2 * len(mark):
            return style, part[len(mark) : -len(mark)]
    return "", part


def pose(lesson: Lesson, number: int, run: Run) -> StepView:
    """Return a step, counted from 0, for a run. Raises UserError where the text cannot be translated."""
    step = lesson.steps[number]
    if not step.answer:
        return StepView(lesson, number, run)
    try:
        answer = answer_of(run, step.answer, step.arguments).in_words({**shipped_words(step.answer), **step.words})
        if len({in_words(without_marks(option.label)) for option in answer.options}) < len(answer.options):
            raise Undecided("look_alike")
        return StepView(lesson, number, run, answer)
    except Undecided as undecided:
        return StepView(lesson, number, run, undecided=in_words(str(undecided)))


def pose_decided(lesson: Lesson, number: int, run: Run, sentences: Sequence[str]) -> StepView:
    """Return a step for the run's text, or where that decides nothing for the first of `sentences` that does."""
    first = view = pose(lesson, number, run)
    for text in sentences[:_MOST_TRIED]:
        if not view.undecided:
            return view
        if text != run.request.text:
            view = pose(lesson, number, replace(run, request=replace(run.request, text=text)))
    return first if view.undecided else view


def unknown_names(view: StepView) -> set[str]:
    """Return the {names} in a step's texts and addresses that its measure lacks."""
    step = view.step
    texts = [step.say, step.ask, step.note, step.sample, *step.hints, *step.at.values(), *step.show.values()]
    used = {name for text in texts for name in names_in(text.replace(HOME_HEAD, ""))}
    return set() if view.undecided else used - (view.answer.names.keys() if view.answer else set())


def payload_of(view: StepView, tried: Try) -> dict:
    """Return the panel's payload, ready for JSON; it has the right answer only once that was chosen or shown."""
    step, answer = view.step, view.answer
    over = tried.is_over
    say, ask = view.glossed(view.text(step.say), view.text(step.ask))
    payload: dict = {
        "key": view.key,
        "name": view.lesson.name,
        "title": view.lesson.title,
        "step": view.number + 1,
        "of": len(view.lesson.steps),
        "say": say,
        "note": view.text(step.note),
        "sample": view.text(step.sample),
        "undecided": view.undecided,
        "look": view.fill(step.look),
        "others": bool(view.undecided and view.lesson.sentences_of(view.number)),
        "moves": bool(step.show or step.show_page),
        "tried": vars(tried),
        "last": view.number + 1 == len(view.lesson.steps),
    }
    if answer and step.is_question:
        hints = view.hints()
        payload |= {
            "ask": ask,
            "kind": str(answer.kind),
            "options": [[option.name, bold_text(view.marked_label(option))] for option in view.options],
            "scale": answer.scale if answer.kind == Kind.NUMBER else "",
            "hints": hints[: tried.hints],
            "more_hints": len(hints) - tried.hints if not over else 0,
            "feedback": view.feedback(tried.choice, whole=over) if over or tried.choice is not None else "",
            "right": sorted(answer.right) if over else [],
        }
    return payload
