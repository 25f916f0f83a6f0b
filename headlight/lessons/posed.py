"""A step of a lesson put to a learner: its texts filled, its question measured, its hints, feedback on a choice."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from zlib import crc32

from headlight.app import results
from headlight.plots.tokens import CONTINUED, in_words, shown_tokens
from transformer.data.tokenizer import SPACE

from .answer import Answer, Kind, Option, Run, Undecided, ended, number_words
from .file import MOST_HINTS, NAME, Lesson, Step
from .glosses import glosses
from .register import answer_of

_QUOTED = re.compile(r"“([^”]{1,20})”( \()?")
_STYLED = re.compile(r"(\*\*[^*]+\*\*|\*[^*]+\*|`[^`]+`)")
_STYLES = {"**": "strong", "*": "em", "`": "code"}
_MOST_TRIED = 6  # sentences of a lesson

Text = list[tuple[str, str]]  # parts of a text with their style, "" for none


@dataclass(frozen=True)
class Posed:
    """A step as it stands for one run: `answer` is None where nothing is asked, or `undecided` says why it is not."""

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
        """Return a name for this very question: another checkpoint, sentence, language or task asks anew."""
        request = self.run.request
        told = [told for told in (request.language, request.source_language, request.task) if told]
        return " ".join([f"{self.lesson.name}.{self.number + 1}", request.checkpoint.name, *told, request.text])

    @property
    def options(self) -> tuple[Option, ...]:
        """Return the options in an order of their own, the same each time the question is put."""
        if self.answer is None:
            return ()
        return tuple(sorted(self.answer.options, key=lambda option: crc32(f"{option.name} {self.key}".encode())))

    def text(self, words: str) -> Text:
        """Return one of the step's texts with its names filled, in parts by style; nothing where nothing fills them."""
        if self.undecided and NAME.search(words):
            return []
        return [(style, self.fill(part)) for style, part in map(_styled, filter(None, _STYLED.split(words)))]

    def fill(self, words: str) -> str:
        """Return a text with what the measure says in place of {names}; one that it does not say stays."""
        names = self.answer.names if self.answer else {}
        return in_words(NAME.sub(lambda found: names.get(found[1], found[0]), words))

    def glossed(self, *texts: Text) -> list[Text]:
        """Return texts with what a word of the translation means behind it where it first stands.

        A token that a piece continues has no meaning of its own, and a meaning that is an option would tell the answer.
        """
        if self.answer is None:
            return list(texts)
        trace, told = results.trace(self.run.request), set[str]()
        meanings = glosses(self.run.translator.checkpoint.data.get("target_language", ""))
        told |= {token.removeprefix(SPACE) for token in trace.source_tokens}
        looks = shown_tokens(trace.target_tokens)
        told |= {look for look, after in pairwise(looks) if after.startswith(CONTINUED)}
        options = {name for option in self.answer.options for name, _ in _QUOTED.findall(self.fill(option.label))}

        def meaning(found: re.Match[str]) -> str:
            word = found[1]
            if word not in meanings or word in told or options & set(meanings[word].split("/")):
                return found[0]
            told.add(word)
            return f"“{word}” ({meanings[word]}" + (", " if found[2] else ")")

        return [[(style, _QUOTED.sub(meaning, part)) for style, part in text] for text in texts]

    def label(self, option: Option) -> str:
        """Return an option's label with its names filled, and what it means where each option has a meaning."""
        labels = {each.name: self.fill(each.label) for each in self.options}
        glossed = {name: "".join(part for _, part in self.glossed([("", text)])[0]) for name, text in labels.items()}
        return (labels if any(labels[name] == glossed[name] for name in labels) else glossed)[option.name]

    def address(self, *, shown: bool = False) -> dict[str, str] | None:
        """Return what the page's address has, when the answer is `shown` too; None where its names are not known."""
        values = {**self.step.at, **(self.step.show if shown else {})}
        names = self.answer.names if self.answer else {}
        if any(name not in names for value in values.values() for name in NAME.findall(value)):
            return None
        return {key: NAME.sub(lambda found: names[found[1]], value) for key, value in values.items()}

    def hints(self) -> list[str]:
        """Return three hints: where to look, what falls away, the calculation; the file's own come first."""
        if self.answer is None:
            return []
        own = [self.fill(hint) for hint in self.step.hints]
        return [*own, *filter(None, (self.narrowed(),)), in_words(self.answer.calculation)][:MOST_HINTS]

    def narrowed(self) -> str:
        """Return what an option less, or a range, leaves to choose from; "" where that would be the answer."""
        answer = self.answer
        assert answer is not None
        if answer.kind == Kind.NUMBER:
            least, most = answer.bounds or (-math.inf, math.inf)
            size = abs(answer.value)
            low, high = answer.value - max(0.3 * size, answer.margin), answer.value + max(0.4 * size, 2 * answer.margin)
            low, high = (float(f"{each:.2g}") for each in (max(low, least), min(high, most)))
            return f"It lies between {number_words(low)} and {number_words(high)}."
        wrong = [option for option in self.options if option.name not in answer.right]
        if answer.kind == Kind.DO or len(wrong) < 2 - (answer.kind == Kind.SEVERAL):
            return ""
        return in_words(f"It is not {_inside(wrong[0].label)}")

    def feedback(self, choice: object, *, whole: bool = True) -> str:
        """Return what was predicted, what is so of it, and what is: this only where the `whole` may be told.

        Of something to be done it says how things stand, which tells no answer.
        """
        answer = self.answer
        if answer is None:
            return ""
        truth = answer.truth if whole or answer.kind == Kind.DO else ""
        if whole and answer.kind == Kind.DO and not answer.done:
            truth = f"{truth} {answer.calculation}"  # what cannot be shown is told
        return in_words(" ".join(filter(None, (self.predicted(choice), truth))))

    def predicted(self, choice: object) -> str:
        """Return what was predicted and what is so of it; "" where it is right: the truth says that."""
        answer = self.answer
        assert answer is not None
        labels = {option.name: option for option in answer.options}
        if answer.kind == Kind.ONE and isinstance(choice, str) and choice in labels:
            option = labels[choice]
            if choice in answer.right:
                return ""
            return " ".join(filter(None, (f"You said {_inside(option.label)}", option.told)))
        if answer.kind == Kind.SEVERAL and isinstance(choice, list):
            chosen = {each for each in choice if isinstance(each, str) and each in labels}
            hit, others = len(answer.right & chosen), len(chosen - answer.right)
            if chosen == answer.right:
                return ""
            return f"You found {hit} of {len(answer.right)}" + (
                f", and {others} that {'is' if others == 1 else 'are'} wrong." if others else "."
            )
        if answer.kind == Kind.NUMBER and isinstance(choice, (int, float)):
            return " ".join(filter(None, (f"You said {number_words(choice)}.", off_words(answer, choice))))
        return ""


