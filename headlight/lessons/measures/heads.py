"""Measures of single heads, and of translations without them."""

from zlib import crc32

import numpy as np

from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page, one_of
from headlight.lessons.words import Say, translated
from transformer.interpret.head_patterns import HeadMeasures, Pattern, measure_heads
from transformer.interpret.trace import masked_maps
from transformer.interpret.what_if.importance import ABLATIONS, HeadImportance
from transformer.interpret.what_if.intervention import Zero
from transformer.model.heads import Head, heads_address, parse_heads
from transformer.model.names import AttentionKind

from .alignment import key_of, names_of, plainly_behind, ranked_by, rows_of
from .wording import MISSED, MOST_OPTIONS, NEAR, NEAR_NATS, moved, require_greedy

ABOUT = 0.1  # of all heads: error of an estimated number of them
SPARED = (8, 6, 4, 3)  # heads that are switched off together, to find how many can be spared
NEIGHBOURS = {"next": Pattern.NEXT, "previous": Pattern.PREVIOUS}


@measure
def head_of_dimension(run: Run) -> Answer:
    """Ask which head has a dimension of the queries: neighbouring ones make a head.

    names: dimension, before (how many come before it), width (of all heads together), heads, d_k, layer, head, whole
    (the heads before it), and first and last, its dimensions.
    """
    config = run.translator.model.config
    count, size = config.num_heads, config.d_k
    if count < 2:
        raise Undecided("one_head")
    right = count // 2
    dimension = right * size + size // 2
    near = (right + 1 if right + 1 < count else right - 1, right - 1)
    heads = list(dict.fromkeys((right, dimension % count, *near, count - 1, 0)))[:MOST_OPTIONS]
    spans = {head: {"head": head, "first": head * size + 1, "last": (head + 1) * size} for head in heads}
    return Answer(
        Kind.ONE,
        options=tuple(Option(str(head), values=span) for head, span in spans.items()),
        right={str(right)},
        names={"dimension": dimension, "before": dimension, "whole": right, "width": count * size, "heads": count}
        | {"d_k": size, "layer": 0, **spans[right]},
    )


@measure
def neighbour_head(run: Run, pattern: str) -> Answer:
    """Ask which of some heads of the encoder reads the "next" or the "previous" token most often in this sentence.

    names: layer, head, head_name, and in how many rows of how many eligible.
    """
    if pattern not in NEIGHBOURS:
        raise Undecided("no_neighbour")
    reads = NEIGHBOURS[pattern]
    return one_of(
        Option(key_of(head), value=float(head.counts[reads].rows), values=names_of(head) | rows_of(head, reads))
        for head in _neighbour_heads(run, reads)
    )


def _neighbour_heads(run: Run, reads: Pattern) -> list[HeadMeasures]:
    """Return a head that reads a neighbour in most rows, then others that do so clearly less often; or Undecided."""
    other = next(each for each in NEIGHBOURS.values() if each != reads)
    measured = measure_heads("encoder", masked_maps(run.trace, "encoder"), run.trace.source_tokens)
    if len(measured) < 2 or not np.isfinite(measured[0].shares[reads]):
        raise Undecided("too_few_tokens_or_heads")
    ranked = ranked_by(measured, reads)
    skips = crc32(run.request.text.encode()) % 2 and ranked[1].shares[reads] > 0.5  # not one head in all sentences
    best, *others = ranked[1:] if skips else ranked
    if best.shares[reads] <= 0.5:
        raise Undecided(f"no_{reads}_head")
    plainly = plainly_behind(best, others, reads)
    if not plainly:
        raise Undecided("several_heads")
    listed = (best, plainly[0], *ranked_by(plainly, other)[:1], plainly[-1], *plainly)
    return list({(head.layer, head.head): head for head in listed}.values())[:MOST_OPTIONS]


