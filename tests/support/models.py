"""Small models with a different number for every dimension, so that swapped axes fail, and passes to compare."""

import contextlib
import copy
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import torch

from transformer import Translator
from transformer.arrays import to_array
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.config import ModelConfig
from transformer.data.batching import pad
from transformer.interpret.activations import modules_named, record
from transformer.interpret.positions import Encoding
from transformer.interpret.what_if.running import apply_interventions
from transformer.model.attention import MultiHeadAttention
from transformer.model.layers import DecoderLayer, sinusoidal_positions
from transformer.model.names import AttentionKind
from transformer.model.transformer import Transformer

BATCH, SOURCE, TARGET = 8, 7, 5


# What T5 1.0, T5 1.1 (FLAN-T5, mT5) and ByT5 have that the paper's model has not: small_model(**LIKE_T5["t5-1.1"]).
_OF_ALL = {
    "positions": "relative",
    "relative_buckets": 8,
    "relative_distance": 11,
    "norm": "pre",
    "norm_type": "rms",
    "norm_epsilon": 1e-6,
    "scale_scores": False,
    "scale_embeddings": False,
    "bias": False,
    "head_size": 7,
    "begin_id": 0,
}
_GATED = {"feed_forward": "gated", "activation": "gelu_new", "separate_output": True}
LIKE_T5 = {
    "t5-1.0": {**_OF_ALL, "scale_output": True},
    "t5-1.1": {**_OF_ALL, **_GATED},
    "byt5": {**_OF_ALL, **_GATED, "num_encoder_layers": 3, "num_decoder_layers": 1},
}


def encoding(length: int, d_model: int, base: float) -> Encoding:
    """Sinusoids of any size as a model's encoding."""
    return Encoding(to_array(sinusoidal_positions(length, d_model, base)), base)


def small_config(**changes) -> ModelConfig:
    """2 encoder and 3 decoder layers, 4 heads of 6 dimensions, 31 words, 20 positions."""
    settings = {
        "vocab_size": 31,
        "num_encoder_layers": 2,
        "num_decoder_layers": 3,
        "num_heads": 4,
        "d_model": 24,
        "d_ff": 40,
        "max_length": 20,
    }
    return ModelConfig(**{**settings, **changes})


