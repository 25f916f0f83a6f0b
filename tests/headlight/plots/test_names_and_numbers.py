"""How tokens, heads and numbers are written: each function at its borders, spelled out."""

import pytest

from headlight.plots.names import head_name, sentence_case
from headlight.plots.numbers import (
    format_distinct,
    format_error,
    format_probability,
    percent,
    pluralize,
    scientific,
    short_weight,
    signed,
)
from headlight.plots.tokens import quoted, quoted_at, token_label


def test_a_token_is_escaped_but_its_quotation_marks():
    assert token_label("<b>\"&'") == "&lt;b&gt;\"&amp;'"


@pytest.mark.parametrize(
    ("layer", "head", "said"),
    [
        (1, 6, "layer 2, head 7"),
        (1, None, "average over the 8 heads of layer 2"),
        (None, 6, "average over head 7 of all 3 layers"),
        (None, None, "average over all 3 layers and 8 heads"),
    ],
)
def test_a_head_is_named_from_1_and_an_average_by_what_it_goes_over(layer, head, said):
    assert head_name(layer, head, 3, 8) == said


def test_the_one_head_of_a_layer_is_one():
    assert head_name(0, None, 1, 1) == "average over the 1 head of layer 1"
    assert head_name(None, None, 1, 1) == "average over all 1 layer and 1 head"


def test_only_the_first_letter_becomes_a_capital():
    assert [sentence_case(text) for text in ("layer of A", "Ä", "")] == ["Layer of A", "Ä", ""]


@pytest.mark.parametrize(("count", "said"), [(0, "0 heads"), (1, "1 head"), (2, "2 heads"), (8000, "8,000 heads")])
def test_a_number_has_its_noun(count, said):
    assert pluralize(count, "head") == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0.0000"),
        (-0.0, "0.0000"),
        (-0.00004, "0.0000"),
        (-0.00006, "−0.0001"),
        (1.5, "1.5000"),
        (-10, "−10.0000"),
    ],
)
def test_a_number_has_a_true_minus_and_zero_has_none(value, said):
    assert signed(value) == said


def test_a_number_has_as_many_digits_as_asked():
    assert [signed(-1.256, digits) for digits in (0, 1, 2)] == ["−1", "−1.3", "−1.26"]


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (0.000699, "6.99·10⁻⁴"), (1.0, "1.00·10⁰"), (1234567, "1.23·10⁶"), (2e-13, "2.00·10⁻¹³")],
)
def test_a_small_number_has_a_power_of_ten(value, said):
    assert scientific(value) == said


def test_an_error_has_one_digit():
    assert [format_error(value) for value in (0.0, 5.96e-8, 1e-6)] == ["0", "6·10⁻⁸", "1·10⁻⁶"]


@pytest.mark.parametrize(
    ("value", "said"), [(0.0, ".00"), (0.07, ".07"), (0.9949, ".99"), (0.9951, "1.00"), (0.9999, "1.00"), (1.0, "1.00")]
)
def test_a_short_weight_has_no_zero_before_its_point(value, said):
    assert short_weight(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1.0, "> 99.9 %"),
        (0.9991, "> 99.9 %"),
        (0.999, "99.9 %"),
        (0.1234, "12.3 %"),
        (0.001, "0.1 %"),
        (0.00123, "0.1 %"),
        (0.0009, "0.09 %"),
        (0.00012, "0.01 %"),
        (0.0000345, "0.003 %"),
        (1e-6, "0.0001 %"),
        (9e-7, "< 0.0001 %"),
        (0.0, "< 0.0001 %"),
    ],
)
def test_a_chance_is_never_rounded_to_all_or_to_nothing(value, said):
    assert format_probability(value) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0, "0 %"),
        (0.0001, "under 1 %"),
        (0.0099, "under 1 %"),
        (0.01, "1 %"),
        (0.5, "50 %"),
        (0.9949, "99 %"),
        (0.995, "over 99 %"),
        (0.9999, "over 99 %"),
        (1, "100 %"),
        (1.6, "160 %"),
    ],
)
def test_a_share_claims_neither_all_nor_nothing_that_is_not(share, said):
    assert percent(share) == said


def test_a_token_that_stands_twice_comes_with_its_number():
    tokens = ("▁no", "▁cat", "▁no")
    assert quoted("▁no") == "“▁no”"
    assert [quoted_at(tokens, place) for place in range(3)] == ["“▁no” (position 1)", "“▁cat”", "“▁no” (position 3)"]
    assert quoted_at(tokens, 2, "query") == "“▁no” (query 3)"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((0.5, 0.5), ["0.50", "0.50"]),
        ((0.5, 0.6), ["0.50", "0.60"]),
        ((0.5004, 0.4996), ["0.5004", "0.4996"]),
        ((-0.001, 0.001), ["−0.001", "0.001"]),
        ((0.5, 0.501, 0.501), ["0.500", "0.501", "0.501"]),
        ((0.5, 0.500000001), ["0.5000000", "0.5000000"]),
    ],
)
def test_two_numbers_look_different_where_they_are(values, said):
    assert format_distinct(*values) == said
