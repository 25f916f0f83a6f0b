"""Laws of the findings on the measures of a target token: largest tokens, correlations, effects of masking."""

from functools import cache

import numpy as np
import pytest
from support.traces import traces, translator

from headlight.plots.contributions import GRADIENT, LEFT_OUT, MEASURES, NORMED, RAW
from headlight.views.research.attribution import correlations, describe_agreement, describe_largest, describe_prefix
from transformer.interpret.attribution import Attribution, gradient_times_input, leave_one_out

SHORT = (0, 3, 6, 7, 9, 10, 11, 12, 13, 16, 17, 18, 19, 23, 33)  # quick, repeated words and single pieces among them


@cache
def cases():
    """Tokens, measures, prefix and input tokens of the first, middle and last step of some sentences."""
    rows, model = [], translator().model
    for trace in (traces()[index] for index in SHORT):
        last = len(trace.target_ids) - 1
        for step in sorted({0, last // 2, last}):
            inputs = trace.source_ids, trace.decoder_input_ids[: step + 1], trace.target_ids[step]
            gradient, left_out = gradient_times_input(model, *inputs), leave_one_out(model, *inputs)
            raw = trace.cross[:, :, step].mean(axis=(0, 1), dtype=np.float64)
            normed = raw[::-1] / raw.sum()  # any other shares will do
            values = {RAW: raw, NORMED: normed, GRADIENT: gradient.source, LEFT_OUT: left_out.source}
            rows.append((trace.source_tokens, values, left_out.prefix, trace.decoder_input_tokens[: step + 1]))
    flat = {name: np.array([0.2, 0.2, 0.1]) for name in MEASURES} | {LEFT_OUT: np.array([0.0, 0.0, -0.0])}
    rows.append((("a", "b", "a"), flat, np.array([0.0, 1e-5, np.nan]), ("<s>", "a", "b")))
    alone = {name: np.array([1.0]) for name in MEASURES} | {LEFT_OUT: np.array([np.nan])}
    return [*rows, (("a",), alone, np.array([np.nan]), ("<s>",))]


def mean_ranks(sizes):
    return [sum(each < size for each in sizes) + (sum(each == size for each in sizes) + 1) / 2 for size in sizes]


def test_each_known_measure_is_named_with_its_largest_token():
    for tokens, values, *_ in cases():
        finding = describe_largest(values, tokens)
        names = [name for part in finding["tokens"] for name in part["names"]]
        assert sorted(names) == sorted(name for name in MEASURES if np.isfinite(values[name]).any())
        for part in finding["tokens"]:
            for name in part["names"]:
                assert abs(values[name][part["token"].position]) == np.nanmax(np.abs(values[name]))
        assert (finding["measures"], finding["places"]) == (len(names), len(finding["tokens"]))
        assert finding.name == ("same_token" if len(finding["tokens"]) == 1 else "different_tokens")


def test_the_pairs_named_are_the_closest_and_the_farthest():
    for tokens, values, *_ in cases():
        finding, by_hand = describe_agreement(correlations(values)), {}
        for one, other in ((a, b) for a in MEASURES for b in MEASURES if a < b):
            sides = np.abs(values[one]), np.abs(values[other])
            if len(tokens) >= 3 and all(len(set(side.tolist())) > 1 for side in sides):
                by_hand[one, other] = np.corrcoef(*map(mean_ranks, sides))[0, 1]
        assert (finding.name == "ranks") == bool(by_hand)
        if by_hand:
            assert by_hand[tuple(sorted(finding["close"]))] == pytest.approx(max(by_hand.values()), abs=1e-9)
            assert by_hand[tuple(sorted(finding["apart"]))] == pytest.approx(min(by_hand.values()), abs=1e-9)
            expected = max(by_hand.values()), min(by_hand.values())
            assert (finding["highest"], finding["lowest"]) == pytest.approx(expected, abs=1e-9)


def check_change(change, drop):
    """Compare a fall, a rise or no change of log P with the loss of leaving a token out."""
    assert change.name == ("stays" if abs(drop) < 0.005 else "falls" if drop > 0 else "rises")
    assert change.name == "stays" or change["by"] == pytest.approx(abs(drop))


def test_no_input_token_changes_more_than_the_one_named():
    count = 0
    for tokens, values, drops, fed in cases():
        source = values[LEFT_OUT]
        finding = describe_prefix(Attribution(source, drops, 0.0), fed)
        if len(fed) < 3 or len(tokens) < 2:  # the begin of sentence does not count, and the step's own token cannot
            assert finding is None
            continue
        index = finding["input"].position
        assert 0 < index < len(fed) - 1 and abs(drops[index]) == max(abs(each) for each in drops[1:-1])
        check_change(finding["prefix"], drops[index])
        check_change(finding["source"], max(source, key=abs))
        count += 1
    assert count > 20
