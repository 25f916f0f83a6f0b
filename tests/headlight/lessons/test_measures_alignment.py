"""What lessons ask about heads that align words, against rows counted by hand and what the explorer says."""

import itertools
import re

import numpy as np
import pytest
from support.head_rows import Head, word
from support.lesson_runs import LANGUAGES, SENTENCES, decided, measured, named, run_of

from headlight.lessons.answer import Run, Undecided
from headlight.lessons.measures import alignment
from headlight.lessons.measures.alignment import PLAINLY
from headlight.lessons.measures.explanation import left_out
from headlight.lessons.measures.wording import NEAR
from transformer.interpret.head_patterns import Pattern

BOTH = pytest.mark.parametrize("checkpoint", LANGUAGES)
OUTPUT, INPUT = Pattern.OUTPUT_ALIGNMENT, Pattern.INPUT_ALIGNMENT
MORE = ("The cat is hungry because it has not eaten.", "She has never seen the old house.")


def counted(run: Run) -> dict[str, dict[Pattern, tuple[int, int]]]:
    """For each head, such as "3.5", its rows that follow either alignment, and how many could."""
    trace = run.trace
    average = trace.cross.astype(np.float64).mean(axis=(0, 1))
    return {
        f"{layer + 1}.{head + 1}": {
            pattern: Head("cross", trace.cross[layer, head], trace.source_tokens, trace.target_tokens, average).count(
                pattern
            )
            for pattern in (OUTPUT, INPUT)
        }
        for layer, head in np.ndindex(trace.cross.shape[:2])
    }


def share(count: tuple[int, int]) -> float:
    return count[0] / count[1]


def best(heads, pattern) -> str:
    return max(heads, key=lambda each: share(heads[each][pattern]))


def needed(run: Run) -> list[tuple[int, int]]:
    """For each output token that is a word, its row and the source word without which its log P falls most."""
    source = [key for key, token in enumerate(run.trace.source_tokens) if word(token)]
    rows = [row for row, token in enumerate(run.trace.target_tokens) if word(token)]
    return [(row, max(source, key=left_out(run, row).source.__getitem__)) for row in rows]


@BOTH
def test_the_best_aligner_is_ahead_of_its_options_by_both_yardsticks(checkpoint):
    answers = decided(checkpoint, "best_aligner", *MORE)
    assert len(answers) >= 4
    for run, answer in answers[:6]:
        heads, keys = counted(run), needed(run)
        (first,) = answer.right
        assert first == f"{answer.names['layer']}.{answer.names['head']}"
        by_need = {
            option.name: sum(
                run.trace.cross[int(option.name[0]) - 1, int(option.name[2:]) - 1, row].argmax() == key
                for row, key in keys
            )
            for option in answer.options
        }
        for option in answer.options:
            rows, eligible = heads[option.name][OUTPUT]
            assert f"in {rows} of {eligible} rows" in option.told and f"in {by_need[option.name]}." in option.told
            least = max(2, NEAR * eligible)
            assert (
                option.name == first or heads[first][OUTPUT][0] - rows >= least <= by_need[first] - by_need[option.name]
            )
        assert len({option.name for option in answer.options}) == 4


@BOTH
def test_a_row_is_fed_the_output_token_before_it(checkpoint):
    answers = decided(checkpoint, "fed_in_row")
    assert len(answers) >= 8
    for run, answer in answers:
        row = int(answer.names["row"]) - 1
        assert named(run.trace.target_tokens)[row] == answer.names["word"]
        fed = named([run.translator.tokenizer.piece_text(each) for each in run.trace.decoder_input_ids])
        (right,) = (option for option in answer.options if option.name in answer.right)
        assert fed[row] == answer.names["fed"] and fed[row] in right.label and f"“{fed[row]}”" in answer.truth
        assert len({option.label for option in answer.options}) == len(answer.options) == 4
        for option in answer.options:
            assert option.label.startswith(f"“{named(run.trace.target_tokens)[int(option.name)]}”")


@BOTH
def test_what_is_read_when_a_word_is_fed_belongs_to_the_next_word(checkpoint):
    answers = decided(checkpoint, "read_when_fed", *MORE)
    assert len(answers) >= 4
    for run, answer in answers:
        trace, row = run.trace, int(answer.names["row"]) - 1
        weights = trace.cross[int(answer.names["layer"]) - 1, int(answer.names["head"]) - 1, row].astype(np.float64)
        mean = trace.cross.astype(np.float64).mean(axis=(0, 1))
        words = [key for key, token in enumerate(trace.source_tokens) if word(token)]
        own, before = (max(words, key=mean[each].__getitem__) for each in (row, row - 1))
        assert own != before and answer.right == {str(own)} and own == weights.argmax()
        assert np.sort(weights)[-1] - np.sort(weights)[-2] >= NEAR - 1e-6
        assert (
            answer.names["fed"] == named(trace.decoder_input_tokens)[row]
            and answer.names["word"] == named(trace.target_tokens)[row]
        )
        assert {str(own), str(before)} <= {option.name for option in answer.options}


