"""The gain of a quiz: values worked by hand, intervals by another bootstrap, and tables of classes."""

import csv
import io
import statistics

import numpy as np
import pytest

from headlight.__main__ import main
from headlight.classroom import PER_FORM
from headlight.lessons.gain import estimates, gain_and_d, quiz_result, read_answers, summary_words
from headlight.lessons.teach.summary import quiz_bars

FIELDS = ("participant", "quiz", "item", "idea", "level", "answer", "misconception", "right")


def table(scores: dict[str, tuple[str, str]]) -> bytes:
    """Return a table of participants: for each item of before and after "1" is right, "0" wrong, "-" left out."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(FIELDS)
    for participant, quizzes in scores.items():
        for when, answers in zip(("before", "after"), quizzes, strict=True):
            for number, right in enumerate(answers):
                item = (f"item {number}", "weight" if number < 4 else "heads", "fact")
                option = ("right", "", "yes") if right == "1" else ("wrong", "importance", "no")
                if right != "-":
                    writer.writerow((participant, when, *item, *option))
    return text.getvalue().encode()


# Three students with 2, 3 and 4 of 6 right before, and 4, 6 and 5 after; a fourth one left an item out.
BY_HAND = {
    "1": ("110000", "111100"),
    "2": ("101010", "111111"),
    "3": ("111100", "111110"),
    "4": ("00000-", "111111"),
}


def test_gain_and_d_are_those_worked_by_hand():
    """Means 50 % and 83.3 %: gain 33.3 / 50; differences 2, 3, 1 of 6: mean 2, standard deviation 1."""
    result = quiz_result(read_answers([table(BY_HAND)]))
    assert (result.students, result.left_out) == (3, 1)
    assert (result.total.before, result.total.after) == pytest.approx((1 / 2, 5 / 6))
    assert result.total.gain.value == pytest.approx(2 / 3)
    assert result.total.d.value == pytest.approx(2.0)
    heads = result.ideas["heads"]  # of two items: 0, 1, 0 right before; 0, 2, 1 after
    assert (heads.before, heads.after, heads.gain.value) == pytest.approx((1 / 6, 1 / 2, 2 / 5))


def test_the_gain_of_the_means_is_not_the_mean_of_the_gains():
    before, after = np.array([0.0, 0.9]), np.array([0.5, 0.9])
    assert gain_and_d(before, after)[0] == pytest.approx(0.25 / 0.55)
    assert gain_and_d(before, after)[0] != pytest.approx(((after - before) / (1 - before)).mean())


def test_difficulty_discrimination_and_mistakes_of_items():
    """Item 3 was right in 1 of 3 before and 3 of 3 after; its discrimination is the correlation with the others."""
    result = quiz_result(read_answers([table(BY_HAND)]))
    item = result.items.loc["item 3"]
    assert (item.before, item.after, item.mistake) == (pytest.approx(1 / 3), 1.0, "importance")
    right, rest = [0, 0, 1, 1, 1, 1], [2, 3, 3, 3, 5, 4]
    assert item.discrimination == pytest.approx(statistics.correlation(right, rest))
    assert np.isnan(result.items.loc["item 0"].discrimination), "everybody was right"
    chosen = result.chosen.loc["item 3"]
    assert (chosen.loc["importance"].to_list(), chosen.loc[""].to_list()) == ([2, 0], [1, 3])
    shown = [each for each in quiz_bars(result) if each[0] == "item 3"]
    assert [before for *_, before, _ in shown] == pytest.approx([1 / 3, 2 / 3])
    assert next(each for each in quiz_bars(result) if each[0] == "item 0")[1] == "right"


def test_an_item_that_nobody_got_right_has_no_blue_bar():
    result = quiz_result(read_answers([table({"1": ("000000", "111110"), "2": ("000000", "111110")})]))
    first = next(each for each in quiz_bars(result) if each[0] == "item 5")
    assert first[1:] == ("right", "", 0.0, 0.0)


def test_intervals_agree_with_a_bootstrap_in_plain_python():
    """Another generator, students drawn one by one, and the percentiles of the standard library."""
    generator = np.random.default_rng(7)
    before = generator.integers(0, 5, 29) / PER_FORM
    after = np.minimum(before + generator.integers(0, 4, 29) / PER_FORM, 1.0)
    drawn: list[tuple[float, float]] = []
    for _ in range(4000):
        students = [int(generator.integers(29)) for _ in range(29)]
        first, last = [before[each] for each in students], [after[each] for each in students]
        mean, changes = statistics.fmean(first), [b - a for a, b in zip(first, last, strict=True)]
        gain = (statistics.fmean(last) - mean) / (1 - mean)
        drawn.append((gain, statistics.fmean(changes) / statistics.stdev(changes)))
    for estimate, values in zip(estimates(before, after), zip(*drawn, strict=True), strict=True):
        percentiles = statistics.quantiles(values, n=40)
        assert (estimate.low, estimate.high) == pytest.approx((percentiles[0], percentiles[-1]), abs=0.06)


def test_what_cannot_be_computed_says_so():
    assert np.isnan(np.array(estimates(np.ones(3), np.ones(3)))).all()
    answers = read_answers([table({"1": BY_HAND["1"], "4": BY_HAND["4"]})])
    assert quiz_result(answers) is None and summary_words(None, answers).startswith("1 student finished")


def test_two_visitors_with_the_same_number_are_two_and_the_last_answer_counts():
    one = table({"1": ("000000", "000000")}) + table({"1": ("111111", "111111")}).partition(b"\n")[2]
    result = quiz_result(read_answers([one, table({"1": ("000000", "111111")})]))
    assert (result.students, result.total.before, result.total.after) == (2, 0.5, 1.0)


@pytest.mark.usefixtures("command_line")
def test_the_command_prints_the_gain_with_its_limit(tmp_path, capsys):
    file, other = tmp_path / "class.csv", tmp_path / "other.csv"
    file.write_bytes(table(BY_HAND))
    assert main(["gain", str(file)]) == 0
    printed = capsys.readouterr().out
    assert (
        "3 students finished both quizzes: 50\u00a0% right before, 83\u00a0% after. The gain of the means is 0.67"
        in printed
    )
    assert "With 3 students these intervals are wide" in printed and "a weight is importance" in printed
    for content in ("round,step\n1,attention.1\n", "", "a,b\n1,2,3\n", "\udcff"):
        other.write_bytes(content.encode(errors="surrogateescape"))
        assert main(["gain", str(other)]) == 1
    assert main(["gain", str(tmp_path / "none.csv")]) == 1
