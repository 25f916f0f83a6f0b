"""Laws of the sentences on the four measures of a target token: largest tokens, correlations, what masking does."""

import re
from functools import cache

import numpy as np
from support.captions import TOKEN, as_printed, finding_text, place_of
from support.traces import traces, translator

from headlight.plots.contributions import GRADIENT, LEFT_OUT, MEASURES, NORMED, RAW
from headlight.views.research.attribution import correlations, describe_agreement, describe_largest, describe_prefix
from transformer.interpret.attribution import Attribution, gradient_times_input, leave_one_out

SHORT = (0, 3, 6, 7, 9, 10, 11, 12, 13, 16, 17, 18, 19, 23, 33)  # quick, repeated words and single pieces among them
CHANGE = r"(falls by \d+\.\d\d|rises by \d+\.\d\d|moves by under 0\.01)"


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
            found.append((trace.source_tokens, values, left_out.prefix, trace.decoder_input_tokens[: step + 1]))
    flat = {name: np.array([0.2, 0.2, 0.1]) for name in MEASURES} | {LEFT_OUT: np.array([0.0, 0.0, -0.0])}
    found.append((("a", "b", "a"), flat, np.array([0.0, 1e-5, np.nan]), ("<s>", "a", "b")))
    alone = {name: np.array([1.0]) for name in MEASURES} | {LEFT_OUT: np.array([np.nan])}
    found.append((("a",), alone, np.array([np.nan]), ("<s>",)))
    return found


def mean_ranks(sizes):
    return [sum(each < size for each in sizes) + (sum(each == size for each in sizes) + 1) / 2 for size in sizes]


def test_the_token_named_as_largest_is_and_each_measure_that_is_known_has_one():
    for tokens, values, *_ in cases():
        text = finding_text(describe_largest(values, tokens))
        same, count, different, listed = re.fullmatch(
            r"(?:All (\d) measures are largest at the same token|The (\d) measures are largest at (\d) different "
            r"tokens)\. Signs aside: (.+)\.",
            text,
        ).groups()
        names = "|".join(MEASURES)
        parts = [*re.finditer(rf"{TOKEN} by ((?:(?:{names})(?:, )?)+)(?:; |$)", listed)]
        names_known = [name for name in MEASURES if np.isfinite(values[name]).any()]
        assert sorted(name for part in parts for name in part[3].split(", ")) == sorted(names_known)
        for part in parts:
            for name in part[3].split(", "):
                assert abs(values[name][place_of(tokens, part[1], part[2])]) == np.nanmax(np.abs(values[name]))
        assert int(same or count) == len(names_known) and int(different or 1) == len(parts)


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


def check_change(text, drop):
    """Whether log P falls, rises or stays by what leaving a token out costs."""
    if "under" in text:
        assert abs(drop) < 0.0051
        return
    assert text.startswith("falls" if drop > 0 else "rises") and as_printed(text.rpartition(" ")[2], abs(drop))


def test_what_masking_an_input_token_does_is_so_and_none_does_more():
    count = 0
    for tokens, values, drops, fed in cases():
        source = values[LEFT_OUT]
        text = describe_prefix(Attribution(source, drops, 0.0), fed)
        if len(fed) < 3 or len(tokens) < 2:  # the begin of sentence does not count, and the step's own token cannot
            assert text == ""
            continue
        said = re.fullmatch(
            rf"Without the earlier input token that matters most, {TOKEN}, log P {CHANGE}; without the source token "
            rf"that does, it {CHANGE}\. “{fed[0]}” is not counted\.",
            text,
        )
        index = place_of(fed, said[1], said[2])
        assert 0 < index < len(fed) - 1 and abs(drops[index]) == max(abs(each) for each in drops[1:-1])
        check_change(said[3], drops[index])
        check_change(said[4], max(source, key=abs))
        count += 1
    assert count > 20
