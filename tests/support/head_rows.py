"""Patterns of a head in a sentence, counted row by row without the code of the measures."""

import numpy as np

from transformer.interpret.head_patterns import Pattern

MARKS = set(".,!?;:…«»„“”\"'()-")


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

    def columns_of(self, pattern):
        """Return the columns of the maximum by a pattern, for each row that can follow it."""
        steps = {Pattern.PREVIOUS: -1, Pattern.SAME: 0, Pattern.NEXT: 1}
        if pattern in steps:
            if self.kind == "cross":
                return {}
            places = {row: row + steps[pattern] for row in self.rows}
            return {row: [column] for row, column in places.items() if 0 <= column < len(self.rows[row])}
        if pattern in (Pattern.OUTPUT_ALIGNMENT, Pattern.INPUT_ALIGNMENT):
            back = 1 if pattern == Pattern.INPUT_ALIGNMENT else 0
            words = [column for column, key in enumerate(self.keys) if word(key)]
            if self.kind != "cross" or self.average is None or not words:
                return {}
            best = {t: max(words, key=self.average[t].__getitem__) for t, out in enumerate(self.outputs) if word(out)}
            return {row: [best[row - back]] for row in self.rows if row - back in best}
        if pattern == Pattern.MIRRORED:
            if self.kind == "decoder" or not self.rows:
                return {}
            sums = [row + column for row, column in self.largest.items()]
            line = max(set(sums), key=sums.count)
            return {row: [line - row] for row in self.rows}
        of_sort = {Pattern.END: "</s>".__eq__, Pattern.BEGINNING: "<s>".__eq__, Pattern.PUNCTUATION: mark}
        columns = [column for column, key in enumerate(self.keys) if of_sort[pattern](key)]
        return dict.fromkeys(self.rows, columns) if columns else {}

    def count(self, pattern):
        """Rows that follow a pattern, and rows that could."""
        if pattern not in self.counts:
            expected = self.columns_of(pattern)
            self.counts[pattern] = sum(self.largest[row] in places for row, places in expected.items()), len(expected)
        return self.counts[pattern]
