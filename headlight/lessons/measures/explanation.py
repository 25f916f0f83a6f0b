"""Measures of whether attention explains an output token: weights beside what leaving out, or changing them, does."""

from dataclasses import replace

import numpy as np

from headlight.app import results
from headlight.app.results import measures, what_if
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure
from headlight.plots.contributions import other_candidates
from headlight.plots.names import one_head_name
from headlight.plots.numbers import percent, short_weight, signed
from headlight.plots.tokens import quoted, quoted_at
from transformer.interpret.attribution import Attribution, concatenate, parts_to_occlude, rank_correlation
from transformer.interpret.head_patterns import is_word
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.intervention import Uniform
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

from .wording import MOST_OPTIONS, NEAR_CHANCES, NEAR_NATS, head_names, listed, moved, token_options, word_steps

TOLD = 0.05  # how far ahead a weight must be to be called the largest; its number is told
MOST_STEPS = 20  # of a long sentence
MISSED = 1.0  # nats that a word is to lose without another one, to need it
ROUGHLY = 0.2  # how far off a correlation may be estimated
PRONOUNS = frozenset({"er", "sie", "es", "ihn", "il", "elle"})


def left_out(run: Run, step: int, against: int | None = None) -> Attribution:
    """Return what log P of a step's token loses without each token, by the page's own passes."""
    source = len(run.trace.source_ids)
    parts = parts_to_occlude(source, step + 1)
    return concatenate([measures.occlusion(run.request, step, part, against) for part in parts], source)


def mean_weights(trace: Trace, step: int) -> np.ndarray:
    """Return the mean over all cross-attention heads of a step's row: [source]."""
    return np.asarray(trace.cross[:, :, step].mean(axis=(0, 1), dtype=np.float64))


def _disagreeing_step(run: Run) -> tuple[int, int, int]:
    """Return a step whose word of most weight is not the one that is missed most, and both source positions.

    Of several the one where leaving out decides most clearly. Raises Undecided without any.
    """
    trace, found = run.trace, {}
    for step in word_steps(trace)[:MOST_STEPS]:
        weights = mean_weights(trace, step)
        order = np.argsort(-weights)
        if len(order) < 2 or weights[order[0]] - weights[order[1]] < TOLD or not is_word(trace.source_tokens[order[0]]):
            continue
        lost = left_out(run, step).source
        second, first = np.argsort(lost)[-2:]
        if first != order[0] and lost[first] >= MISSED and is_word(trace.source_tokens[first]):
            found[step] = (float(lost[first] - lost[second]), int(order[0]), int(first))
    found = {step: each for step, each in found.items() if each[0] >= NEAR_NATS}
    if not found:
        raise Undecided(
            "At no word here is the word of most weight clearly another one than the word that is missed most."
        )
    step = max(found, key=lambda each: found[each][0])
    return (step, *found[step][1:])


@measure
def missed_most(run: Run) -> Answer:
    """Ask which source word an output word misses most when it is left out, where another one has most weight.

    names: word, step (from 1), heavy (the source word of most weight), weight, missed.
    """
    trace = run.trace
    step, heavy, missed = _disagreeing_step(run)
    lost, weights = left_out(run, step).source, mean_weights(trace, step)
    source, word = trace.source_tokens, trace.target_tokens[step]
    ranked = np.argsort(-lost, kind="stable")
    words = [key for key in (missed, heavy, *np.argsort(-weights), *ranked) if is_word(source[key])]
    names = {key: quoted_at(source, key) for key in (heavy, missed)}
    return Answer(
        Kind.ONE,
        f"Without {names[missed]} log P of {quoted(word)} {moved(lost[missed])}, without {names[heavy]} it "
        f"{moved(lost[heavy])}, though that has the longest bar of all weights.",
        "Left out, each costs the word so much log P: "
        + ", ".join(f"{quoted_at(source, key)} {signed(float(lost[key]), 2)}" for key in ranked[:MOST_OPTIONS])
        + ".",
        token_options(source, words, lambda key: f"Without it log P {moved(lost[key])}."),
        frozenset({str(missed)}),
        names={
            "word": word,
            "step": str(step + 1),
            "heavy": source[heavy],
            "weight": short_weight(float(weights[heavy])),
            "missed": source[missed],
        },
    )


