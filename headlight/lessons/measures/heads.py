"""Measures of single heads, and of translations without them."""

from zlib import crc32

import numpy as np

from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, largest, measure, of_the_page, translated
from headlight.plots.names import kind_head_name, one_head_name, sentence_case
from headlight.plots.numbers import pluralize
from transformer.interpret.head_patterns import HeadMeasures, Pattern, measure_heads
from transformer.interpret.trace import masked_maps
from transformer.interpret.what_if.importance import ABLATIONS, HeadImportance
from transformer.interpret.what_if.intervention import Zero
from transformer.model.heads import Head, heads_address, parse_heads
from transformer.model.names import AttentionKind

from .alignment import in_rows, key_of, name_of, names_of, plainly_behind, ranked_by
from .wording import MISSED, MOST_OPTIONS, NEAR, NEAR_NATS, moved, require_greedy

ABOUT = 0.1  # of all heads: error of an estimated number of them
SPARED = (8, 6, 4, 3)  # heads that are switched off together, to find how many can be spared
NEIGHBOURS = {"next": Pattern.NEXT, "previous": Pattern.PREVIOUS}


@measure
def head_of_dimension(run: Run) -> Answer:
    """Ask which head has a dimension of the queries: neighbouring ones make a head.

    names: dimension, width (of all heads together), heads, d_k, layer, head.
    """
    config = run.translator.model.config
    count, size = config.num_heads, config.d_k
    if count < 2:
        raise Undecided("This model has one head only: all dimensions are its own.")
    right = count // 2
    dimension = right * size + size // 2
    near = (right + 1 if right + 1 < count else right - 1, right - 1)
    heads = list(dict.fromkeys((right, dimension % count, *near, count - 1, 0)))[:MOST_OPTIONS]
    spans = {head: f"has the dimensions {head * size + 1} to {(head + 1) * size}." for head in heads}
    return Answer(
        Kind.ONE,
        f"Head {right + 1} {spans[right]}",
        f"Each head has {size} neighbouring ones; {dimension} come before: {right} heads and a part of the next.",
        tuple(Option(str(head), f"head {head + 1}", f"It {span}") for head, span in spans.items()),
        {str(right)},
        names={"dimension": dimension, "width": count * size, "heads": count, "d_k": size, "layer": 0, "head": right},
    )


@measure
def neighbour_head(run: Run, pattern: str) -> Answer:
    """Ask which of some heads of the encoder reads the "next" or the "previous" token most often in this sentence.

    names: layer, head, head_name, rows.
    """
    heads = _neighbour_heads(run, pattern)
    best, reads = heads[0], NEIGHBOURS[pattern]
    options = tuple(
        Option(
            key_of(head),
            name_of(head),
            f"It reads the {pattern} token {in_rows(head, reads)}.",
            float(head.counts[reads].rows),
        )
        for head in heads
    )
    return Answer(
        Kind.ONE,
        f"{sentence_case(name_of(best))} reads the {pattern} token {in_rows(best, reads)}.",
        f"Rows whose largest weight is on the {pattern} token, out of {best.counts[reads].eligible}: "
        + "; ".join(f"{name_of(head)}: {head.counts[reads].rows}" for head in heads)
        + ".",
        options,
        largest(options),
        names=names_of(best) | {"rows": in_rows(best, reads)},
    )


