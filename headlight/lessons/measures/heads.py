"""Measures of single heads, and of translations without them."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from headlight.app import results
from headlight.app.results import what_if
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, largest, measure, of_the_page, translated
from headlight.plots.names import kind_head_name, sentence_case
from headlight.plots.numbers import pluralize, signed
from transformer.interpret.head_patterns import HeadMeasures, Pattern, measure_heads, words_of
from transformer.interpret.trace import masked_maps
from transformer.interpret.what_if.importance import ABLATIONS, HeadImportance
from transformer.interpret.what_if.intervention import Zero
from transformer.model.head_ref import HeadRef, heads_address, parse_heads
from transformer.model.names import AttentionKind

from .alignment import in_rows, key_of, name_of, names_of, plainly_behind, ranked_by
from .wording import MISSED, MOST_OPTIONS, NEAR, NEAR_NATS, moved, require_greedy

MOST_OFF = 10  # heads that are switched off together to find how few are enough
FEW_HEADS = 0.2  # of all heads
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
        f"Each head has {size} neighbouring dimensions: {dimension} of them come before, which fill {right} heads.",
        tuple(Option(str(head), f"head {head + 1}", f"It {span}") for head, span in spans.items()),
        {str(right)},
        names={"dimension": dimension, "width": count * size, "heads": count, "d_k": size, "layer": 0, "head": right},
    )


@measure
def neighbour_head(run: Run, pattern: str) -> Answer:
    """Ask which head of the encoder reads the "next" or the "previous" token most often in this sentence.

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
    """Return the head that reads a neighbour most often, then others to choose from; Undecided without it."""
    if pattern not in NEIGHBOURS:
        raise Undecided("The pattern must be “next” or “previous”.")
    chosen, other = NEIGHBOURS[pattern], NEIGHBOURS["previous" if pattern == "next" else "next"]
    measured = measure_heads("encoder", masked_maps(run.trace, "encoder"), run.trace.source_tokens)
    if len(measured) < 2 or not np.isfinite(measured[0].shares[chosen]):
        raise Undecided(
            "The sentence has too few tokens, or the encoder too few heads, to tell which reads a neighbour."
        )
    best, *others = ranked_by(measured, chosen)
    if best.shares[chosen] <= 0.5:
        raise Undecided(f"No head of the encoder reads the {pattern} token in more than half of the rows here.")
    plainly = plainly_behind(best, others, chosen)
    if not plainly:
        raise Undecided("Several heads do this about as often in this sentence.")
    listed = (best, plainly[0], *ranked_by(plainly, other)[:1], plainly[-1], *plainly)
    return list({(head.layer, head.head): head for head in listed}.values())[:MOST_OPTIONS]


@measure
def without_neighbour_head(run: Run, pattern: str) -> Answer:
    """Ask what becomes of the translation without the head that reads the "next" or the "previous" token.

    names: as `neighbour_head`, and off (the head), loss (of log P in nats) and changed (words and marks).
    """
    neighbour = neighbour_head(run, pattern).names
    head = HeadRef(AttentionKind.ENCODER, neighbour["layer"], neighbour["head"])
    loss = float(what_if.importance(run.request, Zero.name).total(head.kind)[head.layer, head.head])
    before, after = run.trace, what_if.changed_trace(run.request, (Zero.of(head),))
    words = words_of(before.target_tokens)
    count = changed_words(words, words_of(after.target_tokens))
    share = count / max(1, len(words))
    if abs(share - 0.5) <= NEAR:
        raise Undecided("About half of the translation changes without the head that reads its neighbour.")
    outcome = "one word or mark changes" if count == 1 else f"{count or 'no'} words or marks change"
    feedback = f"Without it log P of the old translation {moved(loss)}."
    labels = {
        "same": "it stays the same",
        "some": "some of its words or marks change",
        "most": "most of its words or marks change",
    }
    return Answer(
        Kind.ONE,
        f"Without {kind_head_name(head)}, {outcome}; log P of the old translation {moved(loss)}.",
        f"With it: {translated(before.target_text)} Without it: {translated(after.target_text)}",
        tuple(Option(name, label, feedback) for name, label in labels.items()),
        {"same" if not count else "some" if share < 0.5 else "most"},
        names={**neighbour, "off": head, "loss": signed(loss, 2), "changed": count},
    )


