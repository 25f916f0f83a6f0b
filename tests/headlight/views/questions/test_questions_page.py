"""The pages on architecture, logits and questions through Streamlit's own test runner."""

import html
import json
import re
import shutil
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from headlight.views.architecture.page import VIEWS as ARCHITECTURE
from headlight.views.logits.page import VIEWS as LOGITS
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, components, headlines, open_page, page_text

from headlight.app import results
from headlight.views.inside.page import VIEWS as INSIDE
from headlight.views.questions.content import QUESTIONS
from headlight.views.training.page import VIEWS as TRAINING

SENTENCES = ["", "x" * 3000, "☃ <b>&</b> [x](y) $a$"]


def diagram(app: AppTest) -> dict:
    (component,) = components(app)
    return json.loads(component.proto.json)


@pytest.mark.parametrize("text", SENTENCES)
def test_no_view_breaks_on_any_sentence(text):
    for key, views in (("architecture", ARCHITECTURE), ("logits", LOGITS)):
        for view in [*views, "evil"]:
            assert not open_page(f"pages/{key}.py", **{key: view, "text": text}).error, view


@pytest.mark.parametrize(
    "checkpoint, layers, kinds",
    [
        ("en-de", 3, ["self_attention", "add_and_norm", "feed_forward", "add_and_norm"]),
        ("reverse", 2, ["norm", "self_attention", "add", "norm", "feed_forward", "add"]),
    ],
)
def test_the_diagram_is_the_loaded_checkpoints(checkpoint, layers, kinds):
    given = diagram(open_page("pages/architecture.py", checkpoint=checkpoint, text="abc"))
    assert len(given["encoder"]["layers"]) == len(given["decoder"]["layers"]) == layers
    assert [box["kind"] for box in given["encoder"]["layers"][0]] == kinds
    assert given["chosen"] == "encoder.0.self_attention"
    assert "shared" in given["output"][0]["note"]


def test_unequal_depths_are_drawn_and_told_as_they_are(trained_folder, tmp_path, monkeypatch):
    shutil.copytree(trained_folder, tmp_path / "unlike")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    app = open_page("pages/architecture.py", checkpoint="unlike", text="big old tree.", block="decoder.0.feed_forward")
    given = diagram(app)
    assert len(given["encoder"]["layers"]) == 2 and len(given["decoder"]["layers"]) == 1
    assert given["chosen"] == "decoder.0.feed_forward" and "2 encoder layers and 1 decoder layer" in page_text(app)
    for key, views in (("architecture", ARCHITECTURE), ("logits", LOGITS)):
        for view in views:
            app = open_page(f"pages/{key}.py", checkpoint="unlike", text="big old tree.", **{key: view})
            assert not app.error, view


def test_a_block_of_the_url_is_shown_with_its_numbers():
    app = open_page("pages/architecture.py", block="decoder.2.cross_attention")
    assert "Multi-head cross-attention, decoder layer 3" in [element.value for element in app.subheader]
    assert "263,168 · 3 %" in page_text(app) and "6 x 256 in, 6 x 256 out" in page_text(app)
    for block in ("evil", "encoder.99.norm"):
        assert diagram(open_page("pages/architecture.py", block=block))["chosen"] == "encoder.0.self_attention"


def test_every_kind_of_block_can_be_shown():
    given = diagram(open_page("pages/architecture.py", checkpoint="reverse", text="abc"))
    boxes = [box for stack in ("encoder", "decoder") for part in ("before", "after") for box in given[stack][part]]
    boxes += [box for stack in ("encoder", "decoder") for layer in given[stack]["layers"] for box in layer]
    for name in {box["kind"]: box["name"] for box in [*boxes, *given["output"]]}.values():
        app = open_page("pages/architecture.py", checkpoint="reverse", text="abc", block=name)
        assert diagram(app)["chosen"] == name


def test_the_table_of_parameters_adds_up():
    app = open_page("pages/architecture.py")
    frame = app.dataframe[0].value
    assert frame["values"].sum() == 8_601_600 and frame["share"].sum() == pytest.approx(1)


def test_one_step_of_the_logits_says_what_is_cut():
    app = open_page("pages/logits.py", logit_step="2", lens_temperature="2.0", lens_topk="5", lens_topp="0.9")
    assert "of 12,000 tokens may be drawn" in page_text(app) and "at temperature 2" in page_text(app)
    assert "Step 2 of 6. Fed so far: ⟨start⟩ Ich. Next comes “liebe”." in page_text(app)
    for value in ("inf", "-1", "x", "9" * 4000):
        app = open_page("pages/logits.py", logit_step=value, lens_temperature=value, lens_topk=value, lens_topp=value)
        assert not app.exception


def test_the_lens_ends_with_the_models_own_choice():
    app = open_page("pages/logits.py", logits="logit lens")
    (table,) = (element.value for element in app.get("html") if "logit lens" in element.value)
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", table, re.DOTALL)]
    assert len(cells) == 4 * 6
    assert [cell.split("\n")[0] for cell in cells[-6:]] == ["Ich", "liebe", "meinen", "Lehrer", ".", "⟨end⟩"]
    assert all(cell.endswith("rank 1") for cell in cells[-6:])
    assert "6 final tokens lead before the last layer." in headlines(app)[0]


def test_confidence_counts_the_samples_tokens():
    text = page_text(open_page("pages/logits.py", logits="calibration"))
    assert "of 4,249 tokens" in text and "ε = 0.1, the loss of a right token is least at 0.9000," in text


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
@pytest.mark.parametrize("checkpoint", ["en-de", "reverse"])
def test_every_question_has_an_answer_a_figure_and_a_link(question, checkpoint):
    app = open_page("pages/questions.py", question=question.question, checkpoint=checkpoint, text="I love my teacher.")
    assert not app.exception and not app.warning
    assert app.subheader[0].value == question.question
    assert len(app.get("plotly_chart")) == len(headlines(app)) == 1
    link = app.get("page_link")[0].proto
    assert question.link.label == link.label
    assert {name: values[0] for name, values in parse_qs(link.query_string).items()} == dict(question.link.query)


def test_the_links_go_to_views_that_there_are():
    known = {
        "inside": INSIDE,
        "architecture": ARCHITECTURE,
        "logits": LOGITS,
        "training": TRAINING,
        "kind": ["encoder", "decoder", "cross"],
        "positions": ["rotation"],
        "block": ["encoder.0.self_attention_residual"],
    }
    for question in QUESTIONS:
        assert (Path(ROOT) / question.link.page).is_file(), question.name
        for name, value in question.link.query.items():
            assert value in known[name], question.name


def test_the_fifteen_questions_are_there_and_each_has_its_own_name():
    assert len(QUESTIONS) == len({question.name for question in QUESTIONS}) == 15
    for question in QUESTIONS:
        sentences = question.answer.count(". ") + question.answer.count(".", -1)
        assert 2 <= sentences <= 5, question.name


def test_no_question_breaks_on_any_sentence():
    for at, question in enumerate(QUESTIONS):
        text = SENTENCES[at % len(SENTENCES)]
        assert not open_page("pages/questions.py", question=question.question, text=text).error, question.name
    assert not open_page("pages/questions.py", question="evil <b>").error