@measure
def without_neighbour_head(run: Run, pattern: str) -> Answer:
    """Ask which head of the encoder is missed most: the one that reads the "next" or "previous" token, or another.

    names: as `neighbour_head`, and off (the head that is missed most).
    """
    neighbour = neighbour_head(run, pattern).names
    regular = Head(AttentionKind.ENCODER, neighbour["layer"], neighbour["head"])
    ranked = [each for each in run.study.importance(Zero.name).ranked() if each[0].kind == regular.kind]
    (best, most), losses = ranked[0], dict(ranked)
    behind = [head for head, loss in ranked if most - loss >= NEAR]
    if most < NEAR or not behind or regular not in (best, *behind):
        raise Undecided("no_head_missed")
    spread = [behind[at * (len(behind) - 1) // 2] for at in range(MOST_OPTIONS - 1)]
    heads = list(dict.fromkeys((best, *([regular] if regular != best else []), *spread)))[:MOST_OPTIONS]
    return one_of(
        [_option_without(head, losses[head]) for head in heads],
        tells="truth_regular" if regular == best else "truth",
        **{**neighbour, "of_regular": moved(losses[regular])},
    )


def _option_without(head: Head, loss: float) -> Option:
    """Return the option of a head whose absence costs so much log P; values: off and moved."""
    return Option(head.address, value=loss, values={"off": head, "moved": moved(loss)})


@measure
def heads_that_change(run: Run) -> Answer:
    """Ask how many heads change the translation when each is switched off alone, roughly.

    names: heads, count, kinds (each with its number), of_encoder and in_encoder, how many heads that has, and what
    these change in words.
    """
    require_greedy(run)
    importance = run.study.importance(Zero.name)
    turned = {} if importance.turned is None else importance.turned
    encoder = turned.get(AttentionKind.ENCODER, np.zeros(0, bool))
    number, heads = sum(int(each.sum()) for each in turned.values()), len(importance.ranked())
    return Answer(
        Kind.NUMBER,
        tells="truth" if number else "truth_none",
        value=number,
        tolerance=max(1.0, float(round(ABOUT * heads))),
        bounds=(0, heads),
        names={"heads": heads, "count": number, "of_encoder": encoder.size}
        | {"in_encoder": Say("changes" if encoder.any() else "none_changes", {"count": int(encoder.sum())})}
        | {"kinds": tuple(Say(f"of_{kind}", {"n": int(each.sum())}) for kind, each in turned.items())},
    )


@measure
def most_missed(run: Run) -> Answer:
    """Ask without which head the translation loses most: the most missed one of each kind.

    names: off (the head), moved (what happens to log P without it).
    """
    ranked = run.study.importance(Zero.name).ranked()
    losses = dict(ranked)
    of_kinds = [next(head for head, _ in ranked if head.kind == kind) for kind in AttentionKind]
    heads = sorted(of_kinds, key=lambda head: -losses[head])
    if losses[heads[0]] < MISSED:
        raise Undecided("no_head_missed_much")
    return one_of([_option_without(head, losses[head]) for head in heads], by=NEAR_NATS, reason="no_head_missed_much")


@measure
@of_the_page
def keep_without_many(run: Run) -> Answer:
    """Ask to switch off so many heads that the translation stays the same: of those that are missed least.

    names: goal (how many), off (these, as an address has them), count (how many are off), text (what is written now).
    """
    require_greedy(run)
    ablate = ABLATIONS.get(run.address.get("ablated_by", Zero.name), Zero)
    importance = run.study.importance(ablate.name)
    spare = _spare_heads(run, importance, ablate.name)
    off = parse_heads(run.address.get("off", ""), importance.shapes)
    now = run.study.under(*map(ablate.of, off)).trace if off else run.trace
    stays = now.target_ids == run.trace.target_ids
    return Answer(
        Kind.DO,
        tells="none_off" if not off else "truth" if stays else "changed",
        done=stays and len(off) >= len(spare),
        names={"goal": len(spare), "off": heads_address(spare), "count": len(off), "text": translated(now.target_text)},
    )


def _spare_heads(run: Run, importance: HeadImportance, ablation: str) -> list[Head]:
    """Return heads that are missed least, without which the translation stays the same; Undecided for few of them."""
    ranked, ablate = [head for head, _ in reversed(importance.ranked())], ABLATIONS[ablation]
    for count in SPARED:
        after = run.study.under(*map(ablate.of, ranked[:count])).trace
        if count < len(ranked) and after.target_ids == run.trace.target_ids:
            return ranked[:count]
    raise Undecided("no_spare_heads")
