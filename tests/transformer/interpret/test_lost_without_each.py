"""What every output token loses without each source token, in one pass, against leaving out one for one token."""

import pytest
from support.tolerance import near

from transformer.interpret import attribution
from transformer.interpret.attribution import leave_one_out, lost_without_each


@pytest.mark.parametrize("at_once", [1, 3, 16])
def test_it_is_what_leaving_out_finds_for_each_output(shipped, monkeypatch, at_once):
    trace = shipped.trace("I love my teacher.")
    source, fed, outputs = trace.source_ids, trace.decoder_input_ids, trace.target_ids
    monkeypatch.setattr(attribution, "TOKENS_AT_ONCE", at_once)
    found = lost_without_each(shipped.model, source, fed, outputs)
    assert found.shape == (len(outputs), len(source))
    for step, output in enumerate(outputs):
        alone = leave_one_out(shipped.model, source, fed[: step + 1], output)
        assert found[step] == near(alone.source)
    assert found.max() > 1


def test_of_a_source_of_one_token_nothing_can_be_left_out(translator):
    assert not lost_without_each(translator.model, (5,), (1, 6), (6, 7)).any()
