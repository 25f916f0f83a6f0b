"""Measures of how a translation comes about: token by token, with one forced, drawn at random, and by beam search."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from headlight.app import results, url_state
from headlight.app.results import TranslationRequest
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page, translated
from headlight.plots.numbers import format_probability, pluralize, signed
from headlight.plots.tokens import quoted, quoted_at
from transformer import Beam
from transformer.data.tokenizer import SPACE
from transformer.decoding.sampling import Hypothesis, truncate
from transformer.interpret.head_patterns import is_word
from transformer.interpret.trace import Trace

from .wording import MOST_OPTIONS, NEAR, NEAR_CHANCES, NEAR_NATS, is_a_form, readable, readable_candidates

SHARP, FLAT = 0.5, 1.5  # temperatures
SURE = 0.6  # a probability from which on a choice is not called hard
MOST_FORCED = 12  # candidates that are tried for one that makes a translation longer


@dataclass(frozen=True)
class _Choice:
    """A step of a greedy translation, from 0, and the place of its second candidate in the trace's list."""

    trace: Trace
    step: int
    second: int

    @property
    def second_token(self) -> str:
        return readable_candidates(self.trace, self.trace.candidate_tokens[self.step])[self.second]

    @property
    def names(self) -> dict[str, str]:
        """Return step (from 1), word (what was written), chance, second, and prefix: what forces the second."""
        trace, step = self.trace, self.step
        forced = (*trace.target_ids[:step], int(trace.candidate_ids[step][self.second]))
        return {
            "step": str(step + 1),
            "word": readable(trace.target_tokens)[step],
            "chance": format_probability(float(trace.target_probabilities[step])),
            "second": self.second_token,
            "prefix": ".".join(map(str, forced)),
        }


@measure
def hardest_token(run: Run) -> Answer:
    """Ask at which token the entropy of the next-token distribution is highest.

    names: step (from 1), word (what it wrote there).
    """
    trace = results.trace(run.greedy)
    ranked = sorted(trace.scored_steps, key=lambda step: -trace.entropies[step])
    hardest = ranked[0]
    others = [step for step in ranked if trace.entropies[hardest] - trace.entropies[step] >= NEAR_NATS]
    if not others or trace.candidate_probabilities[hardest, 0] > SURE:
        raise Undecided("The model is about equally sure of all tokens of this translation, or sure of each.")
    offered = [hardest, *_spread(others, MOST_OPTIONS - 1)]
    words = readable(trace.target_tokens)
    named = {step: quoted_at(words, step, "step") for step in offered}
    feedback = {step: f"There it is {trace.entropies[step] + 0.0:.2f} nats." for step in offered}
    best = format_probability(float(trace.candidate_probabilities[hardest, 0]))
    listed = trace.candidate_probabilities[hardest]
    return Answer(
        Kind.ONE,
        f"The entropy is highest at step {hardest + 1}, {named[hardest]}: {trace.entropies[hardest]:.2f} nats. The "
        f"best token has {best}, the {len(listed)} best {format_probability(float(listed.sum()))}; all others "
        "share the rest.",
        "The entropies in nats: "
        + ", ".join(f"{named[step]} {trace.entropies[step] + 0.0:.2f}" for step in offered)
        + ".",
        tuple(Option(str(step + 1), named[step], feedback[step]) for step in offered),
        frozenset({str(hardest + 1)}),
        names={"step": str(hardest + 1), "word": words[hardest]},
    )


@measure
def second_candidate(run: Run) -> Answer:
    """Ask which token came second where the second was most probable.

    names: those of `_Choice`.
    """
    choice = _open_choice(run)
    trace, step = choice.trace, choice.step
    rows = _looking_apart(trace, step)[:MOST_OPTIONS]
    chances = [format_probability(float(trace.candidate_probabilities[step, row])) for row in rows]
    looks = readable_candidates(trace, trace.candidate_tokens[step])
    tokens = [quoted(looks[row]) for row in rows]
    return Answer(
        Kind.ONE,
        f"Second came {tokens[0]} with {chances[0]}, behind {quoted(choice.names['word'])} with "
        f"{choice.names['chance']}.",
        "The candidates: " + ", ".join(map(" ".join, zip(tokens, chances, strict=True))) + ".",
        tuple(
            Option(str(int(trace.candidate_ids[step, row])), token, f"It has {chance}.")
            for row, token, chance in zip(rows, tokens, chances, strict=True)
        ),
        frozenset({str(int(trace.candidate_ids[step, rows[0]]))}),
        names=choice.names,
    )


