"""The sentences on the four measures of one target token, spelled out for values made by hand: every branch."""

import numpy as np

from headlight.views.attention.beyond_weights_figure import MEASURES
from headlight.views.attention.beyond_weights_text import (
    describe_agreement,
    describe_disagreement,
    describe_measures,
    describe_prefix,
)

TOKENS = ("▁no", "▁cat", "▁no", "</s>")
NONE = np.nan
SHARES = [0.1, 0.6, 0.2, 0.1]


def measured(raw=SHARES, normed=SHARES, gradient=SHARES, left_out=SHARES) -> dict[str, np.ndarray]:
    """What each measure gives each token."""
    values = dict(zip(MEASURES, (raw, normed, gradient, left_out), strict=True))
    return {name: np.array(each, dtype=float) for name, each in values.items()}


def correlations(**found: float) -> np.ndarray:
    """Every pair at 0.5, but those given: the lower triangle of [4, 4]."""
    table = np.full((4, 4), 0.5)
    for pair, value in found.items():
        table[int(pair[1]), int(pair[2])] = value
    return table


def test_measures_that_agree_on_the_first_token_are_said_together():
    assert describe_measures(measured(gradient=[0.1, -0.9, 0.2, 0]), TOKENS) == (
        "All four measures have “▁cat” first here, by absolute value. Gradient × input and leave-one-out have "
        "opposite signs for 1 of 4 tokens."
    )
    assert (
        describe_measures(measured(left_out=[NONE] * 4), TOKENS)
        == "All 3 that can be computed have “▁cat” first here, by absolute value."
    )


def test_measures_that_differ_are_grouped_by_their_first_token():
    differ = measured(gradient=[-0.1, 0.2, -0.3, 0.0], left_out=[0.0, -0.3, 0.3, 0.0])
    assert describe_measures(differ, TOKENS) == (
        "They differ in which token is first by absolute value: “▁cat” by raw weight, norm-weighted; “▁no” "
        "(position 3) by gradient × input; no single token by leave-one-out. Gradient × input and leave-one-out "
        "have opposite signs for 2 of 4 tokens."
    )


def test_the_farthest_and_the_closest_pair_of_measures_are_named():
    assert describe_agreement(correlations(_31=0.9, _20=-0.25), 4) == (
        "Over these 4 tokens the ranks of norm-weighted and leave-one-out are closest (0.90), those of raw weight "
        "and gradient × input farthest apart (−0.25; 1 is the same order, 0 no monotone relation, −1 the reverse "
        "order)."
    )
    assert describe_agreement(correlations(_31=0.25, _10=0.75), 5) == (
        "Over these 5 tokens the ranks of raw weight and norm-weighted are closest (0.75), those of norm-weighted "
        "and leave-one-out farthest apart (0.25; 1 is the same order, 0 no monotone relation, −1 the reverse "
        "order)."
    )


def test_pairs_that_look_the_same_are_not_ranked():
    assert (
        describe_agreement(correlations(_31=0.504), 4)
        == "Over these 4 tokens each pair of ranks has the same correlation (0.50)."
    )


def test_what_cannot_be_ranked_is_said_to_be_so():
    nothing = np.full((4, 4), NONE)
    assert describe_agreement(nothing, 3) == "No two of the measures have ranks to compare here."
    assert describe_agreement(nothing, 2) == "The source has 2 tokens: too few to compare ranks (at least 3)."
    assert describe_agreement(nothing, 1) == "The source has 1 token: too few to compare ranks (at least 3)."
    one_pair = np.where(correlations(_10=0.75) == 0.75, 0.75, NONE)
    said = describe_agreement(one_pair, 4)
    assert said == "Over these 4 tokens the ranks of raw weight and norm-weighted have the correlation 0.75."


