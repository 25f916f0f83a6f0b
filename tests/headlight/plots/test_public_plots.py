"""The public figures: each is typed, described and drawn; its numbers are the model's; what cannot be is refused."""

import ast
import inspect
import tomllib
from typing import get_type_hints

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from support.house import ROOT, files, tree

import headlight as hl

PAIRS = [("I am tired.", "Ich bin müde."), ("I love my teacher.", "Ich liebe meinen Lehrer."), ("Thanks.", "Danke.")]
# Pages draw these of training runs, of a batch, and beside another figure.
OF_PAGES_ALONE = {"runs_figure", "rates_figure", "mask_figure", "masked_weights_figure"}
# Models of T5's family have these, and none that is shipped.
OF_PAGES_ALONE |= {"bias_curves_figure", "bias_map_figure"}


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace("I love my teacher.")


@pytest.fixture(scope="module")
def other(shipped):
    return shipped.trace("I love my mother.")


@pytest.fixture(scope="module")
def logits(shipped, trace) -> torch.Tensor:
    """The logits of an unobserved pass: [target, vocabulary]."""
    with torch.no_grad():
        ids = (torch.tensor([list(ids)]) for ids in (trace.source_ids, trace.decoder_input_ids))
        return shipped.model(*ids)[0]


def values(figure: go.Figure, axis: str = "x", name: str | None = None) -> np.ndarray:
    """The numbers of a figure's first trace, or of the one with a name."""
    return np.asarray(next(each for each in figure.data if name in (None, each.name))[axis], dtype=float)


@pytest.mark.parametrize("name", hl.plots.__all__)
def test_each_figure_is_typed_described_and_drawn(name, shipped, trace, other):
    draw = getattr(hl.plots, name)
    parameters, hints = inspect.signature(draw).parameters, get_type_hints(draw)
    assert hints.keys() == {*parameters, "return"} and hints["return"] is go.Figure
    assert draw.__doc__.startswith("Draw ") and draw.__doc__.split("\n")[0].rstrip().endswith((".", ":", ","))
    subjects = {"translator": shipped, "trace": trace, "clean": trace, "other": other, "corrupted": other}
    given = [name for name, each in parameters.items() if each.default is each.empty]
    assert all(name in {*subjects, "pairs"} for name in given)
    assert all(
        each.kind is each.KEYWORD_ONLY for name, each in parameters.items() if name not in {*given, "kind", "stack"}
    )
    fewer = {"layers": 1} if "layers" in parameters else {}
    figure = draw(*({**subjects, "pairs": PAIRS}[name] for name in given), **fewer)
    assert type(figure) is go.Figure and len(figure.data) > 0
    assert all({"x", "y", "z"} & set(each.to_plotly_json()) for each in figure.data)


def test_every_figure_of_a_page_can_be_had_in_public():
    functions = [
        node for path in files("headlight.plots") for node in tree(path).body if isinstance(node, ast.FunctionDef)
    ]
    drawn = {node.name for node in functions if node.name.endswith("_figure")}
    public = [node for node in functions if node.name in hl.plots.__all__]
    used = {each.id for node in public for each in ast.walk(node) if isinstance(each, ast.Name)}
    assert len(drawn) > 30 and drawn - used == OF_PAGES_ALONE | {"heatmap_figure"}


def test_weights_are_the_traces(shipped, trace, other):
    np.testing.assert_array_equal(values(hl.plots.head(trace, layer=2, head=5), "z"), trace.cross[2, 5])
    causal = values(hl.plots.head(trace, "decoder", layer=1, head=0, rows="fed"), "z")
    np.testing.assert_array_equal(np.nan_to_num(causal), np.tril(trace.decoder[1, 0]))
    mean = trace.encoder[1].mean(axis=0)
    np.testing.assert_allclose(values(hl.plots.average(trace, "encoder", layer=1), "z"), mean, rtol=1e-5)
    np.testing.assert_allclose(values(hl.plots.average(trace), "z"), trace.cross.mean(axis=(0, 1)), rtol=1e-5)
    changed = values(hl.plots.difference(trace, other, "encoder", layer=1, head=2), "z")
    np.testing.assert_allclose(changed, (other.encoder - trace.encoder)[1, 2], atol=1e-5)


def test_rollout_is_the_product_of_the_layers(shipped, trace):
    rolled = np.eye(len(trace.source_ids))
    for layer in trace.encoder:
        rolled = (rolled + layer.mean(axis=0) @ rolled) / 2
    np.testing.assert_allclose(values(hl.plots.rollout(shipped, trace, "encoder"), "z"), rolled, atol=1e-5)
    first = (np.eye(len(rolled)) + trace.encoder[0].mean(axis=0)) / 2
    np.testing.assert_allclose(values(hl.plots.rollout(shipped, trace, "encoder", layer=0), "z"), first, atol=1e-5)


