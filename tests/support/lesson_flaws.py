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
from headlight.lessons.file import read_lessons
from headlight.lessons.measures.wording import is_whole_word, language_of, meanings_of, only_words
from headlight.lessons.step_view import StepView, pose

SAME = 0.8  # share of one answer to a choice, above which a class knows it without thinking
# Of a model, of random vectors, of a training, of the shape of two models.
OF_NO_SENTENCE = ("qkv", "root", "learn", "order.6", "heads.1", "one_stack.1", "one_stack.2", "one_stack.3")
OF_FEW_MODELS = ("learn", "one_stack")


def flaws_of(view: StepView) -> Iterator[str]:
    """Yield the flaws of one question."""
    answer, trace, measure = view.answer, view.run.trace, view.step.answer
    names, step = answer.texts, answer.names.get("step", 0)
    wrong = [option for option in answer.options if option.name not in answer.right]

    def forced(*ids: int):
        return results.trace(replace(view.run.greedy, prefix=(*trace.target_ids[:step], *map(int, ids))))

    if "most of the lead" in view.step.ask:
        yield "the largest share is called most"
    if answer.kind == Kind.ONE and not all(option.feedback for option in wrong):
        yield "a wrong option has no feedback"
    if answer.kind == Kind.ONE and len(answer.options) < 3:
        yield "a choice has two options"
    if re.search(r"between \S+ and \S+\.$", hint := view.narrowed()):
        low, high = (float(each.rstrip(".").replace("−", "-").replace(",", "")) for each in hint.split()[3::2])
        if answer.is_right((low + high) / 2):
            yield "the middle of a range is right"
    if any(re.match(r"(\d+ to|more than) \d+$", option.label) for option in answer.options):
        yield "an answer has a limit"
    if measure == "after_forcing":
        now = forced(names["prefix"].rpartition(".")[2])
        old, new = (each.target_tokens[step + 1 :].count(names["word"]) for each in (trace, now))
        if "new" not in answer.right and new > old:
            yield "a word that comes back counts as no new one"
        old, new = (set(only_words(each.target_text).split()) for each in (trace, now))
        if "new" in answer.right and not new - old - {only_words(names["second"])}:
            yield "swapped words count as new"
    if measure == "decides_choice":
        rival = trace.candidate_ids[step][list(trace.candidate_tokens[step]).index(names["other"])]
        if names["word"] in forced(rival).target_tokens[step + 1 :]:
            yield "a contrast is another order"
    offered = [option.name for option in answer.options if measure == "second_candidate"]
    if not all(is_whole_word(forced(token).target_tokens, step) for token in offered):
        yield "a piece of a word is an option"
    if measure == "best_key":
        meanings = {f"▁{each}" for each in meanings_of(names["word"].lstrip("▁"), language_of(view.run))}
        if meanings & set(trace.source_tokens) and names["read"].lower() not in meanings:
            yield "a hint misleads"
    if measure == "read_when_fed" and trace.source_tokens.count(names["read"]) > 1 and "(position" not in answer.truth:
        yield "a token that stands twice has no number"


def count_flaws(checkpoint: str, texts: Iterable[str]) -> tuple[Counter[str], dict[str, float], list[str]]:
    """Return how often each flaw occurs, shares above SAME of one answer, and steps that less than half decide."""
    flaws, answers = Counter[str](), defaultdict[str, list[str]](list)
    steps = [(lesson, at) for lesson in read_lessons()[0] for at, step in enumerate(lesson.steps) if step.is_question]
    for view in (pose(lesson, at, run_of(checkpoint, text)) for text in texts for lesson, at in steps):
        answers[view.address_of_step] += []
        if view.answer:
            flaws.update(flaws_of(view))
            labels = [view.label(option) for option in view.options if option.name in view.answer.right]
            answers[view.address_of_step].append(", ".join(labels) or f"a number or deed of {view.run.request.text}")
    shares = {step: max(Counter(each).values()) / len(each) for step, each in answers.items() if each}
    same = {step: each for step, each in shares.items() if each > SAME and not step.startswith(OF_NO_SENTENCE)}
    most = max(map(len, answers.values()))
    rare = [step for step, each in answers.items() if 2 * len(each) < most and not step.startswith(OF_FEW_MODELS)]
    return flaws, same, rare


if __name__ == "__main__":
    print(*count_flaws(sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()), sep="\n")
