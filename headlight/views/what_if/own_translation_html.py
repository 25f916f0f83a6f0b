"""A given translation over the model's own, token under token: log P, rank, and what the model would have written."""

import html

import numpy as np

from headlight.plots.text import chance_words, signed
from transformer.interpret.trace import Trace

from .compared_html import aligned, number_html, row_html, table_html, token_html

_LEAST_LIMIT = 2.0  # nats: the full colour is never for less


def own_translation_html(own: Trace, model: Trace) -> str:
    """A table; equal tokens of both stand under one another. own: the given translation, teacher-forced."""
    given, found = own.log_probabilities, model.log_probabilities
    columns = list(aligned(own.next_ids, model.next_ids))
    first, second = ([column[side] for column in columns] for side in (0, 1))
    scored = [at if at in own.scored_steps else None for at in first]
    limit = max(_LEAST_LIMIT, float(-given.min()))
    rows = [
        row_html("yours", [token_html(own.next_tokens, at, at is not None and not own.is_greedy[at]) for at in first]),
        row_html("log P", [_shaded(given, at, limit) for at in scored]),
        row_html("rank", [_cell("" if at is None else f"{own.next_ranks[at]:,}") for at in scored]),
        row_html("the model would write", [_cell("" if at is None else _preferred(own, at)) for at in first]),
        row_html("model's own", [token_html(model.next_tokens, at, False) for at in second]),
        row_html("log P", [number_html(found, at if at in model.scored_steps else None) for at in second]),
    ]
    return table_html("Your translation and the model's token under token, with log P and rank of each token", rows)


def _preferred(trace: Trace, step: int) -> str:
    """What greedy decoding would go on with and its probability, where it is not the token itself."""
    if trace.is_greedy[step]:
        return ""
    best = trace.runner_up(step)
    return f"{trace.candidate_tokens[step][best]}\n{chance_words(float(trace.candidate_probabilities[step][best]))}"


def _shaded(values: np.ndarray, place: int | None, limit: float) -> str:
    if place is None:
        return "<td></td>"
    shade = max(0.0, -float(values[place]) / limit)
    return f'<td class="lost" style="--shade: {shade:.3f}">{signed(float(values[place]), 2)}</td>'


def _cell(text: str) -> str:
    return f"<td>{html.escape(text)}</td>"
