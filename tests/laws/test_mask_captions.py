"""Laws of the captions on masks: cells, weights and probabilities of padded batches, counted again cell by cell."""

import re
from functools import cache

import numpy as np
import pytest
from support.claims import PERCENT, as_percent, as_printed
from support.sentences import SENTENCES
from support.streams import KINDS, loaded, trace_of

from transformer.interpret.mask_ablation import MaskedPass, masked_head, run_masked
from views.masks import text as captions

_PAIRS = [*zip(SENTENCES[0:38:2], SENTENCES[1:39:2], strict=True), ("I love my teacher.", "I love my teacher.")]


@cache
def _run(pair: tuple[str, str], disabled: str = "nothing") -> MaskedPass:
    own = loaded("en-de")
    return run_masked(own.model, own.tokenizer, [trace_of("en-de", text) for text in pair], disabled)


@pytest.mark.parametrize("pair", _PAIRS)
def test_how_many_cells_each_mask_covers(pair):
    run = _run(pair)
    width, source = max(run.target_lengths), max(run.source_lengths)
    for sentence in (0, 1):
        real = run.target_lengths[sentence]
        cells = [(row, column) for row in range(width) for column in range(width)]
        padding, causal = {(r, c) for r, c in cells if c >= real}, {(r, c) for r, c in cells if c > r}
        said = captions.describe_masks(run, sentence)
        numbers = re.match(
            r"Sentence (\d), (\d+) tokens? in a batch (\d+) wide: the padding mask covers (\d+) of (\d+) cells?, the "
            r"causal mask (\d+), both together (\d+)\.",
            said,
        ).groups()
        truth = (sentence + 1, real, width, len(padding), len(cells), len(causal), len(padding | causal))
        assert tuple(map(int, numbers)) == truth and (", 1 token in" in said) == (real == 1)
        assert ("fills the whole width" in said) == (real == width)
        if real < width:
            assert f"In the {real} row{'s' * (real != 1)} of real tokens" in said
            assert f"Only the {width - real} row{'s' * (width - real != 1)} of padding could" in said
            assert all(cell in causal for cell in padding if cell[0] < real)
        closed = source - run.source_lengths[sentence]
        numbers = re.findall(r"(\d+) of (\d+)", captions.describe_source_mask(run, sentence))
        truth = ((closed, source), (closed * source, source * source), (closed * width, width * source))
        assert [tuple(map(int, pair)) for pair in numbers] == [*truth]


@pytest.mark.parametrize("pair", _PAIRS)
def test_what_softmax_would_give_to_masked_cells_and_how_a_row_adds_up(pair):
    run = _run(pair)
    for at, kind in enumerate(KINDS):
        for sentence in (0, 1):
            head = masked_head(run, kind, sentence, at, 3 * sentence)
            scores, unmasked = head.scores.astype(np.float64), head.unmasked
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares = [float(p[~u].sum() / p.sum()) for p, u in zip(powers, unmasked, strict=True)][: head.real_queries]
            said = captions.describe_head(head)
            if unmasked.all():
                assert said.startswith(f"All {unmasked.size} cells are unmasked") or unmasked.size == 1
            else:
                covered, cells, mean, highest, row = re.search(
                    rf"covers (\d+) of (\d+) cells\. .* give them ({PERCENT}) of .* on average, and "
                    rf"({PERCENT}) in row (\d+) ",
                    said,
                ).groups()
                rows = [row for row in range(head.real_queries) if not unmasked[row].all()]
                assert (int(covered), int(cells)) == (int((~unmasked).sum()), unmasked.size)
                assert ("of a row that has masked cells on average" in said) == (len(rows) < head.real_queries)
                assert as_percent(mean, sum(shares[row] for row in rows) / len(rows))
                assert shares[int(row) - 1] >= max(shares) - 1e-9 and as_percent(highest, shares[int(row) - 1])
            for row in {0, head.real_queries - 1}:
                _check_row(head, row)


def _check_row(head, row: int) -> None:
    said = captions.row_words(head, row)
    count, key, score, weight, model = re.search(
        r"over the (\d+) unmasked cells? is .* largest term, “(.*)”, is exp\((−?[\d.]+)\) = .* = ([\d.]+); the model's "
        r"own is ([\d.]+)\.$",
        said,
    ).groups()
    open_ = [column for column in range(len(head.keys)) if head.unmasked[row, column]]
    powers = {column: float(np.exp(float(head.scores[row, column]))) for column in open_}
    best = max(powers, key=powers.get)
    assert int(count) == len(open_) and f"{len(open_)} unmasked cell{'s' * (len(open_) != 1)} is" in said
    assert head.keys[best] == key and as_printed(score, head.scores[row, best])
    assert as_printed(weight, powers[best] / sum(powers.values())) and as_printed(model, head.weights[row, best])


@pytest.mark.parametrize("pair", _PAIRS)
@pytest.mark.parametrize("disabled", ["causal", "padding"])
def test_what_a_disabled_mask_does_to_the_next_tokens(pair, disabled):
    with_mask, without = _run(pair), _run(pair, disabled)
    for sentence in (0, 1):
        steps = with_mask.target_lengths[sentence]
        before, after = (run.next_probabilities[sentence, :steps].astype(np.float64) for run in (with_mask, without))
        said = captions.describe_predictions(with_mask, without, sentence)
        change = np.abs(after - before)
        if change.max() <= 1e-6:
            assert said.startswith(f"Over {steps} step{'s' * (steps != 1)} no next token's probability changes")
            continue
        rose, fell = re.search(r"it rose in (\d+) and fell in (\d+)", said).groups()
        assert int(rose) == sum(b - a > 1e-6 for a, b in zip(before, after, strict=True))
        assert int(fell) == sum(a - b > 1e-6 for a, b in zip(before, after, strict=True))
        firsts = zip(with_mask.best_tokens[sentence], without.best_tokens[sentence], strict=True)
        other = [one != two for one, two in list(firsts)[:steps]]
        told = re.search(r"another one at (\d+) of (\d+) step", said)
        assert (int(told[1]) if told else 0) == sum(other)
        step, had, has = re.match(
            rf"Step (\d+) changed most: “.*” had ({PERCENT}) with the mask and has ({PERCENT}) without it\.", said
        ).groups()
        assert change[int(step) - 1] >= change.max() - 1e-9
        assert as_percent(had, before[int(step) - 1]) and as_percent(has, after[int(step) - 1])
        for words, values in ((r"on average with the mask", before), (r"without", after)):
            mean = re.search(rf"({PERCENT}) {words}(?:;|,)", said)[1]
            assert as_percent(mean, values.mean())


@pytest.mark.parametrize("pair", _PAIRS)
def test_whether_attending_to_the_next_token_helped(pair):
    with_mask, without = _run(pair), _run(pair, "causal")
    for sentence in (0, 1):
        steps = with_mask.target_lengths[sentence]
        before, after = (run.next_probabilities[sentence, :steps].astype(np.float64) for run in (with_mask, without))
        gain = float((after - before).mean())
        said = captions.describe_cheating(with_mask, without, sentence)
        told = re.search(r"(helped|did not help): ([+−]?[\d.]+) on average in", said)
        assert bool(told) == (abs(gain) >= 0.005)
        if told:
            assert (told[1] == "helped") == (gain > 0) and as_printed(told[2].lstrip("+"), gain)