@measure
def after_forcing(run: Run) -> Answer:
    """Ask what becomes of the tokens that followed when the second candidate is forced.

    names: those of `_Choice`.
    """
    choice = _open_choice(run)
    trace, step = choice.trace, choice.step
    if not trace.has_room_after(step):
        raise Undecided("This translation is too long to force another token.")
    forced = results.trace(replace(run.greedy, prefix=url_state.token_ids(choice.names["prefix"])))
    before, now = ([*map(str.lower, each.target_tokens[step + 1 :])] for each in (trace, forced))
    if not before:
        raise Undecided("Nothing follows the token that could be another one here.")
    gone, new = Counter(before) - Counter(now), Counter(now) - Counter(before)
    found = "stay" if before == now else "new" if new else "moved"
    labels = {
        "stay": "they stay unchanged",
        "moved": "the same ones in another order, or fewer",
        "new": "some new ones come in",
    }
    come = len(before) - gone.total()
    after = f"Of {pluralize(len(before), 'token')} after it, ⟨end⟩ included,"
    feedback = f"{after} {come} come again. New ones: {new.total()}."
    return Answer(
        Kind.ONE,
        f"With {quoted(choice.second_token)} forced the model writes: {translated(forced.target_text)} "
        f"Before, it wrote: {translated(trace.target_text)}",
        feedback,
        tuple(Option(name, label, feedback) for name, label in labels.items()),
        frozenset({found}),
        names=choice.names,
    )


@measure
def tempered(run: Run) -> Answer:
    """Ask how probable the best token becomes at a low temperature.

    names: those of `_Choice`, and temperature.
    """
    choice = _open_choice(run)
    step, model = choice.step, results.translator(run.request.checkpoint).model
    logits = results.residual_stream(run.greedy).logits[step]
    cuts = {each: truncate(logits, each, forbidden=model.config.never_chosen) for each in (SHARP, 1.0, FLAT)}
    best = int(cuts[1.0].order[cuts[1.0].retained[cuts[1.0].order]][0])
    chances = {temperature: float(cut.final[best]) for temperature, cut in cuts.items()}
    if chances[SHARP] - chances[1.0] < NEAR_CHANCES or chances[1.0] - chances[FLAT] < NEAR_CHANCES:
        raise Undecided("The model is so sure here that the temperature hardly changes anything.")
    word = quoted(choice.names["word"])
    written = {each: format_probability(value) for each, value in chances.items()}
    ratio = float(f"{np.divide(*cuts[1.0].final[cuts[1.0].order[cuts[1.0].retained[cuts[1.0].order]][:2]]):.4g}")
    feedback = {
        SHARP: f"That is what temperature {SHARP:g} gives.",
        1.0: "That is what the logits give as they are, at temperature 1.",
        FLAT: f"That is what temperature {FLAT:g} gives.",
    }
    return Answer(
        Kind.ONE,
        f"{word} has {written[SHARP]} at temperature {SHARP:g}, {written[1.0]} at 1, {written[FLAT]} at {FLAT:g}.",
        f"Divided by {SHARP:g} the logits are twice as far apart, which squares the ratio of any two tokens: of "
        f"{word} to the next one from {ratio:g} to {ratio**2:.4g}.",
        tuple(Option(f"{each:g}", written[each], feedback[each]) for each in chances),
        frozenset({f"{SHARP:g}"}),
        names={**choice.names, "temperature": f"{SHARP:g}"},
    )


@measure
def best_of_beam(run: Run, size: int) -> Answer:
    """Ask which translation is the most probable, where a beam search without penalty finds a better one than greedy's.

    names: size.
    """
    tokenizer, greedy = results.translator(run.request.checkpoint).tokenizer, results.hypotheses(run.greedy)[0]
    found = _ended(run, Beam(size, 0.0))
    own = tokenizer.decode(list(greedy.ids))
    found.setdefault(own, greedy)
    first, *others = sorted(found, key=lambda text: -found[text].log_probability)
    if first == own or not others or found[first].log_probability - found[others[0]].log_probability < NEAR:
        raise Undecided("Beam search finds no translation here that is plainly more probable than greedy's.")
    offered = list(dict.fromkeys((first, own, *others)))[:MOST_OPTIONS]
    log_p = {text: f"log P {signed(found[text].log_probability, 2)}" for text in found}
    return Answer(
        Kind.ONE,
        f"“{first}” has {log_p[first]}, the highest; greedy's “{own}” has {log_p[own]}.",
        "The sum of all tokens' log-probabilities: " + "; ".join(f"“{text}” {log_p[text]}" for text in offered) + ".",
        tuple(Option(_ids(found[text]), f"“{text}”", f"It has {log_p[text]}.") for text in offered),
        frozenset({_ids(found[first])}),
        names={"size": str(size)},
    )


