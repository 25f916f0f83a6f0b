"""Texts of the blocks of the diagram: the table's conditions and replacements fit the configurations and the texts."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from headlight.views.inside import block_texts
from headlight.views.inside.block_texts import block_text
from transformer.config import FeedForwardType, ModelConfig, NormType

PAPER = ModelConfig(vocab_size=9)
TEXTS = tomllib.loads(Path(block_texts.__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", TEXTS)
def test_variants_name_what_configurations_have_and_none_is_the_papers(kind):
    plain = {name: text for name, text in TEXTS[kind].items() if name != "variants"}
    assert vars(block_text(kind, PAPER)) == plain
    for variant in TEXTS[kind].get("variants", []):
        assert {*variant} <= {"when", "unless", "set", "parts", "more"}
        conditions = {**variant["when"], **variant.get("unless", {})}
        assert all(hasattr(PAPER, name) for name in conditions)
        formulas = [plain["formula"], *(other.get("set", {}).get("formula", "") for other in TEXTS[kind]["variants"])]
        assert all(any(part in formula for formula in formulas) for part in variant.get("parts", {}))


def test_variants_of_one_model_add_up():
    silu = replace(PAPER, feed_forward=FeedForwardType.GATED, activation="silu", bias=False, norm_type=NormType.RMS)
    text = block_text("feed_forward", silu)
    formula = r"\text{FFN}(x) = (\text{SiLU}(x W_1) \odot x V)\, W_2, \quad \text{SiLU}(z) = z\, \sigma(z)"
    assert text.formula == formula
    assert text.title == "Gated feed-forward" and "through SiLU, is a gate" in text.meaning
    assert block_text("add", silu).formula == r"x + \text{Sublayer}(\text{RMSNorm}(x))"
    moved = replace(PAPER, position_base=500.0, first_position=2)
    assert "(pos + 2) / 500.0^{2i / d}" in block_text("positions", moved).formula
    assert "the first token stands at position 2, and the base is 500.0" in block_text("positions", moved).meaning
