"""Laws of the captions on positional encodings: counted again from sines and cosines of the test's own."""

import math
import re

import numpy as np
import pytest
from support.claims import TINY, as_printed, number, scientific_number
from support.sentences import SENTENCES
from support.streams import loaded, trace_of

from headlight.views.positions import sum_text
from headlight.views.positions import text as captions
from transformer.interpret.positions import distance_law, dot_products, embedding_sum, encoding

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
    found = re.search(r"(\d+) of (\d+) columns changes? by less than 0\.1", captions.describe_matrix(shown, model))
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


def _waves(d_model: int, base: float) -> list[float]:
    return [2 * math.pi * base ** (2 * pair / d_model) for pair in range(d_model // 2)]


def _is_wave(text: str, wave: float) -> bool:
    return as_printed(text, wave) and ("." in text) == (wave < 100)


_MORE_SETTINGS = [*_SETTINGS, (8, 16, 1e5), (9, 16, 1e3), (64, 64, 1e5), (12, 8, 10.0), (300, 512, 10.0)]


@pytest.mark.parametrize("settings", _MORE_SETTINGS)
def test_what_another_base_would_do(settings):
    length, d_model, base = settings
    shown = encoding(*settings)
    said = [captions.try_matrix(shown), captions.try_wavelengths(shown), captions.try_products(shown)]
    said.append(captions.try_curves(shown, [0, d_model - 1]))
    if d_model == 2:
        assert all(
            each.startswith("d_model 64: a single pair has the same wavelength with every base") for each in said
        )
        return
    other = number(re.match(r"base ([\d,]+): ", said[0])[1])
    assert other != base and all(each.startswith(f"base {other:,.0f}: ") and each.endswith(".") for each in said)
    here, there = _table(length, d_model, base), _table(length, d_model, other)
    still = [sum(max(column) - min(column) < 0.1 for column in table.T) for table in (here, there)]
    turning = [sum(wave <= length - 1 for wave in _waves(d_model, each)) for each in (base, other)]
    for text, (own, others), total in ((said[0], still, d_model), (said[1], turning, d_model // 2)):
        found = re.search(r"then (\d+) of (\d+) (?:columns hardly|pairs rotate)", text)
        assert (int(found[1]), int(found[2])) == (others, total)
        assert text.endswith(", as many as here." if own == others else f", instead of {own}.")
    itself, faded = re.search(r"with itself is (\d+) there too, but (.*)\.$", said[2]).groups()
    assert int(itself) == d_model // 2
    _check_fading(faded, [float(there[0] @ row) / (d_model / 2) for row in there])
    last, new, old = re.search(r"dimension (\d+) repeats every (.+) positions instead of (.+)\.$", said[3]).groups()
    assert int(last) == d_model - 1 and new != old
    assert _is_wave(new, _waves(d_model, other)[-1]) and _is_wave(old, _waves(d_model, base)[-1])
    slowest = re.match(r"dimension (\d+), the slowest here: it repeats every (.+) pos", captions.try_curves(shown, [1]))
    assert int(slowest[1]) == d_model - 1 and _is_wave(slowest[2], max(_waves(d_model, base)))


def _check_fading(said: str, shares: list[float]) -> None:
    """Where half of a dot product is lost, and its largest rise."""
    lost = [distance for distance, share in enumerate(shares) if share < 0.5]
    if lost:
        assert said.startswith(f"at distance {lost[0]} more than half of that is lost")
    else:
        assert said.startswith(f"up to distance {len(shares) - 1} at least half of that remains")
    rises = [(after - before) for at, after in enumerate(shares) for before in shares[:at]]
    told = re.search(r"from (−?[\d.]+) of it at distance (\d+) it rises again to (−?[\d.]+) at (\d+)$", said)
    assert bool(told) == (max(rises, default=0) >= 0.05)
    if told:
        low, high = int(told[2]), int(told[4])
        assert low < high and shares[high] - shares[low] >= max(rises) - 1e-6
        assert as_printed(told[1], shares[low]) and as_printed(told[3], shares[high])
        assert min(shares[:low]) > shares[low] - 1e-6, "it had fallen until there"


@pytest.mark.parametrize("settings", _MORE_SETTINGS)
def test_the_dot_product_of_two_positions_depends_on_their_distance(settings):
    length, d_model, base = settings
    laws = [distance_law(dot_products(each)) for each in (encoding(*settings), encoding(length, 256, 1e4))]
    said = captions.describe_products(*laws)
    table, model = _table(length, d_model, base), _table(length, 256, 1e4)
    for rows, bound in zip((table, model), re.findall(rf"(?:than|model:) ({TINY})", said), strict=True):
        products = rows @ rows.T
        means = [np.mean(np.diagonal(products, distance)) for distance in range(length)]
        worst = max(abs(np.diagonal(products, distance) - means[distance]).max() for distance in range(length))
        assert worst < 1e-10 and scientific_number(bound) < 1e-4, "so what is left is rounding"
    assert int(re.search(r"d_model / 2 = (\d+);", said)[1]) == d_model // 2
    _check_fading(said.split("; ", 1)[1].removesuffix("."), [float(table[0] @ row) / (d_model / 2) for row in table])


@pytest.mark.parametrize("settings", _SETTINGS)
@pytest.mark.parametrize("offset", [1, 5, 63])
def test_which_other_pair_turns_how_far(settings, offset):
    length, d_model, base = settings
    for pair in {0, d_model // 2 - 1}:
        said = captions.try_rotation(encoding(*settings), pair, offset)
        other = re.search(r"Or pair (\d+), which the same offset rotates by ([\d,.]+)°(?: \((\d+) full)?", said)
        assert bool(other) == (d_model > 2)
        if other:
            angle = math.degrees(offset / base ** (2 * int(other[1]) / d_model))
            assert int(other[1]) != pair and as_printed(other[2], angle)
            assert int(other[3] or 0) == angle // 360


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("name", ["en-de", "reverse"])
def test_what_adding_the_positions_does_to_a_sentence(text, name):
    model, trace = loaded(name).model, trace_of(name, text if name == "en-de" else text[:50])
    tokens, d_model = trace.source_tokens, model.config.d_model
    rows = model.source_embedding.weight[list(trace.source_ids)].detach().numpy().astype(np.float64)
    embeddings, added = rows * math.sqrt(d_model), _table(len(tokens), d_model, 1e4)
    sums = embeddings + added
    own, position = (np.sqrt((part**2).sum(axis=1)) for part in (embeddings, added))
    summed = embedding_sum(model, trace.source_ids, tokens)

    said = sum_text.describe_sum(summed)
    norm, low, high = re.search(r"= ([\d.]+); .* norms from ([\d.]+) to ([\d.]+): ", said).groups()
    assert as_printed(norm, math.sqrt(d_model / 2)) and np.allclose(position, math.sqrt(d_model / 2))
    assert as_printed(low, own.min()) and as_printed(high, own.max())
    smaller = {f"“{token}”" for token, each, other in zip(tokens, own, position, strict=True) if each < other}
    if smaller:
        named = re.search(r"the position added has a larger norm than (.*)\. The sum's direction", said)[1]
        assert set(named.split(", ")) == smaller
    else:
        assert ": every token has a larger norm than its position." in said
    cosines = [float(one @ two / np.sqrt((one @ one) * (two @ two))) for one, two in zip(embeddings, sums, strict=True)]
    least, at, cosine, most, place, other = re.search(
        r"differs most from “(.+)” at position (\d+) \(cosine (.+)\), least from “(.+)” at position (\d+) \((.+)\)\.$",
        said,
    ).groups()
    for token, where, printed, extreme in ((least, at, cosine, min(cosines)), (most, place, other, max(cosines))):
        assert (
            tokens[int(where)] == token and abs(cosines[int(where)] - extreme) < 1e-6 and as_printed(printed, extreme)
        )
    assert number(cosine) < number(other) or max(cosines) - min(cosines) < 1e-6

    still, columns, count = re.match(
        r"all dimensions: (\d+) of the (\d+) position columns vary by less than 0\.1 over these (\d+) token",
        sum_text.try_dimensions(summed),
    ).groups()
    assert (int(columns), int(count)) == (d_model, len(tokens))
    assert int(still) == sum(max(column) - min(column) < 0.1 for column in added.T)

    said, repeated = sum_text.describe_repetition(summed), {token for token in tokens if tokens.count(token) > 1}
    assert bool(said) == bool(repeated)
    if said:
        token, often, first, second, before, after, cosine = re.match(
            r"“(.+)” (?:is|occurs (\d+) times, first) at positions (\d+) and (\d+)\. .* \(distance ([\d.]+)\), "
            r"after it they are ([\d.]+) apart \(cosine (.+)\): ",
            said,
        ).groups()
        places = [place for place, each in enumerate(tokens) if each == token]
        assert places[:2] == [int(first), int(second)] and int(often or 2) == len(places)
        assert before == "0.00" and np.array_equal(rows[places[0]], rows[places[1]])
        one, two = sums[places[0]], sums[places[1]]
        assert as_printed(after, math.dist(one, two)) and number(after) > 0
        alike = float(one @ two / np.sqrt((one @ one) * (two @ two)))
        assert 0.99 < alike < 1 if cosine == "over 0.99" else as_printed(cosine, alike) and number(cosine) < 1
