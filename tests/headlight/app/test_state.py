"""The state of a page: its values go from the address to widgets and back, and have one owner."""

import ast
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, check_headline, headlines, open_page, page_text, payload, specs
from support.source_files import dotted, files, tree

from headlight.app import state
from headlight.app.parameters import PARAMETERS, default_of, names_of
from headlight.components.show import STATE

LINES = (Path(__file__).parent / "addresses.txt").read_text(encoding="utf-8").splitlines()
ADDRESSES = [line for line in LINES if not line.startswith("#")]


def query_of(address: str) -> dict[str, str]:
    return dict(parse_qsl(address.partition("?")[2], keep_blank_values=True))


def test_the_example_addresses_have_every_parameter_and_every_page():
    assert {name for address in ADDRESSES for name in query_of(address)} == set(PARAMETERS)
    assert {address.partition("?")[0] for address in ADDRESSES} == {path.stem for path in files("pages")}


def test_only_the_state_touches_the_address_and_only_by_it_are_widgets_bound():
    for path in files("headlight"):
        if path.name == "state.py":
            continue
        for node in ast.walk(tree(path)):
            name = dotted(node) if isinstance(node, ast.Attribute) else ""
            assert name != "st.query_params" and not name.startswith("st.query_params."), path
            assert not isinstance(node, ast.keyword) or node.arg != "bind", path
            if isinstance(node, ast.Subscript) and dotted(node.value) == "st.session_state":
                key = node.slice.value if isinstance(node.slice, ast.Constant) else ""
                assert key not in PARAMETERS, f"{path} sets the widget of {key}"


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_opens_shows_its_values_and_has_short_headlines(address, monkeypatch):
    """Every widget shows the value in the address, and its text is that value again. `against` depends on weights."""
    shown, names, bound, value = {}, set(), state.bound, state.State.value

    def bind(name, start, value_of, text_of=str, *further, **options):
        connected = bound(name, start, value_of, text_of, *further, **options)
        names.add(name)
        shown[name] = value_of, text_of(state.st.session_state[name])
        return connected

    def look(self, name):
        names.add(name)
        return value(self, name)

    monkeypatch.setattr(state, "bound", bind)
    monkeypatch.setattr(state.State, "value", look)
    page, query = address.partition("?")[0], query_of(address)
    app = open_page(f"pages/{page}.py", **query)
    assert names <= names_of(page), "the page reads names that it does not restore"
    for name, (value_of, text) in shown.items():
        assert name == "against" or not text or value_of(text) == value_of(query.get(name) or text) is not None, name
    assert not app.exception and not app.error
    for headline in headlines(app):
        check_headline(headline)
    captions = [spec["layout"]["meta"]["caption"] for spec in specs(app)]
    assert not re.search(r"▁|</s>|<s>|<pad>|<unk>|\\", "\n".join([page_text(app), *captions])), "raw tokens"


def widgets() -> None:
    """One widget of each kind, for each of which the register has a name."""
    import headlight.app.choices as choices

    choices.one_of(("greedy", "beam"), "decoding")
    choices.from_list({"en-de": "English → German", "en-fr": "English → French"}, "checkpoint")
    choices.switch("map")
    choices.slider("beam")
    choices.slider("alpha", step=0.1)
    choices.whole_number("seed")
    choices.slider_over(("a", "b", "a"), "step", 2)
    choices.line("second")


