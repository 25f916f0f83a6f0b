"""Laws of the sentences on masks: cells, weights and probabilities of padded batches, counted again cell by cell."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.captions import PERCENT, TINY, as_percent, scientific_number
from support.texts import SENTENCES
from support.traces import loaded, trace_of

from headlight.views.inside import masks_content as content
from transformer.interpret.mask_ablation import MaskedPass, masked_head, run_masked

_PAIRS = [*zip(SENTENCES[0:38:4], SENTENCES[1:39:4], strict=True), ("I love my teacher.", "I love my teacher.")]


@cache
def _run(pair: tuple[str, str], disabled: str = "nothing") -> MaskedPass:
    own = loaded("en-de")
    return run_masked(own.model, own.tokenizer, [trace_of("en-de", text) for text in pair], disabled)


@pytest.mark.parametrize("pair", _PAIRS)
def test_how_many_cells_each_mask_covers(pair):
    run = _run(pair)
    width = max(run.target_lengths)
    for sentence in (0, 1):
        real = run.target_lengths[sentence]
        cells = [(row, column) for row in range(width) for column in range(width)]
        padding, causal = {(r, c) for r, c in cells if c >= real}, {(r, c) for r, c in cells if c > r}
        said = str(content.describe_masks(run, sentence))
        covered, of, others = re.match(
            r"The causal mask covers (\d+) of (\d+) cells, the padding mask (\d+)\.", said
        ).groups()
        assert (int(covered), int(of), int(others)) == (len(causal), len(cells), len(padding))
        assert ("None of its rows is padding" in said) == (real == width)
        if real < width:
            assert f"Both together cover {len(padding | causal)}." in said
            assert f"In the first {real} row{'s' * (real != 1)}, of real tokens, the causal mask alone decides" in said
            assert all(cell in causal for cell in padding if cell[0] < real)


@pytest.mark.parametrize("pair", _PAIRS)
@pytest.mark.parametrize("disabled", ["causal", "padding"])
def test_what_a_disabled_mask_does_to_the_next_tokens(pair, disabled):
    with_mask, without = _run(pair), _run(pair, disabled)
    for sentence in (0, 1):
        steps = with_mask.target_lengths[sentence]
        for given in (0, 1):  # first tokens that were given, not chosen
            runs = [replace(run, scored_steps=(range(given, steps),) * 2) for run in (with_mask, without)]
            before, after = (run.target_probabilities[sentence, given:steps].astype(np.float64) for run in runs)
            _check_predictions(*content.describe_predictions(*runs, sentence), before, after, given)
            firsts = [list(run.best_tokens[sentence])[given:steps] for run in runs]
            others = sum(one != two for one, two in zip(*firsts, strict=True))
            told = f"is another one at {others} of {steps - given} step{'s' * (steps - given != 1)}."
            assert told in content.describe_predictions(*runs, sentence)[0].more


def _check_predictions(found, attempt: str, before: np.ndarray, after: np.ndarray, given: int) -> None:
    means = [float(after.mean()), float(before.mean())]
    moved = re.fullmatch(rf"Without the mask its own words get ({PERCENT}), not ({PERCENT})\.", found.headline)
    assert bool(moved) == (abs(means[0] - means[1]) >= 0.005), "what moves by less than is printed stays"
    assert not moved or (moved[1] != moved[2] and all(map(as_percent, moved.groups(), means)))
    assert moved or as_percent(re.search(rf"keep their probability, ({PERCENT})\.$", found.headline)[1], means[1])
    step = re.search(rf"Step (\d+) .* most: “.*” has ({PERCENT}) without the mask, ({PERCENT}) with it\.", found.more)
    change = np.abs(after - before)
    if step:
        at = int(step[1]) - 1 - given
        assert step[2] != step[3] and change[at] >= change.max() - 1e-9
        assert as_percent(step[2], after[at]) and as_percent(step[3], before[at])
    else:
        assert change.max() < 0.0011, "one decimal of a percentage, or over 99.9 %"
    assert ("rest of the batch" in attempt) != ("never learned to copy" in found.more)


@pytest.mark.parametrize("pair", _PAIRS)
@pytest.mark.parametrize("disabled, kind", [("causal", "decoder"), ("padding", "cross"), ("padding", "encoder")])
def test_what_leaks_to_the_masked_cells_and_in_which_head_most(pair, disabled, kind):
    with_mask, without = _run(pair), _run(pair, disabled)
    weights = without.attention(kind).weights.astype(np.float64)
    for sentence in (0, 1):
        target, source = with_mask.target_lengths[sentence], with_mask.source_lengths[sentence]
        width, rows = weights.shape[-1], source if kind == "encoder" else target
        hidden = {row: range(row + 1, target) if disabled == "causal" else range(source, width) for row in range(rows)}
        hidden = {row: list(columns) for row, columns in hidden.items() if columns}
        means = {}
        for layer, head in np.ndindex(weights.shape[0], weights.shape[2]):
            one = weights[layer, sentence, head]
            leaked = {row: sum(one[row, column] for column in columns) for row, columns in hidden.items()}
            means[layer, head] = sum(leaked.values()) / max(1, len(leaked)), leaked
        best = max(each for each, _ in means.values())
        for (layer, at), (mean, leaked) in means.items():
            head = masked_head(without, kind, sentence, layer, at)
            told = content.describe_leak(with_mask, without, head)
            if not hidden:
                assert told is None
                continue
            said, attempt = str(told[0]), told[1]
            average, goes, row, highest = re.match(
                rf"Without the mask (?:this head would cheat: )?({PERCENT}) (looks ahead|of its attention goes to "
                rf"padding)\. That is the mean over rows with masked cells; in row (\d+) \(.*\) it is ({PERCENT})\.",
                said,
            ).groups()
            assert (goes == "looks ahead") == (disabled == "causal")
            assert as_percent(average, mean) and as_percent(highest, leaked[int(row) - 1])
            assert leaked[int(row) - 1] >= max(leaked.values()) - 1e-6
            other = re.fullmatch(rf"layer (\d+), head (\d+), where the most .*: ({PERCENT}) on average\.", attempt)
            if other:
                there = means[int(other[1]) - 1, int(other[2]) - 1][0]
                assert there >= best - 1e-6 and there > mean and as_percent(other[3], there)
            else:
                assert said.endswith("No head of this kind leaks more.") and mean >= best - 1e-6 and not attempt
            if disabled == "causal":
                answer = np.mean([weights[layer, sentence, at, row, row + 1] for row in range(target - 1)])
                assert as_percent(re.search(rf"diagonal, gets ({PERCENT}) on average", said)[1], answer)


@pytest.mark.parametrize("pair", _PAIRS)
def test_that_a_sentence_without_padding_does_not_need_its_mask(pair):
    with_mask, without = _run(pair), _run(pair, "padding")
    lengths = [len(trace_of("en-de", text).source_ids) for text in pair]
    for sentence in (0, 1):
        if lengths[sentence] == max(lengths):
            steps = with_mask.target_lengths[sentence]
            change = np.abs(without.target_probabilities - with_mask.target_probabilities)[sentence, :steps].max()
            said, _ = content.describe_no_padding(with_mask, without, sentence)
            most = re.fullmatch(rf"The largest difference of a probability, ({TINY}), is rounding\.", said.more)[1]
            assert change < 1e-4 and scientific_number(most) == pytest.approx(change, rel=0.5)


def test_a_pass_knows_which_steps_were_open_to_choice():
    own, traces = loaded("en-de"), [replace(trace_of("en-de", "Yes."), num_forced=given) for given in (1, 0)]
    run = run_masked(own.model, own.tokenizer, traces)
    length = len(traces[0].target_ids)
    assert run.scored_steps == (range(1, length), range(length))
