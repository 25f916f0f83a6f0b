"""Every measurement as a table: each row is the cell that it names, and texts are categories."""

from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from support.models import random_sources, unlike_model
from support.tiny import make_pairs
from support.tolerance import near

from transformer.corpus.head_roles import measure_roles
from transformer.data.batching import make_examples
from transformer.data.frames import cell_columns, frame_of
from transformer.interpret.attribution import gradient_times_input
from transformer.interpret.head_patterns import Pattern
from transformer.interpret.residual import logit_lens, record_residual_stream, trajectory
from transformer.interpret.rollout import SourceShares, alti
from transformer.interpret.what_if.difference import subtract
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.logit_attribution import attribute_logit
from transformer.interpret.what_if.patching import Question, patching_map

ONE, OTHER = (tuple(source) for source in random_sources(7, 7, seed=5))
FED = (2, 9, 8, 5)


@pytest.fixture(scope="module")
def model():
    return unlike_model()


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace("big red big dog.", target="Hund rot Hund")


def rows_of(frame: pandas.DataFrame) -> list[SimpleNamespace]:
    """Return the rows; no column holds a text a row."""
    assert not [
        name for name in frame if frame[name].dtype == object or isinstance(frame[name].dtype, pandas.StringDtype)
    ]
    return [SimpleNamespace(**row) for row in frame.to_dict("records")]


