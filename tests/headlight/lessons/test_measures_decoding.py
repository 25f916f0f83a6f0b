"""What lessons ask about decoding, against the model run directly: its own distributions, and searches of its own."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.lesson_runs import LANGUAGES, SENTENCES, decided, measured, named, run_of

from headlight.lessons.answer import Answer, Kind, Run
from headlight.lessons.measures.wording import is_a_form
from headlight.lessons.register import answer_of
from transformer import Beam, Greedy, Sampling
from transformer.decoding.beam import beam_search
from transformer.decoding.sampling import decode

GIVEN = ("hardest_token", "second_candidate", "after_forcing", "tempered")
# Of some a beam search finds a more probable translation than greedy decoding.
SEARCHED = (
    "It is no use trying again.",
    "If I had more time, I would learn another language.",
    "He thinks that the test will be easy.",
    "He was too tired to walk any further.",
    "She has been waiting for you since this morning.",
    "I can't swim, and I don't want to learn it.",
    "The dog didn't eat because it was too old.",
    "I would have helped you if you had asked me.",
    "He told me that he had lost his keys on the train.",
)


def logits_of(run: Run) -> tuple[list[int], np.ndarray]:
    """The greedy translation's ids, and the logits of all its steps in one pass: [steps, vocab]."""
    model, source = run.translator.model, list(run.trace.source_ids)
    ids = list(decode(model, [source], Greedy())[0].ids)
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([[model.config.begin_id, *ids[:-1]]]))[0]
    return ids, logits.numpy().astype(np.float64)


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def entropies(logits: np.ndarray) -> np.ndarray:
    chances = softmax(logits)
    return -(chances * np.log(np.maximum(chances, 1e-300))).sum(axis=-1)


def is_said(percents: float, text: str) -> bool:
    """Whether a text has a probability as it is written, in percent; halfway between two it may be either."""
    near = (percents - 1e-4, percents, percents + 1e-4)
    return any(("> 99.9 %" if each > 99.9 else f"{each:.1f} %") in text for each in near)


def words_of(run: Run, ids: list[int]) -> list[str]:
    return [run.translator.tokenizer.piece_text(each) for each in ids]


@pytest.mark.parametrize("checkpoint", LANGUAGES)
def test_the_hardest_token_has_the_highest_entropy_by_far_of_those_offered(checkpoint):
    answers = decided(checkpoint, "hardest_token")
    assert len(answers) >= 3
    for run, answer in answers:
        ids, logits = logits_of(run)
        spread = entropies(logits)
        step = int(spread.argmax())
        assert answer.right == {str(step + 1)} == {answer.names["step"]}
        assert softmax(logits[step]).max() <= 0.6 + 1e-4
        assert answer.names["word"] == named(words_of(run, ids))[step]
        for option in answer.options:
            own = float(spread[int(option.name) - 1])
            assert option.name in answer.right or spread[step] - own > 0.199
            assert f"{own + 0.0:.2f} nats" in option.told or own < 0.005
        assert f"{spread[step]:.2f} nats" in answer.truth
        assert is_said(100 * float(softmax(logits[step]).max()), answer.truth)


def rivals_of(run: Run, chances: np.ndarray, own: int) -> list[int]:
    """The best ids of which none is a form of another one, nor of the token's own."""

    found = [own]
    for token in map(int, np.argsort(-chances)[:10]):
        if not any(is_a_form(*words_of(run, [token, one])) for one in found):
            found.append(token)
    return found[1:]


@pytest.mark.parametrize("checkpoint", LANGUAGES)
def test_the_second_candidate_is_the_most_probable_second_one_of_all_steps(checkpoint):
    answers = decided(checkpoint, "second_candidate")
    assert len(answers) >= 6
    for run, answer in answers:
        ids, logits = logits_of(run)
        chances = softmax(logits)
        ranked = np.sort(chances, axis=1)[:, ::-1]
        rivals = [rivals_of(run, row, own) for row, own in zip(chances, ids, strict=True)]
        open_steps = np.array(
            [
                step
                for step, (row, others) in enumerate(zip(chances, rivals, strict=True))
                if words_of(run, ids)[step].startswith("▁")
                and len(others) > 1
                and others[0] == np.argsort(-row)[1]
                and row[others[0]] - row[others[1]] >= 0.05
            ]
        )
        entropies = -(softmax(logits) * np.log(softmax(logits))).sum(axis=1)
        others = open_steps[open_steps != entropies.argmax()]  # what is shown where that step is asked for
        open_steps = others if len(others) else open_steps
        step = int(open_steps[ranked[open_steps, 1].argmax()])
        second = int(np.argsort(-logits[step])[1])
        assert answer.names["step"] == str(step + 1) and answer.right == {str(second)}
        assert answer.names["second"].removeprefix("·") == words_of(run, [second])[0]
        letters = [words_of(run, [int(option.name)])[0].removeprefix("▁") for option in answer.options]
        letters.append(words_of(run, ids)[step].removeprefix("▁"))
        assert len(set(letters)) == len(letters), "no two look alike"
        assert answer.names["word"] == named(words_of(run, ids))[step]
        assert is_said(100 * ranked[step, 0], answer.names["chance"])
        assert is_said(100 * ranked[step, 1], answer.truth)
        for option in answer.options:
            chance = softmax(logits[step])[int(option.name)]
            assert chance < 0.001 or is_said(100 * chance, option.told)


