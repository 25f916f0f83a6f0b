"""All measures: numbers decide, and they change with tokens, sentences and checkpoints."""

import re
from dataclasses import replace

import pytest
import torch
from support.lesson_runs import LANGUAGES, SENTENCES, numbers_of, outcome_of, right_of, run_in, run_of
from support.models import LIKE_T5, small_config

from headlight.lessons.answer import Answer, Kind, Run
from headlight.lessons.file import SHIPPED, lesson_files, read_lesson, read_lessons
from headlight.lessons.register import all_measures
from headlight.lessons.step_view import pose, pose_decided
from headlight.plots.numbers import format_probability, percent, signed
from headlight.plots.tokens import in_words
from transformer import Beam, Sampling
from transformer.checkpoint import Checkpoint, save_checkpoint
from transformer.model.transformer import Transformer

LESSONS, _ = read_lessons()
STEPS = [(lesson, number) for lesson in LESSONS for number, step in enumerate(lesson.steps) if step.answer]
ASKED = sorted({(lesson.steps[at].answer, tuple(lesson.steps[at].arguments.items())) for lesson, at in STEPS})
TEXTS = (
    SENTENCES[1],
    "The old man saw the old dog.",
    "The cat is hungry because it has not eaten.",
    "The more you read, the more you know.",
)
# Measures of a model, of random vectors or of a training, whatever the sentence.
OF_NO_SENTENCE = re.compile("toy_|spread|typical|size_|head_of|rotation|most_alike|turned|path|learned")
SHOW_BOTH_TERMS = ("better_reading", "lost_to_leak", "size_without_effect")  # in place of a quotient or a difference


def forms(value: float) -> set[str]:
    """Return a number as texts may show it."""
    shares = {percent(value), format_probability(value)} if 0 <= value <= 1 else set()
    return shares | {f"{value:.2f}", signed(value, 2), signed(abs(value), 2), signed(value, 1), f"{value:,.0f}"}


def check(answer: Answer, *, shown: bool) -> None:
    """Check the right option against the numbers of all options, and that texts show these numbers, where `shown`."""
    names, labels = ([getattr(option, field) for option in answer.options] for field in ("name", "label"))
    assert len(set(names)) == len(names) and len(set(labels)) == len(labels) and answer.right <= set(names)
    assert answer.truth[0] not in "abcdefghijklmnopqrstuvwxyz" and answer.truth.endswith((".", "”", "!", "?", ")"))
    assert answer.texts.keys() == answer.names.keys() and all(isinstance(text, str) for text in answer.texts.values())
    if answer.kind == Kind.ONE:
        numbers = numbers_of(answer)
        assert 2 <= len(names) <= 4 and len(answer.right) == 1
        if right_of(answer) in numbers:
            ranked = sorted(numbers.values())
            assert numbers[right_of(answer)] in (ranked[0], ranked[-1]) and ranked.count(numbers[right_of(answer)]) == 1
        for option in answer.options:
            text = f"{option.label} {option.feedback} {answer.truth}".replace("stays as it is", "by 0.00")
            assert not shown or option.value is None or any(form in text for form in forms(option.value)), option
    elif answer.kind == Kind.SEVERAL:
        right = sorted(answer.right)
        assert 0 < len(right) < len(names) and answer.is_right(right)
        assert not answer.is_right(right[1:]) and not answer.is_right(names)
    elif answer.kind == Kind.NUMBER:
        low, high = answer.bounds or (answer.value, answer.value)
        assert low <= answer.value <= high and answer.margin > 0
        for off in (-1.01, -0.99, 0.99, 1.01):
            assert answer.is_right(answer.value + off * answer.margin) == (abs(off) < 1)


def test_every_measure_is_used_by_a_shipped_lesson():
    steps = [step for path in lesson_files(SHIPPED).values() for step in read_lesson(path).steps]
    assert {step.answer for step in steps} - {""} == all_measures().keys()


@pytest.mark.parametrize(("name", "arguments"), ASKED)
def test_numbers_decide_and_follow_checkpoints_and_sentences(name, arguments):
    answers = [outcome_of(run_of(each, text), name, **dict(arguments)) for each in LANGUAGES for text in TEXTS]
    answers += [outcome_of(run_of("reverse", text), name, **dict(arguments)) for text in ("abc", "headlight")]
    for answer in answers:
        if isinstance(answer, Answer):
            check(answer, shown=name not in SHOW_BOTH_TERMS)
        else:
            assert re.fullmatch(r"[A-Z“].{10,220}[.!]", in_words(answer)), answer
    texts = [(each.truth, each.calculation, str(each.names)) for each in answers if isinstance(each, Answer)]
    assert texts and (OF_NO_SENTENCE.match(name) or len(texts) == 1 or len(set(texts)) > 1)


@pytest.fixture(scope="module", params=["t5-1.1", "none"])
def small(request, tmp_path_factory, tokenizer):
    """Folder of a small model like T5, with a bias by distance and RMSNorm, or of one without positions."""
    torch.manual_seed(1)
    changes = {"positions": "none"} if request.param == "none" else {**LIKE_T5[request.param], "begin_id": 2}
    folder = tmp_path_factory.mktemp("small") / request.param
    model = Transformer(small_config(vocab_size=len(tokenizer), **changes))
    save_checkpoint(folder, Checkpoint(model, tokenizer, {}, []))
    return folder


@pytest.mark.parametrize(("name", "arguments"), ASKED)
def test_small_models_of_other_shapes_are_measured_or_undecided(small, name, arguments):
    for text in ("red dog red.", "?"):
        answer = outcome_of(run_in(small, text), name, **dict(arguments))
        if isinstance(answer, Answer):
            check(answer, shown=name not in SHOW_BOTH_TERMS)
        else:
            assert answer.endswith(".")


@pytest.mark.parametrize("checkpoint", LANGUAGES)
@pytest.mark.parametrize(("lesson", "number"), STEPS, ids=lambda each: getattr(each, "name", each))
def test_a_step_to_be_done_is_done_by_its_shown_address_and_not_by_its_first_one(lesson, number, checkpoint):
    sentences = lesson.sentences_of(number)
    view = pose_decided(lesson, number, run_of(checkpoint, sentences[0]), sentences)
    if (view.answer or not lesson.needs) and view.answer.kind == Kind.DO and view.step.show:
        assert not pose(lesson, number, replace(view.run, address=view.address())).answer.done
        shown = {"text": view.run.request.text, **view.address(shown=True)}
        assert pose(lesson, number, run_of(checkpoint, **shown)).answer.done


def test_decoding_in_the_bar_does_not_matter_but_hidden_words_need_the_greedy_translation():
    run = run_of("en-de", SENTENCES[3])
    for changes in ({"strategy": Beam(3)}, {"strategy": Sampling(2.0)}, {"prefix": (116,)}):
        other = Run(replace(run.request, **changes))
        for measure in ("hardest_token", "second_candidate", "after_forcing", "tempered"):
            assert outcome_of(other, measure) == outcome_of(run, measure)
    for measure in ("without_word", "harmless_words"):
        assert isinstance(outcome_of(Run(replace(run.request, strategy=Beam())), measure), str)
