"""Laws of the findings on the measures of a target token: largest tokens, correlations, effects of masking."""

import numpy as np
import pytest

from headlight.plots.contributions import LEFT_OUT, MEASURES
from headlight.views.research.attribution import correlations, describe_agreement, describe_largest, describe_prefix
from transformer.interpret.attribution import Attribution


def measured(random):
    """Draw the measures of 1 to 6 source tokens, ties, zeros and flat measures among them."""
    size = random.integers(1, 7)
    values = {name: random.integers(-3, 4, size) / random.choice([10, 1000, 1e9]) for name in MEASURES}
    return [f"▁{at}" for at in range(size)], values | ({LEFT_OUT: np.array([np.nan])} if size == 1 else {})


def mean_ranks(sizes):
    return [sum(each < size for each in sizes) + (sum(each == size for each in sizes) + 1) / 2 for size in sizes]


def test_each_known_measure_is_named_with_its_largest_token(random):
    for tokens, values in (measured(random) for _ in range(100)):
        finding = describe_largest(values, tokens)
        names = [name for part in finding["tokens"] for name in part["names"]]
        assert sorted(names) == sorted(name for name in MEASURES if np.isfinite(values[name]).any())
        for part in finding["tokens"]:
            for name in part["names"]:
                assert abs(values[name][part["token"].position]) == np.nanmax(np.abs(values[name]))
        assert (finding["measures"], finding["places"]) == (len(names), len(finding["tokens"]))
        assert finding.name == ("same_token" if len(finding["tokens"]) == 1 else "different_tokens")


def test_the_pairs_named_are_the_closest_and_the_farthest(random):
    for tokens, values in (measured(random) for _ in range(100)):
        finding, by_hand = describe_agreement(correlations(values)), {}
        for one, other in ((a, b) for a in MEASURES for b in MEASURES if a < b):
            sides = np.abs(values[one]), np.abs(values[other])
            if len(tokens) >= 3 and all(len(set(side.tolist())) > 1 for side in sides):
                by_hand[one, other] = np.corrcoef(*map(mean_ranks, sides))[0, 1]
        assert (finding.name == "ranks") == bool(by_hand)
        if by_hand:
            for name, pair, value in (("close", "highest", max), ("apart", "lowest", min)):
                expected = value(by_hand.values())
                assert [by_hand[tuple(sorted(finding[name]))], finding[pair]] == pytest.approx([expected] * 2, abs=1e-9)


def check_change(change, drop):
    """Compare a fall, a rise or no change of log P with the loss of leaving a token out."""
    assert change.name == ("stays" if abs(drop) < 0.005 else "falls" if drop > 0 else "rises")
    assert change.name == "stays" or change["by"] == pytest.approx(abs(drop))


def test_no_input_token_changes_more_than_the_one_named(random):
    for tokens, values in (measured(random) for _ in range(100)):
        source, fed = values[LEFT_OUT], ["<s>", *"abcd"][: random.integers(1, 6)]
        drops = np.append(random.normal(0, 1, len(fed) - 1), np.nan)  # the last token is the row that predicts
        finding = describe_prefix(Attribution(source, drops, 0.0), fed)
        if len(fed) < 3 or len(tokens) < 2:  # the begin of sentence does not count, and the step's own token cannot
            assert finding is None
            continue
        index = finding["input"].position
        assert 0 < index < len(fed) - 1 and abs(drops[index]) == max(abs(each) for each in drops[1:-1])
        check_change(finding["prefix"], drops[index])
        assert abs(finding["source"].numbers.get("by", 0)) == pytest.approx(max(abs(source)), abs=0.005)