def small_model(seed: int = 1, **changes) -> Transformer:
    """A model in eval mode with random weights, biases and norms too, and logits that differ clearly."""
    torch.manual_seed(seed)
    model = Transformer(small_config(**changes)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "norm" in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
            elif "query_key_value" in name or "relative" in name:
                parameter.mul_(2.0)
    return model


def unlike_model(seed: int = 1, **changes) -> Transformer:
    """A small model that does not merely repeat its input: its own output projection and sharp predictions."""
    model = small_model(seed, share_embeddings=False, **changes)
    with torch.no_grad():
        model.output_projection.weight.mul_(2.0)
    return model


def random_ids(*shape: int, seed: int = 1, vocab_size: int = 31) -> torch.Tensor:
    """Ids of ordinary words: no special token among them."""
    return torch.randint(4, vocab_size, shape, generator=torch.Generator().manual_seed(seed))


def random_sources(*lengths: int, seed: int = 1) -> list[list[int]]:
    """One source of each length, end of sentence included."""
    return [[*random_ids(length - 1, seed=seed + number).tolist(), 3] for number, length in enumerate(lengths)]


def mark_end(model: Transformer, bias: float) -> Transformer:
    """Give the model an output bias for end of sentence, so that translations end at various lengths."""
    return bias_logits(model, {model.config.end_id: bias})


def bias_logits(model: Transformer, biases: dict[int, float]) -> Transformer:
    """Add to the logit of these ids, whatever the input."""
    bias = torch.zeros(model.config.vocab_size)
    for id, value in biases.items():
        bias[id] = value
    model.output_projection.bias = torch.nn.Parameter(bias)
    return model


def attention_blocks(model: Transformer, kind: str) -> list[MultiHeadAttention]:
    """The attention of a kind, first layer first."""
    return [block for _, block in modules_named(model, AttentionKind(kind).block_name("*"))]


def record_one(model: Transformer, source, decoder_input, **request) -> SimpleNamespace:
    """Record a pass over one sentence: the weights of each kind and the logits, without the batch axis."""
    seen = record(model, [source], [decoder_input], **request)
    return SimpleNamespace(**{kind: seen.weights(kind)[:, 0] for kind in AttentionKind}, logits=seen.logits[0])


def zero_ablated(model: Transformer, heads: Iterable[tuple[str, int, int]]) -> contextlib.AbstractContextManager:
    """Within the block this thread's passes run without these heads: (kind, layer, head) each."""
    return apply_interventions(model, [f"zero:{kind}.{layer}.{head}" for kind, layer, head in heads])


def copy_attention(ours, theirs) -> None:
    """Take over the weights of an nn.MultiheadAttention."""
    ours.query_key_value.weight.copy_(theirs.in_proj_weight)
    ours.query_key_value.bias.copy_(theirs.in_proj_bias)
    ours.output.load_state_dict(theirs.out_proj.state_dict())


def copy_layer(ours, theirs) -> None:
    """Take over the weights of an nn.TransformerEncoderLayer or nn.TransformerDecoderLayer."""
    copy_attention(ours.self_attention, theirs.self_attn)
    ours.self_attention_residual.norm.load_state_dict(theirs.norm1.state_dict())
    last = theirs.norm2
    if isinstance(ours, DecoderLayer):
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        ours.cross_attention_residual.norm.load_state_dict(theirs.norm2.state_dict())
        last = theirs.norm3
    ours.feed_forward_residual.norm.load_state_dict(last.state_dict())
    ours.feed_forward.inner.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.outer.load_state_dict(theirs.linear2.state_dict())


_THEIR_MAPS = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}


def assert_same_passes(theirs, ours: Translator, sources, targets) -> None:
    """Logits of a padded batch, in float64, within 2e-5 and all maps within 1e-6; targets: the decoder's inputs."""
    theirs, ours = copy.deepcopy(theirs).double(), Translator(copy.deepcopy(ours.checkpoint))
    ours.model.double()
    padding = ours.tokenizer.pad_id
    source, target = pad(sources, padding), pad(targets, padding)
    real = torch.tensor([[position < len(row) for position in range(target.shape[1])] for row in targets])
    with torch.inference_mode():
        output = theirs(
            input_ids=source,
            attention_mask=(source != padding).long(),
            decoder_input_ids=target,
            decoder_attention_mask=real.long(),
            output_attentions=True,
        )
        logits = ours.model(source, target)
    assert (output.logits - logits)[real].abs().max() < 2e-5 and output.logits[real].std() > 0.5
    for row, (one, fed) in enumerate(zip(sources, targets, strict=True)):
        seen = record(ours.model, [one], [fed])
        for kind, name in _THEIR_MAPS.items():
            weights = seen.weights(kind)[:, 0]
            expected = torch.stack(list(output[name]))[:, row, :, : weights.shape[-2], : weights.shape[-1]]
            assert (weights - expected).abs().max() < 1e-6


def assert_kept(ours: Translator, folder: Path) -> Translator:
    """Check that an imported model is the same after saving and loading; return the loaded one."""
    save_checkpoint(folder, ours.checkpoint, torch.float32)
    again = Translator(load_checkpoint(folder))
    assert again.model.config == ours.model.config and again.tokenizer.files == ours.tokenizer.files
    for (name, weight), (_, other) in zip(again.model.named_parameters(), ours.model.named_parameters(), strict=True):
        assert torch.equal(weight, other), name
    one, other = ours.trace("red dog"), again.trace("red dog")
    assert one.target_ids == other.target_ids and one.source_tokens == other.source_tokens
    return again
