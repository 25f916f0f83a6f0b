"""What the laws of captions read, computed once a test run: traces and inner vectors of the forty sentences."""

from functools import cache
from pathlib import Path

from support.sentences import SENTENCES

from transformer.interpret.attention_block import Stages, record_stages
from transformer.interpret.residual import ResidualStream, record_residual_stream
from transformer.interpret.trace import Trace
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


def some_blocks() -> list[tuple[str, str, str, int]]:
    """Checkpoint, text, kind and layer: every sentence once or more, every kind and layer of both checkpoints often."""
    post = [("en-de", text, KINDS[at % 3], at // 3 % 3) for at, text in enumerate(SENTENCES)]
    short = [("en-de", text, kind, layer) for text in ("a", "Tom Tom Tom") for kind in KINDS for layer in range(3)]
    pre = [("reverse", "a b c d", kind, layer) for kind in KINDS for layer in range(2)]
    return post + short + pre
