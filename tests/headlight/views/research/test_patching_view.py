"""Activation patching: names and cells of maps by hand, and the page with its address."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.pages import numbers, open_page, page_text, specs

from headlight.views.research.patching import CellName, candidate_rows
from transformer.interpret.activations import Predictions
from transformer.interpret.what_if.patching import PATCHED, Cell, PatchingMap, Question, question_of

NAMES = ("<s>", "▁a", "▁b", "▁c", "</s>", "<b>")
QUESTION = Question((1, 2, 1, 4), (1, 3, 1, 4), (0, 2), (2, 5))
NOTHING = [[0.0] * 4] * 3


def name(id):
    return NAMES[id]


# Of two vocabularies: a source token is not the target token of the same id.
TOKENIZER = SimpleNamespace(piece_text=name, source_piece_text=lambda id: f"{name(id)}'")


def made(shares, site="residual", part="encoder", clean=4.0, corrupted=-2.0) -> PatchingMap:
    shares = np.array(shares, dtype=float)
    cells = tuple(
        tuple(Cell(site, part, row, column) for column in range(shares.shape[1])) for row in range(len(shares))
    )
    return PatchingMap(cells, shares, clean, corrupted)


def seen(*best) -> Predictions:
    chances = np.array([[0.75, 0.125]] * 3)
    return Predictions(np.array(best), chances, chances[:, 0], np.ones(3), np.zeros(3))


def test_a_source_token_that_differs_has_both_names_and_the_first_row_is_before_all_layers():
    patching = made(NOTHING)
    assert patching.row_names() == ["embeddings", "layer 1", "layer 2"]
    assert patching.column_names(QUESTION, TOKENIZER) == ["▁a'", "▁b' | ▁c'", "▁a'", "</s>'"]
    assert made([[0, 0]], part="decoder").column_names(QUESTION, TOKENIZER) == ["<s>", "▁b"]
    for site, columns in (("attention", ["<s>", "▁b"]), ("head", ["head 1", "head 2"])):
        other = made([[0, 0], [0, 0]], site, "cross")
        assert other.row_names() == ["layer 1", "layer 2"] and other.column_names(QUESTION, TOKENIZER) == columns


@pytest.mark.parametrize(
    "shares, cell",
    [
        ([[0, 1.0, 0], [0, 0.6, 0], [0.2, 0.4, 0.1]], (1, 1)),
        ([[0, 0.5, 0], [0.1, 0, 0.2]], (0, 1)),
        ([[0.1, 0.2], [np.nan, np.nan]], (0, 1)),
        ([[np.nan, np.nan]], (0, 0)),
    ],
)
def test_it_begins_with_the_last_layer_that_restores_over_half_else_with_the_most(shares, cell):
    assert made(shares).default_cell() == cell


def test_a_cell_is_named_so_that_no_other_is_meant():
    columns = ["▁a", "▁b | ▁c", "▁a", "</s>"]
    assert (
        str(CellName(Cell("residual", "encoder", 0, 1), columns)) == "the encoder's vector at “▁b | ▁c” before layer 1"
    )
    after = "the encoder's vector at “▁a” (token 3) after layer 2"
    assert str(CellName(Cell("residual", "encoder", 2, 2), columns)) == after
    assert str(CellName(Cell("attention", "cross", 2, 1), columns)) == "the cross-attention of layer 3 at “▁b | ▁c”"
    assert str(CellName(Cell("head", "cross", 1, 4), columns)) == "cross-attention layer 2, head 5"


def test_the_candidates_stand_over_their_probabilities():
    rows = candidate_rows(seen((1, 5), (2, 0), (3, 4)), name)
    assert rows[0] == ("clean", ["a\n75.0 %", "<b>\n12.5 %"])
    assert [run for run, _ in rows] == ["clean", "corrupted", "patched"]
    assert rows[2][1][0] == "c\n75.0 %"


def view(**query):
    return open_page("pages/research.py", research="patching", **query)


def test_the_address_chooses_pair_site_and_cell_and_an_invalid_cell_is_replaced():
    app = view(minimal_pair="gender", patched="cross heads", patched_row="2", patched_column="5")
    assert "Clean: I love my father. → **" in page_text(app)
    assert "With cross-attention layer 2, head 5 from the clean run" in page_text(app)
    app.select_slider(key="patched_column_slider").set_value(3).run()
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
