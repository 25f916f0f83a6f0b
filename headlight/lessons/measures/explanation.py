"""Measures of attention as an explanation: weights beside the effects of leaving out tokens or evening weights."""

from dataclasses import replace
from typing import Any

import numpy as np

from headlight.app import results
from headlight.app.finding import TokenAt
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, one_of, percentage
from headlight.lessons.words import Say
from headlight.plots.contributions import other_candidates
from transformer.data.tokenizer import SPACE
from transformer.interpret.attribution import rank_correlation
from transformer.interpret.head_patterns import is_word, word_ranges, words_of
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.intervention import Uniform
from transformer.model.heads import Heads
from transformer.model.names import AttentionKind

from .wording import (
    MISSED,
    MOST_OPTIONS,
    NEAR_NATS,
    is_a_form,
    is_whole_word,
    language_of,
    lead,
    moved,
    readable,
    word_steps,
)

LEAST_LEAD = 0.05  # of the largest weight, whose number is shown
MOST_STEPS = 20  # of a long sentence
ROUGHLY = 0.2  # error of an estimated correlation
PRONOUNS = {"German": frozenset({"er", "sie", "es", "ihn"}), "French": frozenset({"il", "elle"})}
PLAIN_LOSS = 0.5  # nats by which a cause leads the next one
MOST_CHOICES = 8  # steps that are tried for one at which a token decides
MOST_CHANGED = 1  # words that another word in this place changes after it: its verb, its adjective


def mean_weights(trace: Trace, step: int) -> np.ndarray:
    """Return the mean over all cross-attention heads of a step's row: [source]."""
    return np.asarray(trace.cross[:, :, step].mean(axis=(0, 1), dtype=np.float64))


def _disagreeing_step(run: Run) -> tuple[int, int, int]:
    """Return a step whose token of most weight is not the one that is missed most, and both source positions.

    Of several the one where leaving out decides most clearly, whole words first. Raises Undecided without any.
    """
    trace = run.trace
    steps: list[tuple[bool, float, int, int, int]] = []
    for step in word_steps(trace)[:MOST_STEPS]:
        weights, written = mean_weights(trace, step), trace.target_tokens[step]
        if len(weights) < 2 or lead(weights) < LEAST_LEAD:
            continue
        heavy, lost = int(weights.argmax()), run.study.left_out(step).source
        missed, clear = int(lost.argmax()), lead(lost)
        token = trace.source_tokens[missed]
        if heavy != missed and lost[missed] >= MISSED and is_word(token) and token != written and clear >= NEAR_NATS:
            whole = is_whole_word(trace.target_tokens, step) and is_whole_word(trace.source_tokens, missed)
            steps.append((whole, clear, step, heavy, missed))
    if not steps:
        raise Undecided("no_disagreement")
    return max(steps, key=lambda each: each[:2])[2:]


@measure
def missed_most(run: Run) -> Answer:
    """Ask which source token an output word misses most when it is left out, where another one has most weight.

    names: word, step, heavy (the source token of most weight), weight, token (that of the answer) and heavy_token, both
    with their numbers where they stand twice, moved and of_heavy, what happens to log P without each.
    """
    trace = run.trace
    step, heavy, missed = _disagreeing_step(run)
    lost, weights = run.study.left_out(step).source, mean_weights(trace, step)
    source, ranked = readable(trace.source_tokens), np.argsort(-lost, kind="stable")
    words = (int(key) for key in (*np.argsort(-weights), *ranked) if is_word(source[key]) and key != heavy)
    names: dict[str, Any] = {"word": readable(trace.target_tokens)[step], "step": step, "heavy": source[heavy]}
    names |= {"weight": float(weights[heavy]), "heavy_token": TokenAt(source, heavy), "of_heavy": moved(lost[heavy])}
    shown = list(dict.fromkeys((missed, *words)))[:MOST_OPTIONS]
    return one_of((_option_without(at, TokenAt(source, at), lost[at]) for at in shown), reason="one_word", **names)


def _option_without(at: int, token: TokenAt | Say, loss: float) -> Option:
    """Return the option of a token whose absence costs so much log P; values: token and moved."""
    return Option(str(at), value=float(loss), values={"token": token, "moved": moved(loss)})


