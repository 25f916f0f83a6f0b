"""Traces of shipped checkpoints, computed once per test run, and traces with chosen numbers."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from support.recorded import record_residual_stream
from support.texts import SENTENCES

from headlight.app.results import CheckpointFiles
from headlight.lessons.export import write_rounded
from headlight.plots.tokens import shown_tokens
from transformer.checkpoint import load_checkpoint
from transformer.exchange.int8 import round_weights
from transformer.interpret.attention_block import Stages, record_stages
from transformer.interpret.residual import ResidualStream
from transformer.interpret.trace import AttentionMap, RowLabel, Trace
from transformer.model.names import AttentionKind
from transformer.translator import Translator

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
KINDS = ("encoder", "decoder", "cross")


@cache
def loaded(name: str) -> Translator:
    """A shipped checkpoint: "en-de" is post-norm, "reverse" pre-norm."""
    return Translator.load(CHECKPOINTS / name, "cpu")


@cache
def trace_of(name: str, text: str) -> Trace:
    """The greedy translation of a text."""
    return loaded(name).trace(text)


@cache
def stream_of(name: str, text: str) -> ResidualStream:
    """Every vector of a text and its translation on the way through a model."""
    trace = trace_of(name, text)
    return record_residual_stream(loaded(name).model, trace.source_ids, trace.decoder_input_ids)


@cache
def stages_of(name: str, text: str, kind: str, layer: int) -> Stages:
    """One attention block's stages for a text and its translation."""
    trace = trace_of(name, text)
    return record_stages(loaded(name).model, trace.source_ids, trace.decoder_input_ids, kind, layer)


def labels(trace: Trace, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tokens of the queries and of the keys of a kind of attention."""
    queries = trace.source_tokens if kind == "encoder" else trace.decoder_input_tokens
    return queries, trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens


NAME = "en-de"


def translator() -> Translator:
    """The checkpoint that the app opens with."""
    return loaded(NAME)


@cache
def traces() -> tuple[Trace, ...]:
    """Every sentence with its greedy translation, as the pages show it."""
    return tuple(replayed(translator(), text) for text in SENTENCES)


def replayed(translator: Translator, text: str) -> Trace:
    """The greedy translation's trace, read from a replay; `trace` reads the same, but for rounding, while decoding."""
    return translator.record(text, decoded=translator.best_ids([text])[0])[0]


def rounded_checkpoint(folder: Path, name: str) -> CheckpointFiles:
    """Write the rounded checkpoint into a folder, under its own name and with what its heads do over a corpus."""
    write_rounded(CHECKPOINTS / name, folder / name)
    return CheckpointFiles.now(folder / name)


def rounded_translator(name: str) -> Translator:
    """The same model in PyTorch."""
    checkpoint = load_checkpoint(CHECKPOINTS / name)
    round_weights(checkpoint.model)
    return Translator(checkpoint)


SOURCE = ("▁no", "▁cat", "▁no", ".", "</s>")
FED = ("<s>", "▁keine", "▁Katze")
NEXT = ("▁keine", "▁Katze", "</s>")


def made_trace(**changes) -> Trace:
    """SOURCE with its translation, 1 layer and 2 heads of equal weights; `changes` are fields of a `Trace`."""
    source, target = len(SOURCE), len(FED)
    prefix = np.tri(target) / np.arange(1, target + 1)[:, None]
    fields = {
        "source_text": "no cat no.",
        "target_text": "keine Katze",
        "origin": "decoded",
        "finished": True,
        "source_pieces": (),
        "source_tokens": SOURCE,
        "source_ids": (10, 11, 10, 12, 3),
        "decoder_input_tokens": FED,
        "decoder_input_ids": (2, 20, 21),
        "target_tokens": NEXT,
        "target_ids": (20, 21, 3),
        "encoder": np.full((1, 2, source, source), 1 / source),
        "decoder": np.broadcast_to(prefix, (1, 2, target, target)),
        "cross": np.full((1, 2, target, source), 1 / source),
        "target_probabilities": np.array([0.9, 0.25, 0.6]),
        "target_ranks": np.array([1, 2, 1]),
        "entropies": np.array([0.5, 0.75, 1.5]),
        "candidate_ids": np.array([[20, 22], [23, 21], [3, 24]]),
        "candidate_probabilities": np.array([[0.9, 0.05], [0.7, 0.25], [0.6, 0.3]]),
        "candidate_tokens": (("▁keine", "▁nicht"), ("▁Hund", "▁Katze"), ("</s>", ".")),
    }
    return Trace(**{**fields, **changes})


def made_map(
    weights: Sequence[Sequence[float]],
    kind: str = "cross",
    layer: int | None = 1,
    head: int | None = 0,
    keys: Sequence[str] | None = None,
    row_label: str = "fed",
) -> AttentionMap:
    """A map of 3 layers of 8 heads over the made sentence, `keys` its columns where they are others."""
    labels_of_kind = {"encoder": (SOURCE, None, SOURCE), "decoder": (FED, NEXT, FED), "cross": (FED, NEXT, SOURCE)}
    fed, predicted, columns = labels_of_kind[kind]
    labels = fed, predicted, tuple(keys or columns)
    return AttentionMap(AttentionKind(kind), layer, head, 3, 8, np.array(weights), *labels, RowLabel(row_label))


def step_names(trace: Trace) -> list[str]:
    """Return the names of decoder steps: "liebe → meinen"."""
    sides = (trace.decoder_input_tokens, trace.target_tokens)
    return [" → ".join(pair) for pair in zip(*map(shown_tokens, sides), strict=True)]
