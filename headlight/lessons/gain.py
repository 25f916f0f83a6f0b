"""Gain from the quiz before a lesson to the quiz after it, from tables of classes or of single visitors.

The gain of the means is (after − before) / (1 − before) of mean shares (Hake 1998), not the mean of the students' own
gains, which is biased where many know much beforehand. Cohen's d for paired data is the mean of the differences divided
by their standard deviation. Intervals are percentiles of a bootstrap over students.
"""

import argparse
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from headlight.classroom import COLUMNS, PER_FORM, TIMES
from transformer.errors import UserError
from transformer.untrusted import read_regular

from .quiz_bank import bank, fill

MOST_BYTES = 20_000_000  # of a table
RESAMPLES, TAIL, SEED = 10_000, 2.5, 0  # percent on each side of an interval
WIDE = 60  # students below whom an interval is called wide


class Estimate(NamedTuple):
    """A number with the interval of its bootstrap; NaN where it cannot be computed."""

    value: float
    low: float
    high: float


class Change(NamedTuple):
    """Mean shares of right answers of the same students before and after, with their gain and Cohen's d."""

    before: float
    after: float
    gain: Estimate
    d: Estimate


@dataclass(frozen=True)
class QuizResult:
    """Results of the students who finished both quizzes; left_out: number of the others.

    items: a row per item with its idea, level, shares of right answers, discrimination and most frequent misconception.
    chosen: a row per item and misconception, "" for the right answer, with how often it was chosen before and after.
    """

    students: int
    left_out: int
    total: Change
    ideas: Mapping[str, Change]
    items: pd.DataFrame
    chosen: pd.DataFrame


def gain_and_d(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return gain of the means and Cohen's d of paired shares over the last axis: [2, ...].

    The gain is NaN where all was right before, d where all differences are equal.
    """
    first, change = before.mean(axis=-1), after - before
    spread = change.std(axis=-1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(first < 1, (after.mean(axis=-1) - first) / (1 - first), np.nan)
        return np.stack([gain, np.where(spread > 1e-12, change.mean(axis=-1) / spread, np.nan)])


def estimates(before: np.ndarray, after: np.ndarray) -> list[Estimate]:
    """Return gain of the means and Cohen's d of paired shares, [students], with their intervals."""
    students = np.random.default_rng(SEED).integers(len(before), size=(RESAMPLES, len(before)))
    drawn = gain_and_d(before[students], after[students])
    finite = [each[np.isfinite(each)] for each in drawn]
    bounds = [np.percentile(each, [TAIL, 100 - TAIL]) if len(each) else (np.nan, np.nan) for each in finite]
    return [
        Estimate(float(value), *map(float, each)) for value, each in zip(gain_and_d(before, after), bounds, strict=True)
    ]


def read_answers(tables: Iterable[bytes | Path]) -> pd.DataFrame:
    """Return the answers to quizzes, a row each, of a quiz that was asked twice the last ones. Raises UserError."""
    frames = []
    for number, table in enumerate(tables):
        try:
            content = table if isinstance(table, bytes) else read_regular(table, MOST_BYTES)
            frame = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, encoding="utf-8-sig")
        except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
            raise UserError(f"A table cannot be read: {error}") from error
        frame = frame.reindex(columns=["participant", "right", *COLUMNS], fill_value="")
        frames.append(frame.assign(student=f"{number} " + frame.participant, right=frame.right == "yes"))
    answers = pd.concat(frames)
    answers = answers[answers.quiz.isin(TIMES)].drop_duplicates(["student", "quiz", "item"], keep="last")
    rank = {idea: at for at, idea in enumerate(bank()["ideas"])}
    return answers.assign(rank=answers.idea.map(rank)).sort_values(["rank", "idea", "item"], kind="stable")


def quiz_result(answers: pd.DataFrame) -> QuizResult | None:
    """Return the results of answers, None where fewer than two students finished both quizzes."""
    answered = _times(answers.groupby(["student", "quiz"]).size(), 0)
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
        chosen=_times(paired.groupby(["item", "misconception", "quiz"]).size(), 0),
    )


def _times(values: pd.Series, missing: float) -> pd.DataFrame:
    """Return values by quiz as columns before and after."""
    return values.unstack("quiz", fill_value=missing).reindex(columns=list(TIMES), fill_value=missing)


def _change(answers: pd.DataFrame) -> Change:
    shares = _times(answers.groupby(["student", "quiz"]).right.mean(), np.nan)
    before, after = (shares[when].to_numpy(float) for when in TIMES)
    return Change(float(before.mean()), float(after.mean()), *estimates(before, after))


def _items(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the table of items; the discrimination is the correlation with the other items of the same quiz."""
    scores = answers.groupby(["student", "quiz"]).right.transform("sum")
    answers = answers.assign(rest=scores - answers.right, right=answers.right.astype(float))
    items = answers.groupby("item", sort=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        discrimination = items[["right", "rest"]].apply(lambda each: each.right.corr(each.rest))
    mistakes = answers[answers.right == 0].groupby("item").misconception.agg(lambda each: each.mode().iloc[0])
    table = items[["idea", "level"]].first().join(_times(answers.groupby(["item", "quiz"]).right.mean(), np.nan))
    return table.assign(discrimination=discrimination, mistake=mistakes).fillna({"mistake": ""})


def summary_words(result: QuizResult | None, answers: pd.DataFrame) -> str:
    """Return the result in plain sentences with its limits."""
    texts = bank()["gain"]
    if result is None:
        return fill(texts["few"], students=int((answers.groupby("student").size() == 2 * PER_FORM).sum()))
    total, students = result.total, result.students
    between, d_between = (fill(texts["between"], **each._asdict()) for each in (total.gain, total.d))
    numbers = {**total._asdict(), "gain": total.gain.value, "d": total.d.value, "students": students}
    sentences = [fill(texts["sentence"], **numbers, between=between, d_between=d_between)]
    sentences += [fill(texts["not_finished"], count=result.left_out)] if result.left_out else []
    sentences += [fill(texts["wide"], students=students)] if students < WIDE else []
    return " ".join([*sentences, texts["limit"]])


def run(options: argparse.Namespace) -> None:
    """Print the gain from the quizzes in tables. Raises UserError."""
    answers = read_answers(options.files)
    texts, result = bank()["gain"], quiz_result(answers)
    if answers.empty:
        raise UserError(fill(texts["none"], files=", ".join(map(str, options.files))))
    print(summary_words(result, answers))
    if result:
        says = {name: each["says"] for name, each in bank()["misconceptions"].items()}
        ideas = [[bank()["ideas"].get(name, name), *_cells(*change)] for name, change in result.ideas.items()]
        rows = result.items.itertuples()
        items = [[each.Index, each.level, *_cells(*each[3:6]), says.get(each.mistake, each.mistake)] for each in rows]
        for table, columns in ((ideas, "columns"), (items, "item_columns")):
            print(f"\n{pd.DataFrame(table, columns=texts[columns]).to_string(index=False)}")


def _cells(before: float, after: float, *numbers: Estimate | float) -> list[str]:
    """Return two shares and some numbers as texts, each estimate with its interval."""
    forms = {float: "{0:signed 2}", Estimate: "{0[0]:signed 2} ({0[1]:signed 2} to {0[2]:signed 2})"}
    texts = [*(f"{100 * share:.0f} %" for share in (before, after)), *(fill(forms[type(n)], n) for n in numbers)]
    return [text.replace("nan", "–") for text in texts]
