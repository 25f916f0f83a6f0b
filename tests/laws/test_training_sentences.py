"""Laws of the captions on batches, label smoothing and the learning rate: counted and computed again by hand."""

import math
import re
from functools import cache

import numpy as np
import pytest
from support.claims import PERCENT, TINY, as_percent, as_printed, as_scientific, number, scientific_number
from support.sentences import SENTENCES
from support.streams import CHECKPOINTS, loaded, trace_of

from headlight.views.training import batching_text, label_smoothing_text
from headlight.views.training.batching_figure import WAYS
from headlight.views.training.label_smoothing_figure import MEASURES, WORDS
from transformer.data.batching import (
    count_padding,
    epoch_batches,
    make_examples,
    open_batch,
    random_batches,
    read_samples,
)
from transformer.experiments.label_smoothing import Smoothing, SmoothingForm

BUDGETS = (16, 128, 512, 2048)


@cache
def _examples(name: str):
    own = loaded(name)
    return read_samples(CHECKPOINTS / name, own.tokenizer, own.model.config.max_length)


def _odd_examples():
    """The forty sentences as both sides of a pair: one token, sixty words, repeated ones."""
    own = loaded("en-de")
    pairs = [(text, SENTENCES[(at * 7 + 3) % len(SENTENCES)]) for at, text in enumerate(SENTENCES)]
    return make_examples(pairs, own.tokenizer, own.model.config.max_length)


