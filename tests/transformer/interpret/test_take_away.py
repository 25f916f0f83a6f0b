"""A trace in a notebook and as a file: what is read back is what was written, and a hostile file is refused."""

import builtins
import contextlib
import dataclasses
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas
import pytest
from support.tolerance import near

from transformer import Trace
from transformer.errors import DataError
from transformer.model.names import AttentionKind


@pytest.fixture(scope="module")
def trace(translator) -> Trace:
    return translator.trace("big red dog.", target="groß rot alt Hund Hund.", interventions=["forbid:cross.1.*:2@1-"])


@pytest.fixture
def saved(trace, tmp_path) -> Path:
    trace.save(tmp_path / "trace.npz")
    return tmp_path / "trace.npz"


def assert_equal(one: Trace, other: Trace, atol: float = 0) -> None:
    for name, value in vars(one).items():
        found = getattr(other, name)
        assert type(found) is type(value), name
        if isinstance(value, np.ndarray):
            assert found.dtype == value.dtype and not found.flags.writeable
            np.testing.assert_allclose(found, value, rtol=0, atol=atol, err_msg=name)
        else:
            assert found == value, name


def test_what_is_saved_is_loaded(saved, trace):
    assert_equal(Trace.load(saved), trace)


def test_a_trace_of_an_unfinished_translation_and_strange_texts_survives(trace, tmp_path):
    strange = dataclasses.replace(
        trace, finished=False, source_text="'\"<\n🙂 ", target_text="", num_forced=2, source_pieces=()
    )
    strange.save(tmp_path / "strange.npz")
    assert_equal(Trace.load(str(tmp_path / "strange.npz")), strange)


def rewrite(path: Path, **changed: np.ndarray | bytes | None) -> None:
    """Write the file again with other arrays or other bytes; None leaves one out."""
    with zipfile.ZipFile(path) as archive:
        members = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    for name, value in changed.items():
        if isinstance(value, np.ndarray):
            buffer = io.BytesIO()
            np.save(buffer, value)
            value = buffer.getvalue()
        members[name] = value
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in members.items():
            if value is not None:
                archive.writestr(f"{name}.npy", value)


LYING = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }"
LYING = LYING.ljust(10 + 0x46 - 1) + b"\n"  # 400 GB in 80 bytes


class Evil:
    def __reduce__(self):
        return exec, ("import builtins; builtins.ran = True",)


@pytest.mark.parametrize(
    "name, value",
    [
        ("source_tokens", np.array([Evil()] * 7, dtype=object)),
        ("encoder", np.float32(1)),
        ("encoder", np.full((2, 4, 7, 7), np.nan, dtype=np.float32)),
        ("decoder", np.zeros((3, 4, 2, 2), dtype=np.float32)),
        ("cross", np.zeros((0, 4, 11, 7), dtype=np.float32)),
        ("decoder_input_ids", np.zeros(11, dtype=np.float64)),
        ("interventions", np.array(["zero:everything"])),
        ("target_tokens", None),
        ("another", np.zeros(1)),
        ("entropies", b"\x93NUMPY\x01\x00\x10\x00no header at all"),
        ("entropies", b"\x93NUMPY\x01\x00\x2f\x00{'descr': '<f4', 'shape': (3,), 'never closed'\n"),
        (
            "entropies",
            b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }    \n",
        ),
        ("source_spans", np.zeros((50, 2), dtype=np.int64)),
    ],
)
def test_a_file_that_is_no_trace_is_refused_and_runs_nothing(saved, name, value):
    rewrite(saved, **{name: np.asarray(value) if isinstance(value, np.generic) else value})
    with pytest.raises(DataError, match="is no trace: "):
        Trace.load(saved)
    assert not hasattr(builtins, "ran")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", pickle.dumps(Evil()), b"\x93NUMPY"])
def test_bytes_that_are_no_archive_are_refused(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(DataError):
        Trace.load(tmp_path / "x.npz")
    with pytest.raises(DataError, match="cannot be read"):
        Trace.load(tmp_path / "none.npz")
    assert not hasattr(builtins, "ran")


def test_a_trace_is_always_written_in_the_same_order(saved):
    with zipfile.ZipFile(saved) as archive:
        assert archive.namelist()[:3] == ["source_text.npy", "target_text.npy", "origin.npy"]


def test_a_damaged_file_never_fails_otherwise(saved, trace):
    whole = saved.read_bytes()
    for place in np.random.default_rng(3).integers(0, len(whole), 60):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with contextlib.suppress(DataError):
            assert Trace.load(saved).encoder.shape == trace.encoder.shape


def test_the_table_has_each_weight_with_its_tokens_and_no_masked_cell(trace):
    frame = trace.to_frame()
    source, target = len(trace.source_ids), len(trace.target_ids)
    assert frame["kind"].value_counts().to_dict() == {
        "encoder": 2 * 4 * source * source,
        "cross": 3 * 4 * target * source,
        "decoder": 3 * 4 * target * (target + 1) // 2,
    }
    keys = {"encoder": trace.source_tokens, "cross": trace.source_tokens, "decoder": trace.decoder_input_tokens}
    for row in frame.sample(60, random_state=1).itertuples():
        assert row.weight == trace.attention(row.kind)[row.layer, row.head, row.query, row.key]
        assert row.key_token == keys[row.kind][row.key]
        encoder = row.kind == "encoder"
        assert row.query_token == (trace.source_tokens if encoder else trace.decoder_input_tokens)[row.query]
        assert pandas.isna(row.output_token) if encoder else row.output_token == trace.target_tokens[row.query]
    assert frame.groupby(["kind", "layer", "head", "query"], observed=True)["weight"].sum().to_numpy() == near(1)


@pytest.mark.parametrize(
    "options", [{}, {"beam": 3}, {"prefix": "Das", "interventions": ["forbid:cross.*.*:1@2-"]}], ids=str
)
def test_traces_made_together_are_those_made_alone(shipped, options):
    texts = ["I love my teacher.", "No.", "The old man next door says that he has seen a garden.", "We don't know him."]
    done = []
    together = shipped.trace_many(texts, progress=done.append, **options)
    assert done == [4]
    for text, found in zip(texts, together, strict=True):
        alone = shipped.trace(text, **options)
        assert found.target_text == alone.target_text
        for kind in AttentionKind:
            assert found.attention(kind) == near(alone.attention(kind))
        assert found.target_probabilities == near(alone.target_probabilities)
        for name in ("source_pieces", "target_ids", "origin", "interventions"):
            assert getattr(found, name) == getattr(alone, name)


def test_targets_that_are_given_are_traced_together_each_with_its_text(shipped):
    texts, targets = ["No.", "I love my teacher."], ["Ja, gern.", shipped.hypotheses("I love my teacher.")[0]]
    together = shipped.trace_many(texts, targets=targets, interventions="uniform:cross.*.*")
    assert [found.origin for found in together] == ["target", "decoded"]
    for text, target, found in zip(texts, targets, together, strict=True):
        alone = shipped.trace(text, target=target, interventions="uniform:cross.*.*")
        assert found.target_ids == alone.target_ids
        assert found.target_probabilities == near(alone.target_probabilities)