@measure
def ranks_agree(run: Run) -> Answer:
    """Ask for the rank correlation of weight and leaving out over the source tokens, at the step of `missed_most`.

    names: word, step (from 1).
    """
    trace, (step, _, _) = run.trace, _disagreeing_step(run)
    lost, weights = left_out(run, step).source, mean_weights(trace, step)
    correlation = rank_correlation(np.abs(weights), np.abs(lost))
    if np.isnan(correlation):
        raise Undecided("There are too few tokens here whose ranks could be compared.")
    first, second = (
        listed([quoted_at(trace.source_tokens, key) for key in np.argsort(-values)[:3]])
        for values in (weights, np.abs(lost))
    )
    return Answer(
        Kind.NUMBER,
        f"Their ranks correlate by {signed(correlation, 2)}.",
        f"By weight the first are {first}, by leaving out {second}; over all {len(lost)} tokens the ranks correlate "
        f"by {signed(correlation, 2)}.",
        value=correlation,
        tolerance=ROUGHLY,
        bounds=(-1.0, 1.0),
        names={"word": trace.target_tokens[step], "step": str(step + 1)},
    )


def _bare(token: str) -> str:
    return token.removeprefix("▁").lower()


def _pronoun_step(trace: Trace) -> int:
    """Return the last step, from 0, that writes a pronoun; Undecided without any."""
    steps = [step for step in trace.scored_steps if _bare(trace.target_tokens[step]) in PRONOUNS]
    if not steps:
        raise Undecided("This translation has none of the pronouns that are asked about.")
    return steps[-1]


def _pronoun_candidates(trace: Trace, step: int) -> dict[str, tuple[str, float]]:
    """Return the pronouns among a step's candidates, each as its token with its probability, the likeliest first."""
    found: dict[str, tuple[str, float]] = {}
    chances = zip(trace.candidate_tokens[step], trace.candidate_probabilities[step], strict=True)
    for token, chance in chances:
        if _bare(token) in PRONOUNS:
            found.setdefault(_bare(token), (token, float(chance)))
    return found


@measure
def pronoun_of_another(run: Run, nouns: str) -> Answer:
    """Ask which pronoun follows when the first noun of the sentence is exchanged for another of these, "cat dog child".

    names: word (the pronoun now), noun, other (the noun instead), sentence (with it), pronoun.
    """
    trace = run.trace
    now = _bare(trace.target_tokens[_pronoun_step(trace)])
    written = run.request.text.split()
    noun = next((word for word in nouns.split() if word in written), None)
    if noun is None:
        raise Undecided(f"This sentence has no {listed(nouns.split())} to exchange.")
    others = [word for word in nouns.split() if word != noun]
    texts = {word: run.request.text.replace(noun, word, 1) for word in others}
    traces = {word: results.trace(replace(run.request, text=text)) for word, text in texts.items()}
    steps = {word: _pronoun_step(each) for word, each in traces.items()}
    found = {word: _bare(traces[word].target_tokens[steps[word]]) for word in others}
    other = next((word for word in others if found[word] != now), None)
    if other is None:
        raise Undecided("The pronoun stays the same with each of the other nouns.")
    candidates = _pronoun_candidates(traces[other], steps[other])
    (first, chance), *rest = [*candidates.items()][:2] or [("", ("", 0.0))]
    if first != found[other] or not rest or chance[1] - rest[0][1][1] < NEAR_CHANCES:
        raise Undecided("Two pronouns are about equally probable after the other noun.")
    shown = list(candidates.items())[:MOST_OPTIONS]
    return Answer(
        Kind.ONE,
        f"It writes {quoted(found[other])}: {quoted(traces[other].target_text)}",
        f"With {quoted(noun)} it wrote {quoted(now)}. Now the probabilities are "
        + listed([f"{quoted(word)} {percent(chance)}" for word, (_, chance) in shown])
        + ".",
        tuple(
            Option(word, quoted(word), f"After {quoted(other)} it has {percent(chance)}.")
            for word, (_, chance) in shown
        ),
        frozenset({found[other]}),
        names={"word": now, "noun": noun, "other": other, "sentence": texts[other], "pronoun": found[other]},
    )


@measure
def source_share(run: Run) -> Answer:
    """Ask how many percent of the pronoun come from the source, by ALTI+; the rest is from what was written before.

    names: word, step (from 1), share, rest.
    """
    trace, step = run.trace, _pronoun_step(run.trace)
    share = float(measures.contributions(run.request).source_share()[-1][step])
    word = quoted(trace.target_tokens[step])
    return Answer(
        Kind.NUMBER,
        f"{percent(share)} of {word} come from the source, {percent(1 - share)} from what was written before it.",
        f"The contributions of all source tokens to {word} add up to {percent(share)}, by ALTI+.",
        value=100 * share,
        tolerance=10.0,
        bounds=(0.0, 100.0),
        names={
            "word": trace.target_tokens[step],
            "step": str(step + 1),
            "share": percent(share),
            "rest": percent(1 - share),
        },
    )


