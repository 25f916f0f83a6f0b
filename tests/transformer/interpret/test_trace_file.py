"""Traces as files, inseq's too, and several made at once: reading inverts writing, a hostile file is refused."""

import base64
import builtins
import contextlib
import dataclasses
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
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


@pytest.mark.parametrize(
    "changes", [{}, {"finished": False, "source_text": "'\"<\n🙂 ", "target_text": "", "num_forced": 2}]
)
def test_reading_inverts_writing(trace, tmp_path, changes):
    expected = dataclasses.replace(trace, **changes)
    expected.save(tmp_path / "trace.out")
    assert [path.name for path in tmp_path.iterdir()] == ["trace.out"]
    loaded = vars(Trace.load(tmp_path / "trace.out"))
    for field, value in vars(expected).items():
        assert type(loaded[field]) is type(value), field
        np.testing.assert_equal(loaded[field], value)
        if isinstance(value, np.ndarray):
            assert loaded[field].dtype == value.dtype and not loaded[field].flags.writeable


def rewrite(path: Path, name: str, value: np.ndarray | bytes | None) -> None:
    """Write the file again with another array or other bytes in its place; None leaves it out."""
    with zipfile.ZipFile(path) as archive:
        members = {each: archive.read(each) for each in archive.namelist() if each != f"{name}.npy"}
    with zipfile.ZipFile(path, "w") as archive:
        for each, content in members.items():
            archive.writestr(each, content)
        if value is not None:
            with archive.open(f"{name}.npy", "w") as file:
                file.write(value) if isinstance(value, bytes) else np.save(file, value)


class Evil:
    def __reduce__(self):
        return exec, ("import builtins; builtins.ran = True",)


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }    \n"


@pytest.mark.parametrize(
    "name, value",
    [
        ("source_tokens", np.array([Evil()] * 7, dtype=object)),
        ("encoder", np.array(1, dtype=np.float32)),
        ("encoder", np.full((2, 4, 7, 7), np.nan, dtype=np.float32)),
        ("decoder", np.zeros((3, 4, 2, 2), dtype=np.float32)),
        ("cross", np.zeros((0, 4, 11, 7), dtype=np.float32)),
        ("decoder_input_ids", np.zeros(11, dtype=np.float64)),
        ("interventions", np.array(["zero:everything"])),
        ("target_tokens", None),
        ("another", np.zeros(1)),
        ("entropies", b"\x93NUMPY\x01\x00\x2f\x00{'descr': '<f4', 'shape': (3,), 'never closed'\n"),
        ("entropies", b"\x93NUMPY\x01\x00\x46\x00" + HEADER.encode()),
        ("source_spans", np.zeros((50, 2), dtype=np.int64)),
    ],
)
def test_a_file_that_is_no_trace_is_refused_and_runs_nothing(saved, name, value):
    rewrite(saved, name, value)
    with pytest.raises(DataError, match="is no trace: "):
        Trace.load(saved)
    for content in (b"", b"PK\x03\x04", pickle.dumps(Evil())):
        saved.write_bytes(content)
        with pytest.raises(DataError):
            Trace.load(saved)
    saved.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        Trace.load(saved)
    assert not hasattr(builtins, "ran")


def test_a_damaged_file_never_fails_otherwise(saved, trace):
    whole = saved.read_bytes()
    for position in np.random.default_rng(3).integers(0, len(whole), 40):
        saved.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        with contextlib.suppress(DataError):
            assert Trace.load(saved).encoder.shape == trace.encoder.shape


@pytest.mark.parametrize(
    "options",
    [{}, {"beam": 3}, {"prefix": "rot", "interventions": ["forbid:cross.*.*:1@2-"]}],
    ids=str,
)
def test_traces_made_together_are_those_made_alone(translator, options):
    texts, done = ["big red dog.", "cat"], []
    together = translator.trace_many(texts, progress=done.append, **options)
    assert done == [2]
    for text, trace in zip(texts, together, strict=True):
        assert_near(trace, translator.trace(text, **options))


def test_given_targets_are_traced_together_each_with_its_text(translator):
    texts, targets = ["big red dog.", "cat"], ["rot", translator.hypotheses("cat")[0]]
    together = translator.trace_many(texts, targets=targets, interventions="uniform:cross.*.*")
    assert [each.origin for each in together] == ["target", "decoded"]
    for text, target, each in zip(texts, targets, together, strict=True):
        assert_near(each, translator.trace(text, target=target, interventions="uniform:cross.*.*"))


def assert_near(trace: Trace, alone: Trace) -> None:
    for kind in AttentionKind:
        assert trace.attention(kind) == near(alone.attention(kind))
    assert trace.target_probabilities == near(alone.target_probabilities)
    for name in ("source_pieces", "target_ids", "target_text", "origin", "interventions"):
        assert getattr(trace, name) == getattr(alone, name)


def attributes(value):
    """Return the attributes of an instance in inseq's layout, and of what it holds."""
    if isinstance(value, dict):
        return {name: attributes(each) for name, each in value.get("attributes", value).items()}
    return [attributes(each) for each in value] if isinstance(value, list) else value


def tensor(text: str) -> np.ndarray:
    """Return a score in inseq's layout with layers and heads first, as in a trace."""
    return safetensors.numpy.load(base64.b64decode(text))["attribution"].transpose(2, 3, 1, 0)


def test_inseqs_layout_holds_the_traces_numbers(trace, tmp_path):
    trace.to_inseq(tmp_path / "out.json")
    stored = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert stored["__instance_type__"] == ["inseq.data.attribution", "FeatureAttributionOutput"]
    output = attributes(stored)
    (sequence,) = output["sequence_attributions"]
    assert [each["token"] for each in sequence["source"]] == list(trace.source_tokens)
    assert [each["id"] for each in sequence["target"]] == [trace.decoder_input_ids[0], *trace.target_ids]
    assert (sequence["attr_pos_start"], sequence["attr_pos_end"]) == (1, len(trace.target_ids) + 1)
    np.testing.assert_array_equal(tensor(sequence["source_attributions"]), trace.cross)
    np.testing.assert_array_equal(tensor(sequence["sequence_scores"]["encoder_self_attentions"]), trace.encoder)
    decoder = tensor(sequence["target_attributions"])
    assert np.isnan(decoder[..., -1]).all()  # no step attends to the last token
    np.testing.assert_array_equal(np.nan_to_num(decoder[..., :-1]), trace.decoder)
    assert output["info"]["generated_texts"] == [trace.target_text]
