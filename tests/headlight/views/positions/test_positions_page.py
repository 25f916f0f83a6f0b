"""The page on positional encoding through Streamlit's own test runner, with the shipped checkpoint."""

import json
import math
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[4]
PAGE = "pages/positions.py"
CHARTS = {"curves": 2, "matrix": 2, "similarity": 3, "wavelengths": 1, "rotation": 2, "embedding sum": 2}


def open_page(**query: str | list[str]) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def specs(app: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def said(app: AppTest) -> str:
    return "\n".join(info.value for info in app.info).replace("\\", "")


@pytest.mark.parametrize("view", CHARTS)
def test_every_view_is_a_link_and_says_what_to_look_for_and_to_try(view):
    app = open_page(positions=view)
    assert app.segmented_control(key="positions").value == view
    assert len(app.get("plotly_chart")) == CHARTS[view]
    assert "**Try**" in app.info[0].value
    assert not app.warning


def test_without_a_view_in_the_url_the_curves_are_shown():
    assert [trace["name"] for trace in specs(open_page())[0]["data"]] == [
        "8 (sin)",
        "9 (cos)",
        "16 (sin)",
        "17 (cos)",
        "24 (sin)",
        "25 (cos)",
    ]


@pytest.mark.parametrize("view", CHARTS)
def test_every_view_is_chosen_by_a_click(view):
    app = open_page()
    app.segmented_control(key="positions").set_value(view).run()
    assert not app.exception
    assert len(app.get("plotly_chart")) == CHARTS[view]


def test_the_settings_are_restored_from_the_url():
    app = open_page(positions="curves", d_model="96", length="40", base="100", dims=["4", "30"])
    assert (app.slider(key="d_model").value, app.slider(key="length").value) == (96, 40)
    assert app.select_slider(key="base").value == "100"
    assert app.multiselect(key="dims").value == ["4", "30"]
    assert [trace["name"] for trace in specs(app)[0]["data"]] == ["4 (sin)", "30 (sin)"]
    assert specs(app)[0]["layout"]["xaxis"]["range"] == [-0.5, 39.5]
    assert f"{2 * math.pi * 100 ** (30 / 96):.1f}" in said(app)


def test_the_hand_of_the_clock_is_restored_from_the_url():
    app = open_page(positions="rotation", pair="7", position="11", offset="5")
    assert (app.number_input(key="pair").value, app.slider(key="position").value, app.slider(key="offset").value) == (
        7,
        11,
        5,
    )
    assert [trace.get("name") for trace in specs(app)[0]["data"]][-2:] == ["PE(11)", "PE(16)"]
    assert f"{math.degrees(5 / 10000 ** (14 / 64)):.2f}°" in said(app)
    assert len(app.latex) == 3, "the paper's formula, and a rotation each for settings and model"


@pytest.mark.parametrize("view", [view for view in CHARTS if view != "embedding sum"])
@pytest.mark.parametrize("d_model", ["63", "511"])
def test_an_odd_d_model_is_refused_with_a_sentence(view, d_model):
    app = open_page(positions=view, d_model=d_model)
    assert not app.get("plotly_chart")
    text = app.warning[0].value.replace("\\", "")
    assert f"{d_model} is odd" in text and "must be even" in text
    app.slider(key="d_model").set_value(62).run()
    assert not app.warning and not app.exception
    assert len(app.get("plotly_chart")) == CHARTS[view]


@pytest.mark.parametrize("view", [*CHARTS, "evil"])
def test_what_makes_no_sense_in_the_url_falls_back(view):
    app = open_page(
        positions=view,
        d_model="abc",
        length="-4",
        base="evil",
        dims=["x", "-1", "9999"],
        pair="99999",
        position="none",
        offset="0",
        first_dims="?",
    )
    assert not app.warning
    assert len(app.get("plotly_chart")) == CHARTS.get(view, CHARTS["curves"])


@pytest.mark.parametrize("value", ["inf", "nan", "-1", "1e400", "9" * 5000])
def test_a_pair_that_is_no_number_falls_back(value):
    app = open_page(positions="rotation", pair=value)
    assert not app.warning and not app.exception
    assert app.number_input(key="pair").value == 4


@pytest.mark.parametrize("view", [view for view in CHARTS if view != "embedding sum"])
@pytest.mark.parametrize(
    "settings", [{"d_model": "2", "length": "8", "base": "10"}, {"d_model": "512", "length": "512"}]
)
def test_the_smallest_and_the_largest_settings_are_drawn(view, settings):
    app = open_page(positions=view, **settings)
    assert not app.warning
    assert len(app.get("plotly_chart")) == CHARTS[view]


def test_dimensions_that_are_not_there_are_said_so_and_none_at_all_asks_for_one():
    app = open_page(d_model="16", dims=["3", "300"])
    notes = [caption.value.replace("\\", "") for caption in app.caption if "Not here" in caption.value]
    assert notes == [
        "Not here: dimension 300. With d_model 16 they go from 0 to 15.",
        "Not here: dimension 300. With d_model 256 they go from 0 to 255.",
    ]
    app.multiselect(key="dims").set_value([]).run()
    assert "at least one dimension" in app.warning[0].value
    assert not app.exception


def test_a_smaller_d_model_keeps_the_page_alive_where_its_pair_is_gone():
    app = open_page(positions="rotation", pair="30")
    app.slider(key="d_model").set_value(4).run()
    assert not app.exception
    assert app.number_input(key="pair").value == 1


def test_a_position_that_the_model_has_not_is_said_so():
    app = open_page(positions="rotation", position="90", offset="90")
    assert len(app.get("plotly_chart")) == 1
    assert any("p + k = 180" in caption.value for caption in app.caption)


def test_the_law_of_distances_is_measured_in_both_tables():
    app = open_page(positions="similarity")
    assert "distance alone" in said(app) and said(app).count("·10⁻⁷") == 2


def test_adding_shows_the_visitors_tokens_and_tells_equal_ones_apart():
    app = open_page(positions="embedding sum", text="The old man saw the old dog.", first_dims="64")
    figure = specs(app)[0]
    assert figure["layout"]["yaxis"]["ticktext"][:6] == ["▁The", "▁old", "▁man", "▁saw", "▁the", "▁old"]
    assert figure["layout"]["xaxis"]["range"] == [-0.5, 63.5]
    assert "“▁old” is at positions 1 and 5" in said(app)
    assert "distance 0.00" in said(app)


def test_a_sentence_without_a_repetition_is_offered_one():
    app = open_page(positions="embedding sum")
    assert "No token occurs twice" in said(app)
    next(button for button in app.button if button.label == "Translate it").click().run()
    assert not app.exception
    assert "old dog" in app.text_input(key="text").value
    assert "“▁old” occurs 3 times, first at positions" in said(app)


@pytest.mark.parametrize("text", ["<script>alert(1)</script> $x^2$ **b** :red[no]", "", "word " * 500])
def test_hostile_empty_and_long_sentences_are_no_trouble(text):
    app = open_page(positions="embedding sum", text="I am here.")
    app.text_input(key="text").input(text).run()
    assert not app.exception
    for element in (*app.markdown, *app.info):
        assert "<script" not in element.value.replace("\\<", "")
