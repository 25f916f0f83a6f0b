"""The browser's engine against PyTorch with the same int8 weights; each test runs node once."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.engine import (
    Dialogue,
    greedy_ids,
    same_beam,
    same_greedy,
    same_logits,
    same_losses,
    same_pass,
    same_reads,
    same_vectors,
    texts_of,
)
from support.models import small_model
from support.pages import fact_array, unpack_facts

from headlight.views.inside.whole_pass_content import model_facts, pass_facts
from transformer.checkpoint import Checkpoint, load_checkpoint
from transformer.data.batching import Ids
from transformer.data.tokenizer import source_ids
from transformer.decoding.beam import Beam
from transformer.errors import EmptyTextError, TooLongError
from transformer.exchange.int8 import pack, pack_weights, round_weights
from transformer.interpret.activations import RESIDUAL_STREAM
from transformer.interpret.residual import residual_stream_of
from transformer.model.transformer import Transformer
from transformer.translator import Translator

ROOT = Path(__file__).resolve().parents[3]
KERNELS = ("simd", "plain")
POSITIONS, NORMS = ("sinusoidal", "learned", "none", "multiplied"), ("post", "pre")
SHAPES = {
    "activation": ("relu", "gelu", "silu"),
    "embedding_norm": (False, True),
    "share_embeddings": (True, False),
    "target_vocab_size": (0, 19),
    "begin_id": (0, 2, 3),  # padding, a token of its own, and the end of sentence
    "forced_first_token": (False, True),
    "first_position": (0, 2),
    "scale_embeddings": (True, False),
    "output_bias": (True, False),
    "d_model": (24, 20, 12, 30),  # heads of 6, 5, 3 dimensions, and 10 of 3
    "vocab_size": (31, 32),
}
SOURCE, TARGET = [5, 7, 9, 11, 3], [8, 6, 12, 4, 9, 10, 3]  # more words than source tokens
DRAWN = 16
FIELDS = (
    *("source_text", "target_text", "origin", "finished", "source_ids", "source_tokens"),
    *("decoder_input_ids", "decoder_input_tokens", "target_ids", "target_tokens"),
)


def drawn_shapes() -> list[dict]:
    """Return each kind of positions with each norm in turn, all else drawn."""
    drawn, shapes = random.Random(4), []
    for number in range(DRAWN):
        shape = {name: drawn.choice(values) for name, values in SHAPES.items()}
        heads = 10 if shape["d_model"] == 30 else 4
        shapes.append({**shape, "positions": POSITIONS[number % 4], "norm": NORMS[number // 4 % 2], "num_heads": heads})
    return shapes


def shipped(name: str, number: int) -> tuple[Checkpoint, tuple[dict, bytes], list[str]]:
    """Return a checkpoint with the engine's rounded weights, the packed weights, and sources of its samples."""
    folder = ROOT / "checkpoints" / name
    checkpoint, lines = load_checkpoint(folder), (folder / "samples.tsv").read_text("utf-8").splitlines()
    packed = pack(checkpoint)
    round_weights(checkpoint.model)
    return checkpoint, packed, [line.split("\t")[0] for line in random.Random(7).sample(lines, number)]


def compare(
    dialogue: Dialogue, name: str, kernel: str, passes: tuple[Transformer, Ids, Ids], *, is_changed: bool
) -> None:
    """Replay a target and decode; with `is_changed` also with heads off, source words hidden, and a prefix."""
    model, source, target = passes[0], list(passes[1]), list(passes[2])

    def ask(*question: object) -> Callable[..., None]:
        return dialogue.question(name, kernel, question)

    forced = target[: model.config.num_forced]
    ask("logits", source, target)(same_logits, model, source, target)
    ask("decode", source, {"prefix": forced})(same_greedy, model, source, forced)
    ask("beam", source, {"prefix": forced})(same_beam, model, source, Beam(), forced)
    if not is_changed:
        return
    stacks = {"encoder": model.encoder, "decoder": model.decoder, "cross": model.decoder}
    off = [f"{kind}.{len(layers)}.{model.config.num_heads - 1}" for kind, layers in stacks.items()]
    changes = {"off": [*off, "cross.1.2"], "hidden": [1, len(source) - 2]}
    texts = texts_of(**changes)
    ask("replay", source, target, changes)(same_pass, model, source, texts)
    ask("decode", source, {"prefix": forced, **changes})(same_greedy, model, source, forced, texts)
    ask("decode", source, {"prefix": target[:3]})(same_greedy, model, source, target[:3])
    ask("decode", source, {"prefix": target[:3], **changes})(same_greedy, model, source, target[:3], texts)
    beam = {"size": 3, "alpha": 1.0, "penalty": "length", "prefix": target[:2], **changes}
    ask("beam", source, beam)(same_beam, model, source, Beam(3, 1.0, "length"), target[:2], texts)
    ask("beam", source, {**beam, "watched": {"layer": 1, "head": 2}})(same_reads, model, source, 1, 2, texts)
    ask("losses", source, target)(same_losses, model, source, target)
    ask("points", source, target, [0, 3, model.config.d_model - 1])(same_vectors, model, source, target)


