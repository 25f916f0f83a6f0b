"""Laws of the findings on activation patching, over random shares of heads and of a residual stream."""

import numpy as np
import pytest

from headlight.views.research.patching import describe_cell, describe_map
from transformer.interpret.activations import Predictions
from transformer.interpret.what_if.patching import Cell, PatchingMap

SITES = (("head", "cross"), ("residual", "encoder"))


def made_map(site, shares, clean, corrupted):
    rows, columns = shares.shape
    cells = tuple(tuple(Cell(*site, row, column) for column in range(columns)) for row in range(rows))
    return PatchingMap(cells, shares, clean, corrupted)


def check_cell(finding, difference, clean, corrupted):
    """Compare the share of the way between both runs' differences; one past the end or before the start is marked."""
    numbers = finding["difference"], finding["corrupted"], finding["clean"]
    assert numbers == pytest.approx((difference, corrupted, clean), abs=1e-9)
    share = finding["percent"] / 100
    assert share == pytest.approx((difference - corrupted) / (clean - corrupted))
    assert ("past" in finding, "away" in finding) == (share >= 1.005, share <= -0.005)


def check_map(finding, shares, cells, apart):
    """Compare the nearest and the farthest cell and the count over half with shares of `cells`."""
    share, most = shares[cells.index(finding["cell"].cell)], shares.max()
    assert abs(1 - share) == np.abs(1 - shares).min()
    assert (finding["most"], finding["cells"]) == ((shares > 0.5).sum(), len(shares))
    is_nearer = 0.005 <= share <= 1.995
    assert finding.name == ("none_nearer" if not is_nearer else "overshoots" if share >= 1.005 else "repairs")
    assert finding.numbers["nearest"]["percent"] == pytest.approx(100 * share)
    assert ("farthest" in finding) == (most > max(1.005, share))
    if "farthest" in finding:
        assert finding["farthest"]["percent"] == pytest.approx(100 * most)
    assert ("apart" in finding) == (apart < 1) and (apart >= 1 or finding["apart"] == pytest.approx(apart))


@pytest.mark.parametrize("site", SITES, ids=lambda site: site[0])
def test_no_cell_restores_more_than_all_or_comes_nearer_where_it_does_not(random, site):
    """Small and large shares, before the start and past the end. The embeddings of a residual stream do not count."""
    names, columns, first = set(), [f"▁{at}" for at in range(4)], int(site[0] == "residual")
    for _ in range(500):
        shares = random.normal(random.choice([0, 0.6, 1, 2]), 10.0 ** random.uniform(-3, 1), (3, 4))
        clean, corrupted = random.normal(0, 1, 2)
        patching = made_map(site, shares, clean, corrupted)
        finding = describe_map(patching, columns)
        check_map(finding, shares[first:].ravel(), sum(patching.cells[first:], ()), abs(clean - corrupted))
        assert ("aside" in finding) == bool(first)
        names.add(finding.name)
        best, chances = random.integers(0, 2, (3, 5)), random.random((3, 5))
        seen = Predictions(best, chances, chances[:, 0], best, chances)
        cell = describe_cell(patching, 2, 3, columns, seen, str)
        check_cell(cell, corrupted + shares[2, 3] * (clean - corrupted), clean, corrupted)
        assert (cell["cell"].cell, cell["best"], cell["chance"]) == (Cell(*site, 2, 3), str(best[2, 0]), chances[2, 0])
        runs = [name for name, row in (("clean", 0), ("corrupted", 1)) if best[row, 0] == best[2, 0]]
        assert cell["as_in"].name == ("neither", "".join(runs), "both")[len(runs)]
    assert names == {"repairs", "none_nearer", "overshoots"}
    nothing = made_map(site, np.full((3, 4), np.nan), 1.0, 1.0)
    assert describe_map(nothing, columns).name == "nothing" and nothing.default_cell() == (first, 0)
