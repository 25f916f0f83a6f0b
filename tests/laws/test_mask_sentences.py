"""Laws of the findings on masks: cells, weights and probabilities of padded batches, counted again cell by cell."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.traces import loaded, trace_of

from headlight.views.inside import masks_content as content
from transformer.interpret.mask_ablation import MaskedPass, masked_head, run_masked
from transformer.model.heads import Head

PAIR = "I love my teacher.", "How many people live here, and where?"


@cache
def run(disabled: str = "nothing") -> MaskedPass:
    translator = loaded("en-de")
    return run_masked(translator.model, translator.tokenizer, [trace_of("en-de", text) for text in PAIR], disabled)


def test_the_number_of_cells_that_each_mask_covers():
    batch = run()
    width = max(batch.target_lengths)
    for sentence, real in enumerate(batch.target_lengths):
        cells = [(row, column) for row in range(width) for column in range(width)]
        padding, causal = {(r, c) for r, c in cells if c >= real}, {(r, c) for r, c in cells if c > r}
        finding = content.describe_masks(batch, sentence)
        counts = finding["causal"], finding["cells"], finding["padding"]
        assert counts == (len(causal), len(cells), len(padding))
        assert ("no_row_padded" in finding) == (real == width)
        if real < width:
            assert (finding["together"], finding["rows"]) == (len(padding | causal), real)
            assert all(cell in causal for cell in padding if cell[0] < real)


@pytest.mark.parametrize("disabled", ["causal", "padding"])
def test_the_effect_of_a_disabled_mask_on_the_next_tokens(disabled):
    for sentence, steps in enumerate(run().target_lengths):
        for forced in (0, 1):  # first tokens that were not chosen
            runs = [replace(each, scored_steps=(range(forced, steps),) * 2) for each in (run(), run(disabled))]
            before, after = (each.target_probabilities[sentence, forced:steps].astype(np.float64) for each in runs)
            finding, _ = content.describe_predictions(*runs, sentence)
            assert (finding["now"], finding["was"]) == pytest.approx((after.mean(), before.mean()))
            assert (finding.name == "changed") == (abs(after.mean() - before.mean()) >= 0.005)
            change = np.abs(after - before)
            if "changes_most" in finding:
                at = finding["step"] - 1 - forced
                assert change[at] >= change.max() - 1e-9
                assert (finding["after"], finding["before"]) == pytest.approx((after[at], before[at]))
            else:
                assert change.max() < 0.0011, "one decimal of a percentage, or over 99.9 %"
            firsts = [list(each.best_tokens[sentence])[forced:steps] for each in runs]
            others = sum(one != two for one, two in zip(*firsts, strict=True))
            assert (finding["others"], finding["steps"]) == (others, steps - forced)
            assert f"why_{disabled}" in finding


@pytest.mark.parametrize("disabled, kind", [("causal", "decoder"), ("padding", "cross"), ("padding", "encoder")])
@pytest.mark.parametrize("sentence", [0, 1])
def test_the_leak_to_masked_cells_and_the_head_that_leaks_most(disabled, kind, sentence):
    without, lengths = run(disabled), (run().source_lengths, run().target_lengths)
    weights = without.attention(kind).weights[:, sentence].astype(np.float64)
    source, target = (each[sentence] for each in lengths)
    hidden = [range(row + 1, target) for row in range(target - 1)]
    if disabled == "padding":
        hidden = [range(source, weights.shape[-1])] * (source if kind == "encoder" else target)
    leaks = np.stack([weights[:, :, row, list(keys)].sum(-1) for row, keys in enumerate(hidden)], axis=-1)
    means = leaks.mean(axis=-1)
    for layer, at in np.ndindex(means.shape):
        leak = content.describe_leak(run(), without, masked_head(without, kind, sentence, layer, at))
        assert (leak is None) == (not hidden[0])
        if leak is None:
            continue
        finding, attempt = leak
        numbers = finding["mean"], finding["most"], leaks[layer, at, finding["row"] - 1]
        assert numbers == pytest.approx((means[layer, at], *[leaks[layer, at].max()] * 2), abs=1e-6)
        assert finding.name == f"leak_{disabled}"
        assert ("leaks_most" in finding) == (not attempt) == (means[layer, at] >= means.max() - 1e-6)
        there = Head(kind, *np.unravel_index(means.argmax(), means.shape))
        assert attempt in ("", str(content.TEMPLATES("try_leakiest", other=there, largest=means.max())))
        if disabled == "causal":
            answer = np.mean([weights[layer, at, row, row + 1] for row in range(target - 1)])
            assert finding["answer"] == pytest.approx(answer, abs=1e-6)


def test_a_sentence_without_padding_does_not_need_its_mask():
    change = np.abs(run("padding").target_probabilities - run().target_probabilities)[1].max()
    finding, _ = content.describe_no_padding(run(), run("padding"), 1)
    assert finding["change"] == pytest.approx(change) and change < 1e-4


def test_a_pass_knows_the_steps_that_were_open_to_choice():
    translator, traces = loaded("en-de"), [replace(trace_of("en-de", PAIR[0]), num_forced=forced) for forced in (1, 0)]
    length = len(traces[0].target_ids)
    batch = run_masked(translator.model, translator.tokenizer, traces)
    assert batch.scored_steps == (range(1, length), range(length))
