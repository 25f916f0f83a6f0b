"""Laws of the sentences on the four measures of a target token: largest tokens, correlations, what masking does."""

import re
from functools import cache

import numpy as np
import pytest
from support.claims import as_printed
from support.traced import TOKEN, place_of, traces, translator

from headlight.plots.contributions import GRADIENT, LEFT_OUT, MEASURES, NORMED, RAW, correlations
from headlight.views.attention.attribution import describe_agreement, describe_largest, describe_prefix
from transformer.interpret.attribution import gradient_times_input, leave_one_out

SHORT = (0, 3, 6, 7, 9, 10, 11, 12, 13, 16, 17, 18, 19, 23, 33)  # quick, repeated words and single pieces among them
CHANGE = r"changes by (−?\d+\.\d{3})"


@cache
def cases():
    """Tokens, measures, prefix and input tokens of the first, middle and last step of some sentences."""
    found, model = [], translator().model
    for trace in (traces()[index] for index in SHORT):
        last = len(trace.target_ids) - 1
        for step in sorted({0, last // 2, last}):
            asked = trace.source_ids, trace.decoder_input_ids[: step + 1], trace.target_ids[step]
            gradient, left_out = gradient_times_input(model, *asked), leave_one_out(model, *asked)
            raw = trace.cross[:, :, step].mean(axis=(0, 1), dtype=np.float64)
            normed = raw[::-1] / raw.sum()  # any other shares will do
            values = {RAW: raw, NORMED: normed, GRADIENT: gradient.source, LEFT_OUT: left_out.source}
            found.append(
                (trace.source_tokens, values, gradient.prefix, left_out.prefix, trace.decoder_input_tokens[: step + 1])
            )
    flat = {name: np.array([0.2, 0.2, 0.1]) for name in MEASURES} | {LEFT_OUT: np.array([0.0, 0.0, -0.0])}
    found.append((("a", "b", "a"), flat, np.zeros(3), np.array([0.0, 1e-5, np.nan]), ("<s>", "a", "b")))
    alone = {name: np.array([1.0]) for name in MEASURES} | {LEFT_OUT: np.array([np.nan])}
    found.append((("a",), alone, np.zeros(1), np.array([np.nan]), ("<s>",)))
    return found


def mean_ranks(sizes):
    return [sum(each < size for each in sizes) + (sum(each == size for each in sizes) + 1) / 2 for size in sizes]


def test_the_token_named_as_largest_is_and_each_measure_that_is_known_has_one():
    for tokens, values, *_ in cases():
        text = describe_largest(values, tokens)
        listed, opposed, count = re.fullmatch(
            r"Largest by absolute value: (.+)\. Gradient × input and leave-one-out have opposite signs for (\d+) of "
            r"(\d+) tokens\.",
            text,
        ).groups()
        names = "|".join(MEASURES)
        parts = [*re.finditer(rf"{TOKEN} by ((?:(?:{names})(?:, )?)+)(?:; |$)", listed)]
        told = [name for part in parts for name in part[3].split(", ")]
        assert sorted(told) == sorted(name for name in MEASURES if np.isfinite(values[name]).any())
        for part in parts:
            for name in part[3].split(", "):
                assert abs(values[name][place_of(tokens, part[1], part[2])]) == np.nanmax(np.abs(values[name]))
        pairs = zip(values[GRADIENT], values[LEFT_OUT], strict=True)
        assert (int(opposed), int(count)) == (sum(a * b < 0 for a, b in pairs), len(tokens))


def test_the_pairs_named_are_the_closest_and_the_farthest():
    for tokens, values, *_ in cases():
        text, own = describe_agreement(correlations(values)), {}
        for one, other in ((a, b) for a in MEASURES for b in MEASURES if a < b):
            sides = np.abs(values[one]), np.abs(values[other])
            if len(tokens) >= 3 and all(len(set(side.tolist())) > 1 for side in sides):
                own[one, other] = np.corrcoef(*map(mean_ranks, sides))[0, 1]
        if not own:
            assert text.startswith("Ranks cannot be compared here")
            continue
        said = re.match(
            r"The ranks of (.+?) and (.+?) are closest \((.+?)\), those of (.+?) and (.+?) farthest apart \((.+?);",
            text,
        )
        close, far = tuple(sorted(said.group(1, 2))), tuple(sorted(said.group(4, 5)))
        assert own[close] >= max(own.values()) - 1e-9 and own[far] <= min(own.values()) + 1e-9
        assert as_printed(said[3], own[close]) and as_printed(said[6], own[far])


def test_what_masking_an_input_token_does_is_so_and_none_does_more():
    told = 0
    for tokens, values, gradient, drops, fed in cases():
        source, text = values[LEFT_OUT], describe_prefix(gradient, drops, values[LEFT_OUT], fed)
        if len(fed) < 3 or len(tokens) < 2:  # the begin of sentence does not count, and the step's own token cannot
            assert text == ""
            continue
        said = re.fullmatch(
            rf"Of the earlier input tokens, “{fed[0]}” aside, {TOKEN} matters most to leave-one-out \(log P {CHANGE}; "
            rf"gradient × input (−?\d+\.\d\d)\); for the source token that matters most it {CHANGE}\.",
            text,
        )
        index = place_of(fed, said[1], said[2])
        assert 0 < index < len(fed) - 1 and abs(drops[index]) == max(abs(each) for each in drops[1:-1])
        assert as_printed(said[3], -drops[index]) and as_printed(said[5], -max(source, key=abs))
        assert float(said[4].replace("−", "-")) == pytest.approx(gradient[index], abs=0.005 + 1e-6)
        told += 1
    assert told > 20
