"""Files of unknown origin: what is read of them, what is not, and how much memory a refusal takes."""

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.server import ROOT

from transformer.checkpoint import load_checkpoint
from transformer.config import load_experiment
from transformer.data.batching import read_samples
from transformer.data.pairs import read_pairs
from transformer.errors import CheckpointError, ConfigError, DataError
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.patching import read_minimal_pairs
from transformer.untrusted import MEGABYTE, parse_json, read_regular, read_toml

# Reads a file as the test says, and prints what it was refused with and by how many MB memory grew at most.
MEASURE = """
import resource, sys
from pathlib import Path
from transformer.errors import UserError
from transformer.checkpoint import load_checkpoint
from transformer.data.pairs import read_pairs
from transformer.interpret.trace import Trace
from transformer.exchange.layout import read_weights
kilobyte = 1 if sys.platform == "linux" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    {call}(Path(sys.argv[1]))
except UserError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // (1024 * kilobyte))
"""


def refused(call: str, path: Path) -> tuple[str, int]:
    """The sentence with which a file is refused in a process of its own, and the MB of memory that this took."""
    command = [sys.executable, "-c", MEASURE.format(call=call), str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert not done.stderr, done.stderr
    sentence, megabytes = done.stdout.splitlines()
    return sentence, int(megabytes)


@pytest.mark.parametrize("text", ['{"a": [1, 2.5, null, "ü", "\\ud83d\\ude00"]}', "3", "[]", '"\\u00e9"', "NaN"])
def test_json_says_what_it_says(text):
    assert repr(parse_json(text.encode())) == repr(json.loads(text))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"weight_map": {"a": "\\ud800"}}', "half of a character"),
        (b'{"\\uDFFF": 1}', "half of a character"),
        (b'"\xed\xa0\x80"', "utf-8"),
        (b"[" * 65 + b"]" * 65, "nested too deep"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b"[" + b"[]," * 2_000_000 + b"[]]", "lists and objects"),
        (b"1" * 5000, "4300 digits"),
        (b"{", "Expecting"),
        (b"", "Expecting"),
    ],
    ids=lambda value: str(value[:12]),
)
def test_json_that_is_none_or_overflows_is_a_value_error(content, why):
    with pytest.raises(ValueError, match=why):
        parse_json(content)


def test_json_may_be_nested_as_deep_as_is_said():
    assert parse_json(b"[" * 64 + b"]" * 64) is not None


@pytest.mark.parametrize(
    "content",
    ["x = " + "[" * 65 + "]" * 65, "x = " + "[" * 5000, "x = " + "{a = " * 5000, ".".join("a" * 60_000) + " = 1"]
    + [
        "[" + " . ".join('"a"' for _ in range(9000)) + "]",
        "x = {" + ".".join(["'b'"] * 9000) + " = 1}",
        'a = "\\ud800"',
    ]
    + ["a = 1\n" * 50_000, "x", "\ufeff", "a = 1" + "\n" * 300_000],
    ids=lambda content: content[:12],
)
def test_toml_that_is_none_overflows_or_takes_for_ever_is_a_sentence(tmp_path, content):
    """A configuration and minimal pairs alike."""
    path = tmp_path / "minimal_pairs.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises((ValueError, OSError)):
        read_toml(path)
    with pytest.raises(ConfigError):
        load_experiment(path)
    with pytest.raises(CheckpointError):
        read_minimal_pairs(tmp_path)


def test_toml_with_many_sentences_and_some_long_names_is_read(tmp_path):
    path, text = tmp_path / "a.toml", ". ".join(["Go on"] * 500)
    path.write_text(f'a = "{text}"\n' + ".".join(["b"] * 60) + " = 1\n")
    assert read_toml(path)["a"] == text


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link to a device"])
def test_only_regular_files_are_read_and_nobody_waits_for_a_pipe(tmp_path, kind):
    path = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "link to a device" else "/dev/full")
    with pytest.raises(OSError, match="no regular file|Is a directory"):
        read_regular(path, 10)


def test_a_file_may_be_as_large_as_is_said(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * MEGABYTE)
    assert len(read_regular(path, MEGABYTE)) == MEGABYTE
    with path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(OSError, match="larger than 1 MB"):
        read_regular(path, MEGABYTE)
    os.truncate(path, 1 << 40)  # a hole
    with pytest.raises(OSError, match="larger than 1 MB"):
        read_regular(path, MEGABYTE)


@pytest.mark.parametrize(
    "name", ["config.json", "training.json", "history.csv", "tokenizer.model", "model.safetensors", "samples.tsv"]
)
def test_no_file_of_a_checkpoint_may_be_a_device_or_a_pipe(checkpoint_folder, tokenizer, name):
    for target in ("/dev/zero", "pipe"):
        (checkpoint_folder / name).unlink(missing_ok=True)
        if target == "pipe":
            os.mkfifo(checkpoint_folder / name)
        else:
            (checkpoint_folder / name).symlink_to(target)
        with pytest.raises((CheckpointError, DataError), match="no regular file|brings no sentence pairs"):
            if name == "samples.tsv":
                read_samples(checkpoint_folder, tokenizer, 20)
            load_checkpoint(checkpoint_folder)


