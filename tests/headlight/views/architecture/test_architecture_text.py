"""The sentences on the architecture, spelled out for numbers made by hand: every branch of each."""

import numpy as np

from headlight.views.architecture.text import (
    describe_gradients,
    describe_trajectory,
    describe_units,
    share_words,
    sublayer_names,
)
from transformer.config import Norm
from transformer.experiments.initial_gradients import GradientNorms
from transformer.interpret.parameters import Block, BlockKind
from transformer.interpret.residual import Trajectory


def block(parameters: int = 0, shared_with: str | None = None) -> Block:
    return Block("encoder", "encoder", BlockKind.EMBEDDING, None, None, np.zeros((1, 1)), parameters, shared_with)


def test_a_block_is_told_its_share_of_the_parameters():
    assert share_words(block(12345), 100000) == "12,345 · 12 %"
    assert share_words(block(), 100000) == ""
    assert share_words(block(5, "encoder_embedding_table"), 10) == "shared with encoder embedding table"


TRAJECTORY = Trajectory(
    points=(
        ("embedding", None),
        ("positions", None),
        ("self_attention", 0),
        ("cross_attention", 0),
        ("feed_forward", 0),
        ("self_attention", 1),
        ("norm", None),
    ),
    norms=np.array([3.0, 4.0, 5.5, 6.0, 7.26, 8.0, 1.0]),
    changes=np.array([np.nan, 9.0, 1.0, 2.0, 3.0, 4.56, 9.0]),
    similarities=np.array([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, -0.456]),
    turns=np.array([1.0, 0.1, 0.9, -0.234, 0.8, 0.7, 0.05]),
)


def test_each_vector_is_named_by_what_wrote_it():
    assert sublayer_names(TRAJECTORY) == [
        "embedding",
        "+ position",
        "layer 1 self-attention",
        "layer 1 cross-attention",
        "layer 1 feed-forward",
        "layer 2 self-attention",
        "last LayerNorm",
    ]


def test_a_trajectory_is_told_by_the_sub_layers_that_do_most():
    assert describe_trajectory(TRAJECTORY, "▁cat") == (
        "Of all sub-layers layer 1 cross-attention changes the direction of “▁cat” most (cosine −0.23 with the "
        "vector before it), and layer 2 self-attention adds the largest norm (4.6, to a vector of norm 7.3). The "
        "last vector's cosine with the embedding is −0.46: 21 % of its squared norm lies along the embedding's "
        "direction."
    )


TOKENS = ("▁no", "▁cat", "▁no")


def units(*active: range, width: int = 20) -> np.ndarray:
    """[tokens, units], these of each token active, the others at 0."""
    found = np.zeros((len(active), width))
    for row, chosen in zip(found, active, strict=True):
        row[list(chosen)] = 0.5
    return found


def test_hidden_units_are_told_by_how_many_a_token_uses():
    assert describe_units(units(range(8), range(2, 12), range(4, 7)), 1, TOKENS) == (
        "ReLU sets 50 % of the 20 units to 0 for “▁cat”: 10 stay active. Over the whole sentence 65 % are 0 on "
        "average; 3 are active for every token (5, 6, 7), and 8 for none."
    )
    assert describe_units(units(range(12), range(12), range(3, 9)), 2, TOKENS) == (
        "ReLU sets 70 % of the 20 units to 0 for “▁no”: 6 stay active. Over the whole sentence 50 % are 0 on "
        "average; 6 are active for every token (4, 5, 6, 7, 8, …), and 8 for none."
    )
    assert describe_units(units(range(5), range(5), range(5)), 0, TOKENS) == (
        "ReLU sets 75 % of the 20 units to 0 for “▁no”: 5 stay active. Over the whole sentence 75 % are 0 on "
        "average; 5 are active for every token (1, 2, 3, 4, 5), and 15 for none."
    )
    assert describe_units(units(range(1, 2), range(4), range(2)), 0, TOKENS) == (
        "ReLU sets 95 % of the 20 units to 0 for “▁no”: 1 stays active. Over the whole sentence 88 % are 0 on "
        "average; 1 is active for every token (2), and 16 for none."
    )
    assert describe_units(units(range(1), range(4), range(2, 4)), 0, TOKENS) == (
        "ReLU sets 95 % of the 20 units to 0 for “▁no”: 1 stays active. Over the whole sentence 88 % are 0 on "
        "average; none is active for every token, and 16 for none."
    )


def test_the_only_token_of_a_sentence_is_told_alone():
    assert describe_units(units(range(1500), width=2048), 0, ("</s>",)) == (
        "ReLU sets 27 % of the 2,048 units to 0 for “</s>”: 1,500 stay active. It is the only token of the sentence."
    )


def norms(norm: Norm, encoder: float, decoder: float) -> GradientNorms:
    return GradientNorms(norm, (2.0, 9.0, 2.0 * encoder), (0.5, 9.0, 0.5 * decoder), 1.0)


def test_gradients_are_told_by_the_last_layers_over_the_first_ones():
    assert describe_gradients([norms(Norm.POST, 1.25, 6.0), norms(Norm.PRE, 0.5, 0.75)]) == (
        "The last layer's gradient over the first one's: decoder 6.0 (post-norm) and 0.8 (pre-norm); encoder 1.2 "
        "(post-norm) and 0.5 (pre-norm). With post-norm the decoder's excess comes from cross-attention: with its "
        "output set to 0 the ratio comes down to about the encoder's. What cross-attention passes back to the "
        "encoder is not the reason, for the ratio stays if that is cut off: its output widens the sum before "
        "LayerNorm, which divides the vector, and so the residual connection's gradient, by the wider deviation "
        "in every layer. Xiong et al. 2020 trace the warm-up that post-norm models need to large gradients near "
        "the output; Liu et al. 2020 (Admin, arXiv 2004.08249) find that unbalanced gradients are not the root "
        "cause. Adam divides each gradient by a running mean of its size, so a small gradient alone does not make "
        "a small step."
    )
    assert describe_gradients([norms(Norm.PRE, 0.5, 0.75), norms(Norm.POST, 1.25, 1.25)]) == (
        "The last layer's gradient over the first one's: decoder 0.8 (pre-norm) and 1.2 (post-norm); encoder 0.5 "
        "(pre-norm) and 1.2 (post-norm). Xiong et al. 2020 trace the warm-up that post-norm models need to large "
        "gradients near the output; Liu et al. 2020 (Admin, arXiv 2004.08249) find that unbalanced gradients are "
        "not the root cause. Adam divides each gradient by a running mean of its size, so a small gradient alone "
        "does not make a small step."
    )
    slight = describe_gradients([norms(Norm.POST, 1.25, 1.5)])
    assert "decoder 1.5 (post-norm); encoder 1.2 (post-norm). With post-norm the decoder's excess comes from" in slight
