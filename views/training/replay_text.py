"""How sharply every head of a film looks, moment by moment: the mean of its row maxima (see `measures`)."""

from dataclasses import dataclass

import numpy as np

from plots.text import counted, head_name, pattern_words, percent, sentence_case, short_weight
from transformer.interpret.head_patterns import measure_head
from transformer.interpret.trace import blank_masked
from transformer.training.replay import Film, Reel


@dataclass(frozen=True, eq=False)
class Focus:
    """Row maxima of all heads of a kind in one reel, mean over the rows that have a choice.

    steps: [moments]; values: [moments, layers, heads], from 0 to 1, NaN where no row has a choice; `even` is what a
    head would have that spreads every row evenly.
    """

    steps: np.ndarray
    values: np.ndarray
    even: float

    @property
    def known(self) -> bool:
        """Whether any row has more than one key to read."""
        return bool(np.isfinite(self.even))

    def changes(self) -> np.ndarray:
        """Difference of each moment to the one before it: [moments - 1, layers, heads]."""
        return np.diff(self.values, axis=0)

    def most_changed(self) -> tuple[int, int]:
        """The head, counted from 0, whose value differs most between the first moment and the last."""
        difference = np.abs(self.values[-1] - self.values[0])
        layer, head = np.unravel_index(difference.argmax(), difference.shape)
        return int(layer), int(head)


def film_maps(reel: Reel, kind: str) -> np.ndarray:
    """All maps of a kind, [moments, layers, heads, queries, keys], cells that the causal mask closes as NaN."""
    return blank_masked(getattr(reel, kind), kind)


def focus_of(film: Film, reel: Reel, kind: str) -> Focus:
    """The focus of every head of a kind at every moment."""
    maps = film_maps(reel, kind)
    open_keys = (~np.isnan(maps[0, 0, 0])).sum(axis=-1)
    rows = open_keys > 1
    if not rows.any():
        return Focus(film.steps, np.full(maps.shape[:3], np.nan), float("nan"))
    values = np.nanmax(maps[..., rows, :], axis=-1).mean(axis=-1)
    return Focus(film.steps, values, float((1 / open_keys[rows]).mean()))


MOST_WORDS, MOST_LETTERS = 16, 70  # early outputs repeat one word to the length limit
NOTHING = "(nothing: it ended at once)"
_LEAST_MOMENTS = 3  # with fewer, there is nothing to compare a change with


def axes_words(kind: str, source: str, target: str) -> str:
    """What the rows and the columns of a map are; source and target are names such as "English" and "French"."""
    if kind == "cross":
        return f"rows: {target}, as it was fed to the decoder; columns: {source}"
    return f"rows and columns: {source}" if kind == "encoder" else f"rows and columns: {target}, as it was fed"


def step_words(step: int) -> str:
    """A step as people write it: "step 1,250"."""
    return f"step {step:,}"


def place_words(film: Film, moment: int) -> str:
    """Where in training a moment is: "Step 400 of 5,000"."""
    step = int(film.steps[moment])
    return f"Step {step:,} of {film.steps[-1]:,}"


def output_words(text: str) -> tuple[str, str]:
    """An output as it can be shown, and how many words of it are left out ("" for none)."""
    words = text.split()
    if not words:
        return NOTHING, ""
    shown = words[0] if len(words[0]) <= MOST_LETTERS else f"{words[0][:MOST_LETTERS]}…"
    taken = 1
    for word in words[1:MOST_WORDS]:
        if len(shown) + len(word) >= MOST_LETTERS:
            break
        shown, taken = f"{shown} {word}", taken + 1
    more = len(words) - taken
    return shown, f"… and {counted(more, 'more word')}" if more else ""


def loss_words(loss: float) -> str:
    """A loss with two decimals, one that they would round away with its first digit."""
    return f"{loss:.2f}" if loss >= 0.095 else f"{loss:.1g}"


def score_words(value: float, name: str) -> str:
    """A score as its readers write it: exact match in per cent, others with one decimal."""
    return percent(value) if name == "exact match" else f"{value:.1f}"


