"""The view "why this cell": its sentences, its links to the heads that wrote a part, and its address."""

from dataclasses import replace

import numpy as np
import pytest
from support.head_rows import word
from support.pages import open_page
from support.traces import replayed

from headlight.views.research import why_content as content
from transformer.interpret.score_parts import BIASES, explain_score
from transformer.interpret.trace import keys_of
from transformer.model.heads import Head
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
        query = content.default_query(trace, Head(kind, layer, head))
        assert query - int(kind == "decoder") == best.argmax()


@pytest.mark.parametrize("kind", AttentionKind)
@pytest.mark.parametrize("query", [2, 5])
def test_the_part_named_has_the_largest_sum_of_products_and_mostly_is_above_half(shipped, trace, kind, query):
    for key, against in ((2, 1), (1, 2)):
        parts = explained(shipped, trace, kind, query=query, key=key, against=against)
        finding, sums, sign = content.describe_cell(trace, parts), [], np.sign(parts.score)
        for side, axis in ((parts.query_parts, 1), (parts.key_parts, 0)):
            values = sign * parts.products.sum(axis=axis)
            sums += zip(values.tolist(), side, [values[values > 0].sum()] * len(side), strict=True)
        value, part, whole = max(sums, key=lambda each: each[0])
        assert finding["heaviest"] == part and (finding["value"], finding["whole"]) == pytest.approx((value, whole))
        assert (finding.name == "mostly") == (value > 0.5 * whole) and ("above" in finding) == (sign > 0)
        assert (finding["ahead"].position, finding["behind"].position) == (key, against)[:: int(sign)]
        assert (finding["score"], finding["total"]) == pytest.approx((parts.score, parts.products.sum()), abs=1e-4)
        row = trace.attention(kind)[2, 3, query]
        assert (finding["weight"], finding["other_weight"]) == (row[key], row[against])


def test_a_part_is_named_by_its_share_even_if_it_is_biases(shipped, trace):
    """Of made products: biases add all of the lead, other parts of the query 1, 1 and −2."""
    parts = explained(shipped, trace)
    products, is_bias = np.zeros_like(parts.products), np.array([part.kind == BIASES for part in parts.query_parts])
    products[is_bias, :2] = 0.75
    products[np.flatnonzero(~is_bias)[:3], 0] = 1, 1, -2
    finding = content.describe_cell(trace, replace(parts, products=products, score=1.5))
    assert finding.headline.endswith("; the largest part, 43 %, is the query’s biases."), "1.5 of 3.5"


def test_without_a_second_key_or_a_lead_nothing_is_explained(shipped, trace):
    alone, only = explained(shipped, trace, against=None), explained(shipped, trace, "decoder", 0, 0, 0, 0, None)
    cases = {"alone": alone, "only": only, "alike": replace(explained(shipped, trace), score=0.001)}
    findings = [content.describe_cell(trace, parts) for parts in cases.values()]
    assert [each.name for each in findings] == list(cases) and not any("favour" in each for each in findings)


def test_a_pair_is_a_difference_of_numbered_tokens_and_leads_to_the_heads_own_rows(shipped):
    """Of made products: the largest is of the query's last head and the key's first one."""
    trace = replayed(shipped, "The cat saw the cat.")
    parts = explained(shipped, trace, query=3, key=1, against=4)
    heads = [[at for at, part in enumerate(side) if part.source_head] for side in (parts.query_parts, parts.key_parts)]
    products = np.zeros_like(parts.products)
    products[heads[0][-1], heads[1][0]] = -7
    pair, *others = content.largest_pairs(trace, replace(parts, products=products))
    assert len(others) == content.LARGEST - 1 and pair.sentence.endswith(
        "“▁cat” (position 2), minus the same with “▁cat” (position 5): −7.00."
    )
    for cell, position in zip(pair.origins, (3, 1), strict=True):
        row = trace.attention(cell.head.kind)[cell.head.layer, cell.head.head, position]
        assert (cell.query, cell.key) == (position, row.argmax())
    assert str(content.describe_cell(trace, parts)).count("“▁cat” (position") > 4


def test_the_list_of_writers_begins_with_the_part_that_the_score_needs_most(shipped, trace):
    parts = explained(shipped, trace)
    effects = [abs(parts.total - parts.without(content.part_of(head))) for head in content.writers(parts)]
    assert effects == sorted(effects, reverse=True)
    assert Head(AttentionKind.CROSS, 2, 0) not in content.writers(parts), "it writes after the score"


def test_a_cell_without_an_address_is_the_rows_largest_beside_the_runner_up(shipped, trace):
    app = open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", query="4")
    best, second = np.argsort(-trace.cross[2, 3, 3])[:2]
    assert (chosen(app, "Query"), chosen(app, "Key"), chosen(app, "Compared with")) == (3, best, second)
    app = open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", query="4", key="2", against_key="none")
    assert (chosen(app, "Key"), chosen(app, "Compared with")) == (1, -1)


def test_a_part_leads_to_the_cell_of_its_head_and_a_layer_opens_into_its_heads():
    apps = (open_page(PAGE, **VIEW, text=SENTENCE, head="cross.3.4", query=str(query)) for query in range(1, 9))
    app, button = next((app, each) for app in apps for each in app.button if (each.key or "").startswith("origin_"))
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
