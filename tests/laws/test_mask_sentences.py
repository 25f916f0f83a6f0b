"""Laws of the captions on masks: cells, weights and probabilities of padded batches, counted again cell by cell."""

import math
import re
from functools import cache

import numpy as np
import pytest
from support.claims import PERCENT, TINY, as_percent, as_printed, number, scientific_number
from support.sentences import SENTENCES
from support.streams import KINDS, loaded, trace_of

from headlight.views.masks import text as captions
from transformer.interpret.mask_ablation import MaskedPass, masked_head, run_masked

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


@pytest.mark.parametrize("pair", _PAIRS)
def test_the_shapes_and_how_much_of_the_batch_is_padding(pair):
    run = _run(pair)
    ids = [(trace_of("en-de", text).source_ids, trace_of("en-de", text).fed_ids) for text in pair]
    source, target = (max(len(each[side]) for each in ids) for side in (0, 1))
    padding = sum((source - len(one)) + (target - len(other)) for one, other in ids)
    verb = "is" if padding == 1 else "are"
    assert captions.describe_shapes(run) == (
        f"source [2, {source}], decoder input [2, {target}]; {padding} of {2 * (source + target)} positions {verb} "
        f"padding. source_mask [2, 1, 1, {source}] is broadcast over all heads and queries; target_mask "
        f"[2, 1, {target}, {target}] is the target's padding mask [2, 1, 1, {target}] and the causal mask "
        f"[{target}, {target}], cell by cell."
    )


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
        for layer in range(weights.shape[0]):
            for head in range(weights.shape[2]):
                one = weights[layer, sentence, head]
                leaked = {row: sum(one[row, column] for column in columns) for row, columns in hidden.items()}
                means[layer, head] = sum(leaked.values()) / max(1, len(leaked)), leaked
        for (layer, at), (mean, leaked) in means.items():
            head = masked_head(without, kind, sentence, layer, at)
            said = captions.describe_leak(with_mask, without, head)
            if not hidden:
                assert said == ""
                continue
            whose, goes, highest, row = re.match(
                rf"In layer {layer + 1}, head {at + 1}, ([\d.]+ of .+) now goes to (later tokens|<pad>) on average, "
                r"and ([\d.]+) in row (\d+) ",
                said,
            ).groups()
            average, whose = whose.split(" of ", 1)
            assert (whose == "a row's weight") == (len(hidden) == rows)
            assert (goes == "<pad>") == (disabled == "padding")
            assert as_printed(average, mean) and as_printed(highest, leaked[int(row) - 1])
            assert leaked[int(row) - 1] >= max(leaked.values()) - 1e-6
            if len(leaked) > 1:
                assert number(highest) >= number(average)
            best = max(each for each, _ in means.values())
            other = re.search(r"try layer (\d+), head (\d+), where the most leaks on average: ([\d.]+)\.$", said)
            if other:
                there = means[int(other[1]) - 1, int(other[2]) - 1][0]
                assert there >= best - 1e-6 and there > mean and as_printed(other[3], there)
                assert number(other[3]) > number(average) or there - mean < 1e-6
            else:
                assert said.endswith("; the most of all heads of this kind, on average.") and mean >= best - 1e-6


@pytest.mark.parametrize("pair", _PAIRS)
def test_how_much_weight_is_on_the_token_to_be_predicted(pair):
    without = _run(pair, "causal")
    for sentence in (0, 1):
        steps = without.target_lengths[sentence]
        for layer, at in ((0, 0), (1, 3), (2, 7)):
            head = masked_head(without, "decoder", sentence, layer, at)
            said = captions.describe_answer(without, head)
            if steps == 1:
                assert said == ""
                continue
            fed, wanted = without.fed_tokens[sentence], without.next_tokens[sentence]
            assert [wanted[row] == fed[row + 1] for row in range(steps - 1)] == [True] * (steps - 1)
            assert said.startswith("In each row but the last the next token itself is now unmasked")
            cells = [float(without.decoder.weights[layer, sentence, at, row, row + 1]) for row in range(steps - 1)]
            assert as_printed(re.search(r"a weight of ([\d.]+) on average\.$", said)[1], sum(cells) / len(cells))


@pytest.mark.parametrize("pair", _PAIRS)
def test_that_a_sentence_without_padding_does_not_need_its_mask_and_the_other_one_does(pair):
    with_mask, without = _run(pair), _run(pair, "padding")
    lengths = [len(trace_of("en-de", text).source_ids) for text in pair]
    for sentence in (0, 1):
        steps, missing = with_mask.target_lengths[sentence], max(lengths) - lengths[sentence]
        change = np.abs(without.next_probabilities - with_mask.next_probabilities)[sentence, :steps].max()
        if missing:
            said = captions.describe_reading_padding(with_mask, sentence)
            words = f"the {missing} position{'s are' if missing > 1 else ' is'} there"
            assert words in re.sub(r" after its \d+ tokens?", "", said)
            assert f"after its {lengths[sentence]} token" in said
            continue
        said = captions.describe_no_padding(with_mask, without, sentence)
        most = re.search(rf"no probability by more than ({TINY})\)", said)[1]
        assert change < 1e-4 and scientific_number(most) == pytest.approx(change, rel=0.5)
        other = [place for place in (0, 1) if lengths[place] < max(lengths)]
        assert (
            f"choose sentence {other[0] + 1}, which has some" in said if other else "no sentence of this batch" in said
        )


@pytest.mark.parametrize("pair", _PAIRS[::3])
def test_a_row_by_hand_and_how_exactly_it_is_the_models(pair):
    run = _run(pair)
    for at, kind in enumerate(KINDS):
        for sentence in (0, 1):
            head = masked_head(run, kind, sentence, at, 5 - sentence)
            worst = 0.0
            for row in range(len(head.fed)):
                lines = dict(captions.row_by_hand(head, row))
                total = next(name for name in lines if name.startswith("exp / ")).removeprefix("exp / ")
                true = [math.exp(score) if free else 0.0 for score, free in zip(*_cells(head, row), strict=True)]
                assert math.isclose(number(total), sum(true), rel_tol=6e-4)
                for column, (score, free) in enumerate(zip(*_cells(head, row), strict=True)):
                    texts = [line[column] for line in lines.values()]
                    assert as_printed(texts[0], score) and texts[1] == (texts[0] if free else "−∞")
                    share = true[column] / sum(true)
                    worst = max(worst, abs(share - float(head.weights[row, column])))
                    if not free:
                        assert texts[2:] == ["0", "0", "0"] and head.weights[row, column] == 0
                        continue
                    assert math.isclose(number(texts[2]), true[column], rel_tol=6e-4)
                    assert as_printed(texts[3], share) and as_printed(texts[4], head.weights[row, column])
            sizes = [scientific_number(each) for each in re.findall(rf"by ({TINY})", captions.describe_check(head))]
            assert len(sizes) == 2 and sizes[0] == pytest.approx(worst, rel=0.5) and sizes[1] < 1e-5


def _cells(head, row: int) -> tuple[list[float], list[bool]]:
    return head.scores[row].astype(np.float64).tolist(), head.unmasked[row].tolist()
