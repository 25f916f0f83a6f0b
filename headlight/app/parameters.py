"""Registry of URL query parameters: their pages and their defaults."""

from collections.abc import Set
from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """A name in the address: what it means, and its value where the address has none.

    Without a default the page computes it, from the example or as the first option. limits: of a number.
    """

    meaning: str
    default: str | int | float | tuple[str, ...] | None = None
    limits: tuple[int, int] | tuple[float, float] | None = None


_BAR = {  # on every page
    "checkpoint": Parameter("the checkpoint that translates"),
    "target": Parameter("the target language of a model that has several"),
    "source": Parameter("the source language of a model that is told it"),
    "instruction": Parameter("what is put before the text for a model that is so told what to do with it (T5)"),
    "text": Parameter("the sentence to translate", "I love my teacher."),
    "decoding": Parameter("the decoding strategy", "greedy"),
    "beam": Parameter("beam size", 5, (2, 10)),
    "alpha": Parameter("length penalty of beam search", 0.6, (0.0, 1.5)),
    "temperature": Parameter("temperature of sampling", 1.0, (0.1, 2.0)),
    "topk": Parameter("k of top-k sampling, 0 for all", 0, (0, 50)),
    "seed": Parameter("seed of sampling", 1, (1, 9999)),
    "ui": Parameter("the language of the interface: en, de or fr; without it the browser's", ""),
    "present": Parameter("1 for presentation mode: no bar, larger type", ""),
    "lesson": Parameter("the lesson and its step, such as attention.3", ""),
    "class": Parameter("the code of the class whose teacher's screen this is", ""),
}
_LESSONS = {
    "lessons": Parameter("view", "lessons"),
    "teach": Parameter("1 where the lessons' buttons open a class", ""),
    "lesson_told": Parameter("for the teacher: the lesson that is told"),
}
_HOME = {
    "hidden": Parameter("source words hidden from every head of cross-attention, such as 2.5, from 1", ""),
    "map": Parameter("1 for the map of one head beside the lines", ""),
}
_SHARED = {  # by several pages
    "head": Parameter("head from 1, such as cross.3.4; cross.3.all for an average; several as cross.1.1-cross.3.2"),
    "query": Parameter("chosen queries, such as 2 or 1.4, from 1", ""),
    "key": Parameter("chosen keys, such as 2 or 1.4, from 1", ""),
    "rows": Parameter("the tokens that name a decoder row: its output, its input or both", "output token"),
    "step": Parameter("the decoding step, from 1; without it the hardest one, or one that the view chooses"),
    "side": Parameter("source or target", "source"),
    "token": Parameter("chosen token, from 1"),
}
_DECODING = {
    "prefix": Parameter("token ids that the translation must begin with, joined by dots", ""),
    "hypothesis": Parameter("rank of the hypothesis of a beam", "1"),
    "decoding_view": Parameter("view", "step by step"),
    "draw_temperature": Parameter("candidates: temperature (`temperature` is the bar's)", 1.0),
    "draw_topk": Parameter("candidates: k of top-k, 0 for all (`topk` is the bar's)", 0),
    "draw_topp": Parameter("candidates: p of top-p", 1.0),
}
_ATTENTION = {
    "attention": Parameter("view", "explorer"),
    "view": Parameter("explorer: map or lines", "map"),
    "label": Parameter("explorer: pattern of the heads that are not faint", "all"),
}
_INSIDE = {
    "inside": Parameter("view", "the whole pass"),
    "moment": Parameter("the whole pass: the station at which it stands, from 1", ""),
    "at_dimension": Parameter("chosen dimension, from 1"),
    "at_step": Parameter("chosen step by its name, or all"),
    "toy_batch": Parameter("small example: sentences in the batch", "2"),
    "toy_tokens": Parameter("small example: tokens in a sentence", "3"),
    "toy_d_model": Parameter("small example: d_model", "8"),
    "toy_num_heads": Parameter("small example: heads", "2"),
    "toy_mask": Parameter("small example: the mask to begin with", "none"),
    "toy_block_norm": Parameter("small example: pre-norm or post-norm (`toy_norm` is the live training's)", "post"),
    "toy_block_seed": Parameter("small example: seed of its numbers (`toy_seed` is the live training's)", 1),
    "toy_row": Parameter("small example: sentence of the batch, from 1", "1"),
    "toy_head": Parameter("small example: head shown, from 1", "1"),
    "toy_table": Parameter("small example: the table to change", "X"),
    "toy_flipped": Parameter("small example: a digit for each cell of the mask, 1 where it was clicked", ""),
    "random_seed": Parameter("why √d_k: seed of the random vectors", 1),
    "second": Parameter("masks: second sentence of the batch", "Tom lives in Boston with his three sisters."),
}
_RESEARCH = {
    "research": Parameter("view; without it the tiles of all views", ""),
    "x": Parameter("atlas: measure from left to right", "distance"),
    "y": Parameter("atlas: measure from below", "confidence"),
    "against": Parameter("contrast: the other candidate"),
    "against_key": Parameter("why this cell: the key to compare with, from 1, or none; without it the runner-up", ""),
    "opened": Parameter("why this cell: the layer whose heads are drawn one by one, such as encoder.2 from 1", ""),
    "removed": Parameter("why this cell: the head whose part is removed, such as cross.2.4 from 1", ""),
    "unit_layer": Parameter("feed-forward: layer, from 1", "1"),
    "minimal_pair": Parameter("patching: what the shipped sentences differ in, or the reader's own"),
    "clean": Parameter("patching: own first sentence, empty for the bar's", ""),
    "corrupted": Parameter("patching: own second sentence, empty for one made from the first", ""),
    "patched": Parameter("patching: what of the clean run is put into the corrupted run", "encoder stream"),
    "patched_row": Parameter("patching: row of the chosen cell, from 1"),
    "patched_column": Parameter("patching: column of the chosen cell, from 1"),
}
_WHAT_IF = {
    "what_if": Parameter("view", "head ablation"),
    "ablated_by": Parameter("head ablation: what stands for the output of a head that is off", "zero"),
    "off": Parameter("head ablation: the heads that are off, such as cross.3.4-encoder.1.2 from 1, or none"),
    "rewrite": Parameter("rewrite attention: what is done to the weights", "forbid a token"),
    "rewrite_heads": Parameter("rewrite attention: whose weights", "all heads"),
    "rewrite_rows": Parameter("rewrite attention: in which rows", "every row"),
    "rewrite_row": Parameter("rewrite attention: the row that is shown, from 1"),
    "rewrite_key": Parameter("rewrite attention: the token that is forbidden or gets all, from 1"),
    "rewrite_weights": Parameter("rewrite attention: weights by hand, such as 0.5-0.25-0.25", ""),
    "own_target": Parameter("your translation: the translation that the model is fed"),
}
_POSITIONS = {
    "positions": Parameter("view", "word order"),
    "reordered": Parameter("word order: the same words in another order"),
    "pair": Parameter("waves: pair of dimensions, from 0"),
    "position": Parameter("waves: position, from 0"),
    "offset": Parameter("waves: offset between two positions"),
    "bias_head": Parameter("relative bias: head, from 1", "1"),
    "bias_reach": Parameter("relative bias: greatest distance drawn, or all", "48"),
}
_TRAINING = {  # live, two runs compared, and the replay
    "training": Parameter("view", "replay"),
    "task": Parameter("toy task: copy, reverse or sort", "reverse"),
    "symbols": Parameter("live: letters or digits", "letters"),
    "number_of_letters": Parameter("live: how many letters there are", 11),
    "number_of_digits": Parameter("live: how many digits there are", 10),
    "symbols_long": Parameter("live: greatest length of a sequence", 10),
    "toy_width": Parameter("live: d_model", "64"),
    "toy_layers": Parameter("live: layers in encoder and decoder each", "2"),
    "toy_heads": Parameter("live: heads (`toy_num_heads` is the small example's)", "8"),
    "toy_norm": Parameter("live and two runs: pre-norm or post-norm", "pre"),
    "toy_seed": Parameter("live and two runs: seed of the first weights and of all sequences", 1),
    "job": Parameter("live: name of the training", ""),
    "jobs": Parameter("two runs: names of the trainings, joined by a comma", ""),
    "hyperparameter": Parameter("two runs: the hyperparameter in which they differ", "schedule"),
    "probe": Parameter("replay: the sentence that is shown"),
    "snapshot": Parameter("replay: update of the training at which it stands"),
}


