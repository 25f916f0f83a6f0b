"""The view "why this cell": its sentences, its links to the heads that wrote a part, and its address."""

import numpy as np
import pytest
from support.head_rows import word
from support.pages import open_page
from support.traces import replayed

from headlight.views.research import why_content as content
from transformer.interpret.score_parts import BIASES, explain_score
from transformer.interpret.trace import keys_of
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

PAGE, VIEW = "pages/research.py", {"research": "why this cell"}
SENTENCE = "The cat is hungry because it has not eaten."


@pytest.fixture(scope="module")
def trace(shipped):
    return replayed(shipped, SENTENCE)


def explained(shipped, trace, kind="cross", layer=2, head=3, query=3, key=2, against=4):
    return explain_score(shipped, trace, kind, layer, head, query, key, against=against)


def chosen(app, label):
    return next(each.value for each in app.selectbox if each.label == label)


@pytest.mark.parametrize("kind", AttentionKind)
def test_it_begins_with_the_row_of_the_greatest_weight_on_a_word_that_has_a_choice(trace, kind):
    maps, words = trace.attention(kind), [at for at, token in enumerate(keys_of(trace, kind)) if word(token)]
    for layer, head in np.ndindex(maps.shape[:2]):
        best = maps[layer, head][:, words].max(axis=1)[int(kind == "decoder") :]
        query = content.default_query(trace, HeadRef(kind, layer, head))
        assert query - int(kind == "decoder") == best.argmax()


@pytest.mark.parametrize("kind", AttentionKind)
@pytest.mark.parametrize("query", [2, 5])
def test_the_part_named_has_the_largest_sum_of_products(shipped, trace, kind, query):
    parts = explained(shipped, trace, kind, query=query, key=2, against=1)
    finding, sums = content.describe_cell(trace, parts), []
    for side, axis in ((parts.query_parts, 1), (parts.key_parts, 0)):
        sums += zip(parts.products.sum(axis=axis).tolist(), side, strict=True)
    choose = max if parts.score >= 0 else min
    value, part = choose((each for each in sums if each[1].kind != BIASES), key=lambda each: each[0])
    assert finding["heaviest"] == part and finding["value"] == pytest.approx(value)
    assert (finding.name == "looks") == (parts.score >= 0)
    assert (finding["score"], finding["total"]) == pytest.approx((parts.score, parts.products.sum()), abs=1e-4)
    row = trace.attention(kind)[2, 3, query]
    assert (finding["weight"], finding["other_weight"]) == (row[2], row[1])


def test_the_largest_pairs_leave_biases_out_and_lead_to_the_heads_own_rows(shipped, trace):
    parts = explained(shipped, trace)
    pairs = content.largest_pairs(trace, parts)
    assert len(pairs) == content.LARGEST
    assert not any("biases" in pair.sentence for pair in pairs)
    for cell in (cell for pair in pairs for cell in pair.origins):
        assert cell.query == (parts.key if cell.head.kind == AttentionKind.ENCODER else parts.query)
        row = trace.attention(cell.head.kind)[cell.head.layer, cell.head.head, cell.query]
        assert cell.key == row.argmax()


def test_the_list_of_writers_begins_with_the_part_that_the_score_needs_most(shipped, trace):
    parts = explained(shipped, trace)
    effects = [abs(parts.total - parts.without(content.part_of(head))) for head in content.writers(parts)]
    assert effects == sorted(effects, reverse=True)
    assert HeadRef(AttentionKind.CROSS, 2, 0) not in content.writers(parts), "it writes after the score"


def test_a_cell_without_an_address_is_the_rows_largest_beside_the_runner_up(shipped, trace):
    app = open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", query="4")
    best, second = np.argsort(-trace.cross[2, 3, 3])[:2]
    assert (chosen(app, "Query"), chosen(app, "Key"), chosen(app, "Compared with")) == (3, best, second)
    app = open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", query="4", key="2", against_key="none")
    assert (chosen(app, "Key"), chosen(app, "Compared with")) == (1, -1)


def test_a_part_leads_to_the_cell_of_its_head_and_a_layer_opens_into_its_heads():
    app = open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", query="4", key="3")
    button = next(each for each in app.button if each.key and each.key.startswith("origin_"))
    _, address, query = button.key.split("_")
    button.click().run()
    assert not app.exception
    assert app.query_params["head"] in (address, [address])
    assert chosen(app, "Query") == int(query)
    app = open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", query="4", opened="encoder.2")
    assert chosen(app, "Heads one by one") == "encoder.2"
    assert chosen(open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", opened="x.9"), "Heads one by one") == ""


def test_the_address_of_the_page_attention_opens_the_same_cell():
    cell = {"head": "cross.3.4", "query": "4", "key": "3", "against_key": "2"}
    app = open_page("pages/attention.py", attention="why this cell", text=SENTENCE, **cell)
    assert [element.value for element in app.title] == ["Research"]
    assert [chosen(app, label) for label in ("Query", "Key", "Compared with")] == [3, 2, 1]
    assert {name: app.query_params[name] for name in cell} == cell and "attention" not in app.query_params
