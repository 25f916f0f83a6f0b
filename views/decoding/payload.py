"""A decoding, step by step, as the plain values that the player draws: sentences, candidates, rows of attention."""

import base64

import numpy as np

from plots.palette import head_name, sentence_case
from plots.text import NEVER_CHOSEN, chance_words, quoted
from transformer.interpret.trace import AttentionMap, Trace


def decoding_steps(trace: Trace, cross: AttentionMap, decoder: AttentionMap, vocabulary: int, forced: int = 0) -> dict:
    """Everything the player shows of a trace, ready for JSON; steps count from 1.

    cross and decoder are the maps, of one head or an average, whose rows stand under the sentences; `vocabulary` is
    the number of pieces, `forced` of how many first steps the visitor chose the piece. Weights travel as bytes in
    base64: those of the chosen maps as float32, those of all heads as 65535ths in uint16, exact to four decimals.
    """
    steps = len(trace.next_ids)
    return {
        "id": "-".join(map(str, (*trace.source_ids, *trace.next_ids))),
        "source": list(trace.source_tokens),
        "fed": list(trace.fed_tokens),
        "next": list(trace.next_tokens),
        "steps": [_step(trace, step, cross, decoder, vocabulary, step < forced) for step in range(steps)],
        "cross": _bytes(np.nan_to_num(cross.weights).astype(np.float32)),
        "decoder": _bytes(np.nan_to_num(decoder.weights).astype(np.float32)),
        "all_cross": _bytes(_sixteen_bits(trace.cross)),
        "all_decoder": _bytes(_sixteen_bits(trace.decoder)),
        "layers": trace.cross.shape[0],
        "heads": trace.cross.shape[1],
        "layer": cross.layer,
        "head": cross.head,
        "name": head_name(cross.layer, cross.head, cross.layers, cross.heads),
    }


def step_sentence(trace: Trace, step: int, cross: AttentionMap, decoder: AttentionMap, forced: bool = False) -> str:
    """One step in words: what was fed, what follows it and how likely, and where the chosen maps read most."""
    chosen = quoted(trace.next_tokens[step])
    probability, rank = chance_words(trace.next_probabilities[step]), int(trace.next_ranks[step])
    place = "the most probable piece" if rank == 1 else f"choice number {rank}"
    verb = "you chose" if forced else "comes"
    return (
        f"Fed {quoted(trace.fed_tokens[step])}, the model gives {chosen} {probability}: {place}; "
        f"{chosen} {verb} next. {_reader(cross)} reads {_most(cross, step)} of the source and "
        f"{_most(decoder, step)} of what it was fed."
    )


def spread_words(entropy: float) -> str:
    """An entropy in nats, and the number of equally likely pieces that would be as uncertain."""
    return f"{entropy:.2f} nats, as uncertain as {np.exp(entropy):.1f} equally likely pieces"


def _step(trace: Trace, step: int, cross: AttentionMap, decoder: AttentionMap, vocabulary: int, forced: bool) -> dict:
    probabilities = trace.candidate_probabilities[step]
    taken = trace.next_ids[step]
    candidates = [
        {"id": int(id), "token": token, "probability": float(probability), "words": chance_words(float(probability))}
        | {"rank": rank, "taken": int(id) == taken, "special": token in NEVER_CHOSEN}
        for rank, (id, token, probability) in enumerate(
            zip(trace.candidate_ids[step], trace.candidate_tokens[step], probabilities, strict=True), start=1
        )
    ]
    if not any(candidate["taken"] for candidate in candidates):
        probability = float(trace.next_probabilities[step])
        candidates.append(
            {"id": taken, "token": trace.next_tokens[step], "probability": probability}
            | {"words": chance_words(probability), "rank": int(trace.next_ranks[step]), "taken": True, "special": False}
        )
    rest = max(0.0, 1.0 - sum(candidate["probability"] for candidate in candidates))
    return {
        "sentence": step_sentence(trace, step, cross, decoder, forced),
        "chance": chance_words(float(trace.next_probabilities[step])),
        "rank": int(trace.next_ranks[step]),
        "entropy": spread_words(float(trace.entropies[step])),
        "forced": forced,
        # A translation cut at the length limit has no room after its last piece.
        "takable": trace.finished or step + 1 < len(trace.next_ids),
        "candidates": candidates,
        "rest": rest,
        "rest_words": f"the other {vocabulary - len(candidates):,} pieces together {chance_words(rest)}",
    }


def _reader(chosen: AttentionMap) -> str:
    name = head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads)
    return f"The {name}" if name.startswith("average") else sentence_case(name)


def _most(chosen: AttentionMap, row: int) -> str:
    weights = np.nan_to_num(chosen.weights[row])
    key = int(weights.argmax())
    return f"{quoted(chosen.keys[key])} most ({weights[key]:.2f})"


def _sixteen_bits(weights: np.ndarray) -> np.ndarray:
    return np.rint(weights * 65535).astype("<u2")


def _bytes(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