def spoken(film: Film, reel: Reel, moment: int, loss: str) -> str:
    """A moment for those who hear the slider: step, loss, and what the model wrote."""
    written, more = output_words(reel.outputs[moment])
    known = f"loss {loss}" if loss else "no loss yet"
    return f"step {film.steps[moment]:,} of {film.steps[-1]:,}: {known}, wrote: {written} {more}".rstrip()


def head_now(weights: np.ndarray, kind: str, keys: tuple[str, ...], focus: float, even: float) -> str:
    """One head at one moment: how sharply it looks, beside an even spread, and its pattern where it has one."""
    if not np.isfinite(even):
        return "Every row has a single key to read, so there is nothing to choose."
    sharp = f"A row's largest weight is {short_weight(focus)} on average (spread evenly: {short_weight(even)})."
    measured = measure_head(kind, weights, keys)
    return sharp if measured.label is None else f"{sharp} {sentence_case(pattern_words(measured, measured.label))}."


def head_story(focus: Focus, layer: int, head: int) -> str:
    """A head over the whole training: from what to what, and between which two moments it changed most."""
    name = sentence_case(head_name(layer, head, *focus.values.shape[1:]))
    if not focus.known:
        return f"{name}: every row has a single key to read, so its weights are 1 from the first moment to the last."
    values = focus.values[:, layer, head]
    first, last = (step_words(int(focus.steps[moment])) for moment in (0, -1))
    if len(values) == 1:
        return f"{name}: a row's largest weight is {short_weight(values[0])} on average at {first}."
    story = (
        f"{name}: a row's largest weight is {short_weight(values[0])} on average at {first} (spread evenly it would be "
        f"{short_weight(focus.even)}) and {short_weight(values[-1])} at {last}."
    )
    if len(values) < _LEAST_MOMENTS:
        return story
    jump = int(np.abs(focus.changes()[:, layer, head]).argmax())
    before, after = (step_words(int(focus.steps[moment])) for moment in (jump, jump + 1))
    return (
        f"{story} Of all neighbouring moments it changes most between {before} and {after}: from "
        f"{short_weight(values[jump])} to {short_weight(values[jump + 1])}."
    )


def heads_story(focus: Focus) -> str:
    """Which head of the kind changed most, and by when each layer's heads did; "" where nothing can be compared."""
    moments, layers, heads = focus.values.shape
    if not focus.known or moments < _LEAST_MOMENTS or layers * heads < 2:
        return ""
    layer, head = focus.most_changed()
    values = focus.values[:, layer, head]
    story = (
        f"Of all {counted(layers * heads, 'head')} of this kind, {head_name(layer, head, layers, heads)} differs most "
        f"between the first moment and the last: {short_weight(values[0])} and {short_weight(values[-1])}."
    )
    if layers == 1 or heads == 1:
        return story
    return (
        f"{story} At least half of a layer's heads have their largest change between neighbouring moments behind them "
        f"by {_listed([f'{words} in layer {number}' for number, words in enumerate(_halves(focus), start=1)])}."
    )


def output_story(film: Film, reel: Reel) -> str:
    """When the model first wrote the target of its own accord, and since when always."""
    right = np.array([output.split() == reel.target_text.split() for output in reel.outputs])
    last = step_words(int(film.steps[-1]))
    if not right.any():
        written, more = output_words(reel.outputs[-1])
        wrote = f"“{written}” {more}".rstrip()
        return f"At none of these moments does the model write the target; at {last} it writes {wrote}."
    first = int(right.argmax())
    since = len(right) - int((~right[::-1]).argmax()) if not right.all() else 0
    if first == len(right) - 1:
        return f"The model writes the target at the last moment, {last}, and at none before."
    start = f"The model writes the target for the first time at {step_words(int(film.steps[first]))}"
    if since == len(right):
        return f"{start}, but no longer at the last moment, {last}."
    if since == first:
        return f"{start}, and at every moment kept from then on."
    return f"{start}, and at every moment kept from {step_words(int(film.steps[since]))} on; in between it wavers."


def _halves(focus: Focus) -> list[str]:
    """For each layer the step by which at least half of its heads made their largest change."""
    jumps = np.abs(focus.changes()).argmax(axis=0) + 1  # layers heads
    middle = (jumps.shape[1] + 1) // 2 - 1
    return [step_words(int(focus.steps[moments[middle]])) for moments in np.sort(jumps, axis=1)]


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
