"""Laws of the sentences on positions: counted again from sines and cosines of the test's own."""

import math
import re
from collections import Counter

import numpy as np
import pytest
from support.captions import TINY, as_printed, scientific_number
from support.models import encoding
from support.pages import check_headline
from support.texts import SENTENCES
from support.traces import loaded, trace_of

from headlight.app.finding import Finding
from headlight.views.positions.waves import (
    describe_learned,
    describe_size,
    describe_waves,
    formula,
    rotation_formula,
)
from headlight.views.positions.word_order_content import describe_order, exchanged
from transformer.interpret.positions import embedding_sum, without_positions
from transformer.model.names import Stack

_SETTINGS = [(length, d, base) for length in (2, 7, 128) for d in (2, 16, 256) for base in (2.0, 100.0, 1e4)]


def _table(length: int, d_model: int, base: float) -> np.ndarray:
    rows = []
    for position in range(length):
        angles = [position / base ** (2 * pair / d_model) for pair in range(d_model // 2)]
        rows.append([part(angle) for angle in angles for part in (math.sin, math.cos)])
    return np.array(rows)


def _is_wave(text: str, pair: int, d_model: int, base: float) -> bool:
    wave = 2 * math.pi * base ** (2 * pair / d_model)
    return as_printed(text, wave) and ("." in text) == (wave < 100)


@pytest.mark.parametrize("settings", _SETTINGS)
@pytest.mark.parametrize("offset", [1, 63])
def test_the_angle_of_an_offset_the_wavelengths_and_the_columns_that_hardly_change(settings, offset):
    length, d_model, base = settings
    shown, table, pairs = encoding(*settings), _table(*settings), d_model // 2
    for pair in {0, pairs - 1}:
        found = describe_waves(shown, pair, offset)
        angle = re.fullmatch(rf"A shift by {offset} positions? rotates pair {pair} by ([\d,.]+)°\.", found.headline)[1]
        turns, rest, *waves, last, still, columns, law = re.fullmatch(
            r"So it does from any position on(?: \((\d+) full rotations? and ([\d.]+)°\))?\. Pair \d+ repeats every "
            r"([\d,.]+) positions, pair 0 every ([\d,.]+), the last pair every ([\d,.]+)\. Over positions 0 to (\d+), "
            r"(\d+) of (\d+) columns change by less than 0\.1\.(.*)",
            found.more,
        ).groups()
        true = math.degrees(offset / base ** (2 * pair / d_model))
        assert as_printed(angle, true) and int(turns or 0) == true // 360
        assert not turns or as_printed(rest, true % 360)
        for wave, place in zip(waves, (pair, 0, pairs - 1), strict=True):
            assert _is_wave(wave, place, d_model, base)
        assert (int(last), int(columns)) == (length - 1, d_model)
        assert int(still) == sum(max(column) - min(column) < 0.1 for column in table.T)
        errors = re.findall(f"at most ({TINY}): rounding", law)
        assert len(errors) == (offset < length) and all(scientific_number(each) < 1e-4 for each in errors)


def test_a_rotation_and_the_formula_are_written_out_with_their_numbers():
    shown, numbers = encoding(8, 6, 1e4), r"\begin{pmatrix} %s \end{pmatrix}"
    angle = 3 / 1e4 ** (2 / 6)
    matrix = f"{math.cos(angle):.4f} & {math.sin(angle):.4f} \\\\ {-math.sin(angle):.4f} & {math.cos(angle):.4f}"
    after = f"{math.sin(5 / 3 * angle):.4f} \\\\ {math.cos(5 / 3 * angle):.4f}"
    said = rotation_formula(shown, 1, 2, 3)
    assert numbers % matrix in said and said.count(numbers % after) == 2 and "R(3)" in said and "PE(5)" in said
    assert r"\sin\big(pos \,/\, 10000^{2i/d_{model}}\big)" in formula(shown) and "2i+1" in formula(shown)
    assert describe_size(encoding(30, 8, 1e4)) == "d_model 8, positions 0 to 29, base 10,000"


def test_learned_rows_are_described_by_their_norms():
    table = np.array([[3.0, 4.0], [0.0, 1.0], [0.0, -2.0], [6.0, 8.0]])
    said = describe_learned({Stack.ENCODER: table, Stack.DECODER: table[:3]}).more
    assert "The encoder's rows have norms from 1.00 to 10.00, the longest at position 3." in said
    assert "The decoder's rows have norms from 1.00 to 5.00, the longest at position 0." in said


@pytest.mark.parametrize("text", [*SENTENCES[:12], *SENTENCES[30:]])
def test_what_the_order_of_words_is_without_positions(text):
    model, other = loaded("en-de").model, exchanged(text)
    traces = [trace_of("en-de", each) for each in (text, other) if each.strip()]
    if len(traces) < 2:
        return
    one, two = (trace.source_tokens for trace in traces)
    sums = [embedding_sum(model, trace.source_ids, trace.source_tokens) for trace in traces]
    without = []
    for each in (text, other):
        with without_positions(model):
            without.append(loaded("en-de").trace(each).target_text)
    said = describe_order(*sums, tuple(trace.target_text for trace in traces), tuple(without))
    check_headline(said.headline)
    if one == two:
        assert said == Finding("Both sentences are the same: swap two words.")
        return
    assert ("different tokens" in said.headline) == (Counter(one) != Counter(two))
    if "same translation" in said.headline:
        assert without[0] == without[1] and Counter(one) == Counter(two)
    if "No token of both" in said.more:
        return
    token, first, second, before, after, same = re.match(
        r"“(.+)” stands at position (\d+) in the first and (\d+) in the second\. Its embeddings are ([\d.]+) apart; "
        r"with the positions added, ([\d.]+)\. .* With positions the translation is (.+)\.$",
        said.more,
    ).groups()
    assert one[int(first)] == two[int(second)] == token and first != second
    table = _table(max(len(one), len(two)), model.config.d_model, 1e4)
    assert before == "0.00" and as_printed(after, math.dist(table[int(first)], table[int(second)]))
    assert (same == "the same") == (traces[0].target_text == traces[1].target_text)


def test_the_first_and_the_last_word_change_places():
    assert exchanged("Tom sees Mary.") == "Mary sees Tom."
    assert exchanged("Where is  my cat?!") == "cat is my Where?!"
    assert (exchanged("Tom"), exchanged("no no"), exchanged(" ")) == ("moT", "no no", " ")