def test_the_token_on_which_two_measures_disagree_most_comes_with_both_ranks():
    values = measured(raw=[0.6, 0.2, 0.1, 0.1], left_out=[0.01, -0.5, 0.3, 0.2])
    assert describe_disagreement(values, TOKENS) == (
        "The ranks by raw weight and by leave-one-out differ nowhere more than on “▁no” (position 1): number 1 of "
        "4 by raw weight (0.60), number 4 by leave-one-out, which lowers log P by 0.010."
    )
    values = measured(raw=[0.1, 0.2, 0.1, 0.6], left_out=[0.1, 0.2, 0.3, 0.0001])
    assert describe_disagreement(values, TOKENS) == (
        "The ranks by raw weight and by leave-one-out differ nowhere more than on “</s>”: number 1 of 4 by raw "
        "weight (0.60), number 4 by leave-one-out, which changes log P by less than 0.0005."
    )


def test_a_token_whose_masking_raises_log_p_is_said_to_raise_it():
    values = measured(raw=[0.6, 0.2, 0.1, 0.1], left_out=[-0.01, -0.5, 0.3, 0.2])
    assert describe_disagreement(values, TOKENS).endswith("number 4 by leave-one-out, which raises log P by 0.010.")


def test_where_both_measures_give_the_same_order_no_token_is_named():
    values = measured(raw=[0.2, 0.5, 0.3], left_out=[0.1, -0.9, 0.4])
    assert (
        describe_disagreement(values, TOKENS[:3])
        == "Raw weight and leave-one-out put all tokens in the same order here."
    )


def test_ranks_that_cannot_be_compared_are_not():
    assert describe_disagreement(measured(left_out=[0.1, NONE, 0.1, 0.1]), TOKENS) == ""
    assert describe_disagreement(measured(raw=[0.5, 0.5], left_out=[0.1, 0.2]), TOKENS[:2]) == ""


def test_the_input_token_that_changes_most_stands_beside_the_source_token_that_does():
    fed, gradient = ("<s>", "▁keine", "▁Katze", "▁keine"), np.array([0.9, -0.456, 0.2, 0.3])
    source = np.array([0.1, -0.7, 0.2])
    assert describe_prefix(gradient, np.array([5.0, 0.5, NONE, 0.25]), source, fed) == (
        "Of the earlier input tokens “▁keine” (position 2) has the largest change: with attention to it masked, "
        "log P falls by 0.500; the source token with the largest change, masked alike, raises it by 0.700. The "
        "input token's gradient × input is −0.46. “<s>” is left out here, for no row was ever trained without it."
    )
    assert describe_prefix(gradient, np.array([5.0, 0.1, -0.9, 0.25]), -source, fed) == (
        "Of the earlier input tokens “▁Katze” has the largest change: with attention to it masked, log P rises by "
        "0.900; the source token with the largest change, masked alike, lowers it by 0.700. The input token's "
        "gradient × input is 0.20. “<s>” is left out here, for no row was ever trained without it."
    )
    assert describe_prefix(gradient, np.array([5.0, 0.0004, 0.0001, 0.0]), source / 10000, fed) == (
        "Of the earlier input tokens “▁keine” (position 2) has the largest change: with attention to it masked, "
        "log P changes by less than 0.0005; the source token with the largest change, masked alike, changes it by "
        "less than 0.0005. The input token's gradient × input is −0.46. “<s>” is left out here, for no row was "
        "ever trained without it."
    )


def test_one_earlier_input_token_is_enough():
    said = describe_prefix(np.zeros(2), np.array([1.0, 0.5]), np.ones(3), ("<s>", "▁keine"))
    assert said.startswith("Of the earlier input tokens “▁keine” has the largest change")


def test_an_earlier_input_token_is_not_named_where_there_is_none():
    gradient = np.zeros(2)
    assert describe_prefix(gradient, np.array([1.0, NONE]), np.ones(3), ("<s>", "▁keine")) == ""
    assert describe_prefix(gradient, np.array([1.0, 1.0]), np.full(3, NONE), ("<s>", "▁keine")) == ""
