"""Texts of the blocks of the diagram: the table's conditions and replacements fit the configurations and the texts."""

import tomllib
from pathlib import Path

import pytest

from headlight.views.inside import block_texts
from headlight.views.inside.block_texts import block_text
from transformer.config import ModelConfig

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
