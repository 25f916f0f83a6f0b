"""Weights from PyTorch's own layers into ours, so that both compute the same."""

from transformer.model.layers import DecoderLayer


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
