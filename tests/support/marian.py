"""Folders of Marian's models: random weights written by transformers, and en-de in the form of opus-mt."""

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from support.tiny import make_pairs
from transformers import MarianConfig, MarianMTModel

from transformer.config import TokenizerConfig
from transformer.data.tokenizer import Tokenizer

LANGUAGES = (">>deu<<", ">>gos<<")
SPECIAL = {"<unk>", "<s>", "</s>", "<pad>"}


def write_vocabulary(folder: Path, size: int = 60, more: Sequence[str] = ()) -> int:
    """Write a SentencePiece model per side and the vocabulary of both as in opus-mt: </s> 0, <pad> last.

    more: texts from which the pieces of both are learned, too.
    """
    sides = ([*side, *more] for side in zip(*make_pairs(400, 1), strict=True))
    texts = []
    for name, lines, pieces in zip(("source.spm", "target.spm"), sides, (size, size + 8), strict=True):
        tokenizer = Tokenizer.train(lines, TokenizerConfig(pieces))
        (folder / name).write_bytes(tokenizer.model)
        texts += map(tokenizer.piece_text, range(len(tokenizer)))
    pieces = [piece for piece in dict.fromkeys([*texts, *LANGUAGES]) if piece not in SPECIAL]
    random.Random(3).shuffle(pieces)
    vocabulary = ["</s>", "<unk>", *pieces, "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(vocabulary)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "eng", "target_lang": "deu"}))
    return len(vocabulary)


def write_model(folder: Path, seed: int = 1, more: Sequence[str] = (), **settings) -> MarianMTModel:
    """Write a model with random weights, biases and norms, no two sizes alike."""
    size = write_vocabulary(folder, 1400 if more else 60, more)
    return _write(folder, seed, size - 1, vocab_size=size, **settings)


def write_two_vocabularies(folder: Path, seed: int = 1) -> MarianMTModel:
    """Write a model with a vocabulary per language, of unlike sizes."""
    write_vocabulary(folder)
    sizes = []
    for name, model in (("vocab.json", "source.spm"), ("target_vocab.json", "target.spm")):
        tokenizer = Tokenizer.load(folder / model)
        pieces = [text for text in map(tokenizer.piece_text, range(len(tokenizer))) if text not in SPECIAL]
        random.Random(len(pieces)).shuffle(pieces)
        vocabulary = ["</s>", "<unk>", "<pad>", *pieces]
        (folder / name).write_text(json.dumps({piece: id for id, piece in enumerate(vocabulary)}))
        sizes.append(len(vocabulary))
    languages = {"separate_vocabs": True, "source_lang": "eng", "target_lang": "deu"}
    (folder / "tokenizer_config.json").write_text(json.dumps(languages))
    vocabularies = {"vocab_size": sizes[0], "decoder_vocab_size": sizes[1], "share_encoder_decoder_embeddings": False}
    return _write(folder, seed, 2, **vocabularies)


def _write(folder: Path, seed: int, padding: int, **settings) -> MarianMTModel:
    """Write random weights in a shape of which no two numbers are alike."""
    shape = {"d_model": 24, "encoder_layers": 2, "decoder_layers": 3, "max_position_embeddings": 40}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 36, "decoder_ffn_dim": 36}
    special = {"pad_token_id": padding, "decoder_start_token_id": padding, "eos_token_id": 0}
    config = MarianConfig(**shape, **heads, **special, forced_eos_token_id=None, **settings)
    torch.manual_seed(seed)
    model = MarianMTModel._from_config(config, attn_implementation="eager").eval()  # the others show no weights
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
        model.final_logits_bias.normal_()
    model.generation_config.bad_words_ids = [[padding]]
    model.save_pretrained(folder)
    return model


def make_opus_like(exported: Path, folder: Path) -> None:
    """Write the exported model with a shuffled vocabulary: </s> 0; <pad>, with which the decoder starts, last.

    Its weights are pickled, as most of opus-mt's are.
    """
    folder.mkdir()
    weights = load_file(exported / "model.safetensors")
    vocabulary = json.loads((exported / "vocab.json").read_text(encoding="utf-8"))
    pieces = [piece for piece in vocabulary if piece not in SPECIAL]
    random.Random(1).shuffle(pieces)
    order = ["</s>", "<unk>", *pieces, "<s>"]  # the last becomes the padding, which is never read elsewhere
    rows = torch.tensor([vocabulary[piece] for piece in order])
    weights["model.shared.weight"] = weights["model.shared.weight"][rows]
    weights["final_logits_bias"] = weights["final_logits_bias"][:, rows]
    for alias in ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"):
        weights[alias] = weights["model.shared.weight"]
    torch.save(weights, folder / "pytorch_model.bin")
    order[-1] = "<pad>"
    (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(order)}), encoding="utf-8")
    last = len(order) - 1
    config = json.loads((exported / "config.json").read_text())
    special = {"pad_token_id": last, "decoder_start_token_id": last, "eos_token_id": 0}
    shape = {"vocab_size": len(order), "_name_or_path": "Helsinki-NLP/opus-mt-en-de"}
    (folder / "config.json").write_text(json.dumps(config | special | shape))
    for name in ("source.spm", "target.spm", "tokenizer_config.json"):
        shutil.copy(exported / name, folder / name)
    (folder / "README.md").write_text("---\nlanguage:\n- en\n- de\nlicense: cc-by-4.0\n---\n### opus-mt-en-de\n")
