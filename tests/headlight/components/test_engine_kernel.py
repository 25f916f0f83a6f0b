"""The bytes of the kernel belong to its source."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3] / "headlight" / "components" / "engine" / "kernel.wat"
# After a change of kernel.wat compile it (`wat2wasm kernel.wat -o kernel.wasm`, of Debian's wabt) and update both
# hashes: of the source without comments and indentation, and of the bytes.
HASHES = (
    "721ec102668d03af1d90438e7c9c82201683075d842fdcc3c9b82dc65e074682",
    "f7c973d6e9456c6926822152bc128227da9221a3a3e78c14c811d6c65d2a2b60",
)


def test_source_and_bytes_belong_together(tmp_path):
    source, compiled = SOURCE.read_text("utf-8"), SOURCE.with_suffix(".wasm").read_bytes()
    instructions = re.sub(r"\s+", " ", re.sub(r";;.*", "", source)).strip()
    assert tuple(hashlib.sha256(each).hexdigest() for each in (instructions.encode(), compiled)) == HASHES
    if compiler := shutil.which("wat2wasm"):
        subprocess.run([compiler, SOURCE, "-o", tmp_path / "compiled.wasm"], check=True)
        assert (tmp_path / "compiled.wasm").read_bytes() == compiled
