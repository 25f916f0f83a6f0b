"""Activation patching: the page with its address."""

import pytest
from support.pages import numbers, open_page, page_text, specs

from transformer.interpret.what_if.patching import PATCHED, question_of


def view(**query):
    return open_page("pages/research.py", research="patching", **query)


def test_the_address_chooses_pair_site_and_cell_and_an_invalid_cell_is_replaced():
    app = view(minimal_pair="gender", patched="cross heads", patched_row="2", patched_column="5")
    assert "Clean: I love my father. → **" in page_text(app)
    assert "With cross-attention layer 2, head 5 from the clean run" in page_text(app)
    app.select_slider(key="patched_column").set_value(3).run()
    assert "With cross-attention layer 2, head 4 from the clean run" in page_text(app)
    assert app.query_params["patched_column"] == "4"
    app.selectbox(key="patched").set_value("decoder stream").run()
    assert not app.exception and "the decoder's vector at" in page_text(app)
    assert page_text(view(patched_row="99", patched_column="x")) == page_text(view())


@pytest.mark.parametrize("patched", PATCHED)
def test_each_part_has_a_map_of_its_size(patched, shipped):
    texts = {"clean": "I love my father.", "corrupted": "I love my mother."}
    question = question_of(*map(shipped.trace, texts.values()))
    sources, steps = len(question.clean), len(question.fed)
    shapes = {"encoder stream": (4, sources), "decoder stream": (4, steps), "cross-attention": (3, steps)}
    (spec,) = specs(view(minimal_pair="your own", patched=patched, **texts))
    assert numbers(spec["data"][0]["z"]).shape == shapes.get(patched, (3, 8))
    rows, columns = (spec["layout"][axis]["ticktext"] for axis in ("yaxis", "xaxis"))
    assert (rows[0] == "embeddings") == patched.endswith("stream")
    both = [name for name in columns if "father" in name and "mother" in name]
    assert len(both) == (patched == "encoder stream"), "a source token that differs has both names"


@pytest.mark.parametrize(
    ("corrupted", "complaint"),
    [
        ("I love my father.", "same translation"),
        ("x " * 200, "at most 127"),
        ("I love my old father.", "only where both have as many"),
    ],
)
def test_sentences_that_cannot_be_patched_get_a_message(corrupted, complaint):
    app = view(minimal_pair="your own", clean="I love my father.", corrupted=corrupted)
    assert not app.error and not specs(app) and app.warning
    assert "These two sentences cannot be patched. " in page_text(app) and complaint in page_text(app)


def test_a_model_without_pairs_begins_with_two_exchanged_words():
    app = view(checkpoint="reverse", text="abc def ghi")
    assert "No minimal pairs come with this checkpoint" in page_text(app) and len(specs(app)) == 1
    assert "Corrupted: def abc ghi → **" in page_text(app)
