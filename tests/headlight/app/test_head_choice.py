"""The choice of layer and head that pages share: the first head, the address, and the way from page to page."""

import numpy as np
import pytest
from support.pages import ROOT, fact_array, open_page, payload
from support.traces import trace_of

from headlight.app import results
from transformer.corpus.head_roles import plainest_head
from transformer.interpret.trace import attention_map
from transformer.model.heads import Head

SENTENCE = "I love my teacher."


def open_map(**query: str):
    return open_page("pages/home.py", map="1", **query)


def shown_weights(app) -> np.ndarray:
    return fact_array(payload(app)["facts"]["shown_cross"])


def chosen(app) -> tuple[str, str]:
    return tuple(app.segmented_control(key=f"{key}_buttons").value for key in ("layer", "head"))


def choose(app, key: str, value: str):
    return app.segmented_control(key=f"{key}_buttons").set_value(value).run()


def kind(app) -> str:
    return app.segmented_control(key="kind_buttons").value


def labels(head: Head) -> tuple[str, str]:
    return str(head.layer + 1), str(head.head + 1)


def weights(shipped, layer, head) -> np.ndarray:
    return attention_map(shipped.trace(SENTENCE), "cross", layer, head).weights


def visit(app, page: str):
    """Follow a link of the sidebar; Streamlit takes the values of the page out of the address."""
    app.query_params.pop("head", None)
    app.query_params["map"], app.query_params["inside"] = "1", "step by step"
    app.switch_page(str(ROOT / "pages" / f"{page}.py")).run()
    assert not app.exception
    return app


def test_a_page_begins_with_the_plainest_head_and_a_clean_address(shipped):
    app = open_map()
    head = plainest_head(shipped.trace(SENTENCE), "cross", results.roles(results.checkpoint("en-de")))
    assert chosen(app) == labels(head) and "head" not in app.query_params
    np.testing.assert_allclose(shown_weights(app), weights(shipped, *head.index), atol=1e-5)
    assert chosen(visit(visit(app, "inside"), "home")) == labels(head), "the first head of another page is no choice"


@pytest.mark.parametrize(("text", "layer", "head"), [("cross.2.5-cross.1.1", 1, 4), ("cross.all.7", None, 6)])
def test_the_address_names_a_head_or_an_average(shipped, text, layer, head):
    app = open_map(head=text)
    assert chosen(app) == tuple("average" if each is None else str(each + 1) for each in (layer, head))
    np.testing.assert_allclose(shown_weights(app), weights(shipped, layer, head), atol=1e-5)
    assert app.query_params["head"] in (text, [text])


@pytest.mark.parametrize("text", ["evil", "encoder.1.1", "cross.0.1", "cross.99.1"])
def test_for_a_head_that_the_page_does_not_have_it_shows_its_first(text):
    app = open_map(head=text)
    assert chosen(app) == chosen(open_map())
    layer, head = chosen(choose(app, "head", "2"))
    assert app.query_params["head"] == f"cross.{layer}.{head}" and head == "2"


def test_a_chosen_head_stands_in_the_address_and_is_kept_from_page_to_page():
    app = open_map()
    layer, _ = chosen(app)
    choose(app, "head", "2")
    assert app.query_params["head"] == f"cross.{layer}.2" and chosen(open_map(head=f"cross.{layer}.2")) == (layer, "2")
    assert chosen(visit(app, "decoding")) == (layer, "2")
    choose(app, "head", "6")
    assert kind(visit(app, "inside")) == "cross" and chosen(app) == (layer, "6")
    assert chosen(visit(app, "home")) == (layer, "6")
    choose(app, "layer", "average")
    assert app.query_params["head"] == "cross.all.6"
    assert chosen(visit(app, "inside")) == chosen(open_page("pages/inside.py", inside="step by step")), (
        "a page of single heads"
    )
    assert chosen(visit(app, "home")) == ("average", "6")


def test_a_head_of_another_kind_is_kept_for_a_page_that_shows_it():
    app = open_page("pages/inside.py", head="encoder.3.4")
    assert chosen(visit(app, "home")) == chosen(open_map())
    app = visit(app, "inside")
    assert (kind(app), chosen(app)) == ("encoder", ("3", "4"))


def test_another_kind_begins_with_its_plainest_head(shipped):
    app, roles = open_page("pages/inside.py", inside="step by step"), results.roles(results.checkpoint("en-de"))
    for one in ("cross", "encoder", "decoder", "cross"):
        assert chosen(choose(app, "kind", one)) == labels(plainest_head(shipped.trace(SENTENCE), one, roles))
        assert kind(app) == one


def test_another_checkpoint_begins_with_its_own_head_and_replaces_one_that_it_does_not_have():
    app = open_map(head="cross.3.8", text="a b c d")
    app.selectbox(key="checkpoint").select("reverse").run()
    roles, trace = results.roles(results.checkpoint("reverse")), trace_of("reverse", "a b c d")
    assert not app.exception and chosen(app) == labels(plainest_head(trace, "cross", roles))
