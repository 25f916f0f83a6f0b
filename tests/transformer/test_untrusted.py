"""Files of unknown origin: accepted and refused content, and the memory of a refusal."""

import gzip
import json
import math
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer.checkpoint import load_checkpoint
from transformer.config import load_experiment
from transformer.data.pairs import read_pairs
from transformer.errors import CheckpointError, ConfigError, UserError
from transformer.exchange.layout import read_weights
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.patching import read_minimal_pairs
from transformer.untrusted import MEGABYTE, parse_json, read_regular, read_toml


def refused(read: Callable[[Path], object], path: Path) -> tuple[str, float]:
    """Read a file; return its refusal and the most memory that Python and NumPy had for it, in MB."""
    tracemalloc.start()
    try:
        with pytest.raises(UserError) as refusal:
            read(path)
        return str(refusal.value), tracemalloc.get_traced_memory()[1] / MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2.5, null, "ü", "\\ud83d\\ude00"]}', "3", "[" * 64 + "]" * 64, '"\\u00e9"', "NaN"]
)
def test_json_is_read_like_python_does(text):
    assert repr(parse_json(text.encode())) == repr(json.loads(text))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"weight_map": {"a": "\\ud800"}}', "half of a character"),
        (b'"\xed\xa0\x80"', "utf-8"),
        (b"[" * 65 + b"]" * 65, "nested too deep"),
        (b"[" + b"[]," * 2_000_000 + b"[]]", "lists and objects"),
        (b"1" * 5000, "4300 digits"),
    ],
    ids=lambda value: str(value[:12]),
)
def test_other_bytes_and_json_that_overflows_are_refused(content, why):
    with pytest.raises(ValueError, match=why):
        parse_json(content)


@pytest.mark.parametrize(
    "content",
    ["x = " + "{a = " * 5000, ".".join("a" * 60_000) + " = 1", 'a = "\\ud800"', "a = 1" + "\n" * 300_000],
    ids=lambda content: content[:12],
)
def test_other_bytes_and_toml_that_overflows_or_takes_long_are_refused(tmp_path, content):
    """A configuration and minimal pairs alike."""
    path = tmp_path / "minimal_pairs.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises((ValueError, OSError)):
        read_toml(path)
    with pytest.raises(ConfigError):
        load_experiment(path)
    with pytest.raises(CheckpointError):
        read_minimal_pairs(tmp_path)
    text = ". ".join(["Go on"] * 500)
    path.write_text(f'a = "{text}"\n' + ".".join(["b"] * 60) + " = 1\n")
    assert read_toml(path)["a"] == text


def test_only_regular_files_of_limited_size_are_read(tmp_path):
    pipe, device, link, path = (tmp_path / name for name in ("pipe", "device", "link", "file"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    link.symlink_to("/dev/full")
    for other in (pipe, device, link, tmp_path):
        with pytest.raises(OSError, match="no regular file|Is a directory"):
            read_regular(other, 10)
    path.write_bytes(b"x" * MEGABYTE)
    assert len(read_regular(path, MEGABYTE)) == MEGABYTE
    for size in (MEGABYTE + 1, 1 << 40):  # the second is a hole
        os.truncate(path, size)
        with pytest.raises(OSError, match="larger than 1 MB"):
            read_regular(path, MEGABYTE)


def test_weights_whose_header_claims_gigabytes_are_refused_before_it_is_read(checkpoint_folder):
    path = checkpoint_folder / "model.safetensors"
    path.write_bytes((80 * MEGABYTE).to_bytes(8, "little"))
    os.truncate(path, 100 * MEGABYTE)
    with pytest.raises(CheckpointError, match="header is larger than 16 MB"):
        load_checkpoint(checkpoint_folder)
    os.truncate(path, (64 << 30) + 1)
    with pytest.raises(CheckpointError, match="larger than 65,536 MB"):
        load_checkpoint(checkpoint_folder)


def test_a_trace_that_would_fill_the_memory_is_refused_by_what_its_headers_say(translator, tmp_path):
    """100 MB of cross-attention of many heads, all 0, in 100 kB; the real sizes and a real layout."""
    path = tmp_path / "large.npz"
    translator.trace("big red dog.").save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    _, _, *cells = arrays["cross"].shape
    arrays["cross"] = np.zeros((3, 100 * MEGABYTE // (4 * 3 * math.prod(cells)), *cells), dtype=np.float32)
    np.savez_compressed(path, **arrays)
    assert path.stat().st_size < MEGABYTE
    sentence, megabytes = refused(Trace.load, path)
    assert sentence == f"{path} is no trace: it would unpack to more than 64 MB."
    assert megabytes < 30


def test_a_corpus_that_unpacks_to_a_hundred_times_its_size_is_refused(tmp_path):
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress((b"a" * 1000 + b"\n") * (66 * 1024), compresslevel=6))
    sentence, megabytes = refused(read_pairs, path)
    assert sentence == f"The corpus {path} cannot be read: it unpacks to more than 64 MB."
    assert megabytes < 30
    path.write_bytes(gzip.compress(b"a\tb\n" * 100_000))
    assert len(read_pairs(path)) == 100_000 > 100 * path.stat().st_size / 4, "more than that, and yet small"


def test_pickled_weights_that_are_larger_than_their_file_are_refused(tmp_path):
    path = tmp_path / "pytorch_model.bin"
    torch.save({"a": torch.zeros(1).expand(2**30)}, path)
    sentence, megabytes = refused(read_weights, tmp_path)
    assert sentence == f"{path} has tensors that are larger than what it holds of them." and megabytes < 30
