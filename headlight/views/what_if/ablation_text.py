"""Sentences on what a translation loses without some of its heads."""

from collections.abc import Sequence

from headlight.plots.text import KIND_NAMES, counted, kind_head_name
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.importance import HeadImportance
from transformer.interpret.what_if.intervention import Heads

from .change_text import moved_words, outcome_words

ABLATIONS = {
    "zero": "the head's output is zero: its slice of the concatenation before W_O (Michel et al. 2019).",
    "mean": "the head's output is its mean over sentence pairs, so that what follows still reads something usual.",
    "uniform": "the head attends to all keys that it may attend to alike.",
}
LITTLE = 0.1  # nats
_NAMED = 3  # heads that a sentence names one by one


def head_words(found: HeadImportance, trace: Trace, heads: Heads) -> str:
    """One head: what is lost without it, where most, and whether greedy decoding then finds another translation."""
    turned = found.turned[heads.kind][heads.layer, heads.head] and trace.is_greedy.all()
    end = " Greedy decoding then finds another translation." if turned else ""
    losses = found.of(heads.kind)[heads.layer, heads.head]
    return f"Without {kind_head_name(heads)} log P of the translation {moved_words(losses, trace.next_tokens)}.{end}"


def describe_ranking(found: HeadImportance, trace: Trace) -> str:
    """Which single head breaks this translation: how many do, the greatest loss, and how many hardly matter."""
    ranked = found.ranked()
    count, (first, loss) = len(ranked), ranked[0]
    breaking = sum(int(found.turned[kind].sum()) for kind in KIND_NAMES)
    little = sum(abs(each) < LITTLE for _, each in ranked)
    if not trace.is_greedy.all():
        sentences = [f"What is each of the {count} heads worth, ablated alone?"]
    elif breaking:
        does, without = ("does", "it") if breaking == 1 else ("do", "any one of these")
        sentences = [
            f"Which single head breaks this translation? {breaking} of the {count} {does}: greedy decoding without "
            f"{without} finds another one."
        ]
    else:
        sentences = [
            f"No single head of the {count} breaks this translation: greedy decoding finds it without any one."
        ]
    if loss > 0:
        moved = moved_words(found.of(first.kind)[first.layer, first.head], trace.next_tokens)
        sentences.append(f"The most is lost without {kind_head_name(first)}: log P {moved}.")
    sentences.append(
        f"{counted(little, 'head')} alone {'moves' if little == 1 else 'move'} it by less than {LITTLE} nats."
    )
    return " ".join(sentences)


def describe_change(before: Trace, forced: Trace, after: Trace, off: Sequence[Heads]) -> str:
    """What became of the translation, and of the probability of the unchanged one, when these heads were ablated."""
    return f"Without {heads_words(off)} {outcome_words(before, forced, after)}"


def heads_words(heads: Sequence[Heads]) -> str:
    """The first of some heads by their names, and how many more; "any change" for none."""
    named = "; ".join(map(kind_head_name, heads[:_NAMED]))
    rest = f" and {counted(len(heads) - _NAMED, 'more head')}" if len(heads) > _NAMED else ""
    return f"{named}{rest}" or "any change"