@measure
def decides_pronoun(run: Run) -> Answer:
    """Ask without which token the pronoun loses most of its lead over another one: of the source or the prefix.

    The begin of sentence does not count, nor what cannot be left out. names: word, other, against (its token), step.
    """
    trace, step = run.trace, _pronoun_step(run.trace)
    word, (rival, against) = trace.target_tokens[step], _rival(trace, step)
    values, begin = _bars(left_out(run, step, against)), len(trace.source_tokens)
    gradient = _bars(measures.gradient(run.request, step, against))
    ranked, by_gradient = ([at for at in np.argsort(-each) if at != begin] for each in (values, gradient))
    first, second = ranked[:2]
    if not np.isfinite(values[second]) or values[first] - values[second] < NEAR_NATS:
        raise Undecided("No token decides here more clearly than all others.")

    def named(at: int) -> str:
        if at < begin:
            return f"{quoted_at(trace.source_tokens, at)} of the source"
        return f"{quoted_at(trace.decoder_input_tokens[: step + 1], at - begin)} of the translation so far"

    heavy = int(mean_weights(trace, step).argmax())
    asked = (at for at in (first, heavy, by_gradient[0], *ranked) if np.isfinite(values[at]))
    shown = list(dict.fromkeys(map(int, asked)))[:MOST_OPTIONS]
    lead = f"the lead of {quoted(word)} over {quoted(rival)}"
    loss = {at: f"{'falls' if values[at] > 0 else 'rises'} by {signed(abs(float(values[at])), 2)}" for at in shown}
    return Answer(
        Kind.ONE,
        f"Without {named(first)} {lead} {loss[first]}, more than without any other token.",
        f"What {lead} loses, left out: "
        + ", ".join(f"{named(at)} {signed(float(values[at]), 2)}" for at in shown)
        + ".",
        tuple(Option(str(at), named(at), f"Without it {lead} {loss[at]}.") for at in shown),
        frozenset({str(first)}),
        names={"word": word, "other": rival, "against": rival, "step": str(step + 1)},
    )


def _rival(trace: Trace, step: int) -> tuple[str, int]:
    """Return the likeliest other pronoun of a step, its token and id; Undecided without any."""
    own = _bare(trace.target_tokens[step])
    for token, (id, _) in other_candidates(trace, step).items():
        if _bare(token) in PRONOUNS - {own}:
            return token, id
    raise Undecided("No other pronoun is among the candidates here.")


def _bars(found: Attribution) -> np.ndarray:
    """Return the values of source, then prefix; what cannot be left out has less than all others."""
    return np.nan_to_num(np.concatenate([found.source, found.prefix]), nan=-np.inf)


@measure
def even_weights(run: Run) -> Answer:
    """Ask whose weights can be made equal in every row, and the translation stays the same.

    Options: the head that is shown first, and all heads of each layer. names: layer and head (from 1), head_name.
    """
    trace = run.trace
    layer, head = results.default_head(run.request, "cross")
    layers = range(trace.cross.shape[0])[-(MOST_OPTIONS - 1) :]
    asked = {f"{one_head_name(layer, head)} alone": HeadRef(AttentionKind.CROSS, layer, head)}
    asked |= {f"all heads of layer {each + 1}": HeadRef(AttentionKind.CROSS, each) for each in layers}
    texts = {name: what_if.changed_trace(run.request, (Uniform.of(heads),)) for name, heads in asked.items()}
    same = [name for name, after in texts.items() if after.target_ids == trace.target_ids]
    if not same or len(same) == len(asked):
        raise Undecided("Here the translation stays the same with all of these, or with none.")
    changed = next(name for name in texts if name not in same)
    return Answer(
        Kind.SEVERAL,
        f"The translation stays the same with equal weights in {listed(same)}.",
        f"With equal weights in {changed} it reads {quoted(texts[changed].target_text)}",
        tuple(Option(str(at), name) for at, name in enumerate(asked)),
        frozenset(str(at) for at, name in enumerate(asked) if name in same),
        names=head_names(layer, head),
    )
