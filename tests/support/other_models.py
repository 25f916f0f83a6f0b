"""Tiny models of other libraries with random weights, an input for each, and what a page of `hl.explore` has."""

import base64
import json
import re
from typing import Any

import numpy as np
import torch
import transformers
from support.pages import unpack_facts
from torch import nn

_SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 20,
}
_SPEECH = {"num_mel_bins": 6, "max_source_positions": 9, "max_target_positions": 12}
_TRANSLATOR = {
    "vocab_size": 40,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_ffn_dim": 20,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "decoder_ffn_dim": 20,
    "decoder_start_token_id": 39,
    "pad_token_id": 39,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "forced_eos_token_id": None,
}
_IDS = {"input_ids": torch.tensor([[3, 14, 15, 9, 2, 6, 5]])}
_MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "GPT2": ("LMHeadModel", {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 4, "bos_token_id": 1}, _IDS),
    "Llama": ("ForCausalLM", {**_SIZES, "num_key_value_heads": 2}, _IDS),
    "Mistral": ("ForCausalLM", {**_SIZES, "num_key_value_heads": 2, "sliding_window": 4}, _IDS),
    "Bert": ("Model", _SIZES, _IDS),
    "ViT": ("Model", {**_SIZES, "image_size": 12, "patch_size": 4}, {"pixel_values": torch.rand(1, 3, 12, 12)}),
    "Whisper": ("Model", {**_TRANSLATOR, **_SPEECH}, {"input_features": torch.rand(1, 6, 18)}),
    "Marian": ("MTModel", {**_TRANSLATOR, "max_position_embeddings": 32}, _IDS),
}
FAMILIES = tuple(_MODELS)


def tiny_model(family: str) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    """Return a model with eager attention, in eval mode, and an input of one text, image or sound."""
    torch.manual_seed(1)
    kind, sizes, inputs = _MODELS[family]
    config = getattr(transformers, f"{family}Config")(**{"eos_token_id": 2, **sizes}, attn_implementation="eager")
    model = getattr(transformers, f"{family}{kind}")(config).eval()
    if "decoder_layers" in sizes:
        inputs = {**inputs, "decoder_input_ids": torch.tensor([[39, 4, 7, 11]])}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # so that attention is not nearly even
    return model, inputs


def read_page(page: str) -> tuple[dict, dict[str, np.ndarray]]:
    """Return the facts and the weights of a page, these as shares."""
    data = json.loads(re.search(r'<script type="application/json" id="page_data">(.*?)</script>', page)[1])
    facts, arrays = unpack_facts(base64.b64decode(data["data"]["base64 bytes"]))
    return facts, {name: array / facts["steps"] for name, array in arrays.items()}
