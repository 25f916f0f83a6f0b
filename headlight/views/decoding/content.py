"""The player's payload and its page of its own, and sentences on the steps of a decoding."""

import base64

import numpy as np

from headlight.components.standalone import Words, standalone
from headlight.plots.limits import strips_words
from headlight.plots.text import Finding, format_probability, head_name, quoted, sentence_case
from transformer.interpret.trace import SPECIAL_TOKENS, AttentionMap, Trace

_LOOK_FOR = (
    "Play it, or go from step to step with the arrow keys: the ten most probable next tokens, the one that was taken, "
    "and what each head reads in that step. To force another token takes the model, and so the app."
)


def decoding_steps(
    trace: Trace, cross: AttentionMap, decoder: AttentionMap, vocabulary: int, forced: int = 0, unforced: str = ""
) -> dict:
    """Return everything the player shows of a trace, ready for JSON; steps count from 1.

    cross and decoder are the maps, of one head or an average, whose rows are shown under the sentences; `vocabulary` is
    the number of tokens, `forced` of how many first steps the user chose the token, and `unforced` the translation
    without that. Weights travel as bytes of float32 in base64; of a long text those of the maps alone, and
    `without_heads` says why.
    """
    without = strips_words(len(trace.source_ids), len(trace.target_ids), trace.cross.size + trace.decoder.size)
    words = {"forced": " ".join(trace.target_tokens[:forced]), "now": trace.target_text, "own": unforced}
    steps = {
        "id": "-".join(map(str, (*trace.source_ids, *trace.target_ids))),
        "source": list(trace.source_tokens),
        "fed": list(trace.decoder_input_tokens),
        "next": list(trace.target_tokens),
        "steps": [
            _step(trace, step, cross, decoder, vocabulary, forced=step < forced)
            for step in range(len(trace.target_ids))
        ],
        "branch": words if forced else None,
        "cross": _bytes(cross.weights),
        "decoder": _bytes(decoder.weights),
        "all_cross": "" if without else _bytes(trace.cross),
        "all_decoder": "" if without else _bytes(trace.decoder),
        "layers": trace.cross.shape[0],
        "heads": trace.cross.shape[1],
        "layer": cross.layer,
        "head": cross.head,
        "name": head_name(cross.layer, cross.head, cross.layers, cross.heads),
    }
    return {**steps, "without_heads": without} if without else steps


def decoding_page(steps: dict, step: int, trace: Trace, checkpoint: str) -> str:
    """Return one HTML file of the player with its `steps` (see `decoding_steps`), at a step counted from 1."""
    fixed = [{**each, "takable": False} for each in steps["steps"]]
    words = Words("A translation, step by step", trace.source_text, trace.target_text, checkpoint, _LOOK_FOR)
    return standalone("decoding_player/player", {**steps, "steps": fixed, "step": step}, words)


def _step(
    trace: Trace, step: int, cross: AttentionMap, decoder: AttentionMap, vocabulary: int, *, forced: bool
) -> dict:
    candidates = _candidates(trace, step)
    rest = max(0.0, 1.0 - sum(candidate["probability"] for candidate in candidates))
    return {
        "sentence": step_sentence(trace, step, cross, decoder, forced=forced),
        "chance": format_probability(float(trace.target_probabilities[step])),
        "rank": int(trace.target_ranks[step]),
        "entropy": entropy_words(float(trace.entropies[step])),
        "forced": forced,
        "takable": trace.has_room_after(step),
        "candidates": candidates,
        "rest": rest,
        "rest_words": f"the other {vocabulary - len(candidates):,} tokens together {format_probability(rest)}",
    }


def _candidates(trace: Trace, step: int) -> list[dict]:
    """Return the most probable tokens of a step, and the chosen one where it is not among them."""
    ids, taken = trace.candidate_ids[step].tolist(), trace.target_ids[step]
    tokens, probabilities = trace.candidate_tokens[step], trace.candidate_probabilities[step]
    rows = [*zip(ids, tokens, probabilities, range(1, len(ids) + 1), strict=True)]
    if taken not in ids:
        rows.append((taken, trace.target_tokens[step], trace.target_probabilities[step], int(trace.target_ranks[step])))
    return [
        {
            "id": token_id,
            "token": token,
            "probability": float(probability),
            "words": format_probability(float(probability)),
            "rank": rank,
            "taken": token_id == taken,
            "special": token in trace.never_chosen,
        }
        for token_id, token, probability, rank in rows
    ]


def _bytes(weights: np.ndarray) -> str:
    return base64.b64encode(np.nan_to_num(weights).astype(np.float32).tobytes()).decode("ascii")


def step_sentence(trace: Trace, step: int, cross: AttentionMap, decoder: AttentionMap, *, forced: bool = False) -> str:
    """Return one step in words: input token, next token with its probability, and what the maps attend to most.

    In the first step the prefix is a single token, which gets all the weight there is: that goes unsaid.
    """
    reason = ", forced by you" if forced else ", given, not chosen" if step < trace.num_forced else ""
    name = sentence_case(head_name(cross.layer, cross.head, cross.layers, cross.heads))
    prefix = f" and to {_most(decoder, step)} of the prefix" if step else ""
    return (
        f"With input {quoted(trace.decoder_input_tokens[step])} the model gives {quoted(trace.target_tokens[step])} "
        f"{format_probability(trace.target_probabilities[step])}, rank {trace.target_ranks[step]}{reason}. {name} "
        f"attends most to {_most(cross, step)} of the source{prefix}."
    )


def _most(shown: AttentionMap, row: int) -> str:
    weights = np.nan_to_num(shown.weights[row])
    key = int(weights.argmax())
    return f"{quoted(shown.keys[key])} ({weights[key]:.2f})"


def entropy_words(entropy: float) -> str:
    """Return an entropy in nats, and its perplexity."""
    return f"{entropy + 0.0:.2f} nats, perplexity {np.exp(entropy):.1f}"


def hardest_step(trace: Trace) -> int:
    """Return the step of the highest entropy among those that were open to choice, counted from 0."""
    return trace.num_forced + int(trace.entropies[trace.num_forced :].argmax())


def describe_hardest(trace: Trace) -> tuple[Finding, str]:
    """Describe the hardest step, and suggest another token for it: "" where none can be forced."""
    step = hardest_step(trace)
    index = trace.runner_up(step)
    other, probability = quoted(trace.candidate_tokens[step][index]), trace.candidate_probabilities[step, index]
    found = Finding(
        f"Step {step + 1}, {quoted(trace.target_tokens[step])}, was the hardest choice.",
        f"It got {format_probability(trace.target_probabilities[step])}, the runner-up {other} "
        f"{format_probability(probability)}. The perplexity is {np.exp(trace.entropies[step]):.1f}, the highest of all "
        "steps: as hard as a choice among so many equally probable tokens.",
    )
    attempt = f"step {step + 1} with {other} forced instead: how does the rest change?"
    return found, attempt if trace.has_room_after(step) else ""


def given_words(trace: Trace) -> str:
    """Return what the translation begins with without being chosen: a language, in a model that writes several."""
    first = trace.target_tokens[0]
    why = "as the first token of every translation" if first in SPECIAL_TOKENS else "as the language to be written"
    return f"{quoted(first)} is not the model's choice: it is given, {why}, and no score counts it."
