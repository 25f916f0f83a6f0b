"""Measurements as tables: each row is the cell that it names, and texts are categories."""

from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from support.atlases import atlas_of
from support.models import random_sources, unlike_model
from support.recorded import attribute_logit, record_residual_stream
from support.tiny import make_pairs
from support.tolerance import near

from transformer.corpus.head_roles import roles_of
from transformer.data.frames import cell_columns, frame_of
from transformer.interpret.attribution import gradient_times_input
from transformer.interpret.content import SORTS
from transformer.interpret.head_patterns import Pattern
from transformer.interpret.residual import logit_lens, trajectory
from transformer.interpret.rollout import SourceShares, alti
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.patching import Question, patching_map
from transformer.model.names import AttentionKind

ONE, OTHER = (tuple(source) for source in random_sources(7, 7, seed=5))
FED, NEXT = (2, 9, 8, 5), (9, 8, 5, 3)
KINDS, ROLES = list(AttentionKind), ("labelled", "rows", "eligible")
MODEL = unlike_model()


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace("big red big dog.", target="Hund rot Hund")


def rows_of(frame: pandas.DataFrame, count: int) -> list[SimpleNamespace]:
    """Return so many rows; texts are categories, so that none is stored per row."""
    assert len(frame) == count
    for name in frame:
        assert frame[name].dtype != object and not isinstance(frame[name].dtype, pandas.StringDtype)
    return [SimpleNamespace(**row) for row in frame.to_dict("records")]


def losses():
    return head_importance(MODEL, ONE, NEXT)


def residuals_patched():
    return patching_map(MODEL, Question(ONE, OTHER, FED, (7, 11)), "residual", "encoder")


def heads_patched():
    return patching_map(MODEL, Question(ONE, OTHER, FED, (7, 11)), "head", "cross")


def gradients():
    return gradient_times_input(MODEL, ONE, FED, 5)


def contributions():
    return alti(MODEL, ONE, FED)


def source_shares():
    return SourceShares(("a", "b", "a"), np.array([0.1, 0.2, 0.3]))


@pytest.mark.parametrize(
    ("measure", "count", "value", "cell"),
    [
        (losses, 8 * 4 * 4, "loss", lambda table, row: table.of(row.kind)[row.layer, row.head, row.step]),
        (residuals_patched, 3 * 7, "share", lambda table, row: table.shares[row.layer, row.position]),
        (heads_patched, 3 * 4, "share", lambda table, row: table.shares[row.layer, row.head]),
        (gradients, 7 + 4, "value", lambda table, row: getattr(table, row.side)[row.position]),
        (
            *(contributions, 2 * 49 + 3 * 16 + 3 * 44, "share"),
            lambda table, row: getattr(table, row.rows_of)[row.layer, row.query, row.key],
        ),
        (source_shares, 3, "share", lambda table, row: table.alti[row.step]),
    ],
)
def test_each_value_is_that_of_its_cell(measure, count, value, cell):
    measured = measure()
    for row in rows_of(measured.to_frame(), count):
        assert getattr(row, value) == cell(measured, row)
        assert not hasattr(row, "token") or row.token == measured.tokens[row.step]


def test_weights_of_a_trace(trace):
    frame = trace.to_frame()
    target, source = len(trace.target_ids), len(trace.source_ids)
    rows = rows_of(frame, 2 * 4 * source**2 + 3 * 4 * (target * (target + 1) // 2 + target * source))
    assert frame.memory_usage(index=False).sum() / len(frame) <= 30, "bytes per weight"
    for row in rows[::3]:
        assert row.weight == trace.attention(row.kind)[row.layer, row.head, row.query, row.key]
        reads = trace.source_tokens if row.kind == "encoder" else trace.decoder_input_tokens
        assert row.query_token == reads[row.query]
        assert row.key_token == (trace.decoder_input_tokens if row.kind == "decoder" else trace.source_tokens)[row.key]
        missing = row.kind == "encoder"
        assert pandas.isna(row.output_token) if missing else row.output_token == trace.target_tokens[row.query]
        assert row.kind != "decoder" or row.key <= row.query


def test_shares_of_keys_without_content(trace):
    share, content = trace.special_share(), trace.content_only()
    for row in rows_of(share.to_frame(), 8 * 4 * len(SORTS)):
        assert row.share == share.by_kind[row.kind][row.layer, row.head, list(SORTS).index(row.sort)]
    for row in rows_of(content.to_frame(), sum(np.prod(trace.attention(kind).shape[:3]) for kind in KINDS)):
        weights = content.weights[row.kind][row.layer, row.head, row.query]
        assert (row.largest_key, row.weight) == (weights.argmax(), weights.max())
        assert row.removed == content.removed[row.kind][row.layer, row.head, row.query]


def test_roles_of_heads(translator):
    roles = roles_of(atlas_of(translator, make_pairs(5, 3)))
    for row in rows_of(roles.to_frame(), 32 * len(Pattern)):
        at = row.layer, row.head, list(Pattern).index(row.pattern)
        assert [getattr(roles, name)[row.kind][at] for name in ROLES] == [getattr(row, name) for name in ROLES]
        values = [1] * row.labelled + [0] * (row.sentences - row.labelled)
        assert (row.share, row.standard_error) == pytest.approx((np.mean(values), np.std(values) / 5**0.5))


def test_parts_of_a_logit():
    parts = attribute_logit(MODEL, ONE, FED, 5)
    frame = parts.to_frame()
    assert frame.value.sum() == near(parts.logit)
    assert frame.groupby("kind", observed=True).value.sum().to_dict() == pytest.approx(parts.by_kind())
    rows = {(row.kind, row.layer, row.head): row.value for row in rows_of(frame, 3 * 4 * 2 + 3 + 3)}
    assert rows["cross-attention", 2, 3] == parts.cross[2, 3]


def test_the_residual_stream_and_its_lens():
    stream = record_residual_stream(MODEL, ONE, FED)
    frame = stream.to_frame()
    rows_of(frame, 7 * (2 + 2 * 2) + 4 * (2 + 3 * 3))
    followed, rows = trajectory(stream.decoder, 1), frame[(frame["stack"] == "decoder") & (frame.position == 1)]
    layers = [None if np.isnan(layer) else layer for layer in rows.layer]
    assert list(zip(rows.point, layers, strict=True)) == list(followed.points)
    names = {"norm": "norms", "change": "changes", "similarity": "similarities", "turn": "turns"}
    for column, values in names.items():
        np.testing.assert_array_equal(rows[column], getattr(followed, values))
    lens = logit_lens(MODEL, stream, NEXT)
    for row in rows_of(lens.to_frame(), 4 * 4):
        at = row.layer, row.step
        assert (row.probability, row.rank, row.entropy) == (lens.probabilities[at], lens.ranks[at], lens.entropies[at])
        assert (row.best_id, row.best_probability) == (lens.best_ids[at][0], lens.best_probabilities[at][0])


def test_equal_texts_are_one_category_and_a_missing_one_is_none():
    columns = {"x": {"word": np.array([0, 2, -1])}, "y": {"word": np.array([1])}}
    frame = frame_of("part", columns, {"word": ("a", "b", "a", "never")})
    assert frame.word.tolist()[:2] == ["a", "a"] and frame.word.isna().tolist() == [False, False, True, False]
    assert frame.word.cat.categories.tolist() == ["a", "b"] and frame.part.tolist() == ["x", "x", "x", "y"]
    assert cell_columns(("row", "column"), value=np.array([[1, 2]]))["column"].tolist() == [0, 1]
