"""Measures of attention as an explanation: weights beside the effects of leaving out tokens or evening weights."""

from dataclasses import dataclass, replace

import numpy as np

from headlight.app import results
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, largest, measure
from headlight.lessons.words import translated
from headlight.plots.contributions import other_candidates
from headlight.plots.names import one_head_name, sentence_case
from headlight.plots.numbers import percent, signed
from headlight.plots.tokens import quoted, quoted_at
from transformer.data.tokenizer import SPACE
from transformer.interpret.attribution import Attribution, rank_correlation
from transformer.interpret.head_patterns import is_word, word_ranges, words_of
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.intervention import Uniform
from transformer.model.heads import Head, Heads
from transformer.model.names import AttentionKind

from .wording import (
    MISSED,
    MOST_OPTIONS,
    NEAR_NATS,
    head_names,
    in_percent,
    is_a_form,
    is_whole_word,
    lead,
    listed,
    moved,
    quoted_all,
    readable,
    token_options,
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
        weights = mean_weights(trace, step)
        if len(weights) < 2 or lead(weights) < LEAST_LEAD:
            continue
        heavy, lost = int(weights.argmax()), run.study.left_out(step).source
        missed = int(lost.argmax())
        token = trace.source_tokens[missed]
        if heavy == missed or lost[missed] < MISSED or not is_word(token) or token == trace.target_tokens[step]:
            continue
        if lead(lost) >= NEAR_NATS:
            whole = is_whole_word(trace.target_tokens, step) and is_whole_word(trace.source_tokens, missed)
            steps.append((whole, lead(lost), -step, heavy, missed))
    if not steps:
        raise Undecided("Here the token of most weight is the one that is missed most, at every word.")
    _, _, negative, heavy, missed = max(steps)
    return -negative, heavy, missed


@measure
def missed_most(run: Run) -> Answer:
    """Ask which source token an output word misses most when it is left out, where another one has most weight.

    names: word, step, heavy (the source token of most weight), weight, missed.
    """
    trace = run.trace
    step, heavy, missed = _disagreeing_step(run)
    lost, weights = run.study.left_out(step).source, mean_weights(trace, step)
    source, word = readable(trace.source_tokens), readable(trace.target_tokens)[step]
    ranked = np.argsort(-lost, kind="stable")
    words = (key for key in (*np.argsort(-weights), *ranked) if is_word(source[key]) and key != heavy)
    options = token_options(
        trace.source_tokens, (missed, *words), lost, lambda key: f"Without it log P {moved(lost[key])}."
    )
    return Answer(
        Kind.ONE,
        f"Without {quoted_at(source, missed)} log P of {quoted(word)} {moved(lost[missed])}, without "
        f"{quoted_at(source, heavy)} it {moved(lost[heavy])}, though that one has most weight.",
        f"Left out, each costs {quoted(word)} so much log P: "
        + ", ".join(f"{option.label} {signed(option.value or 0.0, 2)}" for option in options)
        + ".",
        options,
        largest(options),
        names={"word": word, "step": step, "heavy": source[heavy], "weight": weights[heavy], "missed": source[missed]},
    )


@measure
def ranks_agree(run: Run) -> Answer:
    """Ask for the rank correlation of weight and leaving out over the source tokens.

    At the step of `missed_most`, or where there is none at the word that depends most on one token. names: word, step,
    example and of_example: another word, and its correlation.
    """
    trace, step = run.trace, _step_to_rank(run)
    words = readable(trace.target_tokens)
    other = next((each for each in word_steps(trace) if words[each] != words[step]), step)
    lost, weights = np.abs(run.study.left_out(step).source), mean_weights(trace, step)
    correlation, of_other = (
        rank_correlation(mean_weights(trace, each), np.abs(run.study.left_out(each).source)) for each in (step, other)
    )
    if other == step or np.isnan(correlation + of_other):
        raise Undecided("There are too few tokens here whose ranks could be compared.")
    source = readable(trace.source_tokens)
    first, second = (listed([quoted_at(source, key) for key in np.argsort(-values)[:3]]) for values in (weights, lost))
    return Answer(
        Kind.NUMBER,
        f"Their ranks correlate with {signed(correlation, 2)}.",
        f"By weight the first are {first}, by leaving out {second}; over all {len(lost)} tokens the ranks correlate "
        f"with {signed(correlation, 2)}.",
        value=correlation,
        tolerance=ROUGHLY,
        bounds=(-1.0, 1.0),
        names={"word": words[step], "step": step, "example": words[other], "of_example": signed(of_other, 2)},
    )


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


def _pronouns(run: Run) -> frozenset[str]:
    """Return the pronouns of the language that the run translates into."""
    return PRONOUNS.get(run.translator.checkpoint.data.get("target_language", ""), frozenset())


def _pronoun_steps(run: Run) -> list[int]:
    """Return the steps, from 0, that write a pronoun as a whole word, or after an apostrophe: "qu'il"."""
    tokens, pronouns = run.trace.target_tokens, _pronouns(run)
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
    step, example and of_example: the word whose share is nearest to the mean, and this share.
    """
    tokens, pronouns = run.trace.target_tokens, _pronoun_steps(run)
    words = [step for step in word_steps(run.trace) if step and (step in pronouns or is_whole_word(tokens, step))]
    if len({tokens[step] for step in words}) < 2:
        raise Undecided("This translation has no two words with another one before them.")
    shares = run.study.contributions().source_share()[-1]
    far = {each: abs(float(shares[each] - shares[words].mean())) for each in words}
    step = max(words, key=lambda each: (each in pronouns, each if each in pronouns else far[each]))
    example = min((each for each in words if tokens[each] != tokens[step]), key=far.__getitem__)
    share = float(shares[step])
    word = quoted(tokens[step])
    return Answer(
        Kind.NUMBER,
        f"By ALTI+ {percent(share)} of {word} comes from the source, the rest from what was written before it.",
        f"The contributions of all source tokens to {word} add up to {percent(share)}, by ALTI+.",
        **in_percent(share),
        names={"word": tokens[step], "step": step, "example": tokens[example], "of_example": float(shares[example])},
    )


@measure
def decides_choice(run: Run) -> Answer:
    """Ask without which token a word loses most of its lead over another one: of the source or the prefix.

    It is a pronoun and another pronoun, or else a word whose rival came near. The begin of sentence does not count, nor
    what cannot be left out. names: word, other, against (its token), step, least (how much it must lose).
    """
    trace, begin = run.trace, len(run.trace.source_tokens)
    for choice in _rivals(run)[:MOST_CHOICES]:
        values = _losses(run.study.left_out(choice.step, choice.rival_id))
        ranked = [int(at) for at in np.argsort(-values) if at != begin and np.isfinite(values[at])]
        is_clear = len(ranked) > 2 and values[ranked[0]] >= max(MISSED, values[ranked[1]] + PLAIN_LOSS)
        if is_clear and _is_alternative(run, choice):
            break
    else:
        raise Undecided("No word of this translation owes its lead over another one to one token clearly enough.")
    step, word, rival = choice.step, trace.target_tokens[choice.step], choice.rival
    source, prefix = readable(trace.source_tokens), readable(trace.decoder_input_tokens[: step + 1])

    def named(at: int) -> str:
        if at < begin:
            return f"{quoted_at(source, at)} of the source"
        return f"{quoted_at(prefix, at - begin)} of the translation so far"

    heavy = int(mean_weights(trace, step).argmax())
    margin = f"the lead of {quoted(word)} over {quoted(rival)}"
    shown = list(dict.fromkeys((ranked[0], heavy, *ranked)))[:MOST_OPTIONS]
    loss = {at: f"{'falls' if values[at] > 0 else 'rises'} by {signed(abs(float(values[at])), 2)}" for at in shown}
    options = tuple(Option(str(at), named(at), f"Without it {margin} {loss[at]}.", float(values[at])) for at in shown)
    return Answer(
        Kind.ONE,
        f"Without {options[0].label} {margin} {loss[ranked[0]]}, more than without any other token.",
        f"{sentence_case(margin)} without each token: "
        + "; ".join(f"{named(at)}: it {loss[at]}" for at in shown)
        + ".",
        options,
        largest(options),
        names={"word": word, "other": rival, "against": rival, "step": step, "least": f"{MISSED:g}"},
    )


@dataclass(frozen=True, order=True)
class _Rival:
    """Another token that came near at a step; a pronoun beside a pronoun before all others."""

    is_pronoun: bool
    chance: float
    step: int
    rival: str
    rival_id: int


def _rivals(run: Run) -> list[_Rival]:
    """Return the likeliest rival of each whole word after the first token, first where the choice was closest."""
    trace, pronouns, best = run.trace, _pronoun_steps(run), list[_Rival]()
    for step in (each for each in word_steps(trace) if each and is_whole_word(trace.target_tokens, each)):
        written = trace.target_tokens[step]
        rivals = [
            _Rival(step in pronouns[-1:] and _bare(token) in _pronouns(run), chance, step, token, id)
            for token, (id, chance) in other_candidates(trace, step).items()
            if token.startswith(SPACE) and is_word(token) and not is_a_form(token, written)
        ]
        best += sorted(rivals)[-1:]
    return sorted(best, reverse=True)


def _is_alternative(run: Run, choice: _Rival) -> bool:
    """Return True for a rival that takes the place of the word when it is forced: a whole word, no other order."""
    prefix, step = (*run.trace.target_ids[: choice.step], choice.rival_id), choice.step
    tokens, forced = run.trace.target_tokens, results.trace(replace(run.greedy, prefix=prefix)).target_tokens
    rest, later = (list(map(str.lower, words_of(each[step + 1 :]))) for each in (tokens, forced))
    changed = sum(one != other for one, other in zip(rest, later, strict=False))
    returns = {_bare(tokens[step]), _bare(forced[step])} & {*rest, *later}
    return is_whole_word(forced, step) and len(rest) == len(later) and changed <= MOST_CHANGED and not returns


def _losses(attribution: Attribution) -> np.ndarray:
    """Return the losses without source, then prefix tokens; the least of all for those that cannot be left out."""
    return np.nan_to_num(np.concatenate([attribution.source, attribution.prefix]), nan=-np.inf)


@measure
def even_weights(run: Run) -> Answer:
    """Ask whose weights can be made equal in every row, and the translation stays the same.

    Options: the head that is shown first, and all heads of each layer. names: layer, head, head_name.
    """
    trace = run.trace
    layer, head = results.default_head(run.request, "cross").index
    layers = range(trace.cross.shape[0])[-(MOST_OPTIONS - 1) :]
    changed: dict[str, Heads] = {f"{one_head_name(layer, head)} alone": Head(AttentionKind.CROSS, layer, head)}
    changed |= {f"all heads of layer {each + 1}": Heads(AttentionKind.CROSS, each, None) for each in layers}
    after = {name: run.study.under(Uniform.of(heads)).trace for name, heads in changed.items()}
    same = [name for name, each in after.items() if each.target_ids == trace.target_ids]
    if len(same) in (0, len(after)):
        raise Undecided("Here the translation stays the same with all of these, or with none.")
    other = next(name for name in after if name not in same)
    return Answer(
        Kind.SEVERAL,
        f"The translation stays the same with equal weights in {quoted_all(same)}.",
        f"With equal weights in {quoted(other)} it reads {translated(after[other].target_text)}",
        tuple(Option(str(at), name) for at, name in enumerate(after)),
        {str(at) for at, name in enumerate(after) if name in same},
        names=head_names(layer, head),
    )
