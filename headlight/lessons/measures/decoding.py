"""Measures of decoding: token by token, with a token forced, by temperature, and by beam search."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from headlight.app import results
from headlight.app.finding import TokenAt
from headlight.app.results import TranslationRequest
from headlight.app.selection import parse_ids
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page, one_of
from headlight.lessons.words import Say
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


@measure
def hardest_token(run: Run) -> Answer:
    """Ask at which word, or part of one, the entropy of the next-token distribution is highest.

    names: step, word (what it wrote there), token (this with its step where it stands twice), value (the entropy),
    candidates (how many best tokens are listed), best and listed, the probabilities of the first and of all of them.
    """
    trace = results.trace(run.greedy)
    ranked = sorted(word_steps(trace) or trace.scored_steps, key=lambda step: -trace.entropies[step])
    others = [step for step in ranked if trace.entropies[ranked[0]] - trace.entropies[step] >= NEAR_NATS]
    chances, words = trace.candidate_probabilities[ranked[0]], readable(trace.target_tokens)
    if not others or chances[0] > SURE:
        raise Undecided("no_hardest_token")
    options = [
        Option(str(step + 1), value=float(trace.entropies[step] + 0.0), values={"token": TokenAt(words, step, "step")})
        for step in (ranked[0], *_spread(others, MOST_OPTIONS - 1))
    ]
    names: dict[str, Any] = {"step": ranked[0], "word": words[ranked[0]], "candidates": len(chances)}
    return one_of(options, **names, best=float(chances[0]), listed=float(chances.sum()))


@measure
def second_candidate(run: Run) -> Answer:
    """Ask which token came second where the second was most probable.

    names: those of `_open_choice`, and value, the probability of the second.
    """
    trace, step, others, names = _open_choice(run)
    looks, chances = readable_candidates(trace, trace.candidate_tokens[step]), trace.candidate_probabilities[step]
    ids = trace.candidate_ids[step].tolist()
    options = (Option(str(ids[at]), value=float(chances[at]), values={"token": looks[at]}) for at in others)
    return one_of(options, **names)


@measure
def after_forcing(run: Run) -> Answer:
    """Ask what becomes of the words that followed when the second candidate is forced.

    Not asked where only words come back, such as the one that was replaced: they are new there, and they are not. Nor
    is another form of a word that went a new one.

    names: those of `_open_choice`, text and forced_text, both translations, before, now and new, words behind.
    """
    trace, step, others, names = _open_choice(run)
    if not trace.has_room_after(step):
        raise Undecided("no_room_to_force")
    forced = results.trace(replace(run.greedy, prefix=_forcing(trace, step, others[0])))
    (word, *before), (_, *now) = ([*filter(is_word, words_of(each.target_tokens[step:]))] for each in (trace, forced))
    if not before or (before != now and before == now[-len(before) :]):
        raise Undecided("no_word_follows")
    old, rest, after = (Counter(map(str.lower, one)) for one in ([word, *before], before, now))
    gone, come = old - after, (after - rest).keys()
    new = come - old.keys()
    if come and not new:
        raise Undecided("no_new_word")
    if new and all(any(is_a_form(one, other) for other in gone) for one in new):
        raise Undecided("forms_change")
    spelled, none = tuple(dict.fromkeys(one for one in now if one.lower() in new)), (Say("none"),)
    names |= {"text": trace.target_text, "forced_text": forced.target_text}
    names |= {"before": tuple(before), "now": tuple(now) or none, "new": spelled or none}
    right = "new" if new else "stay" if before == now else "moved"
    return one_of(map(Option, ("stay", "moved", "new")), right, **names)


@measure
def tempered(run: Run) -> Answer:
    """Ask how probable the best token becomes at a low temperature.

    names: those of `_open_choice`, temperature, the low one, as an address has it draw_temperature, and flat, a high
    one; sharpened, plain and flattened, the probability at these and at 1; ratio to the next token, and squared.
    """
    _, step, _, names = _open_choice(run)
    logits = results.study(run.greedy).stream().logits[step]
    never = run.translator.model.config.never_chosen
    cuts = {each: truncate(logits, each, forbidden=never) for each in (SHARP, 1.0, FLAT)}
    ranked = cuts[1.0].order[cuts[1.0].retained[cuts[1.0].order]]
    sharpened, plain, flattened = chances = [float(cut.final[ranked[0]]) for cut in cuts.values()]
    if min(sharpened - plain, plain - flattened) < NEAR_CHANCES:
        raise Undecided("sure_at_any_temperature")
    ratio = float(f"{np.divide(*cuts[1.0].final[ranked[:2]]):.4g}")
    names |= {"sharpened": sharpened, "plain": plain, "flattened": flattened, "ratio": ratio}
    names |= {"draw_temperature": f"{SHARP:g}", "flat": FLAT, "squared": ratio**2}
    shares = zip(cuts, chances, strict=True)
    return one_of((Option(f"{at:g}", value=share, values={"temperature": at}) for at, share in shares), **names)


@measure
def best_of_beam(run: Run, size: int) -> Answer:
    """Ask which of the translations that a beam search without penalty finds is the most probable, greedy's aside.

    names: size, text and value, the translation and its log P, translation and greedy, those of greedy decoding.
    """
    decode, greedy = run.translator.tokenizer.decode, results.study(run.greedy).hypotheses()[0]
    beam = results.study(replace(run.greedy, strategy=Beam(size, 0.0))).search().ended
    of_greedy, language = decode(list(greedy.ids)), language_of(run)
    hypotheses = {of_greedy: greedy}  # the best of those that have the same words
    for one in sorted(beam, key=lambda each: -each.log_probability):
        if only_words(text := decode(list(one.ids))) not in map(only_words, hypotheses):
            hypotheses[text] = one
    best, *others = [text for text in hypotheses if text != of_greedy] or [""]
    offered = [best, *(text for text in others if not _loses_words(best, text, language))][:MOST_OPTIONS]
    if _loses_words(best, of_greedy, language):
        raise Undecided("translation_loses_a_word")
    if len(offered) < 3:
        raise Undecided("no_three_translations")
    log_p = {text: one.log_probability for text, one in hypotheses.items()}
    options = [
        Option(_dotted(hypotheses[text].ids), value=log_p[text], values={"text": text, "look": look})
        for text, look in zip(offered, told_apart((*offered, of_greedy), language, run.request.text), strict=False)
    ]
    tells = "truth" if log_p[best] > log_p[of_greedy] else "truth_lower"
    names = {"size": size, "translation": of_greedy, "greedy": log_p[of_greedy]}
    return one_of(options, by=NEAR_NATS, reason="no_three_translations", tells=tells, **names)


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

    names: prefix (one that does, as an address has it), step and token, its last one; text, words, how many it has, and
    before and words_before, how many without anything forced, as a number and with its noun.
    """
    forced = parse_ids(run.address.get("prefix", ""))
    forced = forced if run.translator.may_begin_with(forced) else ()
    free, now = results.trace(run.greedy), results.trace(replace(run.greedy, prefix=forced))
    before, after = _words(free), _words(now)
    longer = _longer(run.greedy) or (forced if after > before else ())
    if not longer:
        raise Undecided("no_longer_translation")
    piece = run.translator.tokenizer.piece_text(longer[-1])
    names = {"prefix": _dotted(longer), "step": len(longer) - 1, "token": readable_candidates(free, [piece])[0]}
    names |= {"text": now.target_text, "before": before}
    names |= {"words": Say("words", {"count": after}), "words_before": Say("words", {"count": before})}
    return Answer(Kind.DO, tells="truth" if forced else "free", done=after > before, names=names)


