"""Laws of the sentences on positions: counted again from sines and cosines of the test's own."""

import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.claims import TINY, as_printed, scientific_number
from support.pages import check_headline
from support.sentences import SENTENCES
from support.streams import loaded, trace_of

from headlight.plots.text import Finding
from headlight.views.positions import content
from transformer.config import Positions
from transformer.interpret.positions import distance_law, dot_products, embedding_sum, encoding, without_positions

_SETTINGS = [(length, d, base) for length in (2, 7, 128) for d in (2, 16, 256) for base in (2.0, 100.0, 1e4)]
_MODEL = encoding(128, 256, 1e4)


def _table(length: int, d_model: int, base: float) -> np.ndarray:
    rows = []
    for position in range(length):
        angles = [position / base ** (2 * pair / d_model) for pair in range(d_model // 2)]
        rows.append([part(angle) for angle in angles for part in (math.sin, math.cos)])
    return np.array(rows)


def _still(table: np.ndarray) -> int:
    return sum(max(column) - min(column) < 0.1 for column in table.T)


def _angles(length: int, d_model: int, base: float) -> list[float]:
    return [math.degrees((length - 1) / base ** (2 * pair / d_model)) for pair in range(d_model // 2)]


def _is_wave(text: str, pair: int, d_model: int, base: float) -> bool:
    wave = 2 * math.pi * base ** (2 * pair / d_model)
    return as_printed(text, wave) and ("." in text) == (wave < 100)


def _check_fading(said: str, length: int, d_model: int, base: float) -> None:
    table = _table(length, d_model, base)
    lost = [distance for distance, row in enumerate(table) if table[0] @ row < d_model / 4]
    assert said == (f"half is lost at distance {lost[0]}" if lost else f"half remains up to distance {length - 1}")


@pytest.mark.parametrize("settings", _SETTINGS)
def test_columns_waves_and_dot_products(settings):
    length, d_model, base = settings
    shown, table = encoding(*settings), _table(*settings)
    found = re.search(
        r"these settings (\d+) of (\d+) do over positions 0 to (\d+)\.", content.describe_matrix(shown, _MODEL).more
    )
    assert tuple(map(int, found.groups())) == (_still(table), d_model, length - 1)
    found = re.match(r"In this model (\d+) of 256 columns", content.describe_matrix(shown, _MODEL).headline)
    assert int(found[1]) == _still(_table(128, 256, 1e4))
    said = content.describe_wavelengths(shown, shown)
    count, pairs, positions = re.match(
        r"In this model (\d+) of (\d+) pairs turn fully within (\d+) positions\.", said.headline
    ).groups()
    angles = _angles(*settings)
    assert (int(count), int(pairs)) == (sum(angle >= 360 for angle in angles), len(angles)) and int(positions) == length
    told = re.fullmatch(
        rf"The slowest turns by ([\d,.]+)°\. With these settings {count} of {pairs} turn fully within {length}, the "
        r"slowest by ([\d,.]+)°\.",
        said.more,
    )
    assert as_printed(told[1], angles[-1]) and told[1] == told[2]
    said = str(content.describe_curves(shown, _MODEL, [0, 9, 300]))
    assert "300" not in said and said.startswith("In this model dimension 0 repeats every 6.3 positions.")
    waves = re.findall(
        r"dimension (\d+) repeats every ([\d,.]*\d)", str(content.describe_curves(shown, shown, [d_model - 1]))
    )
    assert len(waves) == 2 and all(int(last) == d_model - 1 for last, _ in waves)
    assert _is_wave(waves[0][1], d_model // 2 - 1, d_model, base)
    assert content.describe_curves(shown, shown, [300]).headline.startswith("A pair's cosine runs a quarter wave")

    law = distance_law(dot_products(shown))
    said = str(content.describe_products(law, law))
    means = [np.mean(np.diagonal(table @ table.T, distance)) for distance in range(length)]
    worst = max(abs(np.diagonal(table @ table.T, distance) - mean).max() for distance, mean in enumerate(means))
    bounds = re.findall(rf"(?:distance is|model:) ({TINY})", said)
    assert worst < 1e-10 and len(bounds) == 2 and all(scientific_number(bound) < 1e-4 for bound in bounds), (
        "so what is left is rounding"
    )
    itself, fading = re.search(r"d_model / 2 = (\d+), (.*)\.$", said).groups()
    assert int(itself) == d_model // 2
    _check_fading(fading, *settings)


@pytest.mark.parametrize("settings", [each for each in _SETTINGS if each[0] == 128])
@pytest.mark.parametrize("offset", [1, 63])
def test_by_how_much_an_offset_rotates_a_pair(settings, offset):
    _, d_model, base = settings
    shown = encoding(*settings)
    for pair in {0, d_model // 2 - 1}:
        said = str(content.describe_rotation(shown, _MODEL, pair, offset))
        angle, turns, rest = re.search(
            rf"pair {pair} by ([\d,.]+)°(?:[^°(]*\((\d+) full rotations? and ([\d.]+)°\))?", said
        ).groups()
        true = math.degrees(offset / base ** (2 * pair / d_model))
        assert as_printed(angle, true) and int(turns or 0) == true // 360
        assert not turns or as_printed(rest, true % 360)
        errors = re.findall(f"({TINY})", said.split("largest difference")[1])
        assert len(errors) == 2 and all(scientific_number(each) < 1e-4 for each in errors)
    assert "(this model: —)" in content.describe_rotation(shown, _MODEL.first(offset), 0, offset).more


def test_a_rotation_is_written_out_with_its_numbers():
    shown, numbers = encoding(8, 6, 1e4), r"\begin{pmatrix} %s \end{pmatrix}"
    angle = 3 / 1e4 ** (2 / 6)
    matrix = f"{math.cos(angle):.4f} & {math.sin(angle):.4f} \\\\ {-math.sin(angle):.4f} & {math.cos(angle):.4f}"
    after = f"{math.sin(5 / 3 * angle):.4f} \\\\ {math.cos(5 / 3 * angle):.4f}"
    said = content.rotation_formula(shown, 1, 2, 3)
    assert numbers % matrix in said and said.count(numbers % after) == 2 and "R(3)" in said and "PE(5)" in said


def test_what_a_table_lacks_is_said():
    assert content.describe_size(encoding(30, 8, 1e4)) == "d_model 8, positions 0 to 29, base 10,000"
    assert content.missing_dimensions(encoding(30, 8, 1e4), [300, 3, 8]) == (
        "Not here: 8, 300. With d_model 8 dimensions go from 0 to 7."
    )
    assert content.missing_dimensions(encoding(30, 8, 1e4), [3]) == ""


def test_learned_rows_are_told_by_their_norms_and_their_likeness():
    table = np.array([[3.0, 4.0], [0.0, 1.0], [0.0, -2.0], [6.0, 8.0]])
    assert "norms from 1.00 to 10.00, the longest at position 3" in content.describe_norms("encoder", table)
    # Neighbours: 4 / 5, -1, -4 / 5; two apart: -4 / 5, 4 / 5.
    said = content.describe_likeness("decoder", table)
    assert said == "Neighbouring rows of the decoder have a cosine of −0.33 on average, rows 2 apart 0.00."
    learned = content.describe_learned(table, said)
    assert learned.more.startswith("Each side has 4 rows of 2 numbers") and learned.more.endswith(said)


@pytest.mark.parametrize("text", SENTENCES[::2])
@pytest.mark.parametrize("name", ["en-de", "reverse"])
def test_what_adding_the_positions_does_to_a_sentence(text, name):
    model, trace = loaded(name).model, trace_of(name, text if name == "en-de" else text[:50])
    tokens, d_model = trace.source_tokens, model.config.d_model
    rows = model.source_embedding.weight[list(trace.source_ids)].detach().numpy().astype(np.float64)
    embeddings, added = rows * math.sqrt(d_model), _table(len(tokens), d_model, 1e4)
    sums = embeddings + added
    own = np.sqrt((embeddings**2).sum(axis=1))
    summed = embedding_sum(model, trace.source_ids, tokens)

    longer, count, low, high, norm = re.fullmatch(
        r"The embedding is longer than the position at (\d+) of (\d+) tokens?\. The embeddings, times √d_model, have "
        r"norms from ([\d.]+) to ([\d.]+), the positions ([\d.]+)\.",
        str(content.describe_sum(summed)),
    ).groups()
    assert as_printed(low, own.min()) and as_printed(high, own.max()) and as_printed(norm, math.sqrt(d_model / 2))
    assert (int(longer), int(count)) == (sum(each > math.sqrt(d_model / 2) for each in own), len(tokens))

    (said, attempt), repeated = content.describe_repetition(summed), {each for each in tokens if tokens.count(each) > 1}
    assert (said.headline == "No token occurs twice in this sentence.") == bool(attempt) == (not repeated)
    if repeated:
        token, after, often, first, second, before, cosine = re.fullmatch(
            r"After the addition two copies of “(.+)” are ([\d.]+) apart\. It occurs (\d+) times, first at positions "
            r"(\d+) and (\d+): one vector before .* \(distance ([\d.]+)\); after it their cosine is (.+), and only now "
            r"can attention distinguish them\.",
            str(said),
        ).groups()
        assert token in repeated
        places = [place for place, each in enumerate(tokens) if each == token]
        assert places[:2] == [int(first), int(second)] and int(often) == len(places)
        one, two = sums[places[0]], sums[places[1]]
        assert before == "0.00" and as_printed(after, math.dist(one, two))
        assert as_printed(cosine, float(one @ two / np.sqrt((one @ one) * (two @ two))))


@pytest.mark.parametrize("text", [*SENTENCES[:12], *SENTENCES[30:]])
def test_what_the_order_of_words_is_without_positions(text):
    model, other = loaded("en-de").model, content.exchanged(text)
    traces = [trace_of("en-de", each) for each in (text, other) if each.strip()]
    if len(traces) < 2:
        return
    one, two = (trace.source_tokens for trace in traces)
    sums = [embedding_sum(model, trace.source_ids, trace.source_tokens) for trace in traces]
    without = []
    for each in (text, other):
        with without_positions(model):
            without.append(loaded("en-de").trace(each).target_text)
    said = content.describe_order(*sums, tuple(trace.target_text for trace in traces), tuple(without))
    check_headline(said.headline)
    if one == two:
        assert said == Finding("Both sentences are the same: exchange two of their words.")
        return
    assert ("different tokens" in said.headline) == (Counter(one) != Counter(two))
    if "same translation" in said.headline:
        assert without[0] == without[1] and Counter(one) == Counter(two)
    if "No token of both" in said.more:
        return
    token, first, second, before, after, same = re.match(
        r"“(.+)” stands at position (\d+) in the first and (\d+) in the second\. Its embeddings are ([\d.]+) apart; "
        r"with the positions added, ([\d.]+)\. .* With them the translation is (.+)\.$",
        said.more,
    ).groups()
    assert one[int(first)] == two[int(second)] == token and first != second
    table = _table(max(len(one), len(two)), model.config.d_model, 1e4)
    assert before == "0.00" and as_printed(after, math.dist(table[int(first)], table[int(second)]))
    assert (same == "the same") == (traces[0].target_text == traces[1].target_text)


def test_sentences_are_exchanged_and_repeated_as_the_page_offers_them():
    assert content.exchanged("Tom sees Mary.") == "Mary sees Tom."
    assert content.exchanged("Where is  my cat?!") == "cat is my Where?!"
    assert (content.exchanged("Tom"), content.exchanged("no no"), content.exchanged(" ")) == ("moT", "no no", " ")
    assert (
        content.ordered_sentence("German", "x") == "Tom sieht Maria." and content.ordered_sentence("Text", "x") == "x"
    )
    assert content.repeating("English", "x") == content.REPEATING
    assert content.repeating("French", "Je suis là.") == "Je suis là. Je suis là."


def test_a_model_without_positions_or_with_learned_ones_is_not_told_the_papers():
    trace = trace_of("en-de", "no no no no no no")
    summed = embedding_sum(loaded("en-de").model, trace.source_ids, trace.source_tokens)
    bare = replace(summed, positions=0 * summed.positions, total=summed.embeddings, kind=Positions.NONE, scaled=False)
    assert content.describe_sum(bare).headline == "This model adds no positions: the sums are the embeddings."
    assert "not scaled by √d_model" in content.describe_sum(bare).more
    copies, _ = content.describe_repetition(bare)
    assert copies.headline.endswith("are 0.00 apart.")
    assert copies.more.endswith("their cosine is 1.00, and attention cannot distinguish them.")
    assert re.search(r"positions from [\d.]+ to", content.describe_sum(replace(summed, kind=Positions.LEARNED)).more)
