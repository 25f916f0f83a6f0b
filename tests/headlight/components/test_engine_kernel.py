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
    "wat": "9c632a4e144d9f9d75a8fccd386a50e73b5a0a5e69b4de0c4097ad42fb7de463",
    "wasm": "12b6d6c3955829e50d59a90b8dc18a24b08a63efb067198cf3b175814282926c",
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
