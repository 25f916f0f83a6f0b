"""Laws of the sentences on two runs: distances and largest differences recomputed cell by cell, of every head."""

import re
from functools import cache

import numpy as np
import pytest
from headlight.views.what_if.compare import describe_difference, matching_words
from support.claims import as_printed, number, told
from support.traced import traces, translator

from transformer.interpret.what_if.difference import subtract

TOKEN = r"“(.+?)”(?: in the first run, “(.+?)” in the second)?"
SAID = re.compile(
    rf"layer (\d), head (\d) (?:does not differ between runs\.|differs by (?P<by>\S+) between runs\. Most in the row "
    rf"that reads {TOKEN}, on {TOKEN}: (?P<one>\S+) and (?P<two>\S+)\.) Of the (?P<count>\d+) heads of this kind layer "
    r"(?P<layer>\d), head (?P<head>\d) differs most, by (?P<most>\S+); by less than 0.05: (?P<few>\d+)\."
)


@cache
def pairs():
    """Forty sentences, each with a second run: its words in the opposite order, a word more, or two heads off."""
    found = []
    for at, trace in enumerate(traces()):
        words = trace.source_text.split()
        others = (" ".join(words[::-1]), " ".join([words[0], "very", *words[1:]]))
        changes = ("zero:cross.1.2", "zero:decoder.2.1")
        run = translator().trace(
            trace.source_text if at % 3 == 2 else others[at % 3], interventions=changes if at % 3 == 2 else ()
        )
        found.append((trace, run))
    return found


def tokens_of(kind, run):
    """The tokens of rows and columns."""
    fed, source = run.decoder_input_tokens, run.source_tokens
    return {"encoder": (source, source), "decoder": (fed, fed), "cross": (fed, source)}[kind]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_heads_difference_is_what_its_cells_differ_by_and_both_tokens_are_named(kind):
    seen = {"same": 0, "different tokens": 0}
    for first, second in pairs():
        difference = subtract(first, second, kind)
        (ones, others), (lefts, rights) = (np.array(both).T for both in (difference.rows, difference.columns))
        old = first.attention(kind)[:, :, ones][..., lefts].astype(float)
        new = second.attention(kind)[:, :, others][..., rights].astype(float)
        gaps = np.abs(new - old)
        distances = gaps.sum(axis=(2, 3)) / len(ones) / 2
        rows, columns = zip(*(tokens_of(kind, run) for run in (first, second)), strict=True)
        for layer, head in np.ndindex(distances.shape):
            text = told(describe_difference(difference, layer, head, first, second))
            if gaps.max() < 0.005:
                assert text == f"None of the {distances.size} heads of this kind differs between both runs."
                seen["same"] += 1
                continue
            said = SAID.search(text)
            assert (int(said[1]), int(said[2])) == (layer + 1, head + 1)
            assert bool(said["by"]) == (gaps[layer, head].max() >= 0.005), "nothing differs by 0.00"
            if said["by"]:
                assert as_printed(said["by"], distances[layer, head]) and number(said["by"]) > 0
                row, row_two, column, column_two = said.groups()[3:7]
                named = (row, row_two or row), (column, column_two or column)
                there = [  # the weights at all cells of these names
                    (old[layer, head, at, to], new[layer, head, at, to])
                    for at, to in np.ndindex(len(ones), len(lefts))
                    if ((rows[0][ones[at]], rows[1][others[at]]), (columns[0][lefts[to]], columns[1][rights[to]]))
                    == named
                ]
                largest = gaps[layer, head].max()
                assert any(
                    abs(abs(y - x) - largest) < 1e-6 and as_printed(said["one"], x) and as_printed(said["two"], y)
                    for x, y in there
                ), text
                seen["different tokens"] += named[0][0] != named[0][1] or named[1][0] != named[1][1]
            assert distances[int(said["layer"]) - 1, int(said["head"]) - 1] == pytest.approx(distances.max(), abs=1e-5)
            assert as_printed(said["most"], distances.max())
            assert (int(said["count"]), int(said["few"])) == (distances.size, (distances < 0.05).sum())
        by = ["position" if len(both[0]) == len(both[1]) else "token" for both in (rows, columns)]
        assert matching_words(difference).endswith(
            f"Here: {len(ones)} rows by {by[0]}, {len(lefts)} columns by {by[1]}."
        )
    assert seen["different tokens"] > 100 and (seen["same"] or kind != "encoder")
