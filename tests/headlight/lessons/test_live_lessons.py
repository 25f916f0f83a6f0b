"""Lessons in a live page: on the same rounded weights its JavaScript asks and says what the app's Python does."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.rounded import rounded_checkpoint
from support.sentences import SENTENCES
from support.streams import CHECKPOINTS

from headlight.app import results
from headlight.app.batches import CheckpointFiles
from headlight.app.results import TranslationRequest
from headlight.components.standalone import as_json
from headlight.lessons.answer import Kind, Run
from headlight.lessons.file import read_lessons
from headlight.lessons.live import live_lessons
from headlight.lessons.offline import said_of
from headlight.lessons.overview import TITLES
from headlight.lessons.panel import Try, payload_of
from headlight.lessons.posed import Posed, pose
from headlight.views.live.content import live_words
from transformer.checkpoint import load_checkpoint
from transformer.exchange.int8 import pack

PROGRAM = Path(__file__).parents[2] / "javascript" / "lesson_answers.js"
LESSONS, _ = read_lessons()
TEXTS = (
    *SENTENCES[:6],
    "Yes.",
    "no no no no no no",
    "<b>bold</b> and `code` and $x^2$",
    "My brother loves your sister.",
)
# Measures of what the page does not compute: trainings, ALTI+, gradients, positions, disabled masks.
ELSEWHERE = {
    *("missed_most", "ranks_agree", "pronoun_of_another", "source_share", "decides_pronoun", "even_weights"),
    *("first_output", "first_right", "loss_or_head", "first_sharp_kind", "rate_peak"),
    *("path_through_map", "learned_live"),
    *("copies_apart", "position_length", "translated_without_positions"),
    *("leak_effect", "leak_spared", "leaked_weight"),
}
EXAMPLE = {"toy_block_seed": "16", "toy_batch": "1", "toy_tokens": "3", "toy_d_model": "4", "toy_num_heads": "1"}
ADDRESSES = (
    {"kind": "cross", "layer": "1", "head": "3", "off": "none"},
    {"kind": "encoder", "layer": "9", "head": "x", "off": "cross.1.1-cross.2.2-encoder.1.1-cross.3.3-nonsense"},
    {},
)


@pytest.fixture(scope="module")
def rounded(tmp_path_factory) -> CheckpointFiles:
    """The checkpoint with the weights that a page has, and what its heads do over a corpus."""
    return rounded_checkpoint(tmp_path_factory.mktemp("rounded"), "en-de")


def questions(checkpoint: CheckpointFiles) -> list[dict]:
    """Every step that the page measures, for sentences of the lesson and others, at several addresses."""
    asked = []
    for lesson in LESSONS:
        for number, step in enumerate(lesson.steps):
            for at, text in enumerate(dict.fromkeys((*lesson.sentences_of(number)[:3], *TEXTS))):
                asked.append({"lesson": lesson.name, "step": number, "text": text, "address": ADDRESSES[at % 3]})
                second = results.trace(TranslationRequest(checkpoint, text)).candidate_ids[0, 1]
                if step.answer == "toy_masked":
                    asked[-1]["address"] = EXAMPLE | {"toy_flipped": ("000001000", "000000100", "")[at % 3]}
                if step.answer == "longer_translation" and at % 2:
                    asked[-1]["address"] = {"prefix": str(second)}
    return asked


@pytest.fixture(scope="module")
def answered(rounded, tmp_path_factory) -> list[tuple[dict, dict, Posed]]:
    """Each question with what JavaScript and Python make of it, where both translate alike."""
    folder = tmp_path_factory.mktemp("asked")
    request = TranslationRequest(rounded, "I love my teacher.")
    header, weights = pack(load_checkpoint(CHECKPOINTS / "en-de"))
    words = live_words(results.translator(rounded).checkpoint, results.roles(rounded))
    (folder / "model.json").write_text(json.dumps(header))
    (folder / "model.bin").write_bytes(weights)
    told = {"words": words, "lessons": live_lessons(LESSONS, request)}
    (folder / "told.json").write_text(as_json(told), encoding="utf-8")
    asked = questions(rounded)
    (folder / "asked.json").write_text(json.dumps(asked))
    node = shutil.which("node")
    assert node
    subprocess.run([node, PROGRAM, folder], check=True)
    found = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    by_name = {lesson.name: lesson for lesson in LESSONS}
    pairs = []
    for question, answer in zip(asked, found, strict=True):
        request = TranslationRequest(rounded, question["text"])
        if tuple(answer["targetIds"]) == results.trace(request).target_ids:
            run = Run(request, question["address"])
            pairs.append((question, answer, pose(by_name[question["lesson"]], question["step"], run)))
    assert len(pairs) > 0.97 * len(asked)
    return pairs


def same(ours: object, theirs: object, what: object) -> None:
    """Hold two values against each other: words to the letter, numbers, in them too, but for their last digit."""
    if isinstance(theirs, Mapping):
        assert isinstance(ours, Mapping) and ours.keys() == theirs.keys(), what
        for key in theirs:
            same(ours[key], theirs[key], (what, key))
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, list) and len(ours) == len(theirs), (what, ours, theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other, what)
    elif isinstance(theirs, str):
        number = r"[−-]?\d*\.?\d+"
        assert re.sub(number, "#", ours) == re.sub(number, "#", theirs), (what, ours, theirs)
        for one, other in zip(re.findall(number, ours), re.findall(number, theirs), strict=True):
            if one != other:
                unit = 10 ** -len(other.partition(".")[2])
                assert float(one.replace("−", "-")) == pytest.approx(float(other.replace("−", "-")), abs=1.01 * unit), (
                    what
                )
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, abs=2e-3, rel=1e-3), what
    else:
        assert ours == theirs, what


def test_each_step_that_the_page_measures_asks_and_says_what_the_app_does(answered):
    measured: dict[str, int] = {}
    for question, answer, posed in answered:
        panel, told, what = answer["panel"], answer["told"], (question, posed.step.answer)
        if posed.step.answer in ELSEWHERE:
            page = TITLES[posed.step.page]
            assert panel["undecided"] == f"The app has this step on its page {page}." and "ask" not in panel, what
            continue
        expected = payload_of(posed, Try())
        for name in ("key", "say", "note", "sample", "undecided", "last", "moves", "of", "title"):
            same(panel[name], expected[name], (what, name))
        if not posed.step.is_question or posed.answer is None or posed.step.answer == "turned_around":
            continue
        measured[posed.step.answer] = measured.get(posed.step.answer, 0) + 1
        for name in ("ask", "kind", "options", "scale"):
            same(panel[name], expected[name], (what, name))
        same(told["hints"], posed.hints(), (what, "hints"))
        same(told["right"], sorted(posed.answer.right), (what, "right"))
        same([told["value"], told["margin"]], [float(posed.answer.value), float(posed.answer.margin)], what)
        same(told["said"], said_of(posed), (what, "said"))
        same(told["truth"], posed.feedback(None, whole=posed.answer.kind != Kind.DO), (what, "truth"))
        assert told["done"] == posed.answer.done
        same([answer["at"], answer["shown"]], [posed.address(), posed.address(shown=True)], (what, "address"))
    measures = {step.answer for lesson in LESSONS for step in lesson.steps if step.is_question}
    assert measured.keys() == measures - ELSEWHERE - {"turned_around"}
