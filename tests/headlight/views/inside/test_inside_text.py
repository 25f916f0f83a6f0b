"""The texts of an attention block's steps, and the sentences on its division, spelled out for blocks made by hand."""

from dataclasses import replace

import numpy as np

from headlight.views.inside.scaling_text import describe_head, describe_random, undivided
from headlight.views.inside.steps_text import STEPS, BlockText, View
from transformer.arrays import softmax
from transformer.experiments.dot_product_scaling import RandomProducts
from transformer.interpret.attention_block import Stages


def made_stages(products: np.ndarray, unmasked: np.ndarray, d_k: int) -> Stages:
    """A block whose `products` are [heads, queries, keys]; its vectors are zeros of d_k dimensions a head."""
    heads, queries, keys = products.shape
    scores = products[None] / np.sqrt(d_k)
    row, column = np.zeros((1, queries, heads * d_k)), np.zeros((1, keys, heads * d_k))
    weights = np.stack([softmax(score, unmasked) for score in scores[0]])[None]
    return Stages(
        *(row, row, column, row, column, column, products[None], scores, unmasked[None], weights, row, row, row, row)
    )


def block(kind: str, layer: int = 0, heads: int = 2, norm: str = "post", toy: bool = False) -> BlockText:
    """Head 2 (or the only one) of a block of 3 queries, 5 keys in cross-attention, and 4 dimensions a head."""
    keys = 5 if kind == "cross" else 3
    stages = made_stages(np.zeros((heads, 3, keys)), np.ones((3, keys), dtype=bool), 4)
    return BlockText(stages, View(kind, layer, heads - 1, 0, ("a",) * 3, ("b",) * keys, toy=toy), norm)


def test_the_formulas_of_a_post_norm_encoder():
    found = {step: block("encoder").formula(step) for step in ("input", "project", "split", "concatenate")}
    assert found == {
        "input": "X",
        "project": "Q = X W<sub>Q</sub> + b<sub>Q</sub>, \u2002K = X W<sub>K</sub> + b<sub>K</sub>, \u2002"
        "V = X W<sub>V</sub> + b<sub>V</sub>",
        "split": "h = 2: columns 5 to 8 of Q, K and V",
        "concatenate": "O = [O<sub>1</sub> … O<sub>2</sub>]",
    }
    assert block("encoder", heads=1).formula("split") == "h = 1: columns 1 to 4 of Q, K and V"
    assert block("encoder", heads=1).formula("concatenate") == "O = O<sub>1</sub>"


def test_pre_norm_projects_what_its_norm_made():
    assert (
        block("encoder", norm="pre").formula("project").startswith("Q = X′ W<sub>Q</sub> + b<sub>Q</sub>, \u2002K = X′")
    )
    assert block("cross", norm="pre").formula("project").startswith("Q = X′ W<sub>Q</sub> + b<sub>Q</sub>, \u2002K = M")
    assert block("cross").formula("input") == "X, M"


def test_where_the_input_comes_from_depends_on_layer_and_kind():
    assert (
        block("encoder").purpose("input")
        == "One vector a token, a row: the embeddings, times √d_model, plus the positions."
    )
    assert block("encoder", layer=1).purpose("input") == "One vector a token, a row: the output of the layer below."
    assert block("cross", layer=1).purpose("input") == (
        "X are the decoder's vectors after its masked self-attention, one for each input token; the memory M is "
        "the output of the encoder's last layer for the source. Queries come from X, keys and values from M."
    )
    assert block("encoder", toy=True).purpose("input") == (
        "One made-up vector a token, a row. In a model these are the embeddings plus the positions."
    )


def test_what_the_mask_is_for_depends_on_the_kind():
    assert block("encoder").purpose("mask") == (
        "Padding would be masked here; a sentence alone has none, and every token of it may be attended to."
    )
    assert block("decoder").purpose("mask") == (
        "A query may attend to its own token and those before it: later ones are what it is to predict."
    )
    assert block("cross").purpose("mask") == (
        "Padding would be masked here; a sentence alone has none, and every token of it may be attended to."
    )
    assert block("decoder", toy=True).purpose("mask") == (
        "Click a cell, or go there with the arrow keys and press Enter, to mask it or to unmask it again."
    )