def test_every_shape_of_model_computes_as_in_pytorch(tmp_path):
    dialogue = Dialogue()
    for number, shape in enumerate(drawn_shapes()):
        model, name = small_model(number, dropout=0.0, **shape), f"small{number}"
        dialogue.models[name] = pack_weights(model)
        round_weights(model)
        compare(dialogue, name, KERNELS[number % 2], (model, SOURCE, TARGET), is_changed=True)
    dialogue.hold(tmp_path)


@pytest.mark.parametrize(("name", "number"), [("en-de", 8), ("reverse", 4)])
def test_the_shipped_models_compute_as_in_pytorch(name, number, tmp_path):
    checkpoint, packed, sentences = shipped(name, number)
    dialogue, model = Dialogue(), checkpoint.model
    dialogue.models[name] = packed
    for index, text in enumerate(sentences):
        source = source_ids(checkpoint.tokenizer, text)
        passes = model, source, greedy_ids(model, source)
        compare(dialogue, name, KERNELS[index % 2], passes, is_changed=index < 2)
    dialogue.hold(tmp_path)


def camel_case(name: str) -> str:
    return re.sub(r"_(.)", lambda match: match[1].upper(), name)


def same_fact(answer, expected):
    if isinstance(expected, dict) and "base64" in expected:
        numbers = answer["weights"] if isinstance(answer, dict) else answer
        np.testing.assert_allclose(numbers, fact_array(expected).ravel(), rtol=1e-3, atol=1e-3)
    else:
        assert (answer.tolist() if isinstance(answer, np.ndarray) else answer) == expected


def test_the_facts_of_a_whole_pass_are_those_of_the_app(tmp_path):
    checkpoint, packed, (text,) = shipped("en-de", 1)
    dialogue, translator, answers = Dialogue(), Translator(checkpoint), {}
    dialogue.models["en-de"] = packed
    trace, seen = translator.record(text, keep=RESIDUAL_STREAM)
    blob = pass_facts(trace, residual_stream_of(translator.model, seen), translator.model)
    facts, maps = unpack_facts(blob)
    for question in (("trace", text), ("vectors", text, list(trace.target_ids), facts["dimensions"])):
        dialogue.question("en-de", "simd", question)(lambda answer: answers.update(answer["value"]))
    dialogue.hold(tmp_path)
    for kind, weights in maps.items():
        np.testing.assert_allclose(answers[kind]["weights"], weights.ravel() / facts["steps"], atol=1.1e-4)
    of_model = model_facts(translator.model)
    for name in facts.keys() - {"arrays", "steps", "moment"}:
        same_fact(answers[camel_case(name)] if name not in of_model else of_model[name], facts[name])


def test_traces_and_refusals_are_those_of_pytorch(tmp_path):
    checkpoint, packed, (text,) = shipped("en-de", 1)
    dialogue, translator = Dialogue(), Translator(checkpoint)
    dialogue.models["en-de"] = packed

    def same_trace(answer, options):
        expected = translator.trace(text, **options)
        for name in FIELDS:
            value = getattr(expected, name)
            value = list(value) if isinstance(value, tuple) and not isinstance(value[0], tuple) else value
            assert answer["value"][camel_case(name)] == value, name

    def refused(answer, error, options):
        with pytest.raises(error) as raised:
            translator.trace(**options)
        assert answer["error"] == {"name": error.__name__, "message": str(raised.value)}

    for options in ({}, {"prefix": "Wir"}, {"target": "Guten Tag!"}, {"beam": 4}):
        dialogue.question("en-de", "simd", ("trace", text, options))(same_trace, options)
    for error, source, options in (
        (EmptyTextError, "\u200b \ufeff", {}),
        (TooLongError, "a " * 200, {}),
        (EmptyTextError, text, {"target": "\n"}),
        (TooLongError, text, {"prefix": "x " * 140}),
    ):
        dialogue.question("en-de", "simd", ("trace", source, options))(refused, error, {"text": source, **options})
    dialogue.hold(tmp_path)
