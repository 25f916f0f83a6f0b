"""Laws of the captions on positional encodings: counted again from sines and cosines of the test's own."""

import math
import re

import numpy as np
import pytest
from support.claims import as_printed, number

from transformer.interpret.positions import encoding
from views.positions import text as captions

_SETTINGS = [
    (length, d_model, base) for length in (2, 7, 8, 128) for d_model in (2, 16, 256) for base in (2.0, 100.0, 1e4)
]


def _table(length: int, d_model: int, base: float) -> np.ndarray:
    rows = []
    for position in range(length):
        angles = [position / base ** (2 * pair / d_model) for pair in range(d_model // 2)]
        rows.append([part(angle) for angle in angles for part in (math.sin, math.cos)])
    return np.array(rows)


@pytest.mark.parametrize("settings", _SETTINGS)
def test_columns_that_hardly_change_and_pairs_that_rotate_fully(settings):
    length, d_model, base = settings
    shown, model = encoding(*settings), encoding(128, 256, 1e4)
    table = _table(*settings)
    still = sum(max(column) - min(column) < 0.1 for column in table.T)
    found = re.search(r"(\d+) of (\d+) columns change by less than 0\.1", captions.describe_matrix(shown, model))
    assert (int(found[1]), int(found[2])) == (still, d_model)
    said = captions.describe_wavelengths(shown, model)
    count, pairs, degrees = re.match(r"With these settings (\d+) of (\d+) pairs? .*? by ([\d,.]+)°\.", said).groups()
    angles = [math.degrees((length - 1) / base ** (2 * pair / d_model)) for pair in range(d_model // 2)]
    assert (int(count), int(pairs)) == (sum(angle >= 360 for angle in angles), len(angles))
    assert as_printed(degrees, angles[-1])
    said = captions.describe_curves(shown, model, [0, d_model - 1])
    waves = re.findall(r"imension (\d+) (?:repeats )?every ([\d,.]*\d)", said)
    truth = {0: 2 * math.pi, d_model - 1: 2 * math.pi * base ** (2 * (d_model // 2 - 1) / d_model)}
    assert number(waves[0][1]) == pytest.approx(truth[0], abs=0.05)
    if d_model > 2:
        assert int(waves[1][0]) == d_model - 1 and abs(number(waves[1][1]) / truth[d_model - 1] - 1) < 0.006


@pytest.mark.parametrize("settings", _SETTINGS)
@pytest.mark.parametrize("offset", [1, 5, 63])
def test_by_how_much_an_offset_rotates_a_pair(settings, offset):
    length, d_model, base = settings
    if offset >= length:
        return
    pair = d_model // 2 - 1
    said = captions.describe_rotation(encoding(*settings), encoding(128, 256, 1e4), pair, offset)
    angle, turns, rest = re.search(
        r"rotates pair \d+ by ([\d,.]+)°(?: \((\d+) full rotations? and ([\d.]+)°\))?, from", said
    ).groups()
    true = math.degrees(offset / base ** (2 * pair / d_model))
    assert as_printed(angle, true) and bool(turns) == (true >= 360)
    if turns:
        assert int(turns) == true // 360 and as_printed(rest, true % 360)
    assert f"A shift by {offset} position{'s' * (offset != 1)} rotates" in said
