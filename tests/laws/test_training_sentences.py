"""Laws of the sentences on batches, label smoothing and live trainings: counted and computed again by hand."""

import math
import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from support.claims import PERCENT, as_percent, as_printed, as_scientific
from support.sentences import SENTENCES
from support.streams import CHECKPOINTS, loaded, trace_of

from headlight.plots.training import MEASURES, WAYS, WORDS
from headlight.views.masks.content import describe_masks, describe_shapes
from headlight.views.training import batching, label_smoothing, live_content
from transformer.data.batching import (
    count_padding,
    epoch_batches,
    make_examples,
    random_batches,
    read_samples,
    view_examples,
)
from transformer.experiments.training import Smoothing, SmoothingForm
from transformer.toy.jobs import JobView
from transformer.toy.settings import Task, ToySettings, ToyStatus
from transformer.training.replay import TrainingReplay

BUDGETS = (16, 256, 2048)


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
    tokenizer, alone = loaded("en-de").tokenizer, 0
    for batch, budget in _batches():
        opened, size = view_examples(batch, tokenizer), len(batch)
        source, target, padding = _cells(batch)
        said = str(batching.describe_batch(opened, count_padding(batch), budget))
        share = re.match(rf"{padding:,} of {source + target:,} cells \(({PERCENT})\) are padding, ", said)
        assert as_percent(share[1], padding / (source + target))
        assert f"source has {size} x {source // size} cells, the target {size} x {target // size}. " in said
        assert f"the budget of {budget:,} tokens: {max(source, target):,}" in said
        assert ("stands alone" in said) == (max(source, target) > budget)
        assert max(source, target) <= budget or size == 1
        alone += size == 1 and max(source, target) > budget
        source, target = source // size, target // size
        assert re.findall(r"\[[\d, ]+\]", describe_shapes(opened)) == [
            *(f"[{size}, {source}]", f"[{size}, {target}]", f"[{size}, 1, 1, {source}]"),
            *(f"[{size}, 1, {target}, {target}]", f"[{size}, 1, 1, {target}]", f"[{target}, {target}]"),
        ]
        for row in {0, size // 2, size - 1}:
            real, steps = len(batch[row].source), len(batch[row].target) - 1
            said = batching.describe_source(opened, row)
            assert said.startswith(
                f"{real} of {source} positions are tokens; the source mask hides the other {source - real} "
            )
            cells = [(query, key) for query in range(target) for key in range(target)]
            causal, padding = {c for c in cells if c[1] > c[0]}, {c for c in cells if c[1] >= steps + (steps < target)}
            truth = [len(causal), len(cells), len(padding), *[len(causal | padding)] * bool(padding)]
            assert [*map(int, re.findall(r"\d+", str(describe_masks(opened, row))))][: len(truth)] == truth
            pieces, said = [*map(tokenizer.piece_text, batch[row].target)], str(batching.describe_shift(opened, row))
            pairs = re.findall(r"[Ff]ed “(.+?)”, predict “(.+?)”[;.]", said)
            assert pairs == [(pieces[0], pieces[1]), (pieces[-2], pieces[-1])]
            assert said.startswith(f"This sentence is {steps} task{'s' * (steps != 1)} at once. ")
            wider = f"other {target - steps} position{'s' * (target - steps != 1)} would predict padding and count for"
            assert (wider in said) == (steps < target) == ("nothing in the loss" in said), "none is said to be there"
            assert steps == target or f": “{pieces[-1]}” is fed only because the batch is wider." in said
    assert alone


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", ["en-de", "the forty"])
def test_what_bucketing_and_a_larger_sample_save(name, budget):
    examples = _odd_examples() if name == "the forty" else _examples(name)
    ways = epoch_batches(examples, budget, 0.0, 512, 1), random_batches(examples, budget, 1)
    cells = [sum(sum(_cells(batch)[:2]) for batch in way) for way in ways]
    padding = [sum(_cells(batch)[2] for batch in way) for way in ways]
    paddings = {label: count_padding(*way) for label, way in zip(WAYS, ways, strict=True)}
    times, other, one = re.fullmatch(
        rf"Batched {WAYS[1]}, the same tokens take (?:(\S+) times )?as many cells\. Of these ({PERCENT}) are padding; "
        rf"batched {WAYS[0]}, ({PERCENT})\.",
        str(batching.describe_both_ways(paddings)),
    ).groups()
    assert as_percent(one, padding[0] / cells[0]) and as_percent(other, padding[1] / cells[1])
    assert float(times or 1) == pytest.approx(cells[1] / cells[0], rel=0.005)
    same = batching.describe_both_ways(dict.fromkeys(WAYS, paddings[WAYS[0]]))
    assert same.headline == f"Batched {WAYS[1]}, the same tokens take as many cells."

    part = examples[: len(examples) // 4]
    fewer = epoch_batches(part, budget, 0.0, 512, 1)
    ratio = sum(_cells(batch)[2] for batch in fewer) / sum(sum(_cells(batch)[:2]) for batch in fewer)
    said = batching.describe_size(len(part), count_padding(*fewer), len(examples), paddings[WAYS[0]], 1_234_567)
    few, count, everything, whole = re.search(
        r"length: ([\d.]+) % with (\d+) of these pairs, ([\d.]+) % with all (\d+)\. Training had 1,234,567 pairs\.$",
        said,
    ).groups()
    assert (int(count), int(whole)) == (len(part), len(examples))
    assert as_printed(few, 100 * ratio) and as_printed(everything, 100 * padding[0] / cells[0])


_FORMS = [(epsilon / 20, classes) for epsilon in range(0, 20, 2) for classes in range(4, len(WORDS) + 1, 3)]


def _targets(epsilon: float, classes: int) -> tuple[list[float], list[float]]:
    """The right class first, then the others, padding last, in either form."""
    spread = [epsilon / classes] * (classes - 1)
    return [1 - epsilon + epsilon / classes, *spread], [1 - epsilon, *[epsilon / (classes - 2)] * (classes - 2), 0.0]


def _entropy(masses: list[float]) -> float:
    return -sum(mass * math.log(mass) for mass in masses if mass)


@pytest.mark.parametrize("epsilon, classes", _FORMS)
def test_the_target_in_both_forms_and_where_its_loss_is_least(epsilon, classes):
    forms = [Smoothing(form, epsilon, classes) for form in SmoothingForm]
    both = every, others = _targets(epsilon, classes)
    assert math.isclose(sum(every), 1) and math.isclose(sum(others), 1)
    count, kept, taken, each, keeps, many, gets = re.match(
        r"Spread over all (\d+) classes, the right one keeps ([\d.]+)\. With ε = ([\d.]+) each other gets ([\d.]+), "
        r"padding too, .* keeps ([\d.]+), each of the (\d+) others gets ([\d.]+), padding nothing",
        str(label_smoothing.describe_targets(*forms)),
    ).groups()
    assert float(taken) == epsilon and (int(count), int(many)) == (classes, classes - 2)
    printed = (kept, every[0]), (each, every[-1]), (keeps, others[0]), (gets, others[1])
    assert all(abs(float(text) - mass) <= 0.00005 + 1e-9 for text, mass in printed)

    said = str(label_smoothing.describe_losses(*forms))
    told = re.fullmatch(
        r"Spread over all classes, the loss is least at p = ([\d.]+)\. In the other form, at ([\d.]+); .* At p = "
        r"([\d.]+) the cross-entropy is (\S+) and (\S+) instead of (\S+) and (\S+), the .*",
        said,
    )
    assert bool(told) == (epsilon > 0) != said.startswith("With ε = 0 the loss is least at p = 1. "), said
    for at, masses in enumerate(both):

        def loss(p, masses=masses):
            sharing = sum(mass > 0 for mass in masses[1:])
            return -masses[0] * math.log(p) - sum(masses[1:]) * math.log((1 - p) / max(1, sharing))

        grid = [loss(p / 1000) for p in range(1, 1000)]
        assert abs(1 + int(np.argmin(grid)) - 1000 * masses[0]) <= 1
        assert not told or as_printed(told[1 + at], masses[0]) and as_printed(told[6 + at], _entropy(masses))
        assert not told or as_printed(told[4 + at], loss(float(told[3])))
        for measure, floor in zip(MEASURES, (_entropy(masses), 0.0), strict=True):
            ((_, texts),) = label_smoothing.minimum_rows(forms[at : at + 1], measure)
            best, found, lowest, again = map(float, texts)
            assert abs(best - masses[0]) < 1e-6 and abs(found - masses[0]) < 1e-5
            assert abs(lowest - floor) < 1e-6 and abs(again - floor) < 2e-6


def test_what_the_advice_promises():
    gaps = [abs(one[0] - other[0]) for one, other in (_targets(0.1, classes) for classes in range(4, 40))]
    assert gaps == sorted(gaps, reverse=True), "the fewer classes, the farther apart the two forms"


@pytest.mark.parametrize("name", ["en-de", "reverse"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_how_sure_a_model_is_beside_what_its_loss_asks_for(name, epsilon):
    classes = loaded(name).model.config.vocab_size
    own, other = (Smoothing(form, epsilon, classes) for form in SmoothingForm)
    every, others = _targets(epsilon, classes)
    right, less, floor = re.search(
        r"right token gets ([\d.]+) \(in the other form, (\S+) less\)\. .* below ([\d.]+) nats .* it was 1\.250\.$",
        label_smoothing.describe_checkpoint(own, other, 1.25),
    ).groups()
    assert as_printed(right, every[0]) and as_printed(floor, _entropy(every))
    assert as_scientific(less, every[0] - others[0])
    for text in SENTENCES[:-1:2]:
        trace = trace_of(name, text)
        values = trace.target_probabilities.astype(np.float64)
        token, surest, above, count = re.fullmatch(
            r"The surest of \d+ steps? is “(.+)” with ([\d.]+)\.(?: Above .* lie (\d+) of (\d+): it is no bound\.)?",
            str(label_smoothing.describe_confidence(trace, own)),
        ).groups()
        tokens = zip(trace.target_tokens, values, strict=True)
        assert token in [one for one, value in tokens if value >= values.max() - 1e-6]
        assert as_printed(surest, values.max()) and bool(count) == (epsilon > 0), "nothing can lie above 1"
        assert not epsilon or int(count) == len(values)
        assert not epsilon or int(above) == sum(value > every[0] + 1e-9 for value in values)
        given = int(values.argmax()) + 1
        if given < len(values):
            told = label_smoothing.describe_confidence(replace(trace, num_forced=given), own).headline
            rest = len(values) - given
            assert told.startswith(f"The surest of {rest} step{'s' * (rest != 1)} is “"), "a given token counts nowhere"
            assert as_printed(re.search(r" with ([\d.]+)\.$", told)[1], values[given:].max())


_SETTINGS = ToySettings()
_UNDER_WAY = ToyStatus(update=500, loss=0.5, exact_match=0.5, measured=90, seconds=25, updates_a_second=20, end="")
_LEARNED = replace(_UNDER_WAY, update=575, exact_match=0.992, measured=500, seconds=18.4, end="goal")
_FAILED = replace(_UNDER_WAY, update=2000, end="limit", exact_match=0.37, seconds=70)


def _view(state: str, status: ToyStatus | None, place: int = 0) -> JobView:
    return JobView(_SETTINGS, state, place, status, None)


def test_task_and_model_are_told_in_texts():
    assert live_content.task_text(_SETTINGS) == "reverse: write it backwards; sequences of 10 out of 11 letters, a to k"
    digits = replace(_SETTINGS, task="sort", symbols="digits", vocabulary=10)
    assert live_content.task_text(digits).endswith("out of 10 digits, 0 to 9")
    words = live_content.model_text(_SETTINGS)
    assert "2 + 2 layers of 8 heads, d_model 64, pre-norm" in words and words.endswith("; seed 1")
    assert "rising for 200 updates, then falling (Noam), at most 3.54·10⁻³" in words, "0.4 / sqrt(64 x 200)"
    constant = live_content.model_text(replace(_SETTINGS, schedule="none", label_smoothing=0.1))
    assert "constant from the first update, at most" in constant and ", label smoothing 0.1" in constant


@pytest.mark.parametrize(
    "state, status, place, words",
    [
        ("waiting", None, 3, "Place 3 in the line"),
        ("running", None, 0, "Starting: "),
        (
            "running",
            _UNDER_WAY,
            0,
            "Training, 20.0 updates per second: of 90 held-out sequences it writes 50 % entirely",
        ),
        ("done", _LEARNED, 0, "Learned after 575 updates, in 18 seconds: of 500 held-out sequences it writes 99.2 %"),
        ("done", _FAILED, 0, "Not learned after 2,000 updates (70 seconds): of 90 held-out sequences it writes 37 %"),
        ("stopped", None, 0, "Stopped before its first update."),
        ("stopped", replace(_UNDER_WAY, update=1), 0, "Stopped after 1 update."),
        ("left", _UNDER_WAY, 0, "Ended after 500 updates, because nobody was looking any more."),
        ("failed", None, 0, "The training broke off before its first update; please start it again."),
    ],
)
def test_where_a_run_stands_is_told_in_one_sentence(state, status, place, words):
    assert live_content.state_text(_view(state, status, place)).startswith(words)


def test_the_time_left_is_that_to_the_limit_and_two_runs_are_compared_when_both_are_over():
    assert live_content.time_left_text(_UNDER_WAY, _SETTINGS) == f"{(_SETTINGS.max_updates - 500) / 20:.0f} s"
    assert live_content.time_left_text(replace(_UNDER_WAY, updates_a_second=0.0), _SETTINGS) == "—"
    first = ("Noam", _view("done", _LEARNED))
    found = live_content.comparison([first, ("constant", _view("done", _FAILED))])
    assert found.headline == "“Noam” gets 99.2 % right, “constant” 37 %."
    assert found.more.startswith("That is after 575 and 2,000 updates, and one seed: ")
    longer = [replace(_LEARNED, symbols_when_longer=share) for share in (0.31, 0.05)]
    told = live_content.comparison([(name, _view("done", each)) for name, each in zip("ab", longer, strict=True)]).more
    assert told.startswith("In sequences twice as long, “a” sets 31 % of the symbols right, “b” 5 %. That is after ")
    both = live_content.comparison([first, ("constant", _view("done", replace(_LEARNED, update=1200)))])
    assert both.headline == "“Noam” needs 575 updates, “constant” 1,200."
    for state, status in (("running", _UNDER_WAY), ("failed", None)):
        assert live_content.comparison([first, ("constant", _view(state, status))]) is None


def test_which_head_reads_the_symbol_to_be_written_and_since_when():
    wanted, weights = Task.SORT.positions("baca"), np.random.default_rng(2).random((6, 2, 4, 5, 5))
    weights[3:, 1, 2, range(4), [3, 1, 0, 2]] = 2  # a a b c stand at places 1 or 3, 3 or 1, 0, 2
    steps = np.array([0, 10, 20, 1500, 1600, 1700])
    replay = TrainingReplay(steps, (SimpleNamespace(cross=weights),), np.empty((0, 2)), np.empty((0, 2)), "exact match")
    said = str(live_content.reading_story(replay, wanted))
    before = sum(int(weights[0, 1, 2, row].argmax()) in keys for row, keys in enumerate(wanted))
    assert said == (
        "Layer 2, head 3 reads the right symbol 4 of 4 times. No head of the cross-attention does so more often at "
        f"update 1,700: its largest weight is on the symbol to be written. At update 0 it was {before} times, and for "
        "the first time that often at update 1,500."
    )