@pytest.mark.parametrize("checkpoint", LANGUAGES)
def test_what_follows_a_forced_token_is_what_the_model_writes_from_there(checkpoint):
    kinds = Counter()
    for run, answer in decided(checkpoint, "after_forcing"):
        model, source = run.translator.model, list(run.trace.source_ids)
        forced = list(map(int, answer.names["prefix"].split(".")))
        own = list(decode(model, [source], Greedy())[0].ids)
        now = list(decode(model, [source], Greedy(), [forced])[0].ids)
        assert forced[:-1] == own[: len(forced) - 1] and forced[-1] != own[len(forced) - 1]
        before, after = ([each.lower() for each in words_of(run, ids[len(forced) :])] for ids in (own, now))
        (kind,) = answer.right
        kinds[kind] += 1
        assert (kind == "stay") == (before == after) and (kind == "new") == bool(Counter(after) - Counter(before))
        decoded = run.translator.tokenizer.decode
        assert f"“{decoded(now)}”" in answer.truth and f"“{decoded(own)}”" in answer.truth
    assert len(kinds) >= 2 and kinds.total() >= 6


@pytest.mark.parametrize("checkpoint", LANGUAGES)
def test_a_low_temperature_favours_the_best_token(checkpoint):
    answers = decided(checkpoint, "tempered")
    assert len(answers) >= 3
    for run, answer in answers:
        _, logits = logits_of(run)
        step = int(answer.names["step"]) - 1
        allowed = logits[step].copy()
        allowed[list(run.translator.model.config.never_chosen)] = -np.inf
        best = int(allowed.argmax())
        labels = {option.name: option.label for option in answer.options}
        for temperature, label in labels.items():
            assert is_said(100 * softmax(allowed / float(temperature))[best], label)
        assert answer.right == {"0.5"} and set(labels) == {"0.5", "1", "1.5"}
        assert all(label in answer.truth for label in labels.values())


@pytest.mark.parametrize("checkpoint", LANGUAGES)
def test_the_best_of_the_beam_is_the_most_probable_one_of_a_search_of_ones_own(checkpoint):
    answers = decided(checkpoint, "best_of_beam", *SEARCHED, size=4)
    assert len(answers) >= 2
    for run, answer in answers:
        model, source, decoded = run.translator.model, list(run.trace.source_ids), run.translator.tokenizer.decode
        ended = beam_search(model, [source], Beam(4, 0.0))[0]
        greedy = decode(model, [source], Greedy())[0]
        best = max((*ended, greedy), key=lambda one: one.log_probability)
        labels = {option.name: option.label for option in answer.options}
        assert [labels[name] for name in answer.right] == [f"“{decoded(list(best.ids))}”"]
        assert best is not greedy and f"“{decoded(list(greedy.ids))}”" in labels.values()
        assert 2 <= len(set(labels.values())) == len(labels) <= 4
        assert f"{abs(best.log_probability):.2f}" in answer.truth


def spoken(text: str) -> int:
    """Count the words of a text, marks that stand alone aside."""
    return sum(any(map(str.isalnum, each)) for each in text.split())


@pytest.mark.parametrize("checkpoint", LANGUAGES)
def test_a_translation_is_longer_when_it_has_more_words_than_the_models_own(checkpoint):
    outcomes = set()
    for run, fresh in decided(checkpoint, "longer_translation")[:4]:
        assert not fresh.done and fresh.truth.startswith("Nothing is forced yet")
        shown = run_of(checkpoint, run.request.text, prefix=fresh.names["prefix"])
        assert answer_of(shown, "longer_translation", {}).done
        trace, model, decoded = run.trace, run.translator.model, run.translator.tokenizer.decode
        for step in range(3):
            for candidate in trace.candidate_ids[step][:3].tolist():
                prefix = [*trace.target_ids[:step], candidate]
                now = decoded(list(decode(model, [list(trace.source_ids)], Greedy(), [prefix])[0].ids))
                forced = run_of(checkpoint, run.request.text, prefix=".".join(map(str, prefix)))
                answer = answer_of(forced, "longer_translation", {})
                assert answer.done == (spoken(now) > spoken(trace.target_text))
                assert f"“{now}”" in answer.truth
                outcomes.add(answer.done)
    assert outcomes == {True, False}


@pytest.mark.parametrize("prefix", ["", "x", "0", "99999", "1.2.3.4.", "7" * 40])
def test_a_prefix_that_nothing_can_begin_with_forces_nothing(prefix):
    run, _ = decided("en-de", "longer_translation")[0]
    answer = answer_of(run_of("en-de", run.request.text, prefix=prefix), "longer_translation", {})
    assert not answer.done and answer.truth.startswith("Nothing is forced yet")


@pytest.mark.parametrize("measure", GIVEN)
def test_what_the_bar_says_of_decoding_changes_nothing(measure):
    run = run_of("en-de", SENTENCES[3])
    others = [Run(replace(run.request, **changes)) for changes in ({"strategy": Beam(3)}, {"strategy": Sampling(2.0)})]
    for other in (*others, Run(replace(run.request, prefix=(116,)))):
        assert measured(other, measure) == measured(run, measure)


@pytest.mark.parametrize("measure", [*GIVEN, "best_of_beam"])
@pytest.mark.parametrize(
    ("checkpoint", "text"), [("reverse", "a"), ("reverse", "b b b b"), ("en-de", "?"), ("en-fr", "a")]
)
def test_a_text_of_no_words_is_decided_or_told_why_not(measure, checkpoint, text):
    arguments = {"size": 4} if measure == "best_of_beam" else {}
    outcome = measured(run_of(checkpoint, text), measure, **arguments)
    if isinstance(outcome, Answer):
        assert outcome.kind == Kind.NUMBER or (outcome.right and len(outcome.options) > 1)
    else:
        assert outcome[0].isupper() and outcome.endswith(".")


def test_a_model_that_is_sure_of_all_leaves_nothing_to_choose():
    run = run_of("reverse", "a b c d e f g")
    for measure in ("second_candidate", "after_forcing", "tempered"):
        assert isinstance(measured(run, measure), str), measure
