"""A run of 12 steps, how to stop it anywhere, and all that it ends with: for tests that stop and resume it."""

import json
from dataclasses import replace
from pathlib import Path

import torch
from support.tiny import make_pairs, tiny_experiment

from transformer import files
from transformer.config import Experiment, ReplayConfig, TokenizerConfig
from transformer.files import load_checksummed
from transformer.training import state, trainer, updates, validation
from transformer.training.trainer import train

CPU = torch.device("cpu")
PAIRS, VALID = make_pairs(120, 1), make_pairs(8, 2)


class Killed(BaseException):
    """Stands for SIGKILL: nobody catches it, nothing is saved on the way out."""


def experiment() -> Experiment:
    """12 steps over more than one epoch, with dropout and joined pairs, so that all random state matters."""
    settings = {"max_steps": 12, "batch_tokens": 150, "validate_every": 5, "save_every": 3, "cooldown_steps": 4}
    plain = tiny_experiment(**settings, join_probability=0.2, average_last=2)
    model = replace(plain.model, dropout=0.2, d_model=16, d_ff=24, vocab_size=88)
    return replace(plain, model=model, tokenizer=TokenizerConfig(88), replay=ReplayConfig([["red dog.", "rot Hund."]]))


def run(out: Path, resume: bool = False) -> None:
    train(experiment(), PAIRS, VALID, out, CPU, resume=resume)


def end_of(out: Path) -> dict:
    """All that a run ends with, but for times."""
    state = load_checksummed(out / "resume" / "state.safetensors")
    progress = json.loads(bytes(state.pop("progress").tolist()))
    for times in (progress, *progress["history"]):
        times.pop("seconds")
    content = {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.suffix in (".safetensors", ".model") and path.stem not in ("state", "previous")
    }
    return {"state": {name: value.tolist() for name, value in state.items()}, "progress": progress, "files": content}


def stop_at(monkeypatch, name: str, call: int, stop: type[BaseException]) -> None:
    """Let the function at `name` stop its run when it is called for the given time."""
    owners = (trainer, updates, validation, state, state.SavedRun, files)
    owner = next(owner for owner in owners if hasattr(owner, name))
    original, calls = getattr(owner, name), []

    def count(*arguments, **named):
        calls.append(1)
        if len(calls) == call:
            raise stop
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, count)
