"""Measures of decoding: token by token, with a token forced, by temperature, and by beam search."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.app.selection import parse_ids
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, largest, measure, of_the_page
from headlight.lessons.words import translated
from headlight.plots.numbers import format_probability, pluralize, signed
from headlight.plots.tokens import quoted, quoted_at
from transformer import Beam
from transformer.data.tokenizer import SPACE
from transformer.decoding.sampling import truncate
from transformer.interpret.head_patterns import is_word, words_of
from transformer.interpret.trace import Trace

from .attention import NEGATIONS
from .wording import (
    MOST_OPTIONS,
    NEAR_CHANCES,
    NEAR_NATS,
    is_a_form,
    is_whole_word,
    language_of,
    meanings_of,
    only_words,
    quoted_all,
    readable,
    readable_candidates,
    told_apart,
    word_steps,
)

SHARP, FLAT = 0.5, 1.5  # temperatures
LEAST_SECOND, PLAINLY = 0.01, 1.5  # probability of a second candidate, and times that of the third
SURE = 0.75  # a probability from which on a choice is not called hard
SHORT = 3  # letters of words that a translation may lack
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
    def prefix(self) -> tuple[int, ...]:
        """Return the ids that force the second candidate."""
        return (*self.trace.target_ids[: self.step], int(self.trace.candidate_ids[self.step][self.second]))

    @property
    def names(self) -> dict[str, Any]:
        """Return step, word (what was written), chance, second, and prefix: what forces the second."""
        return {
            "step": self.step,
            "word": readable(self.trace.target_tokens)[self.step],
            "chance": format_probability(float(self.trace.target_probabilities[self.step])),
            "second": self.second_token,
            "prefix": _dotted(self.prefix),
        }


@measure
def hardest_token(run: Run) -> Answer:
    """Ask at which word, or part of one, the entropy of the next-token distribution is highest.

    names: step, word (what it wrote there).
    """
    trace = results.trace(run.greedy)
    ranked = sorted(word_steps(trace) or trace.scored_steps, key=lambda step: -trace.entropies[step])
    hardest = ranked[0]
    others = [step for step in ranked if trace.entropies[hardest] - trace.entropies[step] >= NEAR_NATS]
    candidates = trace.candidate_probabilities[hardest]
    if not others or candidates[0] > SURE:
        raise Undecided("The model is about equally sure of all tokens of this translation, or sure of each.")
    words = readable(trace.target_tokens)
    entropy = {step: float(trace.entropies[step] + 0.0) for step in (hardest, *_spread(others, MOST_OPTIONS - 1))}
    options = tuple(
        Option(str(step + 1), quoted_at(words, step, "step"), f"There it is {value:.2f} nats.", value)
        for step, value in entropy.items()
    )
    return Answer(
        Kind.ONE,
        f"Of these tokens {options[0].label} has the highest entropy: {entropy[hardest]:.2f} nats. "
        f"The best token has {format_probability(float(candidates[0]))}, the {len(candidates)} best "
        f"{format_probability(float(candidates.sum()))}; all others share the rest.",
        "The entropies in nats: " + ", ".join(f"{option.label} {option.value:.2f}" for option in options) + ".",
        options,
        largest(options),
        names={"step": hardest, "word": words[hardest]},
    )


@measure
def second_candidate(run: Run) -> Answer:
    """Ask which token came second where the second was most probable.

    names: those of `_Choice`.
    """
    choice = _open_choice(run)
    trace, step = choice.trace, choice.step
    looks = readable_candidates(trace, trace.candidate_tokens[step])
    offered = [at for at in _looking_apart(trace, step) if _forced_word(run, trace, step, at)][:MOST_OPTIONS]
    chances = {at: float(trace.candidate_probabilities[step, at]) for at in offered}
    words = {at: format_probability(chance) for at, chance in chances.items()}
    options = tuple(
        Option(str(int(trace.candidate_ids[step, at])), quoted(looks[at]), f"It has {words[at]}.", chance)
        for at, chance in chances.items()
    )
    return Answer(
        Kind.ONE,
        f"Second came {options[0].label} with {words[choice.second]}, behind {quoted(choice.names['word'])} with "
        f"{choice.names['chance']}.",
        f"The candidates: {', '.join(f'{quoted(looks[at])} {chance}' for at, chance in words.items())}.",
        options,
        largest(options),
        names=choice.names,
    )


@measure
def after_forcing(run: Run) -> Answer:
    """Ask what becomes of the words that followed when the second candidate is forced.

    Not asked where only words come back, such as the one that was replaced: they are new there, and they are not. Nor
    is another form of a word that went a new one.

    names: those of `_Choice`.
    """
    choice = _open_choice(run)
    trace, step = choice.trace, choice.step
    if not trace.has_room_after(step):
        raise Undecided("This translation is too long to force another token.")
    forced = results.trace(replace(run.greedy, prefix=choice.prefix))
    (word, *before), (_, *now) = ([*filter(is_word, words_of(each.target_tokens[step:]))] for each in (trace, forced))
    if not before or (before != now and before == now[-len(before) :]):
        raise Undecided("No word follows here that could be another one, or all stay and others come before them.")
    old, rest, after = (Counter(map(str.lower, one)) for one in ([word, *before], before, now))
    gone, come = old - after, (after - rest).keys()
    new = come - old.keys()
    if come and not new:
        raise Undecided("Only a word that stood here before comes again: it is new in its place, and it is not.")
    if new and all(any(is_a_form(one, other) for other in gone) for one in new):
        raise Undecided("Only the forms of words change here.")
    labels = {
        "stay": "they stay as they are",
        "moved": "no new words come in, but their order or their number changes",
        "new": "new words come in",
    }
    spelled = dict.fromkeys(one for one in now if one.lower() in new)
    feedback = f"Before: {quoted_all(before)}. Now: {quoted_all(now) or 'none'}. New: {quoted_all(spelled) or 'none'}."
    return Answer(
        Kind.ONE,
        f"With {quoted(choice.second_token)} forced the model writes: {translated(forced.target_text)} "
        f"Before, it wrote: {translated(trace.target_text)}",
        feedback,
        tuple(Option(name, label, feedback) for name, label in labels.items()),
        {"new" if new else "stay" if before == now else "moved"},
        names=choice.names,
    )


@measure
def tempered(run: Run) -> Answer:
    """Ask how probable the best token becomes at a low temperature.

    names: those of `_Choice`, and temperature.
    """
    choice = _open_choice(run)
    logits = results.study(run.greedy).stream().logits[choice.step]
    cuts = {
        each: truncate(logits, each, forbidden=run.translator.model.config.never_chosen) for each in (SHARP, 1.0, FLAT)
    }
    ranked = cuts[1.0].order[cuts[1.0].retained[cuts[1.0].order]]
    chances = {temperature: float(cut.final[ranked[0]]) for temperature, cut in cuts.items()}
    if chances[SHARP] - chances[1.0] < NEAR_CHANCES or chances[1.0] - chances[FLAT] < NEAR_CHANCES:
        raise Undecided("The model is so sure here that the temperature hardly changes anything.")
    word = quoted(choice.names["word"])
    written = {each: format_probability(value) for each, value in chances.items()}
    ratio = float(f"{np.divide(*cuts[1.0].final[ranked[:2]]):.4g}")
    feedback = {
        SHARP: f"That is what temperature {SHARP:g} gives.",
        1.0: "That is what the logits give as they are, at temperature 1.",
        FLAT: f"That is what temperature {FLAT:g} gives.",
    }
    options = tuple(Option(f"{each:g}", written[each], feedback[each], chances[each]) for each in chances)
    return Answer(
        Kind.ONE,
        f"{word} has {written[SHARP]} at temperature {SHARP:g}, {written[1.0]} at 1, {written[FLAT]} at {FLAT:g}.",
        f"Divided by {SHARP:g} the logits are twice as far apart, which squares the ratio of any two tokens: of "
        f"{word} to the next one from {ratio:g} to {ratio**2:.4g}.",
        options,
        largest(options),
        names=choice.names | {"temperature": f"{SHARP:g}"},
    )


@measure
def best_of_beam(run: Run, size: int) -> Answer:
    """Ask which of the translations that a beam search without penalty finds is the most probable, greedy's aside.

    names: size, greedy (log P of greedy's).
    """
    decode, greedy = run.translator.tokenizer.decode, results.study(run.greedy).hypotheses()[0]
    beam = results.study(replace(run.greedy, strategy=Beam(size, 0.0))).search().ended
    of_greedy = decode(list(greedy.ids))
    hypotheses = {of_greedy: greedy}  # the best of those that have the same words
    for one in sorted(beam, key=lambda each: -each.log_probability):
        if only_words(text := decode(list(one.ids))) not in map(only_words, hypotheses):
            hypotheses[text] = one
    log_p = {text: one.log_probability for text, one in hypotheses.items()}
    best, *others = [text for text in log_p if text != of_greedy] or [""]
    offered = [best, *(text for text in others if not _loses_words(best, text, language_of(run)))][:MOST_OPTIONS]
    if _loses_words(best, of_greedy, language_of(run)):
        raise Undecided("The most probable of the other translations leaves out a word of the source.")
    if len(offered) < 3 or log_p[offered[0]] - log_p[offered[1]] < NEAR_NATS:
        raise Undecided("Beam search finds no three other translations here of which one is plainly most probable.")
    words = {text: f"log P {signed(value, 2)}" for text, value in log_p.items()}
    looks = dict(zip(offered, told_apart((*offered, of_greedy), language_of(run)), strict=False))
    options = tuple(
        Option(_dotted(hypotheses[text].ids), looks[text], f"It has {words[text]}.", log_p[text]) for text in offered
    )
    than = "higher" if log_p[offered[0]] > log_p[of_greedy] else "lower"
    return Answer(
        Kind.ONE,
        f"“{offered[0]}” has {words[offered[0]]}, {than} than greedy's “{of_greedy}” with {words[of_greedy]}.",
        "The sum of all tokens' log-probabilities: " + "; ".join(f"“{text}” {words[text]}" for text in offered) + ".",
        options,
        largest(options),
        names={"size": size, "greedy": signed(log_p[of_greedy], 2), "translation": of_greedy},
    )


def _loses_words(one: str, other: str, language: str) -> bool:
    """Return whether a translation is shorter than another one, or lacks a meaning that it has by the glosses."""
    words = [[(word, meanings_of(word, language)) for word in only_words(text).split()] for text in (one, other)]
    means = [[each for word, each in every if len(word) > SHORT or each & NEGATIONS] for every in words]
    lost, unknown = set[str]().union(*means[1]).difference(*means[0]), [each.count(set()) for each in means]
    return len(means[0]) < len(means[1]) or (bool(lost) and unknown[0] <= unknown[1])


def _dotted(ids: Sequence[int]) -> str:
    """Return token ids as `parse_ids` reads them."""
    return ".".join(map(str, ids))


@measure
@of_the_page
def longer_translation(run: Run) -> Answer:
    """Ask for a forced beginning that makes the translation longer; the address says what is forced.

    names: prefix (one that does, as an address has it), step (its last token's).
    """
    request = run.greedy
    forced = parse_ids(run.address.get("prefix", ""))
    if not run.translator.may_begin_with(forced):
        forced = ()
    free = results.trace(request)
    now = results.trace(replace(request, prefix=forced)) if forced else free
    before, after = _words(free), _words(now)
    longer = _longer(request) or (forced if after > before else ())
    if not longer:
        raise Undecided("No likely candidate that is forced makes this translation longer.")
    counted = f"It has {pluralize(after, 'word')}, and without anything forced {before}."
    piece = run.translator.tokenizer.piece_text(longer[-1])
    return Answer(
        Kind.DO,
        f"“{now.target_text}” {counted}" if forced else f"Nothing is forced yet: “{free.target_text}”",
        f"The model's own translation has {pluralize(before, 'word')}. It gets longer with a candidate of step "
        f"{len(longer)}: {quoted(readable_candidates(free, [piece])[0])}.",
        done=after > before,
        names={"prefix": _dotted(longer), "step": len(longer) - 1},
    )


def _words(trace: Trace) -> int:
    return sum(map(is_word, trace.target_text.split()))


@results.cached(max_entries=64, show_spinner=False)
def _longer(request: TranslationRequest) -> tuple[int, ...]:
    """Return ids that make a translation of more words when they are forced; () without any.

    Of several the ones whose whole translation is the most probable: a likely token may lead to an unlikely rest.
    """
    free = results.trace(request)
    candidates = [
        (float(free.candidate_probabilities[step, at]), step, int(free.candidate_ids[step, at]))
        for step in free.scored_steps
        if free.has_room_after(step)
        for at in _others(free, step)[:MOST_OPTIONS]
        if is_word(free.candidate_tokens[step][at])
    ]
    prefixes = [(*free.target_ids[:step], token) for _, step, token in sorted(candidates, reverse=True)[:MOST_FORCED]]
    forced = {prefix: results.trace(replace(request, prefix=prefix)) for prefix in prefixes}
    longer = [prefix for prefix in prefixes if _words(forced[prefix]) > _words(free)]
    return max(longer, key=lambda prefix: float(np.log(forced[prefix].target_probabilities).sum()), default=())


def _open_choice(run: Run) -> _Choice:
    """Return the step whose second candidate is most probable, and plainly before the third: whole words, as a fourth.

    Raises Undecided.

    A step whose second has the first one's gloss, which would tell the answer, is taken only where there is no other,
    and so is the hardest one: its candidates are shown where that one is asked for.
    """
    trace = results.trace(run.greedy)
    choices: list[tuple[bool, bool, float, int, int]] = []
    letters = not trace.target_tokens[0].startswith(SPACE)
    hardest = max(word_steps(trace) or trace.scored_steps, key=lambda step: trace.entropies[step])
    for step in trace.scored_steps:
        apart = _looking_apart(trace, step)
        if len(apart) < 2 or apart[0] != _others(trace, step)[0]:
            continue
        if not letters and not is_whole_word(trace.target_tokens, step):
            continue
        second, third = (float(trace.candidate_probabilities[step, at]) for at in apart[:2])
        if second >= max(LEAST_SECOND, PLAINLY * third):
            tokens = (trace.target_tokens[step], trace.candidate_tokens[step][apart[0]])
            written, rival = (meanings_of(token.removeprefix(SPACE), language_of(run)) for token in tokens)
            choices.append((not written & rival, step != hardest, second, step, apart[0]))
    for *_, step, at_second in sorted(choices, reverse=True):
        others = (at for at in _looking_apart(trace, step)[1:] if _forced_word(run, trace, step, at))
        if _forced_word(run, trace, step, at_second) and next(others, None) and next(others, None):
            return _Choice(trace, step, at_second)
    raise Undecided("At no step of this translation is one word plainly the second.")


def _forced_word(run: Run, trace: Trace, step: int, at: int) -> bool:
    """Return whether a candidate is a whole word when it is forced; True for a task of letters."""
    if not trace.target_tokens[0].startswith(SPACE):
        return True
    forced = results.trace(replace(run.greedy, prefix=_Choice(trace, step, at).prefix))
    return is_word(forced.target_tokens[step]) and is_whole_word(forced.target_tokens, step)


def _others(trace: Trace, step: int) -> list[int]:
    """Return the places of a step's candidates that might have been taken instead, most probable first."""
    tokens, ids = trace.candidate_tokens[step], trace.candidate_ids[step].tolist()
    taken = trace.target_ids[step]
    return [at for at, each in enumerate(ids) if each != taken and tokens[at] not in trace.never_chosen]


def _looking_apart(trace: Trace, step: int) -> list[int]:
    """Return those of `_others` that look like neither the token that was taken nor one before them."""
    apart: list[int] = []
    tokens, taken = trace.candidate_tokens[step], trace.target_tokens[step]
    for at in _others(trace, step):
        if not any(is_a_form(tokens[at], other) for other in (taken, *(tokens[each] for each in apart))):
            apart.append(at)
    return apart


def _spread(steps: Sequence[int], count: int) -> list[int]:
    """Return so many of some steps: the first, the last, and those between at equal distances."""
    return [steps[at] for at in np.linspace(0, len(steps) - 1, min(count, len(steps))).round().astype(int)]
