"""A decoding, step by step: the player's payload and its page of its own, sentences on steps and on a beam search."""

import base64
from collections.abc import Callable

import numpy as np

from headlight.components.standalone import Words, standalone
from headlight.plots.limits import strips_words
from headlight.plots.text import Finding, format_distinct, format_probability, head_name, quoted, sentence_case
from transformer.decoding.beam import Beam, Outcome, PathOutcome, SearchRecord
from transformer.decoding.sampling import Hypothesis
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


def hardest_step(trace: Trace) -> tuple[Finding, str]:
    """Return the step of the highest entropy, and what to try there: "" where no other token can be forced.

    That of the lowest probability may be another.
    """
    step = trace.num_forced + int(trace.entropies[trace.num_forced :].argmax())
    index = trace.runner_up(step)
    other, probability = quoted(trace.candidate_tokens[step][index]), trace.candidate_probabilities[step, index]
    found = Finding(
        f"The model is least sure at step {step + 1}: perplexity {np.exp(trace.entropies[step]):.1f}.",
        f"Of all steps open to choice its entropy is the highest: {quoted(trace.target_tokens[step])} got "
        f"{format_probability(trace.target_probabilities[step])}, {other} {format_probability(probability)}.",
    )
    attempt = f"step {step + 1} with {other} forced instead: how does the rest change?"
    return found, attempt if trace.has_room_after(step) else ""


def given_words(trace: Trace) -> str:
    """Return what the translation begins with without being chosen: a language, in a model that writes several."""
    first = trace.target_tokens[0]
    why = "as the first token of every translation" if first in SPECIAL_TOKENS else "as the language to be written"
    return f"{quoted(first)} is not the model's choice: it is given, {why}, and no score counts it."


def describe_search(
    record: SearchRecord, greedy: Hypothesis, beam: Beam, text: Callable[[list[int]], str]
) -> tuple[Finding, str]:
    """Return what beam search gained over greedy decoding, or what became of greedy's path, and what to try.

    `text` decodes ids.
    """
    best = record.ended[0]
    if best.ids == greedy.ids:
        return Finding("Greedy decoding finds the same translation here."), "a longer sentence."
    searched, single = format_distinct(best.log_probability, greedy.log_probability)
    headline = f"Beam search has log P {searched}, greedy decoding {single}."
    written = f"Greedy decoding writes: “{text(list(greedy.ids))}”"
    if best.log_probability > greedy.log_probability:
        return Finding(headline, written), "both, step by step: where do they part?"
    fate, attempt = _fate_words(record.outcome_of(greedy.ids), len(greedy.ids), beam)
    return Finding(headline, f"{fate} {written}"), attempt


def _fate_words(fate: PathOutcome, length: int, beam: Beam) -> tuple[str, str]:
    """Return what became of greedy's translation in the search, though it is no less probable, and what to try."""
    if fate.outcome == Outcome.ENDED:
        words = f"Greedy's translation ended with rank {fate.place} by score, with length penalty alpha {beam.alpha:g}."
        return words, "alpha 0."
    if fate.outcome == Outcome.FELL_OUT:
        return (
            f"Greedy's translation fell out of the beam at step {fate.place} of {length}, where the beam's {beam.size} "
            "best continuations were all likelier.",
            "a wider beam.",
        )
    return (
        f"Greedy's translation was still in the beam, unfinished, when the search stopped: with alpha {beam.alpha:g} "
        "it could no longer reach the best score.",
        "alpha 0.",
    )