def _neighbour_heads(run: Run, pattern: str) -> list[HeadMeasures]:
    """Return a head that reads a neighbour in most rows, then others that do so clearly less often; or Undecided."""
    if pattern not in NEIGHBOURS:
        raise Undecided("The pattern must be “next” or “previous”.")
    chosen, other = NEIGHBOURS[pattern], NEIGHBOURS["previous" if pattern == "next" else "next"]
    measured = measure_heads("encoder", masked_maps(run.trace, "encoder"), run.trace.source_tokens)
    if len(measured) < 2 or not np.isfinite(measured[0].shares[chosen]):
        raise Undecided(
            "The sentence has too few tokens, or the encoder too few heads, to tell which reads a neighbour."
        )
    ranked = ranked_by(measured, chosen)
    skips = crc32(run.request.text.encode()) % 2 and ranked[1].shares[chosen] > 0.5  # not one head in all sentences
    best, *others = ranked[1:] if skips else ranked
    if best.shares[chosen] <= 0.5:
        raise Undecided(f"No head of the encoder reads the {pattern} token in more than half of the rows here.")
    plainly = plainly_behind(best, others, chosen)
    if not plainly:
        raise Undecided("Several heads do this about as often in this sentence.")
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
        raise Undecided("No head of the encoder is missed plainly more than all others here.")
    spread = [behind[at * (len(behind) - 1) // 2] for at in range(MOST_OPTIONS - 1)]
    heads = list(dict.fromkeys((best, *([regular] if regular != best else []), *spread)))[:MOST_OPTIONS]
    feedback = {head: f"Without it log P {moved(losses[head])}." for head in heads}
    name = {head: one_head_name(*head.index) for head in heads}
    whose = f"{name[regular]}, which looks at the {pattern} token,"
    return Answer(
        Kind.ONE,
        f"Without {whose if regular == best else name[best]} log P {moved(most)}, the most of all heads of the encoder."
        + ("" if regular == best else f" Without {whose} it {moved(losses[regular])}."),
        "Without each: " + "; ".join(f"{name[head]}: log P {moved(losses[head])}" for head in heads) + ".",
        tuple(Option(head.address, name[head], feedback[head], losses[head]) for head in heads),
        {best.address},
        names={**neighbour, "off": best},
    )


@measure
def heads_that_change(run: Run) -> Answer:
    """Ask how many heads change the translation when each is switched off alone, roughly.

    names: heads, count, of_encoder and in_encoder, how many heads that has, and what these change in words.
    """
    require_greedy(run)
    importance = run.study.importance(Zero.name)
    turned = {} if importance.turned is None else importance.turned
    encoder = turned.get(AttentionKind.ENCODER, np.zeros(0, bool))
    number, heads = sum(int(each.sum()) for each in turned.values()), len(importance.ranked())
    return Answer(
        Kind.NUMBER,
        f"{number or 'None'} of {heads} heads {'changes' if number < 2 else 'change'} it alone.",
        "By kind: " + ", ".join(f"{kind} {int(each.sum())}" for kind, each in turned.items()) + ".",
        value=number,
        tolerance=max(1.0, float(round(ABOUT * heads))),
        bounds=(0, heads),
        names={"heads": heads, "count": number, "of_encoder": encoder.size}
        | {"in_encoder": f"{int(encoder.sum()) or 'none'} change{'s' * bool(encoder.sum() < 2)} it"},
    )


@measure
def most_missed(run: Run) -> Answer:
    """Ask without which head the translation loses most: the most missed one of each kind.

    names: off (the head), head_name.
    """
    ranked = run.study.importance(Zero.name).ranked()
    losses = dict(ranked)
    of_kinds = [next(head for head, _ in ranked if head.kind == kind) for kind in AttentionKind]
    heads = sorted(of_kinds, key=lambda head: -losses[head])
    best = heads[0]
    if losses[best] < MISSED or losses[best] - losses[heads[1]] < NEAR_NATS:
        raise Undecided("No head is missed much here, or two are missed alike.")
    name = {head: kind_head_name(head) for head in heads}
    options = tuple(
        Option(head.address, name[head], f"Without it log P {moved(losses[head])}.", losses[head]) for head in heads
    )
    return Answer(
        Kind.ONE,
        f"Without {name[best]}, log P of the translation {moved(losses[best])} nats, the most of all heads.",
        "Without each: " + "; ".join(f"{name[head]}: log P {moved(losses[head])}" for head in heads) + ".",
        options,
        largest(options),
        names={"off": best, "head_name": name[best]},
    )


@measure
@of_the_page
def keep_without_many(run: Run) -> Answer:
    """Ask to switch off so many heads that the translation stays the same: of those that are missed least.

    names: goal (how many), off (these, as an address has them).
    """
    require_greedy(run)
    ablate = ABLATIONS.get(run.address.get("ablated_by", Zero.name), Zero)
    importance = run.study.importance(ablate.name)
    spare = _spare_heads(run, importance, ablate.name)
    off = parse_heads(run.address.get("off", ""), importance.shapes)
    now = run.study.under(*map(ablate.of, off)).trace if off else run.trace
    stays = now.target_ids == run.trace.target_ids
    outcome = "the translation stays the same." if stays else f"it reads {translated(now.target_text)}"
    return Answer(
        Kind.DO,
        f"Without {pluralize(len(off), 'head')} {outcome}" if off else "No head is off yet.",
        f"The {len(spare)} heads that are missed least will do.",
        done=stays and len(off) >= len(spare),
        names={"goal": len(spare), "off": heads_address(spare)},
    )


def _spare_heads(run: Run, importance: HeadImportance, ablation: str) -> list[Head]:
    """Return heads that are missed least, without which the translation stays the same; Undecided for few of them."""
    ranked, ablate = [head for head, _ in reversed(importance.ranked())], ABLATIONS[ablation]
    for count in SPARED:
        after = run.study.under(*map(ablate.of, ranked[:count])).trace
        if count < len(ranked) and after.target_ids == run.trace.target_ids:
            return ranked[:count]
    raise Undecided("Without a few heads this translation becomes another one, whichever they are.")