CHOSEN = {
    "decoding": ("segmented_control", "beam", "beam"),
    "checkpoint": ("selectbox", "en-fr", "en-fr"),
    "map": ("toggle", True, "1"),
    "beam": ("slider", 3, "3"),
    "alpha": ("slider", 0.7, "0.7"),
    "seed": ("number_input", 7.0, "7"),
    "step": ("select_slider", 1, "2"),
    "second": ("text_input", "A cat.", "A cat."),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_choice_goes_from_the_widget_to_the_address_and_back(name):
    kind, value, text = CHOSEN[name]
    app = AppTest.from_function(widgets, default_timeout=60).run()
    start = getattr(app, kind)(key=name).value
    getattr(app, kind)(key=name).set_value(value).run()
    assert dict(app.query_params) == {name: text}
    opened = AppTest.from_function(widgets, default_timeout=60)
    opened.query_params[name] = text
    assert getattr(opened.run(), kind)(key=name).value == value != start
    getattr(opened, kind)(key=name).set_value(start).run()
    assert not dict(opened.query_params) and getattr(opened, kind)(key=name).value == start, "a start has no text"


@pytest.mark.parametrize("text", ["x", "", "nan", "inf", "-1", "99999999999", "2.5"])
def test_an_invalid_value_leaves_a_widget_at_its_start_or_at_its_limit(text):
    app = AppTest.from_function(widgets, default_timeout=60)
    for name in CHOSEN:
        app.query_params[name] = text
    assert not app.run().exception
    assert app.slider(key="beam").value in (2, 5, 10) and app.select_slider(key="step").value in (1, 2)
    assert app.selectbox(key="checkpoint").value == "en-de" and not app.toggle(key="map").value


def test_a_slider_with_other_limits_shows_the_value_of_the_address():
    def page():
        import streamlit as st

        from headlight.app.choices import slider

        slider("rewrite_row", (1, 4 + 2 * st.toggle("longer")), start=3)

    app = AppTest.from_function(page, default_timeout=60).run()
    for longer in (True, False, True):
        app.toggle[0].set_value(longer).run()
        assert (app.slider[0].value, app.slider[0].max) == (3, 6 if longer else 4)


def test_a_choice_changes_several_names_at_once_and_keeps_unknown_ones():
    def page():
        from headlight.app.state import go

        go(step="3", query="2", beam="5")

    app = AppTest.from_function(page, default_timeout=60)
    app.query_params.update({"utm": "mail", "beam": "7", "key": "1"})
    app.run()
    assert dict(app.query_params) == {"utm": "mail", "key": "1", "step": "3", "query": "2"}
    with pytest.raises(KeyError):
        default_of("unheard_of")


def test_a_page_restores_its_values_after_another_page_alone():
    app = open_page("pages/decoding.py", step="3")
    app.query_params.pop("step")  # Streamlit drops it with the page
    app.switch_page(str(ROOT / "pages" / "home.py")).run()
    assert "step" not in app.query_params, "the home has no steps"
    app.switch_page(str(ROOT / "pages" / "decoding.py")).run()
    assert payload(app)["step"] == 3 and app.query_params["step"] == "3"
    app.query_params.pop("step")
    assert "step" not in app.run().query_params, "the visitor has gone back to an address without it"


def test_after_back_to_another_page_its_address_alone_counts(monkeypatch):
    app = open_page("pages/decoding.py", step="3")
    app.query_params.clear()
    app.switch_page(str(ROOT / "pages" / "home.py")).run()
    monkeypatch.setattr(state, "_is_history", lambda: True)
    app.switch_page(str(ROOT / "pages" / "decoding.py")).run()
    assert "step" not in app.query_params


def test_a_move_opens_its_page_with_its_values_though_a_report_comes_in_between():
    app = open_page("pages/decoding.py", text="The cat is hungry.", step="3")
    app.session_state[STATE] = replace(app.session_state[STATE], destination=("home", {"map": "1", "text": ""}))
    app.run()
    assert app.toggle(key="map").value and dict(app.query_params) == {"map": "1"}
    assert not app.session_state[STATE].destination


def test_another_sentence_or_model_forgets_what_belongs_to_the_one_before():
    app = open_page("pages/decoding.py", step="3", prefix="258")
    app.selectbox(key="checkpoint").select("en-fr").run()
    assert dict(app.query_params) == {"step": "3", "checkpoint": "en-fr"}
    app = open_page("pages/decoding.py", step="3", prefix="258")
    app.text_input(key="text").input("The cat is hungry.").run()
    assert dict(app.query_params) == {"text": "The cat is hungry."}


@pytest.mark.parametrize(("ui", "title"), [("de", "Im Modell"), ("fr", "À l’intérieur"), ("xx", "Inside")])
def test_an_old_address_opens_its_view_in_every_language_and_links_keep_the_language(ui, title):
    app = open_page("pages/inside.py", head="encoder.1.1", at_step="softmax", ui=ui)
    assert [each.value for each in app.title] == [title]
    assert "".join(app.query_params["inside"]) == "step by step"
    app.switch_page("pages/positions.py").run()
    assert app.session_state[STATE].value("ui") == ui
