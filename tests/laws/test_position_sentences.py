"""Laws of the findings on positions, from sines and cosines computed here."""

import math
from collections import Counter

import numpy as np
import pytest
from support.models import encoding
from support.traces import loaded, trace_of

from headlight.views.positions.waves import describe_learned, describe_waves, rotation_formula
from headlight.views.positions.word_order_content import describe_order, exchanged
from transformer.interpret.positions import embedding_sum, without_positions
from transformer.model.names import Stack

SETTINGS = [(2, 16, 2.0), (7, 2, 100.0), (7, 16, 1e4), (128, 256, 1e4)]


def table(length: int, d_model: int, base: float) -> np.ndarray:
    rows = []
    for position in range(length):
        angles = [position / base ** (2 * pair / d_model) for pair in range(d_model // 2)]
        rows.append([part(angle) for angle in angles for part in (math.sin, math.cos)])
    return np.array(rows)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("offset", [1, 63])
def test_the_angle_of_an_offset_the_wavelengths_and_the_columns_that_hardly_change(settings, offset):
    length, d_model, base = settings
    shown, columns, pairs = encoding(*settings), table(*settings).T, d_model // 2
    for pair in {0, pairs - 1}:
        finding = describe_waves(shown, pair, offset)
        angle = math.degrees(offset / base ** (2 * pair / d_model))
        assert (finding["offset"], finding["pair"]) == (offset, pair)
        assert finding["angle"] == pytest.approx(angle) and ("turned" in finding) == (angle >= 360)
        if angle >= 360:
            assert (finding["turns"], finding["rest"]) == (angle // 360, pytest.approx(angle % 360))
        waves = {"wave": pair, "first_wave": 0, "last_wave": pairs - 1}
        for name, at in waves.items():
            assert finding[name] == pytest.approx(2 * math.pi * base ** (2 * at / d_model))
        still = sum(max(column) - min(column) < finding["least_change"] for column in columns)
        assert (finding["last"], finding["columns"], finding["still"]) == (length - 1, d_model, still)
        assert ("rotation" in finding) == (offset < length) and (offset >= length or finding["error"] < 1e-4)


def test_a_rotation_is_written_with_its_numbers():
    written, angle = rotation_formula(encoding(8, 6, 1e4), 1, 2, 3), 3 / 1e4 ** (2 / 6)
    assert f"{math.cos(angle):.4f} & {math.sin(angle):.4f}" in written
    assert written.count(f"{math.sin(5 / 3 * angle):.4f} \\\\ {math.cos(5 / 3 * angle):.4f}") == 2


def test_learned_rows_are_described_by_their_norms():
    rows = np.array([[3.0, 4.0], [0.0, 1.0], [0.0, -2.0], [6.0, 8.0]])
    _, *norms = describe_learned({Stack.ENCODER: rows, Stack.DECODER: rows[:3]}).details
    assert [tuple(each.numbers.values()) for each in norms] == [("encoder", 1, 10, 3), ("decoder", 1, 5, 0)]


@pytest.mark.parametrize(
    "text, other",
    [
        ("I love my teacher.", "teacher love my I."),
        ("The old man saw the old dog.", "dog old man saw the old The."),
        ("Yes.", "No."),
        ("no no", "no no"),
        ("Tom sees Mary.", "Mary sees Tom."),
    ],
)
def test_the_order_of_words_without_positions(text, other):
    model = loaded("en-de").model
    traces = [trace_of("en-de", each) for each in (text, other)]
    one, two = (trace.source_tokens for trace in traces)
    sums = [embedding_sum(model, trace.source_ids, trace.source_tokens) for trace in traces]
    without = []
    for each in (text, other):
        with without_positions(model):
            without.append(loaded("en-de").trace(each).target_text)
    finding = describe_order(*sums, tuple(trace.target_text for trace in traces), tuple(without))
    alike = "same_translation" if without[0] == without[1] else "same_vectors"
    assert finding.name == ("same" if one == two else "different_tokens" if Counter(one) != Counter(two) else alike)
    if one == two or "none_moved" in finding:
        return
    first, second = finding["first"], finding["second"]
    assert one[first] == two[second] == finding["token"] and first != second
    rows = table(max(len(one), len(two)), model.config.d_model, 1e4)
    distances = finding["before"], finding["after"]
    assert distances == pytest.approx((0, math.dist(rows[first], rows[second])), abs=1e-4)
    assert ("with_same" in finding) == (traces[0].target_text == traces[1].target_text) != ("with_another" in finding)


def test_words_of_one_kind_change_places_where_articles_tell_them():
    assert exchanged("Tom sees Mary.") == "Mary sees Tom."
    assert exchanged("The old man saw the old dog and a cat.") == "The cat man saw the old dog and a old."
    assert exchanged("My brother loves your sister.") == "My sister loves your brother."
    assert exchanged("Where is  my cat?!") == "Where cat my is?!"
    assert (exchanged("Tom"), exchanged("no no"), exchanged(" ")) == ("moT", "no no", " ")
