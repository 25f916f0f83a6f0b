"""Laws of the sentences on two runs: distances and largest differences recomputed cell by cell."""

import re

import pytest
from support.claims import number
from support.traced import traces, translator

from headlight.views.what_if.compare import describe_difference, matching_words
from transformer.interpret.what_if.difference import subtract

PAIRS = [(trace, translator().trace(trace.source_text.replace(" ", " very ", 1))) for trace in traces()[1:14:4]]
TOKEN = r"“(.+?)”(?: in the first run, “(.+?)” in the second)?"


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_heads_difference_is_what_its_cells_differ_by(kind):
    for first, second in PAIRS:
        difference = subtract(first, second, kind)
        one, other = first.attention(kind).astype(float), second.attention(kind).astype(float)

        def distance(layer, head, one=one, other=other, difference=difference):
            rows = [
                sum(abs(other[layer, head, b, d] - one[layer, head, a, c]) for c, d in difference.columns) / 2
                for a, b in difference.rows
            ]
            return sum(rows) / len(rows)

        said = re.search(
            rf"layer 2, head 5 differs by (?P<by>\S+); most in the row that reads {TOKEN}, on {TOKEN}: (?P<one>\S+) "
            r"and (?P<two>\S+)\. Of the (?P<count>\d+) heads of this kind layer (?P<layer>\d), head (?P<head>\d) "
            r"differs most, by (?P<most>\S+); by less than 0.05: (?P<few>\d+)\.",
            describe_difference(difference, 1, 4, first, second),
        )
        assert float(said["by"]) == pytest.approx(distance(1, 4), abs=0.0051)
        rows = "source" if kind == "encoder" else "decoder_input"
        sides = rows, "source" if kind == "cross" else rows
        tokens = [[getattr(run, f"{side}_tokens") for run in (first, second)] for side in sides]
        row, row_two, column, column_two = said.groups()[1:5]
        named = ((row, row_two or row), (column, column_two or column))
        most = max(abs(other[1, 4, b, d] - one[1, 4, a, c]) for a, b in difference.rows for c, d in difference.columns)
        there = [  # the weights at all cells of these names
            (one[1, 4, a, c], other[1, 4, b, d])
            for a, b in difference.rows
            for c, d in difference.columns
            if ((tokens[0][0][a], tokens[0][1][b]), (tokens[1][0][c], tokens[1][1][d])) == named
        ]
        largest = next((x, y) for x, y in there if abs(abs(y - x) - most) < 1e-6)
        assert [number(said["one"]), number(said["two"])] == pytest.approx(largest, abs=0.0051)
        distances = {(layer, head): distance(layer, head) for layer in range(len(one)) for head in range(one.shape[1])}
        largest = pytest.approx(max(distances.values()), abs=1e-6)
        assert distances[int(said["layer"]) - 1, int(said["head"]) - 1] == largest
        assert float(said["most"]) == pytest.approx(max(distances.values()), abs=0.0051)
        few = sum(each < 0.05 for each in distances.values())
        assert (int(said["count"]), int(said["few"])) == (len(distances), few)
        by = ["position" if len(both[0]) == len(both[1]) else "token" for both in tokens]
        rows, columns = len(difference.rows), len(difference.columns)
        assert matching_words(difference).endswith(f"Here: {rows} rows by {by[0]}, {columns} columns by {by[1]}.")
