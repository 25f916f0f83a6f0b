"""Answers of the browser's engine in node, for comparison with PyTorch in tests and benchmarks."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
_PROGRAM = ROOT / "tests" / "javascript" / "answers.js"
_TEXTS = ROOT / "tests" / "javascript" / "texts.js"  # reads texts.toml, as the bundler does
_ARRAY = "array"


@dataclass(frozen=True)
class Run:
    """Questions to one model with one kernel, "plain" or "simd": verbs of tests/javascript/answers.js with arguments.

    model: its name among the models of `ask_engine`.
    """

    model: str
    kernel: str
    questions: Sequence[Sequence[object]]


def ask_engine(folder: Path, models: Mapping[str, tuple[dict, bytes]], runs: Sequence[Run]) -> list[list[Any]]:
    """Return the answers of each run, all in one process; arrays are NumPy's.

    folder: an empty one. models: by name what `pack` of transformer/exchange/int8.py makes. Raises FileNotFoundError
    without node.
    """
    for name, (header, content) in models.items():
        (folder / f"{name}.json").write_text(json.dumps(header), encoding="utf-8")
        (folder / f"{name}.bin").write_bytes(content)
    content = [{"model": run.model, "kernel": run.kernel, "questions": run.questions} for run in runs]
    (folder / "questions.json").write_text(json.dumps(content), encoding="utf-8")  # surrogates as escapes
    node = shutil.which("node")
    if node is None:
        raise FileNotFoundError("node is needed to run the engine.")
    subprocess.run([node, "--import", _TEXTS, _PROGRAM, folder], check=True)
    content = (folder / "answers.bin").read_bytes()

    def read(value: dict) -> object:
        if value.keys() != {_ARRAY}:
            return value
        kind, offset, length = value[_ARRAY]
        return np.frombuffer(content, kind, length, offset)

    return json.loads((folder / "answers.json").read_text(encoding="utf-8"), object_hook=read)
