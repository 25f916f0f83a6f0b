"""A question for a class as it stands when it is asked: of a lesson's step, or of the teacher's own on the spot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

from headlight.app.navigation import HOME
from headlight.app.parameters import PARAMETERS
from headlight.app.results import TranslationRequest
from headlight.classroom import MOST_LINK, MOST_OPTIONS, Kind, Question, Round, Truth

from ..answer import Kind as LessonKind
from ..posed import Posed

WITHOUT_SENTENCE = "training"  # page of which no question is about the sentence
KINDS = {LessonKind.ONE: Kind.ONE, LessonKind.SEVERAL: Kind.SEVERAL, LessonKind.NUMBER: Kind.NUMBER}


@dataclass(frozen=True)
class Asked:
    """What is asked of a class: the question, what is right of it, and its place, such as "attention.3"."""

    question: Question
    truth: Truth
    step: str = ""


def question_of(posed: Posed) -> Asked | str:
    """Return a step's question with all that is right of it, or a sentence that says why a class cannot be asked it."""
    answer, step = posed.answer, posed.step
    if posed.undecided:
        return f"{posed.undecided} Take another sentence, or go on."
    if answer is None or not step.is_question:
        return "This step asks nothing: look at it together, and go on."
    if answer.kind not in KINDS:
        return "This is done on the page and not answered: do it together, and go on."
    if len(posed.options) > MOST_OPTIONS:
        return f"This has more than {MOST_OPTIONS} options for this sentence: take a shorter one, or go on."
    text = "".join(part for _, part in posed.glossed(posed.text(step.ask))[0])
    is_number = answer.kind == LessonKind.NUMBER
    told = tuple(posed.feedback(option.name) for option in posed.options)
    truth = Truth(
        sentence=posed.fill(answer.truth),
        right=tuple(at for at, option in enumerate(posed.options) if option.name in answer.right),
        value=answer.value if is_number else None,
        margin=answer.margin if is_number else 0.0,
        feedback=told if answer.kind == LessonKind.ONE else (),
        link=link_to(step.page, posed.run.request, {**(posed.address() or {}), "lesson": place_of(posed)}),
    )
    options = tuple(posed.label(option) for option in posed.options)
    about = "" if step.page == WITHOUT_SENTENCE else posed.run.request.text
    return Asked(Question(text, options, KINDS[answer.kind], about), truth, place_of(posed))


def place_of(posed: Posed) -> str:
    """Return where a step stands, as the address has it: "attention.3"."""
    return f"{posed.lesson.name}.{posed.number + 1}"


def own_question(
    text: str, options: Sequence[str], right: int | None, page: str, request: TranslationRequest
) -> Asked | str:
    """Return a question of the teacher's own about what is shown, or a sentence that says what it lacks.

    right: the index of the right option, None where nothing is right or wrong.
    """
    if not text.strip():
        return "Write the question first."
    kept = [(at, each.strip()) for at, each in enumerate(options) if each.strip()]
    if not 2 <= len(kept) <= MOST_OPTIONS:
        return f"A question has two to {MOST_OPTIONS} options."
    labels = tuple(label for _, label in kept)
    if len(set(labels)) < len(labels):
        return "Two of the options are the same."
    places = {at: place for place, (at, _) in enumerate(kept)}
    is_right = () if right is None or right not in places else (places[right],)
    sentence = f"Right is: {labels[is_right[0]]}" if is_right else ""
    about = "" if page == WITHOUT_SENTENCE else request.text
    truth = Truth(sentence=sentence, right=is_right, link=link_to(page, request, {}))
    return Asked(Question(text, labels, about=about), truth)


def link_to(page: str, request: TranslationRequest, address: Mapping[str, str]) -> str:
    """Return a page with its query, where a student finds what was asked about: the text and the checkpoint are in it.

    What would make it too long is left out: first what else the address has, then the text as well.
    """
    about = {"checkpoint": request.checkpoint.name, "text": request.text}
    rest = {name: value for name, value in address.items() if value != str(PARAMETERS[name].default or "")}
    for query in ({**rest, **about}, about, {}):
        link = f"{'' if page == HOME else page}{'?' if query else ''}{urlencode(query)}"
        if len(link) <= MOST_LINK:
            return link
    return ""


def asked_about(asked: Round) -> tuple[str, str]:
    """Return the checkpoint and the text that a round was asked about, empty where its link does not have them."""
    query = parse_qs(asked.truth.link.partition("?")[2], keep_blank_values=True)
    return query.get("checkpoint", [""])[0], query.get("text", [""])[0]