@measure
def ranks_agree(run: Run) -> Answer:
    """Ask for the rank correlation of weight and leaving out over the source tokens.

    At the step of `missed_most`, or where there is none at the word that depends most on one token. names: word, step,
    example and of_example: another word, and its correlation; tokens, how many, and by_weight and by_loss, the first.
    """
    trace, step = run.trace, _step_to_rank(run)
    words, source = readable(trace.target_tokens), readable(trace.source_tokens)
    other = next((each for each in word_steps(trace) if words[each] != words[step]), step)
    ranked = {each: (mean_weights(trace, each), np.abs(run.study.left_out(each).source)) for each in (step, other)}
    correlation, of_other = rank_correlation(*ranked[step]), rank_correlation(*ranked[other])
    if other == step or np.isnan(correlation + of_other):
        raise Undecided("too_few_ranks")
    first = [tuple(TokenAt(source, int(key)) for key in np.argsort(-values)[:3]) for values in ranked[step]]
    names = {"word": words[step], "step": step, "example": words[other], "of_example": of_other}
    names |= {"tokens": len(source), "by_weight": first[0], "by_loss": first[1]}
    return Answer(Kind.NUMBER, value=correlation, tolerance=ROUGHLY, bounds=(-1.0, 1.0), names=names)


def _step_to_rank(run: Run) -> int:
    try:
        return _disagreeing_step(run)[0]
    except Undecided:
        steps = word_steps(run.trace)[:MOST_STEPS]
        steps = [step for step in steps if is_whole_word(run.trace.target_tokens, step)] or steps
        if not steps:
            raise
        return max(steps, key=lambda step: float(np.nanmax(run.study.left_out(step).source)))


def _bare(token: str) -> str:
    return token.removeprefix(SPACE).lower()


def _pronoun_steps(run: Run) -> list[int]:
    """Return the steps, from 0, that write a pronoun as a whole word, or after an apostrophe: "qu'il"."""
    tokens, pronouns = run.trace.target_tokens, PRONOUNS.get(language_of(run), frozenset())
    ends = {word.stop - 1: word.start for word in word_ranges(tokens)}
    return [
        step
        for step in run.trace.scored_steps
        if _bare(tokens[step]) in pronouns and (ends.get(step) == step or step in ends and tokens[step - 1] in "'’")
    ]


@measure
def source_share(run: Run) -> Answer:
    """Ask what percentage of a word comes from the source, by ALTI+; the rest is from what was written before.

    It is the last pronoun, or else the word whose share is farthest from the mean, after the first token. names: word,
    step, share, and example and of_example: the word whose share is nearest to the mean, and this share.
    """
    tokens, pronouns = run.trace.target_tokens, _pronoun_steps(run)
    words = [step for step in word_steps(run.trace) if step and (step in pronouns or is_whole_word(tokens, step))]
    if len({tokens[step] for step in words}) < 2:
        raise Undecided("no_two_words")
    shares = run.study.contributions().source_share()[-1]
    far = {each: abs(float(shares[each] - shares[words].mean())) for each in words}
    step = max(words, key=lambda each: (each in pronouns, each if each in pronouns else far[each]))
    example = min((each for each in words if tokens[each] != tokens[step]), key=far.__getitem__)
    names = {"word": tokens[step], "step": step, "example": tokens[example], "of_example": float(shares[example])}
    return percentage(float(shares[step]), **names)