def test_each_weight_of_a_trace_is_where_its_row_says(trace):
    frame = trace.to_frame()
    named = ["kind", "layer", "head", "query", "key", "query_token", "output_token", "key_token", "weight"]
    assert list(frame.columns) == named and [frame[name].dtype.name for name in named[5:8]] == ["category"] * 3
    rows = rows_of(frame)
    target, source = len(trace.target_ids), len(trace.source_ids)
    assert len(rows) == 2 * 4 * source**2 + 3 * 4 * (target * (target + 1) // 2 + target * source)
    for row in rows[::3]:
        assert row.weight == trace.attention(row.kind)[row.layer, row.head, row.query, row.key]
        reads = trace.source_tokens if row.kind == "encoder" else trace.decoder_input_tokens
        assert row.query_token == reads[row.query]
        assert row.key_token == (trace.decoder_input_tokens if row.kind == "decoder" else trace.source_tokens)[row.key]
        missing = row.kind == "encoder"
        assert pandas.isna(row.output_token) if missing else row.output_token == trace.target_tokens[row.query]
    assert not ((frame.kind == "decoder") & (frame.key > frame["query"])).any()


def test_a_long_trace_takes_thirty_bytes_a_weight(trace):
    """At 207 MB for 1.44 million weights it was 144."""
    frame = trace.to_frame()
    assert frame.memory_usage(index=False).sum() / len(frame) <= 30


def test_losses_of_heads(model):
    losses = head_importance(model, ONE, (9, 8, 5, 3))
    rows = rows_of(losses.to_frame())
    assert len(rows) == (2 + 3 + 3) * 4 * 4
    assert all(row.loss == losses.of(row.kind)[row.layer, row.head, row.step] for row in rows)
    corpus = type(losses)(**{kind: losses.total(kind) for kind in ("encoder", "decoder", "cross")}, log_probabilities=0)
    rows = rows_of(corpus.to_frame())
    assert len(rows) == 32 and all(row.loss == corpus.of(row.kind)[row.layer, row.head] for row in rows)


def test_roles_of_heads(translator):
    model, tokenizer = translator.model, translator.tokenizer
    examples = make_examples(make_pairs(5, 3), tokenizer, model.config.max_length)
    roles = measure_roles(model, tokenizer, examples, "made up")
    rows, patterns = rows_of(roles.to_frame()), list(Pattern)
    assert len(rows) == 32 * len(patterns) and {row.pattern for row in rows} == set(patterns)
    for row in rows:
        at = row.layer, row.head, patterns.index(row.pattern)
        counted = (table[row.kind][at] for table in (roles.labelled, roles.rows, roles.eligible))
        assert (row.labelled, row.rows, row.eligible) == tuple(counted) and row.sentences == 5
        assert row.share == row.labelled / 5
        assert row.standard_error == pytest.approx(np.std([1] * row.labelled + [0] * (5 - row.labelled)) / 5**0.5)


def test_shares_of_patching(model):
    question = Question(ONE, OTHER, FED, (7, 11))
    stream = patching_map(model, question, "residual", "encoder")
    rows = rows_of(stream.to_frame())
    assert len(rows) == 3 * 7 and {row.part for row in rows} == {"encoder.stream"}
    assert all(row.share == stream.shares[row.layer, row.position] for row in rows)
    heads = patching_map(model, question, "head", "cross")
    rows = rows_of(heads.to_frame())
    assert (
        all(row.part == "cross" and row.share == heads.shares[row.layer, row.head] for row in rows) and len(rows) == 12
    )


def test_attributions_and_contributions(model):
    found = gradient_times_input(model, ONE, FED, 5)
    rows = rows_of(found.to_frame())
    assert len(rows) == 11 and all(row.value == getattr(found, row.side)[row.position] for row in rows)
    parts = attribute_logit(model, ONE, FED, 5)
    frame = parts.to_frame()
    assert frame.value.sum() == near(parts.logit)
    for kind, value in parts.by_kind().items():
        assert frame[frame.kind == kind].value.sum() == pytest.approx(value)
    rows = {(row.kind, row.layer, row.head): row.value for row in rows_of(frame)}
    assert rows["cross-attention", 2, 3] == parts.cross[2, 3]
    assert frame[frame.kind == "feed-forward"]["head"].isna().all() and frame[frame.kind == "biases"].layer.isna().all()


def test_the_residual_stream_and_its_lens(model):
    stream = record_residual_stream(model, ONE, FED)
    frame = stream.to_frame()
    assert len(rows_of(frame)) == sum(
        len(trajectory(stack, token).points)
        for stack in (stream.encoder, stream.decoder)
        for token in range(len(stack.start))
    )
    for name, stack, token in (("encoder", stream.encoder, 3), ("decoder", stream.decoder, 1)):
        followed, some = trajectory(stack, token), frame[(frame["stack"] == name) & (frame.position == token)]
        assert list(some.point) == [point for point, _ in followed.points]
        assert [None if np.isnan(layer) else layer for layer in some.layer] == [layer for _, layer in followed.points]
        for column, field in (
            ("norm", "norms"),
            ("change", "changes"),
            ("similarity", "similarities"),
            ("turn", "turns"),
        ):
            np.testing.assert_array_equal(some[column], getattr(followed, field))
    lens = logit_lens(model, stream, (9, 8, 5, 3))
    for row in rows_of(lens.to_frame()):
        at = row.layer, row.step
        assert (row.probability, row.rank, row.entropy) == (lens.probabilities[at], lens.ranks[at], lens.entropies[at])
        assert (row.best_id, row.best_probability) == (lens.best_ids[at][0], lens.best_probabilities[at][0])


def test_rollouts_and_shares_of_the_source(model):
    rolled = alti(model, ONE, FED)
    rows = rows_of(rolled.to_frame())
    assert len(rows) == 2 * 49 + 3 * 16 + 3 * 4 * 11
    assert all(row.share == getattr(rolled, row.rows_of)[row.layer, row.query, row.key] for row in rows)
    shares = SourceShares(("a", "b", "a"), np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.5, 0.6]))
    rows = [(row.method, row.step, row.token, row.share) for row in rows_of(shares.to_frame())]
    assert rows == [
        *(("ALTI+", step, "aba"[step], share) for step, share in enumerate((0.1, 0.2, 0.3))),
        *(("rollout", step, "aba"[step], share) for step, share in enumerate((0.4, 0.5, 0.6))),
    ]


def test_differences_of_two_traces(translator, trace):
    other = translator.trace("red big dog.", target="Hund rot")
    difference = subtract(trace, other, "cross")
    rows = rows_of(difference.to_frame())
    assert len(rows) == difference.values.size
    for row in rows:
        expected = other.cross[row.layer, row.head, row.other_query, row.other_key]
        assert row.value == expected - trace.cross[row.layer, row.head, row.query, row.key]


def test_texts_that_are_equal_are_one_category_and_what_is_not_there_is_none():
    columns = {"x": {"word": np.array([0, 2, -1])}, "y": {"word": np.array([1])}}
    frame = frame_of("part", columns, {"word": ("a", "b", "a", "never")})
    assert frame.word.tolist()[:2] == ["a", "a"] and frame.word.isna().tolist() == [False, False, True, False]
    assert frame.word.cat.categories.tolist() == ["a", "b"] and frame.part.tolist() == ["x", "x", "x", "y"]
    assert cell_columns(("row", "column"), value=np.array([[1, 2]]))["column"].tolist() == [0, 1]
