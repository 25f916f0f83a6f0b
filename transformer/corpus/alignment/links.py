"""Links between words, read off maps of tokens, and their error rate against links of people. NumPy only.

A row of a decoder's map may be read in two ways: as the alignment of its output token, or of its input token, which is
the output token of the row before. A trained model's maps align better with the input (Chen et al. 2020, "shift").
"""

import numpy as np

from ...model.names import Name

COUNTS = ("sure_hits", "possible_hits", "links", "sure")


class Reading(Name):
    """Token of a row that the row's largest weight aligns: the predicted or the fed one."""

    OUTPUT = "output"
    INPUT = "input"


class Direction(Name):
    """Side whose every word gets links: the target's, the source's, or the links of both or of either."""

    TARGET = "target"
    SOURCE = "source"
    BOTH = "both"
    EITHER = "either"


def find_links(maps: np.ndarray, target: np.ndarray, source: np.ndarray, reading: Reading | str) -> np.ndarray:
    """Link each target word with the source words on which the rows of its tokens have their largest weight.

    maps: [..., target tokens, source tokens], row t predicts target token t; target: [target tokens, target words],
    source: [source tokens, source words], True where a token is of a word. Only source tokens of a word can be chosen,
    of equal ones the first; two words are linked if any of their tokens are. -> [..., target words, source words].
    """
    rows = _rows(target, reading)
    of_words = source.any(axis=1)
    if not of_words.any():
        return np.zeros((*maps.shape[:-2], target.shape[1], source.shape[1]), dtype=bool)
    chosen = source[np.where(of_words, maps, -np.inf).argmax(axis=-1)]  # ... target tokens, source words
    return np.asarray(rows.T.astype(np.int32) @ chosen.astype(np.int32) > 0)


def find_symmetric_links(
    attention: np.ndarray, target: np.ndarray, source: np.ndarray, reading: Reading | str, direction: Direction | str
) -> np.ndarray:
    """Link words as `find_links`, or each source word with the target words on which its column has its largest weight.

    attention: [target tokens, source tokens]; "both" keeps the links of both directions, "either" has all.
    """
    links = find_links(attention, target, source, reading)
    if Direction(direction) == Direction.TARGET:
        return links
    back = find_links(attention.T, source, _rows(target, reading), Reading.OUTPUT).T
    return {Direction.SOURCE: back, Direction.BOTH: links & back, Direction.EITHER: links | back}[Direction(direction)]


def _rows(target: np.ndarray, reading: Reading | str) -> np.ndarray:
    """Return the words of each row's token: [target tokens, target words]."""
    return target if Reading(reading) == Reading.OUTPUT else np.vstack([np.zeros_like(target[:1]), target[:-1]])


def count_links(links: np.ndarray, sure: np.ndarray, possible: np.ndarray) -> np.ndarray:
    """Count the `COUNTS` of which an error rate is made: the links that are sure, those that are possible, all, and
    the sure ones there are. links: [..., target words, source words], sure and possible without the first -> [..., 4].
    """
    tables = np.stack([links & sure, links & possible, links, np.broadcast_to(sure, links.shape)])
    return np.moveaxis(tables.sum(axis=(-1, -2)), 0, -1)


def error_rate(counts: np.ndarray) -> np.ndarray:
    """Compute the alignment error rate, 1 - (|A and S| + |A and P|) / (|A| + |S|) (Och and Ney 2003, 4.2).

    counts: [..., 4] as of `count_links`, of a sentence or summed over many -> [...]; NaN where there is no link at all.
    """
    hits, size = counts[..., :2].sum(axis=-1), counts[..., 2:].sum(axis=-1)
    return np.asarray(1 - np.divide(hits, size, out=np.full(size.shape, np.nan), where=size > 0))


def link_table(links: frozenset[tuple[int, int]], source_words: int, target_words: int) -> np.ndarray:
    """Return links (source word, target word) as a table of bool: [target words, source words]."""
    table = np.zeros((target_words, source_words), dtype=bool)
    for of_source, of_target in links:
        table[of_target, of_source] = True
    return table
