"""The sentences on rollout, spelled out for maps made by hand: every branch of each."""

import numpy as np
from support.made import made_map, made_trace

from headlight.views.attention.rollout_text import HALVES, MEASURED, describe_diagonal, describe_parts, describe_shares
from transformer.interpret.rollout import Rollout

NONE = np.nan
RAW = [[0.5, 0.2, 0.1, 0.1, 0.1], [0.2, 0.6, 0.1, 0.05, 0.05], [0.3, 0.1, 0.4, 0.1, 0.1]]
ONE_CHOICE = [[1.0, NONE], [0.4, 0.6]]


def decoder_map(weights):
    return made_map(weights, "decoder", keys=("<s>", "▁keine"))


def rolled(layers, *rows):
    """A rollout that is the same after each layer: each row's shares of the 5 source tokens and 3 input tokens."""
    return Rollout(np.zeros((layers, 5, 5)), np.zeros((layers, 3, 3)), np.array([rows] * layers))


def test_rows_whose_maximum_moves_are_counted_and_the_one_that_moves_farthest_is_told():
    shares = [[0.3, 0.1, 0.06, 0.02, 0.02], [0.35, 0.2, 0.1, 0.05, 0.05], [0.45, 0.0, 0.4, 0.0, 0.0]]
    assert describe_shares(made_map(RAW), made_map(shares)) == (
        "The largest weight of a row is 0.50 on average, the largest share of a source token 0.37. Over all rows "
        "“▁no” (position 1) has the largest share of a source token (0.37 on average); its average weight in this "
        "layer is 0.33. In 2 of 3 rows with a choice they belong to different tokens: in the row of “▁keine” the "
        "largest weight of this layer is that of “▁cat” (0.60), the largest share of a source token that of “▁no” "
        "(position 1) (0.35); the share of “▁cat” is 0.20."
    )


def test_where_only_one_row_has_a_choice_it_is_one_row():
    shares = [[1.0, NONE], [0.5004, 0.4996]]
    assert describe_shares(decoder_map(ONE_CHOICE), decoder_map(shares)) == (
        "The largest weight of a row is 0.60 on average, the largest share 0.50. Over all rows “<s>” has the "
        "largest share (0.75 on average); its average weight in this layer is 0.70. In 1 of 1 row with a choice "
        "they belong to different tokens: in the row of “▁keine” the largest weight of this layer is that of "
        "“▁keine” (0.60), the largest share that of “<s>” (0.5004); the share of “▁keine” is 0.4996."
    )
    assert describe_shares(decoder_map(ONE_CHOICE), decoder_map(ONE_CHOICE)) == (
        "The largest weight of a row is 0.60 on average, the largest share 0.60. Over all rows “<s>” has the "
        "largest share (0.70 on average); its average weight in this layer is 0.70. In the only row with a choice "
        "both belong to the same token."
    )


def test_rows_whose_maximum_stays_are_said_to_be_all():
    assert describe_shares(made_map(RAW), made_map(RAW)) == (
        "The largest weight of a row is 0.50 on average, the largest share of a source token 0.50. Over all rows "
        "“▁no” (position 1) has the largest share of a source token (0.33 on average); its average weight in this "
        "layer is 0.33. In all 3 rows with a choice both belong to the same token."
    )


def test_both_of_two_rows_are_all_and_any_column_may_have_most():
    two = made_map(RAW[1:2] * 2)
    assert describe_shares(two, two) == (
        "The largest weight of a row is 0.60 on average, the largest share of a source token 0.60. Over all rows "
        "“▁cat” has the largest share of a source token (0.60 on average); its average weight in this layer is "
        "0.60. In all 2 rows with a choice both belong to the same token."
    )


def test_without_any_choice_there_is_nothing_to_compare():
    alone = made_map([[1.0]], "decoder", keys=("<s>",))
    assert describe_shares(alone, alone) == "Each row has a single unmasked cell: there is nothing to compare."


def test_what_stays_with_a_token_is_its_own_share_and_what_no_attention_touched():
    shares = made_map([[0.5, 0.2, 0.3], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]], "decoder")
    assert describe_diagonal(shares, np.array([[0.5, 0.2, 0.4], [0.5, 0.5, 0.5]])) == (
        "The share of a row's own token is 0.53 on average, the largest that of “▁keine” (0.70). Of the average, "
        "0.32 comes through the residual connections alone."
    )


def test_a_half_each_is_said_to_be_so_in_any_sentence():
    first = [0.1, 0.1, 0.1, 0.1, 0.1, 0.5, 0, 0], [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.4, 0]
    one = rolled(1, *first, [0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.4])
    assert describe_parts(made_trace(), one, 0, HALVES) == (
        "The source's share is 0.5 in every step, and would be in any sentence: with a half each, 1 layer leaves "
        "1 − ½ to it, whatever the weights are. The weights decide how the rest is divided: step 2, which "
        "predicts “▁Katze”, has the largest share of earlier input tokens (0.100). Choose “norm-based” for a "
        "share that depends on the model."
    )
    first = [0.15] * 5 + [0.25, 0, 0], [0.15] * 5 + [0.05, 0.2, 0]
    twelve = rolled(12, *first, [0.15] * 5 + [0.1, 0.05, 0.1])
    assert describe_parts(made_trace(), twelve, 11, HALVES) == (
        "The source's share is 0.75 in every step, and would be in any sentence: with a half each, 12 layers "
        "leave 1 − ½¹² to it, whatever the weights are. The weights decide how the rest is divided: step 3, which "
        "predicts “</s>”, has the largest share of earlier input tokens (0.150). Choose “norm-based” for a "
        "share that depends on the model."
    )


def test_where_no_earlier_token_has_anything_only_the_halves_are_told():
    rows = [[0.1] * 5 + own for own in ([0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5])]
    assert describe_parts(made_trace(), rolled(2, *rows), 1, HALVES) == (
        "The source's share is 0.5 in every step, and would be in any sentence: with a half each, 2 layers leave "
        "1 − ½² to it, whatever the weights are. Choose “norm-based” for a share that depends on the model."
    )
    one_step = Rollout(np.zeros((1, 5, 5)), np.zeros((1, 1, 1)), np.array([[[0.1] * 5 + [0.5]]]))
    assert describe_parts(made_trace(), one_step, 0, HALVES).count("decide") == 0


def test_two_steps_are_enough_to_tell_what_an_earlier_token_has():
    rows = [[0.1] * 5 + [0.5, 0], [0.1] * 5 + [0.25, 0.25]]
    two_steps = Rollout(np.zeros((1, 5, 5)), np.zeros((1, 2, 2)), np.array([rows]))
    assert "step 2, which predicts “▁Katze”, has" in describe_parts(made_trace(), two_steps, 0, HALVES)


def test_measured_shares_are_told_by_their_largest_and_their_smallest():
    rows = [0.1] * 5 + [0.5, 0, 0], [0.12] * 5 + [0.1, 0.3, 0], [0.06] * 5 + [0.1, 0.2, 0.4]
    assert describe_parts(made_trace(), rolled(2, *rows), 1, MEASURED) == (
        "By norm-based rollout the source's share is largest in step 2, which predicts “▁Katze” (0.60), and smallest "
        "in step 3, which predicts “</s>” (0.30); 0.47 on average."
    )
    rows = [0.1] * 5 + [0.5, 0, 0], [0.1008] * 5 + [0.096, 0.4, 0], [0.1] * 5 + [0.1, 0, 0.4]
    assert describe_parts(made_trace(), rolled(2, *rows), 1, MEASURED) == (
        "By norm-based rollout the source's share is 0.50 in every step here; the rest is prefix."
    )