@BOTH
def test_the_head_that_looks_up_its_input_fits_by_its_input(checkpoint):
    answers = decided(checkpoint, "better_reading", *MORE)
    assert len(answers) >= 6
    for run, answer in answers:
        heads = counted(run)
        head = best(heads, INPUT)
        by_output, by_input = heads[head][OUTPUT], heads[head][INPUT]
        assert head == f"{answer.names['layer']}.{answer.names['head']}"
        assert answer.right == {"input" if share(by_input) > share(by_output) else "output"}
        for count in (by_output, by_input):
            assert f"in {count[0]} of {count[1]} rows" in answer.truth
        told = {option.name: option.told for option in answer.options}
        assert f"{by_output[0]} of {by_output[1]}" in told["output"] and f"{by_input[0]} of" in told["input"]


@BOTH
def test_the_aligning_layer_has_the_highest_mean_of_shares(checkpoint):
    answers = decided(checkpoint, "aligning_layer", *MORE)
    assert len(answers) >= 5
    for run, answer in answers:
        means: dict[str, float] = {}
        heads = counted(run)
        for layer in {each.split(".")[0] for each in heads}:
            shares = [share(counts[OUTPUT]) for name, counts in heads.items() if name.startswith(f"{layer}.")]
            means[str(int(layer) - 1)] = sum(shares) / len(shares)
        first, second = sorted(means, key=lambda each: -means[each])[:2]
        assert answer.right == {first} and means[first] - means[second] >= NEAR - 1e-9
        for option in answer.options:
            told = re.search(r"(\d+) % of all rows", option.told)
            assert told and abs(int(told[1]) - 100 * means[option.name]) <= 0.5 + 1e-6


@BOTH
def test_a_layer_aligns_only_if_both_yardsticks_say_so(checkpoint, monkeypatch):
    """Whichever layer the words that are needed speak for, the question is asked if it is the weights' own."""
    run, answer = decided(checkpoint, "aligning_layer", *MORE)[0]
    layers, heads = run.trace.cross.shape[:2]
    (first,) = answer.right
    for order in itertools.permutations(range(layers)):
        needed = np.repeat(np.array(order, dtype=float)[:, None], heads, axis=1)
        monkeypatch.setattr(alignment, "needed_rows", lambda run, needed=needed: needed)
        if order[int(first)] == layers - 1:
            assert alignment.aligning_layer(run) == answer
        else:
            with pytest.raises(Undecided):
                alignment.aligning_layer(run)


def address_of(head: str) -> dict[str, str]:
    return {"head": f"cross.{head}"}


@BOTH
def test_a_head_is_found_that_reads_its_inputs_words(checkpoint):
    done = []
    for text in SENTENCES[:6]:
        heads = counted(run_of(checkpoint, text))
        for chosen in heads:
            answer = measured(run_of(checkpoint, text, **address_of(chosen)), "input_head")
            if isinstance(answer, str):
                continue
            by_input, by_output = (share(heads[chosen][pattern]) for pattern in (INPUT, OUTPUT))
            expected = by_input > 0.5 and by_input - by_output >= PLAINLY
            assert answer.done == expected, (text, chosen)
            assert f"its input in {heads[chosen][INPUT][0]} of" in answer.truth
            shown = {"head": f"cross.{answer.names['found_layer']}.{answer.names['found_head']}"}
            assert measured(run_of(checkpoint, text, **shown), "input_head").done
            done.append(expected)
    assert any(done) and not all(done)


@BOTH
@pytest.mark.parametrize("address", [{}, {"head": "cross.9.9"}, {"head": "cross.1.1-cross.1.2"}, {"head": "x"}])
def test_without_one_head_in_the_address_the_best_aligner_is_looked_at(checkpoint, address):
    answer = measured(run_of(checkpoint, MORE[0], **address), "input_head")
    assert not answer.done and answer.truth.startswith(f"Layer {answer.names['layer']}, head {answer.names['head']} ")


@BOTH
@pytest.mark.parametrize(
    "measure",
    ["best_aligner", "fed_in_row", "read_when_fed", "better_reading", "aligning_layer", "input_head"],
)
@pytest.mark.parametrize("text", ["?", "Yes."])
def test_a_sentence_of_too_few_words_says_so(checkpoint, measure, text):
    told = measured(run_of(checkpoint, text), measure)
    assert isinstance(told, str) and told[0].isupper() and told.endswith(".")
