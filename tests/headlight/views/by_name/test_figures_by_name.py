"""Every figure of the app by its name in Python: each draws, and its numbers are the trace's."""

import ast
import tomllib
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from support.house import ROOT, files, tree

from headlight.views.by_name import names
from headlight.views.by_name.of_models import OF_MODELS
from headlight.views.by_name.of_runs import OF_RUNS
from headlight.views.by_name.of_traces import OF_TRACES

TEXT, OTHER = "I love my teacher.", "I love my mother."
PAIRS = [("I am tired.", "Ich bin müde."), (TEXT, "Ich liebe meinen Lehrer."), ("Thanks.", "Danke.")]
# What every heatmap is built from; and what pages draw of training runs, of a batch that somebody opens, of a stopwatch
# and beside another figure, as large as that one.
WITHOUT_A_NAME = {
    ("headlight.plots.heatmap", "heatmap_figure"),
    ("headlight.views.training.compare_figure", "runs_figure"),
    ("headlight.views.training.learning_rate_figure", "trained_figure"),
    ("headlight.views.training.batching_figure", "batch_figure"),
    ("headlight.views.questions.figures", "passes_figure"),
    ("headlight.views.masks.figures", "masked_weights_figure"),
}


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace(TEXT)


@pytest.fixture(scope="module")
def other(shipped):
    return shipped.trace(OTHER)


@pytest.mark.parametrize("name", names())
def test_each_name_draws(name, shipped, trace, other):
    more = {"difference", "differences of heads", "log-probabilities"}
    options = {"other": other} if name in more else {"corrupted": other} if name == "patching" else {}
    if name in ("calibration", "confidence histogram", "gradient norms", "padding"):
        options = {"pairs": PAIRS, **({"layers": 1} if name == "gradient norms" else {})}
    figure = shipped.figure(name, **options) if name in OF_MODELS else shipped.figure(name, trace, **options)
    assert type(figure) is go.Figure and len(figure.data) > 0
    assert all({"x", "y", "z"} & set(each.to_plotly_json()) for each in figure.data)


def test_the_numbers_are_the_traces(shipped, trace, other):
    cells = trace.figure("head", kind="cross", layer=2, head=5).data[0]
    np.testing.assert_array_equal(cells.z, trace.cross[2, 5])
    causal = trace.figure("head", kind="decoder", layer=1, head=0, rows="fed").data[0].z
    np.testing.assert_array_equal(np.nan_to_num(causal), np.tril(trace.decoder[1, 0]))
    confidence = next(each for each in shipped.figure("confidence", trace).data if each.name == "this model")
    np.testing.assert_allclose(np.asarray(confidence.x, dtype=float), trace.next_probabilities, rtol=1e-6)
    sums = trace.figure("log-probabilities", other=other).data[0]
    np.testing.assert_allclose(np.asarray(sums.y, dtype=float)[-1], np.log(trace.next_probabilities).sum(), rtol=1e-5)
    same = shipped.figure("logits", TEXT, step=1).data[0]
    assert np.asarray(same.x, dtype=float).max() == pytest.approx(
        max(shipped.figure("logits", trace, step=1).data[0].x)
    )


def test_a_figure_has_the_light_themes_colours_where_the_browser_would_put_them(trace):
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]["light"]
    first, *_, last = theme["chartSequentialColors"]
    cells, digits = trace.figure("head", kind="cross", layer=2, head=5).data
    assert cells.colorscale[-1] == (1.0, last)
    inks = dict(zip(zip(digits.y, digits.x, strict=True), digits.textfont.color, strict=True))
    assert {inks[cell] for cell in zip(*np.nonzero(trace.cross[2, 5] >= 0.7), strict=True)} == {first}
    assert set(inks.values()) == {first, "#000000"}


def test_a_name_an_option_or_a_subject_that_is_not_there_is_refused_with_those_that_are(shipped, trace):
    with pytest.raises(ValueError, match="is called 'heads', perhaps 'head'; there are 'head', .*'rollout'"):
        trace.figure("heads")
    with pytest.raises(ValueError, match="'head' has no option 'heads'; it has kind, layer, head, rows"):
        trace.figure("head", heads=3)
    with pytest.raises(ValueError, match="needs the model"):
        trace.figure("rollout")
    with pytest.raises(ValueError, match="needs a text or a trace"):
        shipped.figure("rollout")
    with pytest.raises(ValueError, match="takes no text"):
        shipped.figure("padding", TEXT)
    with pytest.raises(ValueError, match="needs the model: translator.figure\\('padding'\\)"):
        trace.figure("padding")
    with pytest.raises(ValueError, match="'padding' needs the option 'pairs'"):
        shipped.figure("padding")
    with pytest.raises(ValueError, match="'head' is of another type"):
        trace.figure("head", layer="a")
    with pytest.raises(ValueError, match="'logits' is out of range"):
        shipped.figure("logits", trace, step=99)
    with pytest.raises(ValueError, match="needs a text or a trace"):
        shipped.figure("logits", 3)
    with pytest.raises(ValueError, match="stack must be one of"):
        shipped.figure("trajectory", trace, stack="cross")
    with pytest.raises(ValueError, match="no other candidate"):
        shipped.figure("contrast", trace, other="nonsense")
    with pytest.raises(ValueError, match="one of 0.5, norm-based, ALTI\\+, got 'none'"):
        shipped.figure("rollout", trace, residual="none")


def test_no_name_stands_twice_and_every_figure_has_one():
    assert len(set(names())) == len(OF_TRACES) + len(OF_RUNS) + len(OF_MODELS)
    drawn = {
        (_module(path), node.name)
        for path in [*files("views"), *files("plots")]
        if path.parent.name != "by_name"
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_figure") and not node.name.startswith("_")
    }
    reached = set().union(*map(_named_in, (ROOT / "headlight" / "views" / "by_name").glob("*.py")))
    assert len(drawn) > 50 and drawn - reached == WITHOUT_A_NAME


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _named_in(path: Path) -> set[tuple[str, str]]:
    """What a file takes from other modules, with the module: two of them may have a function of the same name."""
    nodes = list(ast.walk(tree(path)))
    found = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    of_modules = {
        (".".join(found[node.value.id]), node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in found
    }
    return {*found.values(), *of_modules}
