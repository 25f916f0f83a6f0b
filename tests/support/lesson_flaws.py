"""Count flaws of lessons' questions: `PYTHONPATH=.:tests python -m support.lesson_flaws en-de sentences.txt`."""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from support.lesson_runs import run_of

from headlight.app import results
from headlight.lessons.answer import Kind
from headlight.lessons.command import expect_no_page
from headlight.lessons.file import read_lessons
from headlight.lessons.glosses import glosses
from headlight.lessons.measures.wording import is_whole_word, only_words
from headlight.lessons.step_view import StepView, pose
from transformer.interpret.trace import Trace

SAME = 0.8  # share of one answer to a choice, above which a class knows it without thinking
OF_NO_SENTENCE = ("qkv", "root", "learn", "order.6", "heads.1")  # of a model, of random vectors, of a training
OF_FEW = ("explanation.3", "learn")  # one needs a noun and "it"; the other is about a training


def flaws_of(view: StepView) -> Iterator[str]:
    """Yield the flaws of one question."""
    answer, trace, measure = view.answer, view.run.trace, view.step.answer
    names, step = answer.texts, answer.names.get("step", 0)
    if "most of the lead" in view.step.ask:
        yield "the largest share is called most"
    if answer.kind == Kind.ONE and not all(each.feedback for each in answer.options if each.name not in answer.right):
        yield "a wrong option has no feedback"
    if any(re.match(r"(\d+ to|more than) \d+$", option.label) for option in answer.options):
        yield "an answer has a limit"
    if measure == "after_forcing" and "new" in answer.right:
        old, new = (set(only_words(each.target_text).split()) for each in (trace, forced(view, names["prefix"])))
        if not new - old - {only_words(names["second"])}:
            yield "swapped words count as new"
    if measure == "decides_choice":
        rival = trace.candidate_ids[step][list(trace.candidate_tokens[step]).index(names["other"])]
        if names["word"] in forced(view, *trace.target_ids[:step], rival).target_tokens[step + 1 :]:
            yield "a contrast is another order"
    if measure == "second_candidate":
        traces = (forced(view, *trace.target_ids[:step], option.name) for option in answer.options)
        if not all(is_whole_word(each.target_tokens, step) for each in traces):
            yield "a piece of a word is an option"
    if measure == "best_key" and misleads(view, *(names[name].lstrip("▁") for name in ("word", "read"))):
        yield "a hint misleads"
    if measure == "read_when_fed" and trace.source_tokens.count(names["read"]) > 1 and "(position" not in answer.truth:
        yield "a token that stands twice has no number"


def misleads(view: StepView, word: str, read: str) -> bool:
    """Return whether the source has a known meaning of a word, and another token is read."""
    known = glosses(view.run.translator.checkpoint.data["target_language"])
    meanings = set(known.get(word, "").split("/")) & {each.lstrip("▁") for each in view.run.trace.source_tokens}
    return bool(meanings) and read not in meanings


def forced(view: StepView, *prefix: object) -> Trace:
    """Return the greedy translation with a forced beginning: its ids, or all of them as an address has them."""
    ids = tuple(int(each) for part in prefix for each in str(part).split("."))
    return results.trace(replace(view.run.greedy, prefix=ids))


def count_flaws(checkpoint: str, texts: Iterable[str]) -> tuple[Counter[str], dict[str, list[str]]]:
    """Return how often each flaw occurs, and the right answers of each step that asks, "" where it is undecided."""
    flaws, answers = Counter[str](), defaultdict[str, list[str]](list)
    steps = [(lesson, at) for lesson in read_lessons()[0] for at, step in enumerate(lesson.steps) if step.is_question]
    for text in texts:
        for view in (pose(lesson, at, run_of(checkpoint, text)) for lesson, at in steps):
            answer, right = view.answer, ""
            if answer:
                flaws.update(flaws_of(view))
                labels = [view.label(option) for option in view.options if option.name in answer.right]
                right = ", ".join(labels) or f"of {text}"  # a number to be estimated, or something to be done
            answers[view.address_of_step].append(right)
    return flaws, answers


def always_same(answers: dict[str, list[str]]) -> dict[str, float]:
    """Return the steps of which one answer has more than SAME of all, with its share."""
    known = {step: list(filter(None, each)) for step, each in answers.items() if not step.startswith(OF_NO_SENTENCE)}
    shares = {step: max(Counter(each).values()) / len(each) for step, each in known.items() if each}
    return {step: share for step, share in shares.items() if share > SAME}


def rarely_asked(answers: dict[str, list[str]]) -> dict[str, int]:
    """Return the steps that less than half of the sentences decide, with their number."""
    counts = {step: sum(map(bool, each)) for step, each in answers.items() if not step.startswith(OF_FEW)}
    return {step: count for step, count in counts.items() if 2 * count < len(answers[step])}


if __name__ == "__main__":
    expect_no_page()
    found, answered = count_flaws(sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8").splitlines())
    print(dict(found), always_same(answered), rarely_asked(answered), sep="\n")