def _ended(run: Run, beam: Beam) -> dict[str, Hypothesis]:
    """Return the translations that a beam search found, best first, each text once."""
    decode = results.translator(run.request.checkpoint).tokenizer.decode
    found = results.search(replace(run.greedy, strategy=beam)).ended[: beam.size]
    first: dict[str, Hypothesis] = {}
    for one in found:
        first.setdefault(decode(list(one.ids)), one)
    return first


def _ids(one: Hypothesis) -> str:
    return ".".join(map(str, one.ids))


@measure
@of_the_page
def longer_translation(run: Run) -> Answer:
    """Ask for a forced beginning that makes the translation longer; the address says what is forced.

    names: prefix (one that does, as an address has it), step (its last token's, from 1).
    """
    request = run.greedy
    forced = url_state.token_ids(run.address.get("prefix", ""))
    if not results.translator(run.request.checkpoint).may_begin_with(forced):
        forced = ()
    own = results.trace(request)
    now = results.trace(replace(request, prefix=forced)) if forced else own
    words = [_words(each) for each in (own, now)]
    counted = f"It has {pluralize(words[1], 'word')}, and without anything forced {words[0]}."
    feedback = f"“{now.target_text}” {counted}" if forced else f"Nothing is forced yet: “{own.target_text}”"
    longer = _longer(request) or (forced if words[1] > words[0] else ())
    if not longer:
        raise Undecided("No likely candidate that is forced makes this translation longer.")
    piece = results.translator(request.checkpoint).tokenizer.piece_text(longer[-1])
    return Answer(
        Kind.DO,
        feedback,
        f"The model's own translation has {pluralize(words[0], 'word')}. It gets longer with a candidate of step "
        f"{len(longer)}: {quoted(readable_candidates(own, [piece])[0])}.",
        done=words[1] > words[0],
        names={"prefix": ".".join(map(str, longer)), "step": str(len(longer))},
    )


def _words(trace: Trace) -> int:
    return sum(map(is_word, trace.target_text.split()))


@results.cached(max_entries=64, show_spinner=False)
def _longer(request: TranslationRequest) -> tuple[int, ...]:
    """Return ids that make a translation of more words when they are forced, the likeliest last one; () without any."""
    own = results.trace(request)
    words = _words(own)
    others = [
        (float(own.candidate_probabilities[step, row]), step, int(own.candidate_ids[step, row]))
        for step in own.scored_steps
        if own.has_room_after(step)
        for row in _others(own, step)[:MOST_OPTIONS]
    ]
    for _, step, token in sorted(others, reverse=True)[:MOST_FORCED]:
        prefix = (*own.target_ids[:step], token)
        if _words(results.trace(replace(request, prefix=prefix))) > words:
            return prefix
    return ()


def _open_choice(run: Run) -> _Choice:
    """Return the step whose second candidate is most probable, and plainly before the third. Raises Undecided.

    The hardest step is taken only where it is the only one: its candidates are shown where that one is asked for.
    """
    trace = results.trace(run.greedy)
    found: list[tuple[float, int, int]] = []
    hardest = max(trace.scored_steps, key=lambda step: trace.entropies[step])
    for step in trace.scored_steps:
        rows = _looking_apart(trace, step)
        if len(rows) < 2 or rows[0] != _others(trace, step)[0]:
            continue
        if trace.target_tokens[0].startswith(SPACE) and not trace.target_tokens[step].startswith(SPACE):
            continue  # a mark, or within a word
        second, third = (float(trace.candidate_probabilities[step, row]) for row in rows[:2])
        if second - third >= NEAR_CHANCES:
            found.append((second, step, rows[0]))
    if not found:
        raise Undecided("At no step of this translation is one token plainly the second.")
    _, step, row = max(found, key=lambda each: (each[1] != hardest, each))
    return _Choice(trace, step, row)


def _others(trace: Trace, step: int) -> list[int]:
    """Return the rows of a step's candidates that might have been taken instead, most probable first."""
    tokens, ids = trace.candidate_tokens[step], trace.candidate_ids[step].tolist()
    taken = trace.target_ids[step]
    return [row for row, each in enumerate(ids) if each != taken and tokens[row] not in trace.never_chosen]


def _looking_apart(trace: Trace, step: int) -> list[int]:
    """Return those of `_others` that look like neither the token that was taken nor one before them."""
    found: list[int] = []
    tokens, taken = trace.candidate_tokens[step], trace.target_tokens[step]
    for row in _others(trace, step):
        if not any(is_a_form(tokens[row], other) for other in (taken, *(tokens[each] for each in found))):
            found.append(row)
    return found


def _spread(steps: Sequence[int], count: int) -> list[int]:
    """Return so many of some steps: the first, the last, and what lies between at equal distances."""
    places = np.linspace(0, len(steps) - 1, min(count, len(steps))).round().astype(int)
    return [steps[place] for place in places]