def _words(trace: Trace) -> int:
    return sum(map(is_word, trace.target_text.split()))


@results.cached(max_entries=64, show_spinner=False)
def _longer(request: TranslationRequest) -> tuple[int, ...]:
    """Return ids that make a translation of more words when they are forced; () without any.

    Of several the ones whose whole translation is the most probable: a likely token may lead to an unlikely rest.
    """
    free = results.trace(request)
    chances = {
        _forcing(free, step, at): float(free.candidate_probabilities[step, at])
        for step in free.scored_steps
        if free.has_room_after(step)
        for at in _others(free, step)[:MOST_OPTIONS]
        if is_word(free.candidate_tokens[step][at])
    }
    prefixes = sorted(chances, key=chances.__getitem__, reverse=True)[:MOST_FORCED]
    forced = {prefix: results.trace(replace(request, prefix=prefix)) for prefix in prefixes}
    longer = [prefix for prefix in prefixes if _words(forced[prefix]) > _words(free)]
    return max(longer, key=lambda prefix: float(np.log(forced[prefix].target_probabilities).sum()), default=())


def _open_choice(run: Run) -> tuple[Trace, int, list[int], dict[str, Any]]:
    """Return the greedy trace, the step whose second candidate is most probable and plainly before the third, places of
    other candidates, whole words, the second first, and names: step, word, chance, second, prefix (what forces it).

    Raises Undecided.

    A step whose second has the first one's gloss, which would tell the answer, is taken only where there is no other,
    and so is the hardest one: its candidates are shown where that one is asked for.
    """
    trace = results.trace(run.greedy)
    choices: list[tuple[bool, bool, float, int, list[int]]] = []
    letters = not trace.target_tokens[0].startswith(SPACE)
    hardest = max(word_steps(trace) or trace.scored_steps, key=lambda step: trace.entropies[step])
    for step in trace.scored_steps:
        apart = _looking_apart(trace, step)
        is_whole = letters or is_whole_word(trace.target_tokens, step)
        if not is_whole or len(apart) < 2 or apart[0] != _others(trace, step)[0]:
            continue
        second, third = (float(trace.candidate_probabilities[step, at]) for at in apart[:2])
        if second >= max(LEAST_SECOND, PLAINLY * third):
            tokens = (trace.target_tokens[step], trace.candidate_tokens[step][apart[0]])
            written, rival = (meanings_of(token.removeprefix(SPACE), language_of(run)) for token in tokens)
            choices.append((not written & rival, step != hardest, second, step, apart))
    for *_, step, apart in sorted(choices, reverse=True):
        whole = list(islice((at for at in apart if letters or _forced_word(run, trace, step, at)), MOST_OPTIONS))
        if whole[:1] == apart[:1] and len(whole) > 2:
            names = {"step": step, "word": readable(trace.target_tokens)[step]}
            names |= {"second": readable_candidates(trace, trace.candidate_tokens[step])[apart[0]]}
            names |= {"chance": float(trace.target_probabilities[step])}
            return trace, step, whole, names | {"prefix": _dotted(_forcing(trace, step, apart[0]))}
    raise Undecided("no_second")


