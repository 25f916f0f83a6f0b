"""A decoding, step by step, as the plain values that the player draws: texts, candidates, rows of attention."""

import base64

import numpy as np

from headlight.plots.text import chance_words, head_name
from transformer.interpret.trace import AttentionMap, Trace

from .text import entropy_words, may_take, step_sentence


def decoding_steps(
    trace: Trace, cross: AttentionMap, decoder: AttentionMap, vocabulary: int, forced: int = 0, own: str = ""
) -> dict:
    """Everything the player shows of a trace, ready for JSON; steps count from 1.

    cross and decoder are the maps, of one head or an average, whose rows are shown under the sentences; `vocabulary` is
    the number of tokens, `forced` of how many first steps the user chose the token, and `own` the translation without
    that. Weights travel as bytes of float32 in base64.
    """
    steps = len(trace.next_ids)
    return {
        "id": "-".join(map(str, (*trace.source_ids, *trace.next_ids))),
        "source": list(trace.source_tokens),
        "fed": list(trace.fed_tokens),
        "next": list(trace.next_tokens),
        "steps": [_step(trace, step, cross, decoder, vocabulary, step < forced) for step in range(steps)],
        "branch": _branch(trace, forced, own) if forced else None,
        "cross": _bytes(cross.weights),
        "decoder": _bytes(decoder.weights),
        "all_cross": _bytes(trace.cross),
        "all_decoder": _bytes(trace.decoder),
        "layers": trace.cross.shape[0],
        "heads": trace.cross.shape[1],
        "layer": cross.layer,
        "head": cross.head,
        "name": head_name(cross.layer, cross.head, cross.layers, cross.heads),
    }


def _branch(trace: Trace, forced: int, own: str) -> dict[str, str]:
    """What was forced, the translation with it, and the one without."""
    return {"forced": " ".join(trace.next_tokens[:forced]), "now": trace.target_text, "own": own}


def _step(trace: Trace, step: int, cross: AttentionMap, decoder: AttentionMap, vocabulary: int, forced: bool) -> dict:
    candidates = _candidates(trace, step)
    rest = max(0.0, 1.0 - sum(candidate["probability"] for candidate in candidates))
    return {
        "sentence": step_sentence(trace, step, cross, decoder, forced),
        "chance": chance_words(float(trace.next_probabilities[step])),
        "rank": int(trace.next_ranks[step]),
        "entropy": entropy_words(float(trace.entropies[step])),
        "forced": forced,
        "takable": may_take(trace, step),
        "candidates": candidates,
        "rest": rest,
        "rest_words": f"the other {vocabulary - len(candidates):,} tokens together {chance_words(rest)}",
    }


def _candidates(trace: Trace, step: int) -> list[dict]:
    """The most probable tokens of a step, and the chosen one where it is not among them."""
    ids, taken = [int(id) for id in trace.candidate_ids[step]], trace.next_ids[step]
    tokens, probabilities = trace.candidate_tokens[step], trace.candidate_probabilities[step]
    rows = [*zip(ids, tokens, probabilities, range(1, len(ids) + 1), strict=True)]
    if taken not in ids:
        rows.append((taken, trace.next_tokens[step], trace.next_probabilities[step], int(trace.next_ranks[step])))
    return [
        {
            "id": id,
            "token": token,
            "probability": float(probability),
            "words": chance_words(float(probability)),
            "rank": rank,
            "taken": id == taken,
            "special": token in trace.never_chosen,
        }
        for id, token, probability, rank in rows
    ]


def _bytes(weights: np.ndarray) -> str:
    return base64.b64encode(np.nan_to_num(weights).astype(np.float32).tobytes()).decode("ascii")
