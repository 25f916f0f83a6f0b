"""What lessons ask about single heads and what is lost without them, against rows and passes by hand."""

import re

import numpy as np
import pytest
from support.by_hand import by_hand, loss_under, stays, without_heads, written
from support.head_rows import Head
from support.lesson_runs import LANGUAGES, SENTENCES, decided, measured, run_of

from headlight.app import results
from headlight.lessons.answer import Run
from headlight.lessons.measures.heads import changed_words
from headlight.lessons.measures.wording import NEAR, NEAR_NATS
from transformer.interpret.head_patterns import Pattern

BOTH = pytest.mark.parametrize("checkpoint", LANGUAGES)
PATTERNS = {"next": Pattern.NEXT, "previous": Pattern.PREVIOUS}
MORE = ("The cat is hungry because it has not eaten.", "Tom said that he did not want to come.")


def head_in(text: str) -> tuple[str, int, int]:
    kind, layer, head = text.split(".")
    return kind, int(layer) - 1, int(head) - 1


def all_heads(run: Run) -> list[tuple[str, int, int]]:
    kinds = ("encoder", "decoder", "cross")
    return [(kind, *at) for kind in kinds for at in np.ndindex(run.trace.attention(kind).shape[:2])]


@BOTH
def test_a_dimension_belongs_to_the_head_whose_columns_have_it(checkpoint):
    answer = measured(run_of(checkpoint, SENTENCES[0]), "head_of_dimension")
    model = by_hand(checkpoint)
    columns = np.arange(model.weights["encoder.0.self_attention.output.weight"].shape[1])
    heads = np.array_split(columns, model.config["num_heads"])
    dimension = int(answer.names["dimension"]) - 1
    (right,) = (number for number, own in enumerate(heads) if dimension in own)
    assert answer.right == {str(right)} and answer.names["head"] == str(right + 1)
    assert answer.names["width"] == str(len(columns)) and answer.names["d_k"] == str(len(heads[0]))
    for option in answer.options:
        own = heads[int(option.name)]
        assert option.told == f"It has the dimensions {own[0] + 1} to {own[-1] + 1}."


@BOTH
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_head_that_reads_a_neighbour_does_so_most_often(checkpoint, pattern):
    answers = decided(checkpoint, "neighbour_head", *MORE, pattern=pattern)
    assert len(answers) >= 3
    for run, answer in answers:
        tokens, maps = run.trace.source_tokens, run.trace.encoder
        counts = {
            f"{layer + 1}.{head + 1}": Head("encoder", maps[layer, head], tokens, None).count(PATTERNS[pattern])
            for layer, head in np.ndindex(maps.shape[:2])
        }
        (first,) = answer.right
        rows, eligible = counts[first]
        assert rows == max(count for count, _ in counts.values()) > eligible / 2
        for option in answer.options:
            least = max(2, NEAR * eligible - 1e-9)
            assert option.name == first or rows - counts[option.name][0] >= least, "it is seen"
        assert answer.names["rows"] == f"in {rows} of {eligible} rows"
        for option in answer.options:
            assert f"in {counts[option.name][0]} of {eligible} rows" in option.told


def says_loss(text: str, loss: float) -> None:
    """Two decimals of a number that was computed on another way: a half is rounded up or down."""
    told = re.search(rf"{'falls' if loss > 0 else 'rises'} by (\d+\.\d\d)", text)
    assert told and abs(float(told[1]) - abs(loss)) < 0.0051, (text, loss)


@BOTH
def test_without_the_head_of_a_neighbour_it_reads_as_by_hand(checkpoint):
    answers = decided(checkpoint, "without_neighbour_head", *MORE, pattern="next")
    assert len(answers) >= 3
    for run, answer in answers:
        off, before = without_heads(head_in(answer.names["off"])), run.trace.target_text
        assert (answer.right == {"same"}) == stays(run, off)
        after = before if stays(run, off) else written(run, off)
        assert f"Without it: “{after}”" in answer.calculation and f"With it: “{before}”" in answer.calculation
        loss = loss_under(run, off)
        if abs(loss) > 0.006:
            says_loss(answer.truth, loss)


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [("a b c", "a b c", 0), ("a b c", "a x c", 1), ("a b c", "a c", 1), ("a b c", "x y z w", 4), ("a", "a b c", 2)],
)
def test_changed_words_are_counted_on_the_longer_side(old, new, count):
    assert changed_words(old.split(), new.split()) == count