def test_weights_whose_header_claims_gigabytes_are_refused_before_it_is_read(checkpoint_folder):
    path = checkpoint_folder / "model.safetensors"
    path.write_bytes((80 * MEGABYTE).to_bytes(8, "little"))
    os.truncate(path, 100 * MEGABYTE)
    with pytest.raises(CheckpointError, match="header is larger than 16 MB"):
        load_checkpoint(checkpoint_folder)
    os.truncate(path, (64 << 30) + 1)
    with pytest.raises(CheckpointError, match="larger than 65,536 MB"):
        load_checkpoint(checkpoint_folder)


def stored_trace(translator, path: Path) -> dict[str, bytes]:
    """The members of a real trace's archive."""
    translator.trace("big red dog.").save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_archive(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def header_of(shape: tuple[int, ...], dtype: str) -> bytes:
    """The header of such an array in NumPy's format."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def test_a_trace_that_would_fill_the_memory_is_refused_by_what_its_headers_say(translator, tmp_path):
    """300 MB of cross-attention of many heads, all 0, in 300 kB; the real sizes and a real layout."""
    members = stored_trace(translator, tmp_path / "real.npz")
    target, source = (len(np.load(io.BytesIO(members[f"{name}.npy"]))) for name in ("target_ids", "source_ids"))
    heads = (300 * MEGABYTE) // (4 * 3 * target * source)
    header = header_of((3, heads, target, source), "<f4")
    members["cross.npy"] = header + bytes(3 * heads * target * source * 4)
    path = write_archive(tmp_path / "large.npz", members)
    assert path.stat().st_size < MEGABYTE
    sentence, megabytes = refused("Trace.load", path)
    assert sentence == f"{path} is no trace: it would unpack to more than 64 MB."
    assert megabytes < 30


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cross.npy", header_of((3, 4, 2**40, 7), "<f4")),
        ("cross.npy", header_of((3, 4, 9, 7), "<f4") + bytes(3 * 4 * 9 * 7 * 4 + 1)),
        ("source_text.npy", header_of((), f"<U{2**28}")),
        ("source_ids.npy", header_of((-1,), "<i8")),
        ("cross.npy", b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65_535),
        ("candidate_tokens.npy", header_of((9, 2**20), "<U0")),
    ],
    ids=range(6),
)
def test_a_header_that_lies_is_refused(translator, tmp_path, name, content):
    members = stored_trace(translator, tmp_path / "real.npz")
    path = write_archive(tmp_path / "lies.npz", {**members, name: content})
    with pytest.raises(DataError, match="is no trace"):
        Trace.load(path)


def test_an_archive_that_is_packed_otherwise_or_lists_a_million_files_is_refused(translator, tmp_path):
    members = stored_trace(translator, tmp_path / "real.npz")
    assert Trace.load(write_archive(tmp_path / "same.npz", members)).source_text == "big red dog."
    with pytest.raises(DataError, match="compressed in another way"):
        Trace.load(write_archive(tmp_path / "otherwise.npz", members, zipfile.ZIP_BZIP2))
    many = {f"{number:070}": b"" for number in range(10_000)}
    with pytest.raises(DataError, match="lists too many files"):
        Trace.load(write_archive(tmp_path / "many.npz", {**members, **many}))


def test_a_corpus_of_one_line_is_refused_when_that_is_longer_than_a_line_can_be(tmp_path):
    path = tmp_path / "line.tsv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(b"a" * MEGABYTE)
    sentence, megabytes = refused("read_pairs", path)
    assert sentence == f"The corpus {path} cannot be read: its line 1 is longer than 1 MB."
    assert megabytes < 30


def test_a_corpus_that_unpacks_to_a_hundred_times_its_size_is_refused(tmp_path):
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress((b"a" * 1000 + b"\n") * (66 * 1024), compresslevel=6))
    sentence, megabytes = refused("read_pairs", path)
    assert sentence == f"The corpus {path} cannot be read: it unpacks to more than 64 MB."
    assert megabytes < 30
    small = tmp_path / "small.tsv.gz"
    small.write_bytes(gzip.compress(b"a\tb\n" * 100_000))
    assert len(read_pairs(small)) == 100_000 > 100 * small.stat().st_size / 4, "more than that, and yet small"


def test_pickled_weights_that_are_compressed_or_larger_than_their_file_are_refused(tmp_path):
    import torch

    path = tmp_path / "pytorch_model.bin"
    torch.save({"a": torch.zeros(1).expand(2**30)}, path)
    sentence, megabytes = refused("read_weights", tmp_path)
    assert sentence == f"{path} has tensors that are larger than what it holds of them." and megabytes < 30
    torch.save({"a": torch.zeros(2**20)}, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    write_archive(path, members)
    sentence, _ = refused("read_weights", tmp_path)
    assert sentence == f"{path} holds more than tensors, which is not read, or is damaged."