def off_words(answer: Answer, number: float) -> str:
    """Say on which side of the measured number an estimate lies; "" of one that is right."""
    if answer.is_right(number):
        return ""
    return "That is too low." if number < answer.value else "That is too high."


def _inside(label: str) -> str:
    """Return a label as the end of a sentence, in quotation marks unless it has some."""
    return ended(label if "“" in label else f"“{label}”")


def _styled(part: str) -> tuple[str, str]:
    for mark, style in _STYLES.items():
        if part.startswith(mark) and part.endswith(mark) and len(part) > 2 * len(mark):
            return style, part[len(mark) : -len(mark)]
    return "", part


def pose(lesson: Lesson, number: int, run: Run) -> Posed:
    """Put a step, counted from 0, to a learner for a run. Raises UserError where the text cannot be translated."""
    step = lesson.steps[number]
    if not step.answer:
        return Posed(lesson, number, run)
    try:
        answer = answer_of(run, step.answer, step.arguments)
        if len({in_words(option.label) for option in answer.options}) < len(answer.options):
            raise Undecided("Two of the answers would look alike here.")
        return Posed(lesson, number, run, answer)
    except Undecided as undecided:
        return Posed(lesson, number, run, undecided=in_words(str(undecided)))


def pose_somehow(lesson: Lesson, number: int, run: Run, sentences: Sequence[str]) -> Posed:
    """Put a step for the run's text, or where that decides nothing for the first of `sentences` that does."""
    first = posed = pose(lesson, number, run)
    for text in sentences[:_MOST_TRIED]:
        if not posed.undecided:
            return posed
        if text != run.request.text:
            posed = pose(lesson, number, replace(run, request=replace(run.request, text=text)))
    return first if posed.undecided else posed


def names_used(step: Step) -> set[str]:
    """Return the {names} that a step's texts and addresses use."""
    texts = [step.say, step.ask, step.note, step.sample, *step.hints, *step.at.values(), *step.show.values()]
    return {name for text in texts for name in NAME.findall(text)}


def unknown_names(posed: Posed) -> set[str]:
    """Return the {names} of a step that its measure does not say."""
    known: Mapping[str, str] = posed.answer.names if posed.answer else {}
    return set() if posed.undecided else names_used(posed.step) - known.keys()


@dataclass
class Try:
    """Attempt of a learner at a question: their choice, hints taken, whether it was shown, whether it was right."""

    choice: object = None
    hints: int = 0
    shown: bool = False
    right: bool = False


def payload_of(posed: Posed, tried: Try) -> dict:
    """Return what the panel shows of a step, ready for JSON; what is right is in it only once it was found or shown."""
    step, answer = posed.step, posed.answer
    over = tried.right or tried.shown
    said, asked = posed.glossed(posed.text(step.say), posed.text(step.ask))
    payload: dict = {
        "key": posed.key,
        "name": posed.lesson.name,
        "title": posed.lesson.title,
        "step": posed.number + 1,
        "of": len(posed.lesson.steps),
        "say": said,
        "note": posed.text(step.note),
        "sample": posed.text(step.sample),
        "undecided": posed.undecided,
        "look": step.look,
        "others": bool(posed.undecided and posed.lesson.sentences_of(posed.number)),
        "moves": bool(step.show or step.show_page),
        "tried": {"choice": tried.choice, "hints": tried.hints, "shown": tried.shown, "right": tried.right},
        "last": posed.number + 1 == len(posed.lesson.steps),
    }
    if answer and step.is_question:
        hints = posed.hints()
        payload |= {
            "ask": asked,
            "kind": str(answer.kind),
            "options": [[option.name, posed.label(option)] for option in posed.options],
            "scale": answer.scale if answer.kind == Kind.NUMBER else "",
            "hints": hints[: tried.hints],
            "more_hints": len(hints) - tried.hints if not over else 0,
            "feedback": posed.feedback(tried.choice, whole=over) if over or tried.choice is not None else "",
            "right": sorted(answer.right) if over else [],
        }
    return payload
