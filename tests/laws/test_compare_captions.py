"""Laws of the captions on two runs: distances and largest differences recomputed cell by cell."""

import re

import pytest
from support.traced import traces, translator

from headlight.views.what_if.compare_text import describe_difference, matching_words
from transformer.interpret.what_if.difference import subtract

PAIRS = [(trace, translator().trace(trace.source_text.replace(" ", " very ", 1))) for trace in traces()[1:14:4]]


def number(text):
    return float(text.replace("−", "-"))


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

        words = describe_difference(difference, 1, 4, first, second)
        said = re.search(
            r"layer 2, head 5 differs by (\d\.\d\d).* reads “(.+?)”, on “(.+?)”: (−?\d\.\d\d) and (−?\d\.\d\d)\. "
            r"Of the (\d+) heads of this kind layer (\d), head (\d) differs most, by (\d\.\d\d); (\d+) differs? by",
            words,
        )
        assert float(said[1]) == pytest.approx(distance(1, 4), abs=0.0051)
        cells = {
            (a, c): (one[1, 4, a, c], other[1, 4, b, d]) for a, b in difference.rows for c, d in difference.columns
        }
        place = max(cells, key=lambda each: abs(cells[each][1] - cells[each][0]))
        most = [
            each for each, (x, y) in cells.items() if abs(abs(y - x) - abs(cells[place][1] - cells[place][0])) < 1e-6
        ]
        rows = first.source_tokens if kind == "encoder" else first.fed_tokens
        keys = first.fed_tokens if kind == "decoder" else first.source_tokens
        assert any((rows[a], keys[c]) == (said[2], said[3]) for a, c in most)
        assert [number(said[4]), number(said[5])] == pytest.approx(cells[place], abs=0.0051)
        distances = {(layer, head): distance(layer, head) for layer in range(len(one)) for head in range(one.shape[1])}
        assert int(said[6]) == len(distances) and float(said[9]) == pytest.approx(max(distances.values()), abs=0.0051)
        assert distances[int(said[7]) - 1, int(said[8]) - 1] == pytest.approx(max(distances.values()), abs=1e-6)
        assert int(said[10]) == sum(each < 0.05 for each in distances.values())
        pairs = re.findall(
            r"The (\d+) (rows?|columns?) (?:was|were) matched by (position|token)", matching_words(difference)
        )
        assert [int(count) for count, _, _ in pairs] == [len(difference.rows), len(difference.columns)]
        as_many = [len(first.source_ids) == len(second.source_ids), len(first.fed_ids) == len(second.fed_ids)]
        sides = {"encoder": (0, 0), "decoder": (1, 1), "cross": (1, 0)}[kind]
        assert [by == "position" for _, _, by in pairs] == [as_many[side] for side in sides]
