"""Gain from the quiz before a lesson to the quiz after it, from tables of classes or of single visitors.

The gain of the means is (after − before) / (1 − before) of mean shares (Hake 1998), not the mean of the students' own
gains, which is biased where many know much beforehand. Cohen's d for paired data is the mean of the differences divided
by their standard deviation. Intervals are percentiles of a bootstrap over students.
"""

import argparse
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from headlight.classroom import PER_FORM
from transformer.errors import UserError
from transformer.untrusted import read_regular

from .quiz_bank import bank, fill

MOST_BYTES = 20_000_000  # of a table
RESAMPLES, TAIL, SEED = 10_000, 2.5, 0  # percent on each side of an interval
WIDE = 60  # students below whom an interval is called wide
TIMES = ["before", "after"]
_COLUMNS = ["participant", "quiz", "item", "idea", "level", "answer", "misconception", "right"]
Statistic = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Estimate:
    """A number with the interval of its bootstrap; NaN where it cannot be computed."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Change:
    """Mean shares of right answers of the same students before and after, with their gain and Cohen's d."""

    before: float
    after: float
    gain: Estimate
    d: Estimate


@dataclass(frozen=True)
class QuizResult:
    """Results of the students who finished both quizzes; left_out: number of the others.

    items: a row per item with its idea, level, shares of right answers, discrimination and most frequent misconception.
    chosen: a row per item and chosen option, with its misconception and how often it was chosen before and after.
    """

    students: int
    left_out: int
    total: Change
    ideas: Mapping[str, Change]
    items: pd.DataFrame
    chosen: pd.DataFrame


