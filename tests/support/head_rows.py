"""Patterns of a head in a sentence, counted row by row, for the laws of captions.

Nothing here shares code with the measures but words and thresholds.
"""

import re

import numpy as np

from headlight.plots.names import PATTERN_WORDS
from transformer.interpret.head_patterns import LEAST_ROWS, THRESHOLDS, Pattern

MARKS = set(".,!?;:…«»„“”\"'()-")
COUNTED = re.compile(r"in ([\d,]+) of the ([\d,]+) rows?( that could)? \((.+?)\) the largest weight is ")


def word(token):
    return any(each.isalnum() for each in token) and not (token[0] == "<" and token[-1] == ">")


def mark(token):
    return bool(token.strip("▁")) and set(token.lstrip("▁")) <= MARKS


class Head:
    """One head's weights in float64, and its rows by hand."""

    def __init__(self, kind, weights, keys, outputs, average=None):
        self.kind, self.weights, self.keys = kind, weights.astype(np.float64), keys
        self.outputs, self.average = outputs, average
        # what each row with more than one key may read
        width = len(keys)
        spans = [(row, row + 1 if kind == "decoder" else width) for row in range(len(self.weights))]
        self.rows = {row: self.weights[row, :last] for row, last in spans if last > 1}
        self.largest = {row: int(values.argmax()) for row, values in self.rows.items()}
        self.counts = {}

    def tied(self):
        return any((row == row.max()).sum() > 1 for row in self.rows.values())

    def wanted(self, words):
        """For each row that could follow the pattern the columns where its maximum would have to be."""
        steps = {"on the token before": -1, "on the row's own token, for a decoder row its input token": 0}
        steps |= {"on the token after": 1}
        if words in steps:
            if self.kind == "cross":
                return {}
            places = {row: row + steps[words] for row in self.rows}
            return {row: [place] for row, place in places.items() if 0 <= place < len(self.rows[row])}
        if words.startswith("on the source word aligned"):
            back = 1 if "input token" in words else 0
            words = [place for place, key in enumerate(self.keys) if word(key)]
            if self.kind != "cross" or self.average is None or not words:
                return {}
            best = {t: max(words, key=self.average[t].__getitem__) for t, out in enumerate(self.outputs) if word(out)}
            return {row: [best[row - back]] for row in self.rows if row - back in best}
        if words == "on one line parallel to the antidiagonal":
            if self.kind == "decoder" or not self.rows:
                return {}
            sums = [row + place for row, place in self.largest.items()]
            line = max(set(sums), key=sums.count)
            return {row: [line - row] for row in self.rows}
        of_sort = {"on the end of sentence": "</s>".__eq__, "on the beginning of sentence": "<s>".__eq__}
        of_sort |= {"on a punctuation mark": mark}
        columns = [place for place, key in enumerate(self.keys) if of_sort[words](key)]
        return dict.fromkeys(self.rows, columns) if columns else {}

    def count(self, words):
        """Rows that follow a pattern, and rows that could."""
        if words not in self.counts:
            wanted = self.wanted(words)
            self.counts[words] = sum(self.largest[row] in places for row, places in wanted.items()), len(wanted)
        return self.counts[words]


def thresholds():
    """Words, least share and least number of rows of each label, in order."""
    least = {name: LEAST_ROWS * (2 if name == Pattern.MIRRORED else 1) for name in Pattern}
    return {str(name): (PATTERN_WORDS[name], share, least[name]) for name, share in THRESHOLDS.items()}
