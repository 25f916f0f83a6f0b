"""Two runs compared: the figures of made maps, and the view with each kind of second run."""

import numpy as np
import pytest
from support.pages import open_page, page_text, specs
from support.traced import translator

from headlight.plots.what_if import both, difference_figure, head_differences_figure, short
from transformer.interpret.trace import attention_map
from transformer.interpret.what_if.difference import subtract

PAGE = "pages/what_if.py"
FIRST, SECOND = "I love my teacher.", "I love my old teacher."


@pytest.fixture(scope="module")
def runs():
    return tuple(map(translator().trace, (FIRST, SECOND)))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_difference_is_drawn_where_both_have_row_and_column_and_masked_cells_are_blank(runs, kind):
    difference = subtract(*runs, kind)
    maps = [attention_map(trace, kind, 1, 2, "predicted") for trace in runs]
    figure = difference_figure(difference, *maps, 350)
    drawn = np.array(figure.data[0].z, dtype=np.float64)
    for row, (one, other) in enumerate(difference.rows):
        for column, (left, right) in enumerate(difference.columns):
            expected = maps[1].weights[other, right] - maps[0].weights[one, left]
            assert drawn[row, column] == pytest.approx(expected, abs=1e-5, nan_ok=True)
    assert figure.data[0].zmin == -figure.data[0].zmax
    assert (kind == "decoder") == np.isnan(drawn).any()


def test_how_much_each_head_differs_stands_at_its_layer_and_head(runs):
    difference = subtract(*runs, "cross")
    (cells,) = head_differences_figure(difference).data
    assert (cells.x0, cells.y0) == (1, 1)
    np.testing.assert_allclose(np.array(cells.z), difference.distances(), atol=1e-5)


def test_a_token_that_is_another_stands_beside_the_first():
    assert both("a", "a") == "a" and both("a", "<b>") == "a | <b>"
    assert [short(value) for value in (0.004, 0.12, -0.3, 1.0)] == ["", ".12", "−.30", "1.00"]


@pytest.mark.parametrize("compare", ["another sentence", "another checkpoint", "heads off"])
def test_each_kind_of_second_run_is_compared(compare):
    app = open_page(PAGE, what_if="compare", compare=compare, kind="cross", layer="2", head="3", off="cross.1.1")
    assert "differs by" in page_text(app) and len(specs(app)) == 4 and not app.warning
    assert ("Without cross-attention layer 1, head 1" in page_text(app)) == (compare == "heads off")


def test_the_other_sentence_begins_with_the_readers_own():
    def other(**query) -> str:
        return open_page(PAGE, what_if="compare", **query).text_input(key="compare_text_line").value

    assert other() == "I love my teachers."
    text = "Tom lives in Boston with his three sisters."
    made = other(text=text)
    assert made != text and sorted(made.split()) == sorted(text.split()), "two words exchanged"
    assert translator().trace(made).target_ids != translator().trace(text).target_ids
    assert other(text=text, compare_text="Where is my dog?") == "Where is my dog?"


@pytest.mark.parametrize(
    "query, words",
    [
        ({"compare_text": ""}, "The other sentence cannot be used. The text is empty"),
        ({"compare": "another checkpoint", "compare_checkpoint": "reverse"}, "so no head has a partner"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(query, words):
    app = open_page(PAGE, what_if="compare", **query)
    assert any(words in each.value.replace("\\", "") for each in app.warning)
