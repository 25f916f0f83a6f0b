"""Pages with models of T5's family: relative positions, RMSNorm, scores without a division."""

import sys

import numpy as np
import pytest
import torch
from support.pages import fact_array, headlines, numbers, open_address, page_text, payload, specs

from headlight.app import results
from headlight.views.positions.relative import describe_head
from transformer import Translator
from transformer.interpret.relative_positions import RelativeBias
from transformer.model.attention import distance_ranges

T5, FLAN = "t5", "flan-t5"


@pytest.fixture(autouse=True)
def only_imported(imported, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", imported)


def opened(address: str, **more: str):
    query = {"instruction": "nothing before the text", "checkpoint": T5, "text": "red dog", **more}
    return open_address(address, **query)


def test_the_curves_and_the_map_of_the_bias_are_added_to_the_scores_of_the_model(imported):
    app = opened("/positions?positions=relative+bias", bias_head="3", bias_reach="16")
    translator, head, query = Translator.load(imported / T5), 2, 20
    stacks = (translator.model.encoder_relative, 16), (translator.model.decoder_relative, 0)
    for figure, (relative, last) in zip(specs(app), stacks, strict=False):
        with torch.inference_mode():
            bias = relative(40, 40)[0, head].numpy()
        (line,) = (each for each in figure["data"] if each["name"] == f"head {head + 1}")
        distances = numbers(line["x"]).astype(int)
        assert (distances.min(), distances.max()) == (-16, last)
        np.testing.assert_allclose(numbers(line["y"]), bias[query, query + distances], atol=1e-5)
    maps = [spec["data"][0] for spec in specs(app) if spec["data"][0]["type"] == "heatmap"]
    assert [each["x0"] for each in maps] == [0, 10]
    length = len(translator.trace("red dog").source_ids)
    with torch.inference_mode():
        for shown, first in zip(maps, (0, 10), strict=True):
            bias = translator.model.encoder_relative(length, length + first)[0, head].numpy()
            np.testing.assert_allclose(numbers(shown["z"]), bias[:, first:], atol=1e-5)
    assert "The same sentence at other positions has the same map." in headlines(app)


def bias_of(table: np.ndarray, reach: int, both_ways: bool) -> RelativeBias:
    """Return the bias of a table [heads, 32 buckets] up to a distance."""
    buckets = distance_ranges(torch.arange(-reach, reach + 1), 32, 128, both_ways=both_ways).numpy()
    return RelativeBias(table[:, buckets], buckets, both_ways)


def test_the_distances_that_a_head_favours_most_and_least():
    table = np.random.default_rng(0).normal(size=(2, 32))
    bias = bias_of(table, 200, True)
    numbers, distances = table[1, bias.at(bias.distances)[1]], bias.distances
    finding = describe_head(bias, "encoder", 1)
    assert (finding["highest"], finding["lowest"]) == pytest.approx((numbers.max(), numbers.min()))
    assert finding["factor"] == pytest.approx(np.exp(np.ptp(numbers))) and finding["head"] == 2
    for name, at in (("high", numbers.argmax()), ("low", numbers.argmin())):
        side = ("before", "itself", "after")[np.sign(distances[at]) + 1]
        assert finding[name].endswith(side), (finding[name], distances[at])
    flat = describe_head(bias_of(np.zeros((1, 32)), 9, True), "encoder", 0)
    assert flat.name == "flat" and flat["spread"] == 0


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_facts_of_a_block_have_its_bias_and_no_parameters_that_it_does_not_have(kind):
    facts = payload(opened("/inside", head=f"{kind}.1.2"))["facts"]
    arrays = facts["arrays"]
    assert (facts["norm"], facts["norm_type"], facts["divided"]) == ("pre", "rms", False)
    assert not {"b_query", "b_output", "beta"} & arrays.keys() and max(facts["gaps"].values()) < 1e-3
    if kind == "cross":
        assert not {"bias", "buckets"} & arrays.keys()
        return
    products, bias, scores, buckets = (fact_array(arrays[each]) for each in ("products", "bias", "scores", "buckets"))
    np.testing.assert_allclose(products + bias, scores, atol=1e-4)
    np.testing.assert_array_equal(np.unique(buckets).size, np.unique(bias).size)


def test_a_page_names_the_extra_where_the_library_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    results.translator.clear()  # what other tests have read
    results.load_translator.cache_clear()
    app = opened("/decoding", checkpoint=FLAN, text="a sentence of its own")
    assert "pip install 'headlight-transformer[import]'" in page_text(app) and not app.exception
