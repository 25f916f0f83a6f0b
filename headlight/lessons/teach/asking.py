"""Questions for a class: of a lesson's step, and of the teacher's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qs, urlencode

from headlight.app.navigation import HOME
from headlight.app.parameters import PARAMETERS
from headlight.app.results import TranslationRequest
from headlight.classroom import MOST_LINK, MOST_OPTIONS, Kind, Question, Round, Truth
from headlight.language import quotations

from ..answer import Kind as LessonKind
from ..step_view import StepView, plain_text
from ..words import phrase

_say = partial(phrase, "asking")

WITHOUT_SENTENCE = frozenset({"training", "small example", "probe"})  # page, view, name of questions on another text
KINDS = {LessonKind.ONE: Kind.ONE, LessonKind.SEVERAL: Kind.SEVERAL, LessonKind.NUMBER: Kind.NUMBER}


@dataclass(frozen=True)
class ClassQuestion:
    """A question for a class: with its truth, and its step in addresses, such as "attention.3"."""

    question: Question
    truth: Truth
    step: str = ""


def question_of(view: StepView) -> ClassQuestion | str:
    """Return a step's question with its truth, or a sentence with the reason why there is none for a class."""
    answer, step = view.answer, view.step
    if view.undecided:
        return _say("undecided", reason=view.undecided)
    if answer is None or not step.is_question:
        return _say("note", note=view.plain(step.note)).strip()
    if answer.kind not in KINDS:
        return _say("action", ask=plain_text(view.glossed(view.text(step.ask))[0]))
    if len(view.options) > MOST_OPTIONS:
        return _say("too_many", most=MOST_OPTIONS)
    is_number = answer.kind == LessonKind.NUMBER
    truth = Truth(
        sentence=view.fill(answer.truth),
        right=tuple(at for at, option in enumerate(view.options) if option.name in answer.right),
        value=answer.value if is_number else None,
        margin=answer.margin if is_number else 0.0,
        feedback=tuple(view.feedback(option.name) for option in view.options if answer.kind == LessonKind.ONE),
        link=link_to(step.page, view.run.request, {**(view.address() or {}), "lesson": view.address_of_step}),
    )
    text = plain_text(view.glossed(view.text(step.ask))[0])
    has_sentence = WITHOUT_SENTENCE.isdisjoint((step.page, step.at.get("inside"), *answer.names))
    about = quotations(f"“{view.run.request.text}” → “{view.run.trace.target_text}”") if has_sentence else ""
    question = Question(text, tuple(map(view.label, view.options)), KINDS[answer.kind], about)
    return ClassQuestion(question, truth, view.address_of_step)


def own_question(
    text: str, options: Sequence[str], right: int | None, page: str, request: TranslationRequest
) -> ClassQuestion | str:
    """Return a question of the teacher's own about the page, or a sentence that names its mistake.

    right: the index of the right option, None where nothing is right or wrong.
    """
    if not text.strip():
        return _say("empty")
    labels = {at: option.strip() for at, option in enumerate(options) if option.strip()}
    if not 2 <= len(labels) <= MOST_OPTIONS:
        return _say("options", most=MOST_OPTIONS)
    if len(set(labels.values())) < len(labels):
        return _say("same")
    truth = Truth(
        sentence=_say("right", label=labels[right]) if right in labels else "",
        right=(list(labels).index(right),) if right in labels else (),
        link=link_to(page, request, {}),
    )
    about = "" if page in WITHOUT_SENTENCE else quotations(f"“{request.text}”")
    return ClassQuestion(Question(text, tuple(labels.values()), about=about), truth)


def link_to(page: str, request: TranslationRequest, address: Mapping[str, str]) -> str:
    """Return a page with its query, text and checkpoint, on which a student can try the question.

    A link that is too long loses the other values of the address, then text and checkpoint as well.
    """
    about = {"checkpoint": request.checkpoint.name, "text": request.text}
    rest = {name: value for name, value in address.items() if value != str(PARAMETERS[name].default or "")}
    for query in ({**rest, **about}, about, {}):
        link = f"{'' if page == HOME else page}{'?' if query else ''}{urlencode(query)}"
        if len(link) <= MOST_LINK:
            return link
    return ""


def subject_of(current: Round) -> tuple[str, str]:
    """Return the checkpoint and the text of a round's question, empty where its link does not have them."""
    query = parse_qs(current.truth.link.partition("?")[2], keep_blank_values=True)
    return query.get("checkpoint", [""])[0], query.get("text", [""])[0]
