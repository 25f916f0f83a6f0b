"""The view of an attention block with small numbers, each of which can be changed."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from headlight.app import bar, state
from headlight.app.choices import numbers as numbers_to
from headlight.app.choices import one_of, slider
from headlight.app.errors import error_text
from headlight.app.finding import Templates
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_attempt, show_finding
from headlight.components.show import attention_steps
from transformer.config import Norm
from transformer.errors import ConfigError
from transformer.experiments.attention import (
    TABLES,
    ToyMask,
    ToyNumbers,
    ToyShape,
    fully_masked_row,
    table,
    toy_numbers,
    with_table,
)
from transformer.interpret.attention_block import Stages

from .block_facts import toy_block
from .steps import offer_program, read_chosen, remember

_EDITED = "toy_tables"  # tables that were changed, by what they belong to
TEMPLATES = Templates.beside(__file__)


def show(_request: TranslationRequest) -> None:
    """Show the steps at the left, and at the right the table to change. Raises UserError."""
    bar.hide_sentence()
    left, right = st.columns([5, 4], gap="medium")
    with right:
        numbers, sentence, head = _choose()
    block = toy_block(numbers, sentence, head)
    with left:
        attention_steps(block.facts(), read_chosen(), "toy_steps", remember, _flip(numbers, sentence))
    _show_masked_rows(block.stages, sentence, head)
    offer_program(block, TEMPLATES.text("title", head=head + 1), "attention-toy")


def _choose() -> tuple[ToyNumbers, int, int]:
    """Show the choices; return the numbers, and sentence and head, counted from 0."""
    with st.popover(TEMPLATES.text("shape"), icon=":material/tune:"):
        shape, mask = _sizes()
        seed = slider("toy_block_seed")
    with st.container(horizontal=True, gap="medium"):
        sentence = one_of(numbers_to(shape.batch), "toy_row")
        head = one_of(numbers_to(shape.num_heads), "toy_head")
    owner, row = f"{shape} {seed}", int(sentence) - 1
    numbers = _with_edits(toy_numbers(shape, seed, mask), owner)
    numbers = replace(numbers, unmasked=numbers.unmasked ^ _flipped(numbers))
    numbers = _edit(numbers, owner, one_of(TABLES, "toy_table"), row)
    st.caption(TEMPLATES.text("caption"))
    return numbers, row, int(head) - 1


def _sizes() -> tuple[ToyShape, str]:
    batch = int(one_of(("1", "2", "3"), "toy_batch"))
    tokens = int(one_of(("2", "3", "4", "5", "6"), "toy_tokens"))
    d_model = int(one_of(("4", "8", "12", "16"), "toy_d_model"))
    heads = int(one_of(("1", "2", "4"), "toy_num_heads"))
    mask = one_of([mask.value for mask in ToyMask], "toy_mask")
    norm = one_of(("post", "pre"), "toy_block_norm")
    return ToyShape(batch, tokens, d_model, heads, Norm(norm)), mask


def _with_edits(numbers: ToyNumbers, owner: str) -> ToyNumbers:
    """Return the numbers with the visitor's changes."""
    for (of, name, sentence), values in st.session_state.get(_EDITED, {}).items():
        if of == owner:
            numbers = with_table(numbers, name, values, sentence)
    return numbers


def _flipped(numbers: ToyNumbers) -> np.ndarray:
    """Return which cells of the mask are flipped, as the address names them; none if it names no such cells."""
    digits = state.value("toy_flipped")
    if not re.fullmatch(f"[01]{{{numbers.unmasked.size}}}", digits):
        return np.zeros_like(numbers.unmasked)
    return np.array([digit == "1" for digit in digits]).reshape(numbers.unmasked.shape)


def _flip(numbers: ToyNumbers, sentence: int) -> Callable[[int, int], None]:
    """Return a function that flips a cell of this sentence's mask, counted from 1, in the address."""
    flipped = _flipped(numbers)

    def flip(query: int, key: int) -> None:
        flipped[sentence, query - 1, key - 1] ^= True
        cells = "".join("1" if cell else "0" for cell in flipped.flatten())
        state.go(toy_flipped=cells if flipped.any() else "")

    return flip


def _edit(numbers: ToyNumbers, owner: str, name: str, sentence: int) -> ToyNumbers:
    """Show the table of this name, to be changed; return the numbers with the changes."""
    edited_table = (owner, name, sentence if name == "X" else 0)
    key = f"toy_editor_{edited_table}_{st.session_state.get('toy_anew', 0)}"
    start = f"{key}_start"
    if key not in st.session_state or start not in st.session_state:  # the table appears: it begins with what holds now
        st.session_state[start] = table(numbers, name, sentence)
    values = st.session_state[start]
    frame = pd.DataFrame(values, _row_names(name, len(values)), [str(column + 1) for column in range(values.shape[1])])
    columns = {column: st.column_config.NumberColumn(format="%.2f", step=0.01) for column in frame}
    columns["_index"] = st.column_config.TextColumn(disabled=True)
    with st.container(key="toy_editor"):
        changed = st.data_editor(frame, key=key, column_config=columns)
    new = changed.to_numpy(dtype=np.float64)
    try:
        edited = with_table(numbers, name, new, sentence)
    except ConfigError as error:
        st.warning(plain(error_text(error)), icon=":material/edit:")
        return numbers
    if not np.array_equal(new, table(numbers, name, sentence)):
        st.session_state.setdefault(_EDITED, {})[edited_table] = new
    if any(of == owner for of, *_ in st.session_state.get(_EDITED, {})) or _flipped(numbers).any():
        st.button(TEMPLATES.text("back"), on_click=_anew, icon=":material/undo:")
    return edited


def _row_names(name: str, rows: int) -> list[str]:
    if name == "X":
        return [TEMPLATES.text("token", number=row + 1) for row in range(rows)]
    special = {"biases": ["b_Q", "b_K", "b_V", "b_O"], "γ and β": ["γ", "β"]}
    return special.get(name) or [str(row + 1) for row in range(rows)]


def _anew() -> None:
    st.session_state.pop(_EDITED, None)
    st.session_state["toy_anew"] = st.session_state.get("toy_anew", 0) + 1
    state.go(toy_flipped="")


def _show_masked_rows(stages: Stages, sentence: int, head: int) -> None:
    masked = np.flatnonzero(~stages.unmasked[sentence].any(axis=-1))
    if not len(masked):
        show_attempt(TEMPLATES.text("attempt"))
        return
    row = int(masked[0])
    result = fully_masked_row(stages.scores[sentence, head, row].tolist())
    st.subheader(TEMPLATES.text("no_key", row=row + 1))
    ways = {TEMPLATES.text(name): getattr(result, name) for name in ("with_infinity", "with_large_number", "fused")}
    nan = TEMPLATES.text("not_a_number")
    cells = [[nan if np.isnan(value) else f"{value:.4f}" for value in way] for way in ways.values()]
    keys = _row_names("X", len(result.fused))
    st.dataframe(pd.DataFrame(cells, list(ways), keys), width="content")
    show_finding(TEMPLATES("masked_row").followed_by(TEMPLATES("three_ways")))
