"""The view "why this cell": its sentences, its links to the heads that wrote a part, and its address."""

import re

import numpy as np
import pytest
from support.pages import open_page, page_text
from support.traces import replayed

import headlight.plots as plots
from headlight.plots.names import part_name
from headlight.views.attention import why_content as content
from transformer.interpret.score_parts import BIASES, explain_score
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

PAGE, VIEW = "pages/attention.py", {"attention": "why this cell"}
SENTENCE = "The cat is hungry because it has not eaten."


@pytest.fixture(scope="module")
def trace(shipped):
    return replayed(shipped, SENTENCE)


def explained(shipped, trace, kind="cross", layer=2, head=3, query=3, key=2, against=4):
    return explain_score(shipped, trace, kind, layer, head, query, key, against=against)


def chosen(app, label):
    return next(each.value for each in app.selectbox if each.label == label)


@pytest.mark.parametrize("kind", AttentionKind)
@pytest.mark.parametrize("query", [2, 5])
def test_the_headline_has_twelve_words_and_names_the_heaviest_part(shipped, trace, kind, query):
    found = explained(shipped, trace, kind, query=query, key=2, against=1)
    headline = content.describe_cell(trace, found).headline
    assert len(re.findall(r"[\w’.-]*\w[\w’.-]*", headline)) <= 12
    sums = {}
    for parts, axis in ((found.query_parts, 1), (found.key_parts, 0)):
        for part, total in zip(parts, found.products.sum(axis=axis), strict=True):
            if part.kind != BIASES:
                sums[float(total)] = part
    heaviest = sums[max(sums) if found.score >= 0 else min(sums)]
    assert headline.endswith(f"{part_name(heaviest)}.")
    assert ("looks less at" in headline) == (found.score < 0)


def test_the_five_largest_pairs_leave_biases_out_and_lead_to_the_heads_own_rows(shipped, trace):
    found = explained(shipped, trace)
    pairs = content.largest_pairs(trace, found)
    assert len(pairs) == content.LARGEST
    assert not any("biases" in pair.sentence for pair in pairs)
    for cell in (cell for pair in pairs for cell in pair.origins):
        assert cell.query == (found.key if cell.head.kind == AttentionKind.ENCODER else found.query)
        row = trace.attention(cell.head.kind)[cell.head.layer, cell.head.head, cell.query]
        assert cell.key == row.argmax()


def test_the_figure_has_the_sums_of_all_heads_of_a_layer_with_biases_last(shipped, trace):
    found = explained(shipped, trace)
    figure = plots.score_parts(found)
    values = np.asarray(figure.data[0].z)
    assert values.sum() == pytest.approx(found.products.sum(), abs=1e-4)
    last = [part.kind == BIASES for part in found.query_parts].index(True)
    assert values[-1].sum() == pytest.approx(found.products[last].sum(), abs=1e-4)
    assert figure.layout.yaxis.ticktext[-1] == "biases: any query"
    assert figure.layout.xaxis.ticktext[-1] == "biases: any key"


def test_the_list_of_writers_begins_with_the_part_that_the_score_needs_most(shipped, trace):
    found = explained(shipped, trace)
    effects = [abs(found.total - found.without(content.part_of(head))) for head in content.writers(found)]
    assert effects == sorted(effects, reverse=True)
    assert HeadRef(AttentionKind.CROSS, 2, 0) not in content.writers(found), "it writes after the score"


def test_a_cell_without_an_address_is_the_rows_largest_beside_the_runner_up(shipped, trace):
    app = open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", query="4")
    best, second = np.argsort(-trace.cross[2, 3, 3])[:2]
    assert (chosen(app, "Query"), chosen(app, "Key"), chosen(app, "Compared with")) == (3, best, second)
    app = open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", query="4", key="2", against_key="none")
    assert (chosen(app, "Key"), chosen(app, "Compared with")) == (1, -1)


@pytest.mark.parametrize("value", ["", "99", "x", "0", "<b>", "9" * 3000])
def test_an_invalid_cell_falls_back(value):
    app = open_page(
        PAGE, **VIEW, **dict.fromkeys(("query", "key", "against_key", "removed"), value), head="decoder.2.1"
    )
    assert not app.exception
    assert "in the run" in page_text(app)


def test_a_part_that_a_head_wrote_leads_to_that_heads_cell():
    app = open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", query="4", key="3")
    button = next(each for each in app.button if each.key and each.key.startswith("origin_"))
    _, address, query = button.key.split("_")
    button.click().run()
    assert not app.exception
    assert app.query_params["head"] in (address, [address])
    assert chosen(app, "Query") == int(query)


def test_before_the_first_layer_no_head_has_written():
    app = open_page(PAGE, **VIEW, head="encoder.1.2")
    assert "No head wrote before" in page_text(app)
    assert not [each for each in app.button if each.key and each.key.startswith("origin_")]


def test_the_explorer_opens_the_view_at_its_cell():
    app = open_page(PAGE, text=SENTENCE, head="encoder.2.3", query="4", key="2")
    app.button(key="open_why this cell").click().run()
    assert (chosen(app, "Query"), chosen(app, "Key")) == (3, 1)
