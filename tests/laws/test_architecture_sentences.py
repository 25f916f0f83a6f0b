"""Law of the architecture's sentences: shares of the parameters, counted again."""

import re

import pytest
from support.claims import PERCENT, as_percent, number
from support.streams import loaded

from headlight.views.inside.architecture_content import share_words
from transformer.interpret.parameters import blocks_of


@pytest.mark.parametrize("name", ["en-de", "reverse"])
def test_shares_of_the_parameters_are_counted_from_the_models_own(name):
    model = loaded(name).model
    total = sum(parameter.numel() for parameter in model.parameters())
    listed = 0
    for block in blocks_of(model):
        said = share_words(block, total)
        if not said or said.startswith("shared with"):
            continue
        count, share = re.fullmatch(rf"([\d,]+) · ({PERCENT})", said).groups()
        listed += number(count)
        assert as_percent(share, number(count) / total)
        if block.kind == "feed_forward":
            layer = getattr(model, block.stack)[block.layer].feed_forward
            assert number(count) == sum(parameter.numel() for parameter in layer.parameters())
    assert listed == total