def _shared(*names: str) -> dict[str, Parameter]:
    return {name: _SHARED[name] for name in names}


# The values of both runs, for each hyperparameter in which they may differ.
for _name, _first, _second in (
    ("schedule", "Noam", "constant"),
    ("warmup_steps", "200 updates", "25 updates"),
    ("label_smoothing", "no smoothing", "0.1"),
    ("norm", "pre-norm", "post-norm"),
    ("positions", "sine and cosine", "no positions"),
    ("num_heads", "8 heads", "1 head"),
):
    _TRAINING[f"first_{_name}"] = Parameter(f"two runs: {_name} of the first", _first)
    _TRAINING[f"second_{_name}"] = Parameter(f"two runs: {_name} of the second", _second)

# The names that each page reads, beside those of the bar.
_PAGES = {
    "home": _HOME | _shared("head", "rows"),
    "lessons": _LESSONS,
    "decoding": _DECODING | _shared("head", "step"),
    "attention": _ATTENTION | _shared("head", "query", "key", "rows"),
    "what_if": _WHAT_IF | _shared("head"),
    "inside": _INSIDE | _shared("head", "query", "key", "rows"),
    "positions": _POSITIONS | _shared("side"),
    "training": _TRAINING | _shared("head"),
    "research": _RESEARCH | _shared("head", "query", "key", "step", "side", "token"),
}
PARAMETERS = {name: parameter for names in (_BAR, *_PAGES.values()) for name, parameter in names.items()}


# Parameters of "step by step", which the page Inside once opened with.
_OF_STEPS = {"head", "query", "key", "at_dimension", "at_step", "rows"}


def view_of_old_address(page: str, names: Set[str]) -> dict[str, str]:
    """Return the view that an address without one has meant, where the page now opens with another."""
    is_old = page == "inside" and not names & {"inside", "moment"} and names & _OF_STEPS
    return {"inside": "step by step"} if is_old else {}


def names_of(page: str) -> set[str]:
    """Return the names in the address of a page, with those of the bar."""
    return {*_BAR, *_PAGES.get(page, {})}


def default_of(name: str) -> str:
    """Return the text of a name's default, "" for one without. Raises KeyError for an unknown name."""
    default = PARAMETERS[name].default
    return "" if default is None else str(default)