def test_every_other_step_has_its_own_words_and_every_array_its_letter():
    for step in ("norm_first", "project", "split", "products", "softmax", "residual", "norm_last"):
        for toy in (False, True):
            assert block("cross", toy=toy).purpose(step) == STEPS[step].purpose
    assert (
        block("cross").title("values") == "Weights times values"
        and block("cross").symbol("head_key") == "K<sub>h</sub>"
    )


def test_the_shape_of_a_step_is_read_from_its_arrays():
    shapes = {step: block("cross").shape(step) for step in STEPS}
    square, wide = "batch 1 · heads 2 · queries 3 · keys 5", "batch 1 · queries 3 · d_model 8"
    heads = "batch 1 · heads 2 · queries 3 · d_k 4"
    assert shapes == {
        "input": f"X: {wide}; M: batch 1 · keys 5 · d_model 8",
        "norm_first": wide,
        "project": f"Q: {wide}; K and V: batch 1 · keys 5 · d_model 8",
        "split": f"Q: {heads}; K and V: batch 1 · heads 2 · keys 5 · d_k 4",
        **dict.fromkeys(("products", "scale", "mask", "softmax"), square),
        "values": heads,
        **dict.fromkeys(("concatenate", "output", "residual", "norm_last"), wide),
    }
    assert block("encoder").shape("input") == wide


PRODUCTS = np.array([[[9.0, 9.0, 9.0]] * 3, [[2.0, 0.0, 0.0], [0.0, 6.0, 0.0], [0.0, 1.0, 3.0]]])
ALL = np.ones((3, 3), dtype=bool)
CAUSAL = np.tri(3, dtype=bool)


def test_what_the_division_does_to_a_head_is_told_in_numbers():
    assert describe_head(made_stages(PRODUCTS, ALL, 4), 1, ("▁no", "▁cat", "▁no")) == (
        "In this head the unmasked products have a standard deviation of 1.94, the scores 0.97. Without the "
        "division the largest weight of a row would be 0.88 on average instead of 0.70; the row of “▁no” (query "
        "3) changes most, from 0.63 to 0.84. Softmax's Jacobian with respect to the scores, the sum of its "
        "absolute entries averaged over these rows, would be 50 % of what it is; with respect to the products "
        "q·k, where the division adds a factor of 1/√4, 100 %."
    )
    assert describe_head(made_stages(PRODUCTS, CAUSAL, 4), 1, ("<s>", "▁no", "▁no")) == (
        "In this head the unmasked products have a standard deviation of 2.08, the scores 1.04. Without the "
        "division the largest weight of a row with more than one unmasked key would be 0.92 on average instead of "
        "0.79; the row of “▁no” (query 3) changes most, from 0.63 to 0.84. Softmax's Jacobian with respect to the "
        "scores, the sum of its absolute entries averaged over these rows, would be 45 % of what it is; with "
        "respect to the products q·k, where the division adds a factor of 1/√4, 89 %."
    )


def test_a_head_whose_rows_are_all_decided_passes_no_gradient():
    assert describe_head(made_stages(1000 * PRODUCTS, ALL, 4), 1, ("▁no", "▁cat", "▁no")) == (
        "In this head the unmasked products have a standard deviation of 1943.65, the scores 971.83. Each row "
        "gives one key all of its weight, with the division as without it, so softmax passes no gradient."
    )
    assert describe_head(made_stages(1000 * PRODUCTS, CAUSAL, 4), 1, ("▁no", "▁cat", "▁no")) == (
        "In this head the unmasked products have a standard deviation of 2081.67, the scores 1040.83. Each row "
        "with more than one unmasked key gives one key all of its weight, with the division as without it, so "
        "softmax passes no gradient."
    )


def test_a_head_may_have_more_keys_than_queries():
    products = np.array([[[4.0, 0.0, 1.0], [0.0, 1.0, 9.0]]])
    assert describe_head(made_stages(products, np.ones((2, 3), dtype=bool), 4), 0, ("<s>", "▁nein")) == (
        "In this head the unmasked products have a standard deviation of 3.20, the scores 1.60. Without the "
        "division the largest weight of a row would be 0.97 on average instead of 0.85; the row of “<s>” changes "
        "most, from 0.74 to 0.94. Softmax's Jacobian with respect to the scores, the sum of its absolute entries "
        "averaged over these rows, would be 26 % of what it is; with respect to the products q·k, where the "
        "division adds a factor of 1/√4, 51 %."
    )


