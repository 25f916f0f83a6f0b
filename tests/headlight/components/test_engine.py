"""The browser's engine against PyTorch with the same int8 weights: one run of node answers all that a test asks."""

import random
from functools import cache
from pathlib import Path

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
    texts_of,
)
from support.models import small_model

from transformer.checkpoint import Checkpoint, load_checkpoint
from transformer.data.batching import Ids
from transformer.data.tokenizer import source_ids
from transformer.decoding.beam import Beam
from transformer.errors import EmptyTextError, TooLongError
from transformer.exchange.int8 import pack, pack_weights, round_weights
from transformer.interpret.what_if.hiding import translate_without_each
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
TOLD = {
    "sourceText": "source_text",
    "targetText": "target_text",
    "origin": "origin",
    "finished": "finished",
    "sourceIds": "source_ids",
    "sourceTokens": "source_tokens",
    "decoderInputIds": "decoder_input_ids",
    "decoderInputTokens": "decoder_input_tokens",
    "targetIds": "target_ids",
    "targetTokens": "target_tokens",
}


def drawn_shapes() -> list[dict]:
    """Each kind of positions with each norm in turn, all else by chance."""
    drawn, found = random.Random(4), []
    for number in range(DRAWN):
        shape = {name: drawn.choice(values) for name, values in SHAPES.items()}
        heads = 10 if shape["d_model"] == 30 else 4
        found.append({**shape, "positions": POSITIONS[number % 4], "norm": NORMS[number // 4 % 2], "num_heads": heads})
    return found


@cache
def shipped(name: str) -> tuple[Checkpoint, tuple[dict, bytes]]:
    """A shipped checkpoint with the weights that the engine computes with, packed before."""
    checkpoint = load_checkpoint(ROOT / "checkpoints" / name)
    packed = pack(checkpoint)
    round_weights(checkpoint.model)
    return checkpoint, packed


def sentences(name: str, number: int) -> list[str]:
    """Sources of a checkpoint's samples."""
    lines = (ROOT / "checkpoints" / name / "samples.tsv").read_text("utf-8").splitlines()
    return [line.split("\t")[0] for line in random.Random(7).sample(lines, number)]


class Asking:
    """The questions of one sentence: `target` replayed and translations decoded."""

    def __init__(self, dialogue: Dialogue, name: str, kernel: str, model: Transformer, source: Ids, target: Ids):
        self.dialogue, self.name, self.kernel = dialogue, name, kernel
        self.model, self.source, self.target = model, list(source), list(target)
        self.given = self.target[: model.config.num_forced]

    def ask(self, *question: object):
        return self.dialogue.question(self.name, self.kernel, question)

    def plainly(self) -> None:
        """Without any change."""
        model, source, target, given = self.model, self.source, self.target, self.given
        self.ask("logits", source, target)(same_logits, model, source, target)
        self.ask("decode", source, {"prefix": given})(same_greedy, model, source, given)
        self.ask("beam", source, {"prefix": given})(same_beam, model, source, Beam(), given)

    def changed(self) -> None:
        """With heads off, source words hidden, a beginning forced."""
        model, source, target = self.model, self.source, self.target
        stacks = {"encoder": model.encoder, "decoder": model.decoder, "cross": model.decoder}
        off = [f"{kind}.{len(layers) - 1}.{model.config.num_heads - 2}" for kind, layers in stacks.items()]
        changes = {"off": [*off, "cross.0.1"], "hidden": [1, len(source) - 2]}
        self.ask("replay", source, target, changes)(same_pass, model, source, texts_of(**changes))
        for prefix, changed in ((self.given, changes), (target[:3], {}), (target[:3], changes)):
            options = {"prefix": prefix, **changed}
            self.ask("decode", source, options)(same_greedy, model, source, prefix, texts_of(**changed))
        beam = {"size": 3, "alpha": 1.0, "penalty": "length", "prefix": target[:2], **changes}
        expected = Beam(3, 1.0, "length")
        self.ask("beam", source, beam)(same_beam, model, source, expected, target[:2], texts_of(**changes))
        watched = {**beam, "watched": {"layer": 1, "head": 2}}
        self.ask("beam", source, watched)(same_reads, model, source, 1, 2, texts_of(**changes))

    def without_heads(self) -> None:
        """With each head off in its turn."""
        self.ask("losses", self.source, self.target)(same_losses, self.model, self.source, self.target)


def test_every_shape_of_model_computes_what_it_does_in_pytorch(tmp_path):
    dialogue = Dialogue()
    for number, shape in enumerate(drawn_shapes()):
        model, name = small_model(number, dropout=0.0, **shape), f"small{number}"
        dialogue.models[name] = pack_weights(model)
        round_weights(model)
        asking = Asking(dialogue, name, KERNELS[number % 2], model, SOURCE, TARGET)
        asking.plainly()
        asking.changed()
        asking.without_heads()
    dialogue.hold(tmp_path)


@pytest.mark.parametrize(("name", "number"), [("en-de", 20), ("reverse", 4)])
def test_the_shipped_models_compute_what_they_do_in_pytorch(name, number, tmp_path):
    checkpoint, packed = shipped(name)
    dialogue, model = Dialogue(), checkpoint.model
    dialogue.models[name] = packed
    for place, text in enumerate(sentences(name, number)):
        source = source_ids(checkpoint.tokenizer, text)
        asking = Asking(dialogue, name, KERNELS[place % 2], model, source, greedy_ids(model, source))
        asking.plainly()
        if place < 2:
            asking.changed()
            asking.without_heads()
    dialogue.hold(tmp_path)


def test_a_text_is_read_and_told_as_it_is_in_pytorch(tmp_path):
    checkpoint, packed = shipped("en-de")
    dialogue, translator = Dialogue(), Translator(checkpoint)
    dialogue.models["en-de"] = packed
    text, *others = sentences("en-de", 3)

    def same_trace(answer, **options):
        found, expected = answer["value"], translator.trace(text, **options)
        for ours, name in TOLD.items():
            assert found[ours] == plain(getattr(expected, name)), ours

    def refused(answer, error, options):
        with pytest.raises(error) as raised:
            translator.trace(**options)
        assert answer["error"] == {"name": error.__name__, "message": str(raised.value)}

    def ask(*question):
        return dialogue.question("en-de", "simd", question)

    ask("trace", text, {})(same_trace)
    ask("trace", text, {"prefix": "Wir"})(lambda answer: same_trace(answer, prefix="Wir"))
    ask("trace", text, {"target": "Guten Tag!"})(lambda answer: same_trace(answer, target="Guten Tag!"))
    ask("trace", text, {"beam": 4})(lambda answer: same_trace(answer, beam=4))
    ask("trace", "", {})(refused, EmptyTextError, {"text": ""})
    ask("trace", "\u200b \ufeff", {})(refused, EmptyTextError, {"text": "\u200b \ufeff"})
    ask("trace", "a " * 200, {})(refused, TooLongError, {"text": "a " * 200})
    ask("trace", "a" * 9000, {})(refused, TooLongError, {"text": "a" * 9000})
    ask("trace", text, {"target": "\n"})(refused, EmptyTextError, {"text": text, "target": "\n"})
    ask("trace", text, {"prefix": "x " * 140})(refused, TooLongError, {"text": text, "prefix": "x " * 140})
    source = source_ids(checkpoint.tokenizer, text)
    sets = [[0], [1, 2], list(range(len(source) - 1))]
    expected = translate_without_each(checkpoint.model, source, sets)
    ask("translateWithoutEach", text, sets, {})(same_without_each, expected, checkpoint.tokenizer)
    dialogue.hold(tmp_path)


def plain(value: object) -> object:
    """As JSON has it."""
    return list(value) if isinstance(value, tuple) and not isinstance(value[0], tuple) else value


def same_without_each(answer, expected, tokenizer) -> None:
    for one, other in zip(answer["each"], expected, strict=True):
        assert (tuple(one["targetIds"]), one["finished"]) == (other.ids, other.finished)
        assert one["targetText"] == tokenizer.decode(other.ids)
        assert one["logProbability"] == pytest.approx(other.log_probability, abs=1e-4)