@cache
def _batches():
    """Batches with their budgets: a spread of both shipped samples and of the forty sentences, both ways."""
    found = []
    for examples in (_odd_examples(), _examples("en-de"), _examples("reverse")):
        for budget in BUDGETS:
            for way in (epoch_batches(examples, budget, 0.0, 512, 1), random_batches(examples, budget, 2)):
                found += [(batch, budget) for batch in way[:: max(1, len(way) // 4)]]
    return found


def _cells(batch) -> tuple[int, int, int]:
    """Cells of source and of target, and how many of all are padding, counted one by one."""
    sources, targets = [len(each.source) for each in batch], [len(each.target) - 1 for each in batch]
    padding = sum(max(side) - one for side in (sources, targets) for one in side)
    return len(batch) * max(sources), len(batch) * max(targets), padding


def test_a_batch_in_numbers():
    alone = 0
    for batch, budget in _batches():
        opened = open_batch(batch, loaded("en-de").tokenizer)
        said = batching_text.describe_batch(opened, count_padding(batch), budget)
        source, target, padding = _cells(batch)
        size = len(batch)
        head = (
            f"{size} sentence{'s' * (size != 1)}: {size} x {source // size} cells of source and {size} x "
            f"{target // size} of target. Of these {source + target:,}, {padding:,} {'is' if padding == 1 else 'are'} "
            "padding: "
        )
        assert said.startswith(head)
        share = re.match(rf"({PERCENT}) of the cells are computed for nothing\. ", said[len(head) :])
        assert as_percent(share[1], padding / (source + target))
        longer = max(source, target)
        if longer > budget:
            assert size == 1 and said.endswith("This one sentence is longer than the budget, so it stands alone.")
            alone += 1
        else:
            ends = f"{size} x {longer // size} = {longer:,} of at most {budget:,} tokens."
            assert said.endswith(f"The longer side counts for the budget: {ends}")
    assert alone


def test_the_shapes_masks_and_shift_of_a_batch():
    tokenizer = loaded("en-de").tokenizer
    for batch, _ in _batches():
        opened = open_batch(batch, tokenizer)
        size, (source, target) = len(batch), (cells // len(batch) for cells in _cells(batch)[:2])
        shapes = re.findall(r"\[[\d, ]+\]", batching_text.describe_shapes(opened))
        assert shapes == [
            *(f"[{size}, {source}]", f"[{size}, {target}]", f"[{size}, 1, 1, {source}]"),
            *(f"[{size}, 1, {target}, {target}]", f"[{size}, 1, 1, {target}]", f"[{target}, {target}]"),
        ]
        for row in {0, size // 2, size - 1}:
            real, steps = len(batch[row].source), len(batch[row].target) - 1
            said = batching_text.describe_source(opened, row)
            if real == source:
                assert said.startswith(f"All {source} positions are tokens")
            else:
                hidden = source - real
                assert said.startswith(f"{real} of {source} positions are tokens, so the source mask hides {hidden} ")
                assert ("1 column:" in said and "reads it," in said) == (hidden == 1)
            cells = [(query, key) for query in range(target) for key in range(target)]
            causal, padding = {c for c in cells if c[1] > c[0]}, {c for c in cells if c[1] >= steps + (steps < target)}
            truth = len(cells), len(causal), len(padding), len(causal | padding)
            assert tuple(map(int, re.findall(r"\d+", batching_text.describe_target(opened, row)))) == truth
            _check_shift(
                batching_text.describe_shift(opened, row), [*map(tokenizer.piece_text, batch[row].target)], target
            )


def _check_shift(said: str, target: list[str], width: int) -> None:
    steps = len(target) - 1
    pairs = re.findall(r"fed “(.+?)”, predict “(.+?)”[;.]", said)
    assert pairs == [(target[0], target[1]), (target[-2], target[-1])][: min(2, steps)]
    assert said.startswith("A single task" if steps == 1 else f"One sentence, {steps} tasks at once")
    if steps == width:
        assert said.endswith(f"All {width} positions count in the loss.")
        return
    many = width - steps
    words = "1 position after them predicts padding and counts" if many == 1 else f"{many} positions after them predict"
    assert f"The {words}" in said and f"at position {steps + 1}, “{target[-1]}” is fed only because" in said


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", ["en-de", "reverse", "the forty"])
def test_what_bucketing_and_a_larger_sample_save(name, budget):
    examples = _odd_examples() if name == "the forty" else _examples(name)
    ways = epoch_batches(examples, budget, 0.0, 512, 1), random_batches(examples, budget, 1)
    cells = [sum(sum(_cells(batch)[:2]) for batch in way) for way in ways]
    padding = [sum(_cells(batch)[2] for batch in way) for way in ways]
    paddings = {label: count_padding(*way) for label, way in zip(WAYS, ways, strict=True)}
    counts = {label: len(way) for label, way in zip(WAYS, ways, strict=True)}
    said = batching_text.describe_both_ways(paddings, counts)
    one, other = re.match(
        rf"Batched {WAYS[0]}, ({PERCENT}) of the cells are padding; {WAYS[1]}, ({PERCENT})\.", said
    ).groups()
    assert as_percent(one, padding[0] / cells[0]) and as_percent(other, padding[1] / cells[1])
    found = re.search(
        r"same ([\d,]+) tokens take ([\d,]+) cells in ([\d,]+) batch(?:es)?, or ([\d,]+) in ([\d,]+)", said
    )
    truth = (cells[0] - padding[0], cells[0], len(ways[0]), cells[1], len(ways[1]))
    assert tuple(map(number, found.groups())) == truth and cells[1] - padding[1] == truth[0]
    assert all(f" in {len(way)} batch{'es' * (len(way) > 1)}" in said for way in ways)
    times = re.search(r": ([\d.]+) times as many cells\.$", said)
    assert bool(times) == (cells[1] / cells[0] >= 1.01)
    if times:
        assert float(times[1]) == pytest.approx(cells[1] / cells[0], rel=0.005) and float(times[1]) > 1

    part = examples[: len(examples) // 4]
    fewer = epoch_batches(part, budget, 0.0, 512, 1)
    ratio = sum(_cells(batch)[2] for batch in fewer) / sum(sum(_cells(batch)[:2]) for batch in fewer)
    for trained in (None, 1_234_567):
        said = batching_text.describe_size(len(part), count_padding(*fewer), len(examples), paddings[WAYS[0]], trained)
        few, whole, count, everything = re.match(
            r"(\d+) of these pairs alone, bucketed by length, have ([\d.]+) % of padding; all (\d+) have ([\d.]+) %\.",
            said,
        ).groups()
        assert (int(few), int(count)) == (len(part), len(examples))
        assert as_printed(whole, 100 * ratio) and as_printed(everything, 100 * padding[0] / cells[0])
        assert ("The more pairs there are" in said) == (float(whole) > float(everything))
        assert ("training had 1,234,567." in said) == (trained is not None and float(whole) > float(everything))


_FORMS = [(epsilon / 20, classes) for epsilon in range(20) for classes in range(4, len(WORDS) + 1)]


def _targets(epsilon: float, classes: int) -> tuple[list[float], list[float]]:
    """The right class first, then the others, padding last, in either form."""
    spread = [epsilon / classes] * (classes - 1)
    return [1 - epsilon + epsilon / classes, *spread], [1 - epsilon, *[epsilon / (classes - 2)] * (classes - 2), 0.0]


def _entropy(masses: list[float]) -> float:
    return -sum(mass * math.log(mass) for mass in masses if mass)


@pytest.mark.parametrize("epsilon, classes", _FORMS)
def test_the_target_in_both_forms(epsilon, classes):
    over_all, over_others = (Smoothing(form, epsilon, classes) for form in SmoothingForm)
    said = label_smoothing_text.describe_targets(over_all, over_others)
    if epsilon == 0:
        assert (
            said == "With ε = 0 nothing is smoothed, both forms are the same: the right class has 1, all others have 0."
        )
        return
    every, others = _targets(epsilon, classes)
    assert math.isclose(sum(every), 1) and math.isclose(sum(others), 1)
    taken, count, back, kept, pad, keeps, many, gets = re.search(
        r"mass ε = ([\d.]+) is taken\. Spread over all (\d+) classes, ([\d.]+) falls back on it, so it keeps ([\d.]+), "
        r"and padding gets ([\d.]+), .* keeps ([\d.]+), each of the (\d+) others gets ([\d.]+), padding nothing\.",
        said,
    ).groups()
    assert float(taken) == epsilon and (int(count), int(many)) == (classes, classes - 2)
    printed = (back, every[1]), (kept, every[0]), (pad, every[-1]), (keeps, others[0]), (gets, others[1])
    assert all(abs(float(text) - mass) <= 0.00005 + 1e-9 for text, mass in printed)
    more = [name for name, masses in zip(SmoothingForm, (every, others), strict=True) if masses[1] - masses[0] > 1e-9]
    assert ("a wrong class now has more" in said) == bool(more)
    assert not more or f"(spread over {more[0]})" in said


@pytest.mark.parametrize("epsilon, classes", _FORMS[::7])
def test_where_the_loss_is_least_and_what_being_surer_costs(epsilon, classes):
    forms = [Smoothing(form, epsilon, classes) for form in SmoothingForm]
    said = label_smoothing_text.describe_losses(*forms)
    if epsilon == 0:
        assert "least at p = 1.000" in said
        return
    least, other, sure, *losses = re.search(
        r"loss is least at ([\d.]+) when spread over all classes, at ([\d.]+) in the other form, and beyond that "
        r"more certainty costs\. At p = ([\d.]+) the cross-entropy is ([\d.]+) and ([\d.]+) instead of "
        r"([\d.]+) and ([\d.]+)\.",
        said,
    ).groups()
    for at, (masses, printed) in enumerate(zip(_targets(epsilon, classes), (least, other), strict=True)):

        def loss(p, masses=masses):
            sharing = sum(mass > 0 for mass in masses[1:])
            return -masses[0] * math.log(p) - sum(masses[1:]) * math.log((1 - p) / sharing)

        assert as_printed(printed, masses[0]) and float(printed) < 1
        grid = [loss(p / 1000) for p in range(1, 1000)]
        assert abs(1 + int(np.argmin(grid)) - 1000 * masses[0]) <= 1
        beyond = grid[math.ceil(1000 * masses[0]) :]
        assert beyond == sorted(beyond)
        assert as_printed(losses[at], loss(float(sure))) and as_printed(losses[2 + at], _entropy(masses))
        rows = dict(label_smoothing_text.minimum_rows(forms[at : at + 1], MEASURES[0]))
        best, found, lowest, again = (float(text) for text in rows[f"ε {epsilon:g}"])
        assert abs(best - masses[0]) < 1e-6 and abs(found - masses[0]) < 1e-5
        assert abs(lowest - _entropy(masses)) < 1e-6 and abs(again - lowest) < 2e-6
        rows = dict(label_smoothing_text.minimum_rows(forms[at : at + 1], MEASURES[1]))
        assert rows[f"ε {epsilon:g}"][2:] == ["0.000000", "0.000000"]
    apart = re.findall(rf"({TINY})", label_smoothing_text.describe_check(forms))
    assert len(apart) == 2 and all(scientific_number(each) < 1e-6 for each in apart)


def test_what_to_try_with_label_smoothing():
    gaps = [abs(one[0] - other[0]) for one, other in (_targets(0.1, classes) for classes in range(4, 40))]
    assert gaps == sorted(gaps, reverse=True), "the fewer classes, the farther apart the two forms"
    for epsilon, classes in _FORMS:
        smoothing = Smoothing(SmoothingForm.ALL, epsilon, classes)
        tried = int(
            (re.match(r"(\d+) classes: the", label_smoothing_text.try_targets(smoothing, len(WORDS))) or [0, -1])[1]
        )
        assert tried == (-1 if epsilon == 0 else 4 if classes == len(WORDS) else len(WORDS))
        for place, measure in enumerate(MEASURES):
            said = label_smoothing_text.try_losses(smoothing, measure)
            assert said.startswith(f"{MEASURES[1 - place]}: there ") and ("ε = 0" in said) == bool(epsilon)
            assert ("all minima lie at 0" in said) == (place == 0)


@pytest.mark.parametrize("name", ["en-de", "reverse"])
def test_how_sure_a_model_is_beside_what_its_loss_asks_for(name):
    classes, above_right = loaded(name).model.config.vocab_size, 0
    epsilon = loaded(name).checkpoint.settings("label_smoothing").label_smoothing
    for share in {epsilon, 0.0, 0.1, 0.5}:
        own, other = (Smoothing(form, share, classes) for form in SmoothingForm)
        every, others = _targets(share, classes)
        said = label_smoothing_text.describe_checkpoint(own, other, 1.25)
        if share:
            right, differs, floor = re.search(
                r"right token gets ([\d.]+)\. .* differ by (\S+) there.* below ([\d.]+) nats", said
            ).groups()
            assert (
                as_printed(right, every[0])
                and as_printed(floor, _entropy(every))
                and "at the end of training it was 1.250." in said
            )
            assert as_scientific(differs, every[0] - others[0])
        else:
            assert "trained without label smoothing" in said
        for text in SENTENCES[:-1]:
            trace = trace_of(name, text)
            values = trace.next_probabilities.astype(np.float64)
            said = label_smoothing_text.describe_confidence(trace, own)
            token, surest, beside, above, count = re.match(
                r"In this sentence the surest of \d+ steps? is “(.+)” with ([\d.]+), (.+); (\d+) of (\d+) ",
                said,
            ).groups()
            assert token in [
                one for one, value in zip(trace.next_tokens, values, strict=True) if value >= values.max() - 1e-6
            ]
            assert as_printed(surest, values.max()) and int(count) == len(values)
            assert int(above) == sum(value > every[0] + 1e-9 for value in values)
            shown = float(surest) - round(every[0], 4)
            told = re.match(r"([\d.]+) (above|below) ([\d.]+)$", beside)
            assert bool(told) == (abs(shown) > 1e-6)
            if told:
                assert float(told[1]) == pytest.approx(abs(shown), abs=1e-6) and (told[2] == "above") == (shown > 0)
                above_right += told[2] == "above"
            sure = [value for value in values if value > 0.8]
            mean = re.search(r"The mean of those above 0\.8, (\d+) of (\d+), is (over )?([\d.]+)\. ", said)
            assert bool(mean) == bool(sure)
            if mean:
                average = sum(sure) / len(sure)
                assert (int(mean[1]), int(mean[2])) == (len(sure), len(values))
                assert float(mean[4]) < average < 1 if mean[3] else as_printed(mean[4], average)
    assert above_right
