"""Laws of the captions on the four measures of a target token: first tokens, ranks, and what masking changes."""

import re
from functools import cache

import numpy as np
import pytest
from support.traced import TOKEN, place_of, traces, translator

from headlight.views.attention.beyond_weights_figure import GRADIENT, LEFT_OUT, MEASURES, NORMED, RAW, correlations
from headlight.views.attention.beyond_weights_text import (
    describe_agreement,
    describe_disagreement,
    describe_measures,
    describe_prefix,
)
from transformer.interpret.attribution import gradient_times_input, leave_one_out

SHORT = (0, 3, 6, 7, 9, 10, 11, 12, 13, 16, 17, 18, 19, 23, 33)  # quick, repeated words and single pieces among them
CHANGE = r"by (less than 0\.0005|\d+\.\d{3})"


@cache
def cases():
    """Tokens, measures, prefix and input tokens of the first, middle and last step of some sentences."""
    found, model = [], translator().model
    for trace in (traces()[place] for place in SHORT):
        last = len(trace.next_ids) - 1
        for step in sorted({0, last // 2, last}):
            asked = trace.source_ids, trace.fed_ids[: step + 1], trace.next_ids[step]
            gradient, left_out = gradient_times_input(model, *asked), leave_one_out(model, *asked)
            raw = trace.cross[:, :, step].mean(axis=(0, 1), dtype=np.float64)
            normed = raw[::-1] / raw.sum()  # any other shares will do
            values = {RAW: raw, NORMED: normed, GRADIENT: gradient.source, LEFT_OUT: left_out.source}
            found.append((trace.source_tokens, values, gradient.prefix, left_out.prefix, trace.fed_tokens[: step + 1]))
    flat = {name: np.array([0.2, 0.2, 0.1]) for name in MEASURES} | {LEFT_OUT: np.array([0.0, 0.0, -0.0])}
    found.append((("a", "b", "a"), flat, np.zeros(3), np.array([0.0, 1e-5, np.nan]), ("<s>", "a", "b")))
    return found


def rank(values, place):
    return 1 + sum(abs(each) > abs(values[place]) for each in values)


def mean_ranks(sizes):
    return [sum(each < size for each in sizes) + (sum(each == size for each in sizes) + 1) / 2 for size in sizes]


def check_change(word, amount, drop, down, up):
    if amount.startswith("less"):
        assert word == "changes" and abs(drop) < 0.0005 + 1e-9
    else:
        assert abs(float(amount) - abs(drop)) <= 0.0005 + 1e-9 and float(amount) > 0
        assert word == (down if drop > 0 else up)


def test_the_token_named_as_first_has_the_largest_value_and_no_other_has_it():
    for tokens, values, *_ in cases():
        text = describe_measures(values, tokens)
        same = re.match(
            rf"All (four measures|\d that can be computed) have (?:{TOKEN}|no single token) first here", text
        )
        if same:
            parts = [(same[2], same[3], MEASURES)]
        else:
            listed = re.match(r"They differ in which token is first by absolute value: (.+?)\.(?: Gradient|$)", text)[1]
            names = "|".join(MEASURES)
            form = rf"(?:{TOKEN}|no single token) by ((?:(?:{names})(?:, )?)+)(?:; |$)"
            parts = [(found[1], found[2], found[3].split(", ")) for found in re.finditer(form, listed)]
            assert len(parts) > 1 and sorted(sum((names for *_, names in parts), [])) == sorted(MEASURES)
        for token, position, names in parts:
            for name in names:
                sizes = [abs(float(each)) for each in values[name]]
                largest = [place for place, size in enumerate(sizes) if size == max(sizes)]
                assert largest == [place_of(tokens, token, position)] if token else len(largest) > 1
        opposed = sum(a * b < 0 for a, b in zip(values[GRADIENT], values[LEFT_OUT], strict=True))
        said = re.search(r"opposite signs for (\d+) of (\d+) tokens\.$", text)
        assert (int(said[1]), int(said[2])) == (opposed, len(tokens)) if said else opposed == 0


def test_the_pairs_named_are_the_closest_and_the_farthest():
    for tokens, values, *_ in cases():
        text = describe_agreement(correlations(values), len(tokens))
        if len(tokens) < 3:
            assert "too few to compare" in text
            continue
        own = {}
        for one, other in ((a, b) for a in MEASURES for b in MEASURES if a < b):
            sides = np.abs(values[one]), np.abs(values[other])
            if all(len(set(side.tolist())) > 1 for side in sides):
                own[one, other] = np.corrcoef(*map(mean_ranks, sides))[0, 1]
        numbers = [float(each.replace("−", "-")) for each in re.findall(r"\((−?\d\.\d\d)[;)]", text)]
        if len(numbers) == 1:
            assert all(each == pytest.approx(numbers[0], abs=0.00501) for each in own.values())
            continue
        said = re.search(r"ranks of (.+?) and (.+?) are closest .*those of (.+?) and (.+?) farthest apart", text)
        close, far = tuple(sorted(said.group(1, 2))), tuple(sorted(said.group(3, 4)))
        assert own[close] >= max(own.values()) - 1e-9 and own[far] <= min(own.values()) + 1e-9
        assert numbers == [pytest.approx(own[close], abs=0.00501), pytest.approx(own[far], abs=0.00501)]
        assert numbers[0] > numbers[1]


def test_ranks_that_cannot_be_compared_are_not_put_down_to_too_few_tokens():
    alike = dict.fromkeys(MEASURES, np.full(5, 0.2))
    assert describe_agreement(correlations(alike), 5) == "No two of the measures have ranks to compare here."


def test_no_token_has_ranks_farther_apart_than_the_one_named():
    for tokens, values, *_ in cases():
        text, weights, drops = describe_disagreement(values, tokens), values[RAW], values[LEFT_OUT]
        if len(tokens) < 3 or not np.isfinite(drops).all():
            assert text == ""
            continue
        gaps = [abs(rank(weights, place) - rank(drops, place)) for place in range(len(tokens))]
        if "same order" in text:
            assert not any(gaps)
            continue
        said = re.fullmatch(
            rf"The ranks by raw weight and by leave-one-out differ nowhere more than on {TOKEN}: number (\d+) of (\d+) "
            rf"by raw weight \((\d\.\d\d)\), number (\d+) by leave-one-out, which (\w+) log P {CHANGE}\.",
            text,
        )
        place = place_of(tokens, said[1], said[2])
        assert gaps[place] == max(gaps) > 0
        assert [int(said[n]) for n in (3, 4, 6)] == [rank(weights, place), len(tokens), rank(drops, place)]
        assert abs(float(said[5]) - weights[place]) <= 0.005 + 1e-9
        check_change(said[7], said[8], drops[place], "lowers", "raises")


def test_what_masking_an_input_token_does_is_so_and_none_does_more():
    told = 0
    for _, values, gradient, drops, fed in cases():
        source, text = values[LEFT_OUT], describe_prefix(gradient, drops, values[LEFT_OUT], fed)
        if len(fed) < 3:  # the begin of sentence is left out, and the step's own token cannot be
            assert text == ""
            continue
        said = re.match(
            rf"Of the earlier input tokens {TOKEN} has the largest change: with attention to it masked, log P (\w+) "
            rf"{CHANGE}; the source token with the largest change, masked alike, (\w+) it {CHANGE}\. The input token's "
            r"gradient × input is (−?\d+\.\d\d)\. ",
            text,
        )
        place = place_of(fed, said[1], said[2])
        assert 0 < place < len(fed) - 1
        assert abs(drops[place]) == max(abs(each) for each in drops[1:-1])
        check_change(said[3], said[4], drops[place], "falls", "rises")
        check_change(said[5], said[6], max(source, key=abs), "lowers", "raises")
        assert abs(float(said[7].replace("−", "-")) - gradient[place]) <= 0.005 + 1e-6
        told += 1
    assert told > 20