def _forced_word(run: Run, trace: Trace, step: int, at: int) -> bool:
    """Return whether a candidate is a whole word when it is forced."""
    tokens = results.trace(replace(run.greedy, prefix=_forcing(trace, step, at))).target_tokens
    return is_word(tokens[step]) and is_whole_word(tokens, step)


def _forcing(trace: Trace, step: int, at: int) -> tuple[int, ...]:
    """Return the ids that force a candidate."""
    return (*trace.target_ids[:step], int(trace.candidate_ids[step][at]))


def _others(trace: Trace, step: int) -> list[int]:
    """Return the places of a step's candidates that might have been taken instead, most probable first."""
    tokens, ids = trace.candidate_tokens[step], trace.candidate_ids[step].tolist()
    taken = trace.target_ids[step]
    return [at for at, each in enumerate(ids) if each != taken and tokens[at] not in trace.never_chosen]


def _looking_apart(trace: Trace, step: int) -> list[int]:
    """Return those of `_others` that look like neither the token that was taken nor one before them."""
    apart: dict[str, int] = {}
    for at in _others(trace, step):
        token = trace.candidate_tokens[step][at]
        if not any(is_a_form(token, other) for other in (trace.target_tokens[step], *apart)):
            apart[token] = at
    return [*apart.values()]


def _spread(steps: Sequence[int], count: int) -> list[int]:
    """Return so many of some steps: the first, the last, and those between at equal distances."""
    return [steps[at] for at in np.linspace(0, len(steps) - 1, min(count, len(steps))).round().astype(int)]