def changed_words(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the words and marks that differ: those of the longer side wherever two translations part."""
    parts = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return sum(max(stop - start, end - begin) for tag, start, stop, begin, end in parts if tag != "equal")


@measure
def heads_that_change(run: Run) -> Answer:
    """Ask how many heads change the translation when each is switched off alone, roughly. names: heads, count."""
    require_greedy(run)
    importance = what_if.importance(run.request, Zero.name)
    turned = {} if importance.turned is None else importance.turned
    number, heads = sum(int(each.sum()) for each in turned.values()), len(importance.ranked())
    few = max(1, int(FEW_HEADS * heads))
    most = {"none": 0, "few": few, "half": max(few + 1, heads // 2), "more": heads}
    labels = {
        "none": "not one of them",
        "few": f"1 to {few}",
        "half": f"{few + 1} to {most['half']}",
        "more": f"more than {most['half']}",
    }
    return Answer(
        Kind.ONE,
        f"{number or 'None'} of {heads} heads {'changes' if number < 2 else 'change'} it alone.",
        "By kind: " + ", ".join(f"{kind} {int(each.sum())}" for kind, each in turned.items()) + ".",
        tuple(
            Option(name, label, f"It is {'more' if number > most[name] else 'fewer'} than that.")
            for name, label in labels.items()
        ),
        {next(name for name, limit in most.items() if number <= limit)},
        names={"heads": heads, "count": number},
    )


@measure
def most_missed(run: Run) -> Answer:
    """Ask without which head the translation loses most: the most missed one of each kind, or the best aligner.

    names: off (the head), head_name, aligner (the name of the best aligner).
    """
    ranked = what_if.importance(run.request, Zero.name).ranked()
    losses = dict(ranked)
    aligner = HeadRef(AttentionKind.CROSS, *results.default_head(run.request, "cross"))
    of_kinds = [next(head for head, _ in ranked if head.kind == kind) for kind in AttentionKind]
    heads = sorted({*of_kinds, aligner}, key=lambda head: -losses[head])
    best = heads[0]
    if len(heads) < 2 or losses[best] < MISSED or losses[best] - losses[heads[1]] < NEAR_NATS:
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
        names={"off": best, "head_name": name[best], "aligner": name[aligner]},
    )


@measure
@of_the_page
def break_with_few(run: Run) -> Answer:
    """Ask to switch off as few heads as it takes to change the translation, where no single one is enough.

    names: least (how many do, one after the other by what is lost without each), off (these, as an address has them).
    """
    require_greedy(run)
    ablate = ABLATIONS.get(run.address.get("ablated_by", Zero.name), Zero)
    importance = what_if.importance(run.request, ablate.name)
    if importance.turned and any(each.any() for each in importance.turned.values()):
        raise Undecided("One head alone is enough to change this translation.")
    enough = _enough(run, importance, ablate.name)
    off = parse_heads(run.address.get("off", ""), importance.shapes)
    now = what_if.changed_trace(run.request, tuple(map(ablate.of, off))) if off else run.trace
    done = now.target_ids != run.trace.target_ids
    without = f"Without {pluralize(len(off), 'head')}"
    truth = f"{without} the translation stays the same." if off else "No head is off yet."
    if done:
        truth = f"{without} it reads {translated(now.target_text)} In the order of their loss it takes {len(enough)}."
    return Answer(
        Kind.DO,
        truth,
        f"Switch heads off in the order of their loss: after {len(enough)} the translation changes.",
        done=done,
        names={"least": len(enough), "off": heads_address(enough)},
    )


def _enough(run: Run, importance: HeadImportance, ablation: str) -> list[HeadRef]:
    """Return the first heads by their loss that together change the translation; Undecided where MOST_OFF do not."""
    ranked, ablate = [head for head, _ in importance.ranked()], ABLATIONS[ablation]
    for count in range(1, min(MOST_OFF, len(ranked)) + 1):
        after = what_if.changed_trace(run.request, tuple(map(ablate.of, ranked[:count])))
        if after.target_ids != run.trace.target_ids:
            return ranked[:count]
    raise Undecided(f"Without the {MOST_OFF} heads that are missed most it stays the same.")
