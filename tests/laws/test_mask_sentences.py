"""Laws of the findings on masks: cells, weights and probabilities of padded batches, counted again cell by cell."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.texts import SENTENCES
from support.traces import loaded, trace_of

from headlight.views.inside import masks_content as content
from transformer.interpret.mask_ablation import MaskedPass, masked_head, run_masked
from transformer.model.head_ref import HeadRef

PAIRS = [*zip(SENTENCES[0:38:4], SENTENCES[1:39:4], strict=True), ("I love my teacher.", "I love my teacher.")]


@cache
def run(pair: tuple[str, str], disabled: str = "nothing") -> MaskedPass:
    translator = loaded("en-de")
    return run_masked(translator.model, translator.tokenizer, [trace_of("en-de", text) for text in pair], disabled)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_number_of_cells_that_each_mask_covers(pair):
    batch = run(pair)
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


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("disabled", ["causal", "padding"])
def test_the_effect_of_a_disabled_mask_on_the_next_tokens(pair, disabled):
    with_mask, without = run(pair), run(pair, disabled)
    for sentence, steps in enumerate(with_mask.target_lengths):
        for forced in (0, 1):  # first tokens that were not chosen
            runs = [replace(each, scored_steps=(range(forced, steps),) * 2) for each in (with_mask, without)]
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


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("disabled, kind", [("causal", "decoder"), ("padding", "cross"), ("padding", "encoder")])
def test_the_leak_to_masked_cells_and_the_head_that_leaks_most(pair, disabled, kind):
    with_mask, without = run(pair), run(pair, disabled)
    weights = without.attention(kind).weights.astype(np.float64)
    for sentence in (0, 1):
        target, source = with_mask.target_lengths[sentence], with_mask.source_lengths[sentence]
        width, rows = weights.shape[-1], source if kind == "encoder" else target
        hidden = {row: range(row + 1, target) if disabled == "causal" else range(source, width) for row in range(rows)}
        hidden = {row: list(columns) for row, columns in hidden.items() if columns}
        leaks = {
            (layer, head): {row: weights[layer, sentence, head, row, columns].sum() for row, columns in hidden.items()}
            for layer, head in np.ndindex(weights.shape[0], weights.shape[2])
        }
        means = {head: sum(rows.values()) / max(1, len(rows)) for head, rows in leaks.items()}
        best = max(means.values())
        for (layer, at), leaked in leaks.items():
            leak = content.describe_leak(with_mask, without, masked_head(without, kind, sentence, layer, at))
            assert (leak is None) == (not hidden)
            if leak is None:
                continue
            finding, attempt = leak
            assert finding.name == f"leak_{disabled}" and finding["row"] - 1 in hidden
            numbers = finding["mean"], finding["most"], leaked[finding["row"] - 1]
            assert numbers == pytest.approx((means[layer, at], *[max(leaked.values())] * 2), abs=1e-6)
            assert ("leaks_most" in finding) == (not attempt) == (means[layer, at] >= best - 1e-6)
            if attempt:
                there = max(means, key=means.get)
                largest = {"other": HeadRef(kind, *there), "largest": means[there]}
                assert attempt == str(content.TEMPLATES("try_leakiest", **largest))
            if disabled == "causal":
                answer = np.mean([weights[layer, sentence, at, row, row + 1] for row in range(target - 1)])
                assert finding["answer"] == pytest.approx(answer, abs=1e-6)


@pytest.mark.parametrize("pair", PAIRS)
def test_a_sentence_without_padding_does_not_need_its_mask(pair):
    with_mask, without = run(pair), run(pair, "padding")
    lengths = [len(trace_of("en-de", text).source_ids) for text in pair]
    for sentence in (0, 1):
        if lengths[sentence] == max(lengths):
            steps = with_mask.target_lengths[sentence]
            change = np.abs(without.target_probabilities - with_mask.target_probabilities)[sentence, :steps].max()
            finding, _ = content.describe_no_padding(with_mask, without, sentence)
            assert finding["change"] == pytest.approx(change) and change < 1e-4


def test_a_pass_knows_the_steps_that_were_open_to_choice():
    translator, traces = loaded("en-de"), [replace(trace_of("en-de", "Yes."), num_forced=forced) for forced in (1, 0)]
    length = len(traces[0].target_ids)
    batch = run_masked(translator.model, translator.tokenizer, traces)
    assert batch.scored_steps == (range(1, length), range(length))