def gain_of_means(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the gain of mean shares over the last axis, NaN where all was right before."""
    first, last = before.mean(axis=-1), after.mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(first < 1, (last - first) / (1 - first), np.nan)


def paired_d(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return Cohen's d over the last axis, NaN where all differences are equal."""
    spread = (after - before).std(axis=-1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 1e-12, (after - before).mean(axis=-1) / spread, np.nan)


def estimate(statistic: Statistic, before: np.ndarray, after: np.ndarray) -> Estimate:
    """Return a statistic of paired shares, [students], with its interval."""
    students = np.random.default_rng(SEED).integers(len(before), size=(RESAMPLES, len(before)))
    drawn = statistic(before[students], after[students])
    drawn = drawn[np.isfinite(drawn)]
    low, high = np.percentile(drawn, [TAIL, 100 - TAIL]) if len(drawn) else (np.nan, np.nan)
    return Estimate(float(statistic(before, after)), float(low), float(high))


def read_answers(tables: Sequence[str]) -> pd.DataFrame:
    """Return the answers to quizzes, a row each, of a quiz that was asked twice the last ones. Raises UserError."""
    frames = []
    for number, table in enumerate(tables):
        try:
            frame = pd.read_csv(io.StringIO(table), dtype=str, keep_default_na=False)
        except ValueError as error:  # pandas' own errors are ValueErrors
            raise UserError(f"A table cannot be read: {error}") from error
        frame = frame.reindex(columns=_COLUMNS, fill_value="")
        frames.append(frame.assign(student=f"{number} " + frame.participant, right=frame.right == "yes"))
    answers = pd.concat(frames)
    answers = answers[answers.quiz.isin(TIMES)].drop_duplicates(["student", "quiz", "item"], keep="last")
    rank = {idea: at for at, idea in enumerate(bank()["ideas"])}
    return answers.assign(rank=answers.idea.map(rank)).sort_values(["rank", "idea", "item"], kind="stable")


def quiz_result(answers: pd.DataFrame) -> QuizResult | None:
    """Return the results of answers, None where fewer than two students finished both quizzes."""
    answered = answers.groupby(["student", "quiz"]).size().unstack(fill_value=0).reindex(columns=TIMES, fill_value=0)
    finished = answered.index[(answered == PER_FORM).all(axis=1)]
    if len(finished) < 2:
        return None
    paired = answers[answers.student.isin(finished)]
    return QuizResult(
        students=len(finished),
        left_out=len(answered) - len(finished),
        total=_change(paired),
        ideas={str(idea): _change(part) for idea, part in paired.groupby("idea", sort=False)},
        items=_items(paired),
        chosen=_times(paired.groupby(["item", "answer", "misconception", "quiz"], sort=False).size(), 0),
    )


def _times(values: pd.Series, missing: float) -> pd.DataFrame:
    """Return values by quiz as columns before and after."""
    return values.unstack("quiz", fill_value=missing).reindex(columns=TIMES, fill_value=missing)


def _change(answers: pd.DataFrame) -> Change:
    shares = _times(answers.groupby(["student", "quiz"]).right.mean(), np.nan)
    before, after = (shares[when].to_numpy(float) for when in TIMES)
    estimates = (estimate(statistic, before, after) for statistic in (gain_of_means, paired_d))
    return Change(float(before.mean()), float(after.mean()), *estimates)


def _items(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the table of items; the discrimination is the correlation with the other items of the same quiz."""
    scores = answers.groupby(["student", "quiz"]).right.transform("sum")
    answers = answers.assign(rest=scores - answers.right, right=answers.right.astype(float))
    items = answers.groupby("item", sort=False)
    wrong = answers[answers.misconception != ""].groupby("item").misconception
    with np.errstate(divide="ignore", invalid="ignore"):
        discrimination = items[["right", "rest"]].apply(lambda each: each.right.corr(each.rest))
    table = items[["idea", "level"]].first().join(_times(answers.groupby(["item", "quiz"]).right.mean(), np.nan))
    mistakes = wrong.agg(lambda each: each.mode().iloc[0])
    return table.assign(discrimination=discrimination, mistake=mistakes).fillna({"mistake": ""})


def summary_words(result: QuizResult | None, answers: pd.DataFrame) -> str:
    """Return the result in plain sentences with its limits."""
    texts = bank()["gain"]
    if result is None:
        return fill(texts["few"], students=int((answers.groupby("student").item.nunique() == 2 * PER_FORM).sum()))
    total = result.total
    between, d_between = (fill(texts["between"], **vars(each)) for each in (total.gain, total.d))
    numbers = vars(total) | {"gain": total.gain.value, "d": total.d.value, "students": result.students}
    sentences = [
        fill(texts["sentence"], **numbers, between=between, d_between=d_between),
        fill(texts["not_finished"], count=result.left_out) if result.left_out else "",
        fill(texts["wide"], students=result.students) if result.students < WIDE else "",
        texts["limit"],
    ]
    return " ".join(filter(None, sentences))


def run(options: argparse.Namespace) -> None:
    """Print the gain from the quizzes in tables. Raises UserError."""
    answers = read_answers([_read(path) for path in options.files])
    texts, ideas, result = bank()["gain"], bank()["ideas"], quiz_result(answers)
    if answers.empty:
        raise UserError(fill(texts["none"], files=", ".join(map(str, options.files))))
    print(summary_words(result, answers))
    if result is None:
        return
    rows = [
        [ideas.get(idea, idea), *map(_share, (change.before, change.after)), *_cells(change.gain), *_cells(change.d)]
        for idea, change in result.ideas.items()
    ]
    _print([texts["idea"], *texts["columns"]], rows)
    says = {name: each["says"] for name, each in bank()["misconceptions"].items()}
    rows = [
        [str(name), each.level, *map(_share, (each.before, each.after)), _number(each.discrimination)]
        + [says.get(each.mistake, each.mistake)]
        for name, each in result.items.iterrows()
    ]
    _print([texts["item"], *texts["item_columns"]], rows)


def _read(path: Path) -> str:
    try:
        return read_regular(path, MOST_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error


def _cells(estimated: Estimate) -> tuple[str, str]:
    return _number(estimated.value), f"{_number(estimated.low)} to {_number(estimated.high)}"


def _number(value: float) -> str:
    return "–" if np.isnan(value) else fill("{value:signed}", value=value)


def _share(value: float) -> str:
    return "–" if np.isnan(value) else fill("{value:percent}", value=value)


def _print(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table below an empty line, its columns as wide as their longest cells."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print()
    for row in (header, *rows):
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
