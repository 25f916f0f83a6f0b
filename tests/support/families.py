"""Folders of BART's, mBART's, M2M100's and NLLB's models with random weights, written by transformers."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import sentencepiece
import torch
from support.texts import SENTENCES
from support.tiny import make_pairs
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BartTokenizer,
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MBart50Tokenizer,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartTokenizer,
    NllbTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

FAMILIES = ("nllb", "m2m100", "mbart50", "mbart", "bart", "bart-cnn")
SENTENCEPIECE = "sentencepiece.bpe.model"
NLLB_LANGUAGES = ["deu_Latn", "eng_Latn", "fra_Latn", "jpn_Jpan"]
LANGUAGES = {  # the source's and the target's in the tests
    "nllb": ("eng_Latn", "fra_Latn"),
    "m2m100": ("en", "de"),
    "mbart50": ("en_XX", "fr_XX"),
    "mbart": ("en_XX", "ro_RO"),
}
_UNUSED = 6  # rows of the embedding that no piece has, as in M2M100


def write_family(
    folder: Path, family: str, seed: int = 1, more: Sequence[str] = ()
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Write a folder of a family with random biases and norms, no two sizes alike.

    more: texts from which SentencePiece's pieces are learned, too.
    """
    tokenizer = _write_byte_level(folder) if family.startswith("bart") else _write_multilingual(folder, family, more)
    languages = tokenizer.lang_token_to_id.values() if family == "m2m100" else []  # not counted there
    size = max(len(tokenizer), *languages, 0) + (_UNUSED if family in LANGUAGES else 0)
    make, config = _configuration(family, size, tokenizer)
    torch.manual_seed(seed)
    model = make._from_config(config, attn_implementation="eager").eval()  # the others show no weights
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        model.get_input_embeddings().weight[2] *= 2  # a row so long wins now and then, so that translations end
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_()
    model.generation_config.forced_eos_token_id = None
    model.generation_config.forced_bos_token_id = 0 if family == "bart-cnn" else None
    bad = {config.pad_token_id, config.decoder_start_token_id} - {config.eos_token_id}
    model.generation_config.bad_words_ids = [[id] for id in bad]
    model.save_pretrained(folder)
    return model, tokenizer


def _configuration(family: str, size: int, tokenizer: PreTrainedTokenizerBase):
    shape = {"d_model": 24, "encoder_layers": 2, "decoder_layers": 3, "max_position_embeddings": 40}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 36, "decoder_ffn_dim": 36}
    special = {"pad_token_id": 1, "eos_token_id": 2, "bos_token_id": 0, "decoder_start_token_id": 2}
    common = {"vocab_size": size, **shape, **heads, **special, "forced_eos_token_id": None}
    if family == "mbart":
        common["decoder_start_token_id"] = tokenizer.convert_tokens_to_ids(LANGUAGES[family][1])
    if family.startswith("bart"):
        return BartForConditionalGeneration, BartConfig(**common)
    if family.startswith("mbart"):
        return MBartForConditionalGeneration, MBartConfig(scale_embedding=True, **common)
    return M2M100ForConditionalGeneration, M2M100Config(**common)


def train_pieces(kind: str, size: int = 120, more: Sequence[str] = (), **options: str | int) -> bytes:
    """Train a SentencePiece model on the pairs of the tiny language and awkward sentences, without rare characters."""
    model = io.BytesIO()
    lines = [text for pair in make_pairs(400, 1) for text in pair] + 3 * list(SENTENCES) + [*more]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type=kind,
        vocab_size=size,
        character_coverage=0.995,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def _write_multilingual(folder: Path, family: str, more: Sequence[str]) -> PreTrainedTokenizerBase:
    # MBartTokenizer of transformers 5 leaves the model's normalization out: here it has none.
    rule = "identity" if family == "mbart" else "nmt_nfkc"
    size = 900 if more else 120
    kind = "unigram" if family.startswith("mbart") else "bpe"
    model = train_pieces(kind, size, more, normalization_rule_name=rule)
    (folder / SENTENCEPIECE).write_bytes(model)
    source, target = LANGUAGES[family]
    chosen = {"src_lang": source, "tgt_lang": target}
    if family == "nllb":
        tokenizer = NllbTokenizer.from_pretrained(folder, additional_special_tokens=NLLB_LANGUAGES, **chosen)
        tokenizer.save_pretrained(folder)
        return tokenizer
    (folder / "tokenizer_config.json").write_text(json.dumps(chosen))
    if family == "m2m100":
        pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
        listed = ["<s>", "<pad>", "</s>", "<unk>", *map(pieces.id_to_piece, range(3, len(pieces)))]
        (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(listed)}))
    make = {"m2m100": M2M100Tokenizer, "mbart50": MBart50Tokenizer, "mbart": MBartTokenizer}[family]
    tokenizer = make.from_pretrained(folder, **chosen)
    if family == "mbart":
        return tokenizer  # whose folders need not name their languages
    named = list(tokenizer.lang_token_to_id) if family == "m2m100" else list(tokenizer.lang_code_to_id)
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": named}))
    return tokenizer


def _write_byte_level(folder: Path) -> PreTrainedTokenizerBase:
    learner = ByteLevelBPETokenizer()
    lines = [text for pair in make_pairs(400, 1) for text in pair] + 3 * list(SENTENCES)
    learner.train_from_iterator(
        lines, vocab_size=330, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], show_progress=False
    )
    learner.save_model(str(folder))
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    (folder / "vocab.json").write_text(json.dumps(vocabulary | {"<mask>": len(vocabulary)}), encoding="utf-8")
    return BartTokenizer.from_pretrained(folder)