def fits(label: str, count: int) -> bool:
    """Return whether "not one of them", "1 to 14" or "more than 36" is so of a count."""
    numbers = list(map(int, re.findall(r"\d+", label)))
    if not numbers:
        return count == 0
    return numbers[0] <= count <= numbers[1] if len(numbers) == 2 else count > numbers[0]


@BOTH
def test_so_many_heads_change_the_translation_as_do_by_hand_one_at_a_time(checkpoint):
    answers = decided(checkpoint, "heads_that_change", *MORE)
    assert len(answers) >= 6
    for _, answer in answers:
        count = int(answer.names["count"])
        (right,) = (option.label for option in answer.options if option.name in answer.right)
        fitting = [option.label for option in answer.options if fits(option.label, count)]
        assert fitting == [right], "no other option fits the number"
    run, answer = answers[0]
    changing = sum(not stays(run, without_heads(head)) for head in all_heads(run))
    assert answer.names["count"] == str(changing) and answer.names["heads"] == str(len(all_heads(run)))


@BOTH
def test_the_head_missed_most_costs_most_by_hand(checkpoint):
    answers = decided(checkpoint, "most_missed", *MORE)
    assert len(answers) >= 6
    for number, (run, answer) in enumerate(answers):
        losses = {option.name: loss_under(run, without_heads(head_in(option.name))) for option in answer.options}
        first, second = sorted(losses, key=lambda each: -losses[each])[:2]
        assert answer.right == {first} == {answer.names["off"]}
        assert losses[first] - losses[second] >= NEAR_NATS - 1e-4 and losses[first] >= 0.99
        for option in answer.options:
            loss = losses[option.name]
            if abs(loss) > 0.006:
                says_loss(option.told, loss)
        layer, head = results.default_head(run.request, "cross")
        assert f"cross.{layer + 1}.{head + 1}" in losses and {each.split(".")[0] for each in losses} == {
            "encoder",
            "decoder",
            "cross",
        }
        if not number:
            every = {head: loss_under(run, without_heads(head)) for head in all_heads(run)}
            assert head_in(first) == max(every, key=every.__getitem__)


@BOTH
def test_heads_off_break_a_translation_when_another_one_is_written_by_hand(checkpoint):
    tried = 0
    for text in (*SENTENCES, "I love my teacher.", "I think that he has never read this book.", *MORE):
        fresh = measured(run_of(checkpoint, text, off="none"), "break_with_few")
        if isinstance(fresh, str):
            continue
        tried += 1
        assert not fresh.done and fresh.truth == "No head is off yet."
        enough = fresh.names["off"].split("-")
        assert len(enough) == int(fresh.names["least"]) > 1
        for count in range(1, len(enough) + 1):
            off = enough[:count]
            answer = measured(run_of(checkpoint, text, off="-".join(off)), "break_with_few")
            same = stays(run_of(checkpoint, text), without_heads(*map(head_in, off)))
            assert answer.done == (not same) == (count == len(enough))
    assert tried >= 2


@BOTH
@pytest.mark.parametrize(
    ("measure", "arguments"),
    [
        ("neighbour_head", {"pattern": "next"}),
        ("without_neighbour_head", {"pattern": "previous"}),
    ],
)
def test_a_sentence_of_one_token_says_that_it_decides_nothing(checkpoint, measure, arguments):
    told = measured(run_of(checkpoint, "?"), measure, **arguments)
    assert isinstance(told, str) and told[0].isupper() and told.endswith(".")


def test_where_one_head_is_enough_or_none_is_missed_it_is_said():
    assert "One head alone" in measured(run_of("en-de", MORE[0]), "break_with_few")
    assert "“next” or “previous”" in measured(run_of("en-de", MORE[0]), "neighbour_head", pattern="same")