@measure
def decides_choice(run: Run) -> Answer:
    """Ask without which token a word loses most of its lead over another one: of the source or the prefix.

    It is a pronoun and another pronoun, or else a word whose rival came near. The begin of sentence does not count, nor
    what cannot be left out. names: word, other, against (its token), step, least (how much it must lose), token (that
    of the answer, and in which sentence it stands), moved (what happens to the lead without it).
    """
    trace, begin = run.trace, len(run.trace.source_tokens)
    for rival in _rivals(run)[:MOST_CHOICES]:
        *_, step, other, rival_id = rival
        lost = run.study.left_out(step, rival_id)
        values = np.nan_to_num(np.concatenate([lost.source, lost.prefix]), nan=-np.inf)  # of what cannot be left out
        ranked = [int(at) for at in np.argsort(-values) if at != begin and np.isfinite(values[at])]
        is_clear = len(ranked) > 2 and values[ranked[0]] >= max(MISSED, values[ranked[1]] + PLAIN_LOSS)
        if is_clear and _is_alternative(run, step, rival_id):
            break
    else:
        raise Undecided("no_plain_cause")
    source, prefix = readable(trace.source_tokens), readable(trace.decoder_input_tokens[: step + 1])
    tokens = [Say("of_source", {"token": TokenAt(source, at)}) for at in range(begin)]
    tokens += [Say("of_prefix", {"token": TokenAt(prefix, at)}) for at in range(step + 1)]
    shown = list(dict.fromkeys((ranked[0], int(mean_weights(trace, step).argmax()), *ranked)))[:MOST_OPTIONS]
    names: dict[str, Any] = {"word": trace.target_tokens[step], "step": step, "other": other, "against": other}
    return one_of((_option_without(at, tokens[at], values[at]) for at in shown), **names, least=MISSED)


def _rivals(run: Run) -> list[tuple[bool, float, int, str, int]]:
    """Return the likeliest rival of each whole word after the first token, first where the choice was closest.

    Each with whether it is a pronoun beside a pronoun, which come before all others, its chance, step, token and id.
    """
    trace, best, pronouns = run.trace, list[tuple[bool, float, int, str, int]](), _pronoun_steps(run)[-1:]
    for step in (each for each in word_steps(trace) if each and is_whole_word(trace.target_tokens, each)):
        rivals = [
            (step in pronouns and _bare(token) in PRONOUNS[language_of(run)], chance, step, token, id)
            for token, (id, chance) in other_candidates(trace, step).items()
            if token.startswith(SPACE) and is_word(token) and not is_a_form(token, trace.target_tokens[step])
        ]
        best += sorted(rivals)[-1:]
    return sorted(best, reverse=True)


def _is_alternative(run: Run, step: int, rival_id: int) -> bool:
    """Return True for a rival that takes the place of the word when it is forced: a whole word, no other order."""
    forcing = replace(run.greedy, prefix=(*run.trace.target_ids[:step], rival_id))
    tokens, forced = run.trace.target_tokens, results.trace(forcing).target_tokens
    rest, later = (list(map(str.lower, words_of(each[step + 1 :]))) for each in (tokens, forced))
    changed = sum(one != other for one, other in zip(rest, later, strict=False))
    returns = {_bare(tokens[step]), _bare(forced[step])} & {*rest, *later}
    return is_whole_word(forced, step) and len(rest) == len(later) and changed <= MOST_CHANGED and not returns


@measure
def even_weights(run: Run) -> Answer:
    """Ask whose weights can be made equal in every row, and the translation stays the same.

    Options: the head that is shown first, and all heads of each layer. names: shown (that head), even and other, the
    parts without effect and the first with one, and text, the translation with this.
    """
    trace, shown = run.trace, results.default_head(run.request, "cross")
    layers = range(trace.cross.shape[0])[-(MOST_OPTIONS - 1) :]
    parts: list[tuple[Say, Heads]] = [(Say("one_head", {"shown": shown}), shown)]
    parts += [(Say("all_heads", {"layer": each}), Heads(AttentionKind.CROSS, each, None)) for each in layers]
    after = [run.study.under(Uniform.of(heads)).trace for _, heads in parts]
    same = {at for at, each in enumerate(after) if each.target_ids == trace.target_ids}
    if len(same) in (0, len(after)):
        raise Undecided("all_or_none_even")
    other = min({*range(len(after))} - same)
    options = tuple(Option(str(at), values={"part": part}) for at, (part, _) in enumerate(parts))
    even = tuple(Say("quoted", {"part": parts[at][0]}) for at in sorted(same))
    names = {"shown": shown, "even": even, "other": parts[other][0], "text": after[other].target_text}
    return Answer(Kind.SEVERAL, options=options, right={*map(str, same)}, names=names)