def test_predictions_are_the_models(shipped, trace, logits):
    most = np.sort(logits[1].numpy())[::-1][:20]
    np.testing.assert_allclose(values(hl.plots.logits(shipped, trace, step=1)), most, atol=1e-4)
    logits[:, list(shipped.model.config.never_chosen)] = -torch.inf
    warmer = (logits[1] / 1.5).softmax(dim=-1).sort(descending=True).values[:20]
    drawn = values(hl.plots.probabilities(shipped, trace, step=1, temperature=1.5), name="sampling distribution")
    np.testing.assert_allclose(drawn, warmer, atol=1e-5)
    best = values(hl.plots.confidence(trace), name="this model")
    np.testing.assert_allclose(best, trace.target_probabilities, rtol=1e-5)
    sums = values(hl.plots.log_probabilities(trace, trace), "y")
    assert sums[-1] == pytest.approx(np.log(trace.target_probabilities).sum(), rel=1e-5)


def test_an_intervention_changes_the_candidates_as_it_does_the_trace(shipped, trace):
    off = [hl.Zero("cross", layer) for layer in range(3)]
    without = shipped.trace(trace.source_text, target=trace.target_ids, interventions=off)
    bars = values(hl.plots.candidates(shipped, trace, interventions=off, step=1), name="changed")
    assert bars.max() == pytest.approx(float(without.candidate_probabilities[1, 0]), abs=1e-5)
    assert bars.max() != pytest.approx(float(trace.candidate_probabilities[1, 0]), abs=1e-2)


def test_parts_of_the_model_are_its_parameters(shipped, trace):
    matrix = shipped.model.source_embedding.weight.detach().numpy()
    row = matrix[trace.source_ids[2]]
    cosines = torch.cosine_similarity(torch.tensor(matrix), torch.tensor(row)).sort(descending=True).values
    np.testing.assert_allclose(values(hl.plots.nearest_tokens(shipped, trace, token=2))[:5], cosines[1:6], atol=1e-5)
    position, pair = np.arange(8), np.arange(256) // 2
    angles = position[:, None] / 10_000 ** (2 * pair / 256)
    expected = np.where(np.arange(256) % 2, np.cos(angles), np.sin(angles))
    for figure in (hl.plots.positions(shipped, length=8), hl.plots.waves(shipped, position=2, length=8)):
        np.testing.assert_allclose(values(figure, "z"), expected, atol=1e-5)


def test_a_figure_has_the_light_themes_colours_where_the_browser_would_put_them(trace):
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]["light"]
    first, *_, last = theme["chartSequentialColors"]
    cells, digits = hl.plots.head(trace, layer=2, head=5).data
    assert cells.colorscale[-1] == (1.0, last)
    inks = dict(zip(zip(digits.y, digits.x, strict=True), digits.textfont.color, strict=True))
    assert {inks[cell] for cell in zip(*np.nonzero(trace.cross[2, 5] >= 0.7), strict=True)} == {first}
    assert set(inks.values()) == {first, "#000000"}


@pytest.mark.parametrize(
    "name, options, words",
    [
        ("head", {"layer": 3}, "layer must be in 0 to 2, got 3"),
        ("head", {"layer": -1}, "layer must be in 0 to 2, got -1"),
        ("head", {"kind": "self"}, "attention kind must be one of encoder, decoder, cross, got 'self'"),
        ("average", {"head": 8}, "head must be in 0 to 7, got 8"),
        ("head", {"rows": "all"}, "row label must be one of fed, predicted, both, got 'all'"),
        ("rollout", {"residual": "none"}, "residual must be one of 0.5, norm-based, ALTI\\+, got 'none'"),
        ("rollout", {"layer": 3}, "layer must be in 0 to 2, got 3"),
        ("attribution", {"step": 99}, "step must be in 0 to"),
        ("logits", {"step": -1}, "step must be in 0 to"),
        ("contrast", {"other": "nonsense"}, "'nonsense' is no other candidate of step 0; there are"),
        ("trajectory", {"stack": "cross"}, "stack must be one of encoder, decoder, got 'cross'"),
        ("hidden_units", {"layer": 3}, "layer"),
        ("nearest_tokens", {"token": 50}, "token must be in 0 to"),
        ("without_causal_mask", {"head": 8}, "head must be in 0 to 7, got 8"),
        ("rotation", {"position": 62}, "position \\+ offset must be in 0 to 63, got 65"),
        ("smoothed_loss", {"epsilons": ()}, "1 to 5 epsilons expected"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(name, options, words, shipped, trace):
    draw = getattr(hl.plots, name)
    subjects = {"translator": shipped, "trace": trace}
    with pytest.raises(ValueError, match=words):
        draw(*(subjects[name] for name in inspect.signature(draw).parameters if name in subjects), **options)