def test_nearly_decided_weights_look_different_too():
    said = describe_head(made_stages(np.array([[[24.0, 0.0]] * 2]), ALL[:2, :2], 4), 0, ("▁no", "▁cat"))
    assert "would be 1.00000 on average instead of 0.99999; the row of “▁no” changes most, from 0.99999 to 1" in said


def test_weights_that_differ_look_different():
    said = describe_head(made_stages(np.array([[[12.0, 0.0]] * 2]), ALL[:2, :2], 4), 0, ("▁no", "▁cat"))
    assert said == (
        "In this head the unmasked products have a standard deviation of 6.00, the scores 3.00. Without the "
        "division the largest weight of a row would be 1.000 on average instead of 0.998; the row of “▁no” "
        "changes most, from 0.998 to 1.000. Softmax's Jacobian with respect to the scores, the sum of its "
        "absolute entries averaged over these rows, would be under 1 % of what it is; with respect to the "
        "products q·k, where the division adds a factor of 1/√4, under 1 %."
    )


def test_without_a_choice_there_is_nothing_to_divide():
    assert (
        describe_head(made_stages(PRODUCTS[:, :1, :1], ALL[:1, :1], 4), 1, ("</s>",))
        == "Every row has a single unmasked key, so the division changes nothing here."
    )


def test_the_weights_without_the_division_are_softmax_of_the_products_themselves():
    without, divided = undivided(made_stages(PRODUCTS, CAUSAL, 4), 1)
    assert np.allclose(without[2], np.exp([0, 1, 3]) / np.exp([0, 1, 3]).sum()) and np.allclose(without[0], [1, 0, 0])
    assert np.allclose(divided[2], np.exp([0, 0.5, 1.5]) / np.exp([0, 0.5, 1.5]).sum())
    assert without.dtype == divided.dtype == np.float64
    stages = made_stages(PRODUCTS, CAUSAL, 4)
    coarse = replace(stages, products=stages.products.astype(np.float32), weights=stages.weights.astype(np.float32))
    assert [each.dtype for each in undivided(coarse, 1)] == [np.float64] * 2


def random_products(gradient: float, typical: float) -> RandomProducts:
    """What was measured at 1, 8 and 64 dimensions; the two ratios at the largest are given."""
    rising = np.array([1.0, 2.8, 7.96])
    largest, scaled = np.array([0.3, 0.6, 0.94]), np.array([0.31, 0.33, 0.32])
    steep, steep_scaled = np.array([1, 0.5, 0.1]), np.array([1, 0.9, gradient])
    typical_ratio = np.array([1, 2, typical])
    return RandomProducts((1, 8, 64), 10, rising, rising / 8, largest, scaled, steep, steep_scaled, typical_ratio)


def test_random_vectors_are_told_by_the_smallest_and_the_largest_size():
    assert describe_random(random_products(1.2, 9.94)) == (
        "At d_k 64 random products have a standard deviation of 8.0 (√64 = 8.0) and one of 10 keys gets 0.94 of "
        "the weight on average, though nothing was learned; divided, 0.32. At d_k 1 it is 0.31 either way. The "
        "gradient with respect to q·k, the chain rule's 1/√d_k included, is at d_k 64 with the division 1.5 times "
        "as large as without it where rows are averaged, and 9.9 times where medians are compared: it is the "
        "typical, saturated row that gains."
    )
    assert describe_random(random_products(0.2, 10.0)) == (
        "At d_k 64 random products have a standard deviation of 8.0 (√64 = 8.0) and one of 10 keys gets 0.94 of "
        "the weight on average, though nothing was learned; divided, 0.32. At d_k 1 it is 0.31 either way. The "
        "gradient with respect to q·k, the chain rule's 1/√d_k included, is at d_k 64 with the division 0.25 "
        "times as large as without it where rows are averaged, and 10 times where medians are compared: it is the "
        "typical, saturated row that gains."
    )
    assert describe_random(random_products(12.0, 1234.5)) == (
        "At d_k 64 random products have a standard deviation of 8.0 (√64 = 8.0) and one of 10 keys gets 0.94 of "
        "the weight on average, though nothing was learned; divided, 0.32. At d_k 1 it is 0.31 either way. The "
        "gradient with respect to q·k, the chain rule's 1/√d_k included, is at d_k 64 with the division 15 times "
        "as large as without it where rows are averaged, and 1,234 times where medians are compared: it is the "
        "typical, saturated row that gains."
    )
