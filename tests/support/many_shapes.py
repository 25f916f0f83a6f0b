"""Process of test_memory.py: python many_shapes.py FOLDER; prints JSON.

A training in each precision, from the command line, on batches of many shapes; what is held after each update.
"""

import json
import os
import random
import sys
from dataclasses import replace
from pathlib import Path

from support.tiny import WORDS, make_pairs, tiny_experiment, write_pairs, write_toml

from transformer.__main__ import main
from transformer.model import products
from transformer.model.device import PRIMITIVE_CACHE
from transformer.training.trainer import Trainer

STEPS = 320


def resident() -> float:
    """Return the resident memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def sentences(number: int, longest: int) -> list[tuple[str, str]]:
    """Pairs of all lengths."""
    generator = random.Random(5)
    lengths = [(generator.randint(1, longest), generator.randint(1, longest)) for _ in range(number)]
    words = list(WORDS)
    return [(" ".join(generator.choices(words, k=m)), " ".join(generator.choices(words, k=n))) for m, n in lengths]


def measure(folder: Path, precision: str) -> dict:
    """Train in this precision; returns the shapes of the batches and MB after each step."""
    # What validating needs is there before the memory has settled.
    settings = {"max_steps": STEPS, "batch_tokens": 160, "validate_every": STEPS // 2, "save_every": STEPS}
    experiment = tiny_experiment(**settings, join_probability=0.3, precision=precision)
    shape = {"num_encoder_layers": 1, "num_heads": 2, "d_model": 16, "d_ff": 24, "max_length": 128}
    experiment = replace(experiment, model=replace(experiment.model, **shape))
    folder.mkdir()
    config = write_toml(folder / "tiny.toml", experiment)
    data, valid = write_pairs(folder / "a.tsv", sentences(1500, 20)), write_pairs(folder / "b.tsv", make_pairs(4, 2))
    shapes, held, step = set(), [], Trainer._step

    def watched(trainer, update, tensors, throughput) -> None:
        shapes.add(tuple(tuple(part.shape) for part in tensors[0]))
        step(trainer, update, tensors, throughput)
        held.append(resident())

    Trainer._step = watched
    products._FEWEST_PRODUCTS = 1  # so that float32, too, makes a primitive for each shape
    arguments = ["--data", str(data), "--valid", str(valid), "--out", str(folder / "run"), "--device", "cpu"]
    assert main(["train", str(config), *arguments]) == 0
    Trainer._step = step
    return {"shapes": len(shapes), "held": held, "primitives": os.environ[PRIMITIVE_CACHE]}


if __name__ == "__main__":
    print(json.dumps({name: measure(Path(sys.argv[1]) / name, name) for name in ("float32", "bfloat16")}))
