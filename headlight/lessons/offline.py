"""A lesson as one HTML file that needs neither the app nor a network: what it says to any answer is measured here."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.components.standalone import Words, standalone
from headlight.views.attention.explorer_content import addressed_choice, explorer_blob

from .answer import Kind, Run
from .file import Lesson, Step
from .overview import TITLES, pose_for
from .panel import OF_FINDINGS, Try, payload_of
from .posed import Posed, off_words, pose

_OF_WEIGHTS = {"home", "translate", "attention"}  # pages that show what the explorer has, or a part of it
_NOT_OF_THE_SENTENCE = {"inside", "positions", "training"}  # pages, unless they are about a head
_NAME_A_HEAD = {"layer", "head", "heads"}
_NUMBER = "{number}"  # in the words of feedback, for the one that is entered
_Numbers = dict[TranslationRequest, int]  # of the sentences whose explorers are in the file


def offline_page(lesson: Lesson, request: TranslationRequest) -> str:
    """Return the HTML of a lesson for a checkpoint and a sentence, or those of its steps' own. Raises UserError."""
    numbers: _Numbers = {}
    steps = [_step(pose_for(lesson, number, request), numbers) for number in range(len(lesson.steps))]
    data = {"steps": steps, "sentences": list(map(_sentence, numbers))}
    words = Words(
        lesson.title, checkpoint=request.checkpoint.name, goal=f"{lesson.goal} It takes {lesson.minutes} minutes."
    )
    return standalone("standalone_page/lesson", data, words)


def _sentence(request: TranslationRequest) -> dict:
    """Return a sentence with its translation, and all that the explorer draws of it."""
    trace = results.trace(request)
    return {
        "words": f"“{trace.source_text}” → “{trace.target_text}”",
        "blob": explorer_blob(trace, results.roles(request.checkpoint)),
    }


def _step(posed: Posed, numbers: _Numbers) -> dict:
    """Return a step as its panel begins, where to look, and in bytes, which are not read at a glance, what is right."""
    step, panel = posed.step, payload_of(posed, Try())
    asks = bool(panel.get("ask"))
    if asks and panel["kind"] == Kind.DO:
        panel["kind"] = ""  # nobody is there to see what is done
    address = posed.address() or {}
    told = _told(posed, numbers) if asks else {}
    return {
        "panel": panel,
        "look": _look(posed.run.request, step.page, address, numbers),
        "elsewhere": elsewhere(posed, address),
        "veiled": asks and _is_veiled(step),
        # As in the app, where heads are labelled on one page alone.
        "unlabelled": asks and step.page != "attention",
        "told": json.dumps(told, ensure_ascii=False, allow_nan=False).encode(),
    }


def _told(posed: Posed, numbers: _Numbers) -> dict:
    """Return what is right, the hints, and what is said to each answer and when it is shown."""
    answer, step = posed.answer, posed.step
    assert answer is not None
    address, request = posed.address(shown=True) or {}, posed.run.request
    if "text" in step.show:
        request = replace(request, text=address.get("text", request.text))
    truth = posed.feedback(None)
    if answer.kind == Kind.DO:
        truth = said_when_done(posed, Run(request, address))
    return {
        "look": _look(request, step.show_page or step.page, address, numbers),
        "right": sorted(answer.right),
        "value": answer.value,
        "margin": answer.margin,
        "hints": posed.hints(),
        "said": said_of(posed),
        "truth": truth,
    }


def said_when_done(posed: Posed, run: Run) -> str:
    """Return what is said once a step is done as its answer's address does it; the last hint where that is not all."""
    done = pose(posed.lesson, posed.number, run)
    return done.feedback(None) if done.answer and done.answer.done else posed.hints()[-1]


def said_of(posed: Posed) -> dict[str, str]:
    """Return what is said to a choice before what is so: by an option's name; by how many of several are right and how
    many are wrong; to any number, and to one that is too low or too high.
    """
    answer = posed.answer
    assert answer is not None
    if answer.kind == Kind.NUMBER:
        off = {"low": off_words(answer, -math.inf), "high": off_words(answer, math.inf)}
        return {"number": f"You said {_NUMBER}.", **off}
    if answer.kind == Kind.ONE:
        return {option.name: posed.feedback(option.name, whole=False) for option in answer.options}
    if answer.kind == Kind.DO:
        return {}
    right = sorted(answer.right)
    wrong = [option.name for option in answer.options if option.name not in answer.right]
    return {
        f"{hit} {others}": posed.feedback([*right[:hit], *wrong[:others]], whole=False)
        for hit in range(len(right) + 1)
        for others in range(len(wrong) + 1)
    }


def _look(request: TranslationRequest, page: str, address: Mapping[str, str], numbers: _Numbers) -> dict:
    """Return whose explorer a step has, by the sentence's number, what is chosen in it, and whether the step is `about`
    this sentence at all.
    """
    trace = results.trace(request)
    best = ".".join(str(number + 1) for number in results.default_head(request, "cross"))
    names_a_head = bool(_NAME_A_HEAD & address.keys())
    query = address.get("at_query", address.get("query", ""))
    own = {"tokens": f"q{query}"} if names_a_head and query else {}
    return {
        "sentence": numbers.setdefault(request, len(numbers)),
        "choice": addressed_choice(trace, {**own, **address}, best),
        "about": names_a_head or page not in _NOT_OF_THE_SENTENCE,
    }


def elsewhere(posed: Posed, address: Mapping[str, str]) -> str:
    """Return where the app has what this file cannot show, "" where it can."""
    page = TITLES[posed.step.page]
    if posed.answer and posed.step.is_question and posed.answer.kind == Kind.DO:
        return f"This is done in the app, on its page {page}; here you can let it be shown."
    is_explorer = posed.step.page == "attention" and address.get("attention", "explorer") == "explorer"
    return "" if is_explorer or posed.step.page == "translate" else f"The app has this step on its page {page}."


def _is_veiled(step: Step) -> bool:
    """Return whether the explorer would tell the answer: where weights are veiled in the app, too, where they are the
    end of the steps of which the question shows an earlier one, and where a row's other token is asked for.
    """
    return (
        (bool(set(step.veil) - OF_FINDINGS.keys()) and step.page in _OF_WEIGHTS)
        or (step.page == "inside" and "at_step" in step.show)
        or step.show.get("rows") == "both tokens"
    )
