"""The kernel's bytes are those of its source."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "headlight" / "components" / "engine" / "kernel.wat"
# Whoever changes kernel.wat compiles it (`wat2wasm kernel.wat -o kernel.wasm`, of Debian's wabt) and writes both here:
# of the source without its comments and indentation, and of the bytes.
HASHES = {
    "wat": "721ec102668d03af1d90438e7c9c82201683075d842fdcc3c9b82dc65e074682",
    "wasm": "f7c973d6e9456c6926822152bc128227da9221a3a3e78c14c811d6c65d2a2b60",
}


def instructions(source: str) -> str:
    """A source without what says nothing to the compiler."""
    return re.sub(r"\s+", " ", re.sub(r";;.*", "", source)).strip()


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_source_and_bytes_are_those_that_belong_together():
    source, compiled = SOURCE.read_text("utf-8"), SOURCE.with_suffix(".wasm").read_bytes()
    assert {"wat": hash_of(instructions(source).encode()), "wasm": hash_of(compiled)} == HASHES


def test_the_source_compiles_to_the_bytes_where_there_is_a_compiler(tmp_path):
    compiled = SOURCE.with_suffix(".wasm").read_bytes()
    assert compiled.startswith(b"\0asm\1\0\0\0") and len(compiled) < 4096
    if compiler := shutil.which("wat2wasm"):
        subprocess.run([compiler, SOURCE, "-o", tmp_path / "made.wasm"], check=True)
        assert (tmp_path / "made.wasm").read_bytes() == compiled
