"""What lessons ask about masks, against the model in NumPy, with its causal mask and without it, and the page."""

import re
from functools import cache

import numpy as np
import pytest
from support.by_hand import ByHand
from support.lesson_runs import LANGUAGES, decided, measured, named, run_of
from support.pages import ROOT, headlines, open_page

from headlight.lessons.answer import Answer, Kind, Run
from headlight.lessons.file import read_lesson
from headlight.lessons.posed import pose

BOTH = pytest.mark.parametrize("checkpoint", LANGUAGES)
MASK = read_lesson(ROOT / "headlight" / "lessons" / "shipped" / "mask.toml")


class Without(ByHand):
    """The model with every decoder row open to the end."""

    def attend(self, place, kind, layer, stream, memory, causal) -> np.ndarray:
        return super().attend(place, kind, layer, stream, memory, causal=False)


@cache
def models(checkpoint: str) -> tuple[ByHand, ByHand]:
    folder = ROOT / "checkpoints" / checkpoint
    return ByHand(folder), Without(folder)


def passes(checkpoint: str, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of the translation's tokens with the mask and without; the models' stages are this run's."""
    trace, found = run.trace, []
    for model in models(checkpoint):
        logits = model.run(trace.source_ids, trace.decoder_input_ids)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        found.append((powers / powers.sum(axis=1, keepdims=True))[range(len(logits)), list(trace.target_ids)])
    return found[0], found[1]


def right(answer: Answer) -> str:
    (name,) = answer.right
    return name


@BOTH
def test_a_row_may_read_its_own_token_and_all_before(checkpoint):
    answers = decided(checkpoint, "open_cells")
    assert len(answers) >= 9
    for run, answer in answers:
        tokens, row = run.trace.decoder_input_tokens, int(answer.names["row"])
        models(checkpoint)[0].run(run.trace.source_ids, run.trace.decoder_input_ids)
        open_to = models(checkpoint)[0].stages["decoder", 0]["weights"].sum(axis=0)[row - 1] > 0
        assert right(answer) == str(open_to.sum()) and len(answer.options) == 4
        assert answer.names["fed"] == named(tokens)[row - 1] and answer.names["length"] == str(len(tokens))
    assert "too short" in measured(run_of(checkpoint, "No!"), "open_cells")


@BOTH
def test_probabilities_fall_without_the_mask_as_the_model_by_hand_says(checkpoint):
    answers = decided(checkpoint, "leak_effect")
    assert len(answers) == 10
    for run, answer in answers:
        before, after = passes(checkpoint, run)
        change = after.mean() - before.mean()
        assert right(answer) == ("rise" if change > 0 else "fall") and abs(change) > 0.05
        said = re.search(r"from ([\d.]+) % to ([\d.]+) %\.", answer.truth)
        assert [float(each) / 100 for each in said.groups()] == pytest.approx([before.mean(), after.mean()], abs=0.0052)


@BOTH
def test_the_last_token_is_spared_and_the_others_that_are_offered_are_not(checkpoint):
    answers = decided(checkpoint, "leak_spared")
    assert len(answers) >= 8
    for run, answer in answers:
        before, after = passes(checkpoint, run)
        last = len(before) - 1
        assert right(answer) == str(last + 1) and abs(before[last] - after[last]) < 0.051
        others = [int(option.name) - 1 for option in answer.options if option.name != right(answer)]
        assert len(others) >= 2 and all(before[at] - after[at] > 0.099 for at in others)
    assert "too short" in measured(run_of(checkpoint, "."), "leak_spared")


@BOTH
def test_the_head_that_leaks_most_leaks_what_its_rows_do_on_average(checkpoint):
    answers = decided(checkpoint, "leaked_weight")
    assert len(answers) == 10
    for run, answer in answers:
        passes(checkpoint, run)
        model = models(checkpoint)[1]
        weights = np.stack([model.stages["decoder", layer]["weights"] for layer in range(3)])
        leaks = np.triu(weights, 1).sum(axis=-1)[..., :-1].mean(axis=-1)
        shown = tuple(int(answer.names[name]) - 1 for name in ("layer", "head"))
        assert answer.kind == Kind.NUMBER and leaks[shown] == pytest.approx(leaks.max(), abs=1e-4)
        assert answer.value == pytest.approx(100 * leaks.max(), abs=0.1)
        assert answer.is_right(answer.value - 9) and not answer.is_right(answer.value - 11)


@BOTH
def test_a_row_predicts_the_token_after_the_one_that_it_is_fed(checkpoint):
    answers = decided(checkpoint, "shifted_row")
    assert len(answers) >= 8
    for run, answer in answers:
        ids, piece = run.trace.target_ids, run.translator.tokenizer.piece_text
        written = named([piece(each) for each in ids])
        assert written.count(answer.names["fed"]) == 1
        assert right(answer) == written[written.index(answer.names["fed"]) + 1]
        assert int(answer.names["row"]) == written.index(answer.names["fed"]) + 2, "row one is fed the beginning"
        assert len({option.label for option in answer.options}) == 4


def test_tokens_that_are_nothing_but_a_blank_are_named():
    told = ""
    for measure in ("leak_effect", "leak_spared", "shifted_row", "open_cells", "best_key"):
        arguments = {"kind": "cross"} if measure == "best_key" else {}
        told += str(measured(run_of("reverse", "abc"), measure, **arguments))
    assert "“▁”" not in told and "“␣”" in told


def test_the_page_says_the_numbers_of_the_lesson():
    text = "Yesterday I saw your brother in the city."
    effect, leaked = (
        next(pose(MASK, at, run_of("en-de", text)) for at, step in enumerate(MASK.steps) if step.answer == name)
        for name in ("leak_effect", "leaked_weight")
    )
    told = headlines(open_page("pages/inside.py", **effect.address(shown=True), text=text))
    before, after = map(float, re.search(r"from ([\d.]+) % to ([\d.]+) %\.", effect.answer.truth).groups())
    said = re.search(r"own words get ([\d.]+) %, not ([\d.]+) %\.", "".join(told))
    assert [float(each) for each in said.groups()] == pytest.approx([after, before], abs=0.6)
    told = headlines(open_page("pages/inside.py", **leaked.address(shown=True), text=text))
    said = re.search(r"would cheat: ([\d.]+) % looks ahead", "".join(told))
    assert float(said[1]) == pytest.approx(leaked.answer.value, abs=0.06)
