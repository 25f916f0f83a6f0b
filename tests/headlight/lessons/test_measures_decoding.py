"""Measures of decoding and of explanations against direct runs of the model, and the Transformer in NumPy."""

import re
from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
from support.by_hand import hiding, hiding_earlier, log_probabilities
from support.head_rows import word
from support.lesson_runs import (
    SENTENCES,
    decided,
    named,
    numbers_of,
    outcome_of,
    right_of,
    run_of,
    softmax,
)

from headlight.lessons.answer import Run
from headlight.lessons.measures.decoding import _loses_words
from headlight.lessons.measures.explanation import PRONOUNS, _pronoun_steps
from headlight.lessons.measures.wording import NEAR_NATS, is_whole_word
from transformer import Greedy
from transformer.decoding.sampling import decode
from transformer.interpret.rollout import alti

# A beam search finds a more probable translation than greedy decoding of some.
SEARCHED = (
    "It is no use trying again.",
    "If I had more time, I would learn another language.",
    "He was too tired to walk any further.",
    "I can't swim, and I don't want to learn it.",
    "The dog didn't eat because it was too old.",
    "He told me that he had lost his keys on the train.",
)
HUNGRY = tuple(
    f"The {noun} is {state} because it has not {verb}."
    for state, verb in (("hungry", "eaten"), ("tired", "slept"))
    for noun in ("cat", "dog", "child")
)
MORE = (*HUNGRY, "She has never seen the old house.")
FRIENDS = ("She bought a dress for her best friend.", "You are the best friend that I have.")
TWO = ("When he came home, she was in the kitchen.", "When she saw him, he was in the garden.")
CARS = ("The car is old but it is fast.", "She said that he was tired.", "The car is not there because it is broken.")


def logits_of(run: Run) -> tuple[list[int], np.ndarray]:
    """Return the greedy translation's ids, and the logits of all its steps in one pass: [steps, vocab]."""
    model, source = run.translator.model, list(run.trace.source_ids)
    ids = list(decode(model, [source], Greedy())[0].ids)
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([[model.config.begin_id, *ids[:-1]]]))[0]
    return ids, logits.numpy().astype(np.float64)


def entropies(logits: np.ndarray) -> np.ndarray:
    chances = softmax(logits)
    return -(chances * np.log(np.maximum(chances, 1e-300))).sum(axis=-1)


def pieces(run: Run, ids) -> list[str]:
    return [run.translator.tokenizer.piece_text(int(each)) for each in ids]


def test_the_hardest_token_has_the_highest_entropy():
    for run, answer in decided("hardest_token", *SEARCHED, most=6):
        ids, logits = logits_of(run)
        spread, step = entropies(logits), answer.names["step"]
        words = [at for at, piece in enumerate(pieces(run, ids)) if word(piece)]
        assert step == max(words, key=spread.__getitem__) and right_of(answer) == str(step + 1)
        assert answer.names["word"] == named(pieces(run, ids))[step] and softmax(logits[step]).max() <= 0.75 + 1e-4
        numbers = numbers_of(answer)
        assert numbers == pytest.approx({name: spread[int(name) - 1] for name in numbers}, abs=1e-4)
        assert sorted(numbers.values())[-2] < spread[step] - NEAR_NATS + 1e-3


def test_the_second_candidate_has_the_second_largest_logit_of_its_step():
    for run, answer in decided("second_candidate"):
        (ids, logits), step = logits_of(run), answer.names["step"]
        second, chances = int(np.argsort(-logits[step])[1]), softmax(logits[step])
        assert right_of(answer) == str(second) and answer.names["second"].removeprefix("·") == pieces(run, [second])[0]
        assert answer.names["chance"] == pytest.approx(chances[ids[step]], abs=1e-5)
        numbers = numbers_of(answer)
        assert numbers == pytest.approx({name: chances[int(name)] for name in numbers}, abs=1e-5)
        spelled = [each.removeprefix("▁") for each in pieces(run, [*map(int, numbers), ids[step]])]
        assert len(set(spelled)) == len(spelled), "no two look alike"
        for token in numbers:  # a word, which the model does not continue
            ids = list(
                decode(run.translator.model, [list(run.trace.source_ids)], Greedy(), [[*ids[:step], int(token)]])[0].ids
            )
            assert is_whole_word(pieces(run, ids), step)


def test_the_words_after_a_forced_one_are_those_of_the_model():
    for run, answer in decided("after_forcing", *MORE, *SEARCHED, most=6):
        model, source = run.translator.model, list(run.trace.source_ids)
        forced = list(map(int, answer.names["prefix"].split(".")))
        free = list(decode(model, [source], Greedy())[0].ids)
        now = list(decode(model, [source], Greedy(), [forced])[0].ids)
        assert forced[:-1] == free[: len(forced) - 1] and forced[-1] != free[len(forced) - 1]
        decode_words = [re.findall(r"[\w'’-]+", run.translator.tokenizer.decode(ids).lower()) for ids in (free, now)]
        begin = len(re.findall(r"[\w'’-]+", run.translator.tokenizer.decode(forced)))
        before, after = (words[begin:] for words in decode_words)
        come = {*(Counter(after) - Counter(before))}
        new = come - {*decode_words[0][begin - 1 :]}
        assert new or not come, "a word that stood there is no plain case"
        assert right_of(answer) == ("new" if new else "stay" if before == after else "moved")
        assert all(f"“{run.translator.tokenizer.decode(ids)}”" in answer.truth for ids in (now, free))


def lost_without(run: Run, step: int, against: int | None = None) -> np.ndarray:
    """Return the loss of a step's log P, or of its lead, without each source token, then each of the prefix."""
    return _lost_without(run.request.checkpoint.name, run.request.text, step, against).copy()


@cache
def _lost_without(checkpoint: str, text: str, step: int, against: int | None) -> np.ndarray:
    run = run_of(checkpoint, text)
    ids, token = run.trace.target_ids[: step + 1], run.trace.target_ids[step]

    def score(change=None) -> float:
        row = log_probabilities(run, ids, change)[step]
        return float(row[token] - (0 if against is None else row[against]))

    changes = [hiding([at], ("encoder", "cross")) for at in range(len(run.trace.source_ids))]
    return score() - np.array([score(change) for change in (*changes, *map(hiding_earlier, range(step)))])


def bare(token: str) -> str:
    return token.replace("▁", "").lower()


def test_the_token_missed_most_costs_most_and_does_not_have_most_weight():
    for run, answer in decided("missed_most", *MORE):
        names, source = answer.names, run.trace.source_tokens
        weights = run.trace.cross[:, :, names["step"]].astype(np.float64).mean(axis=(0, 1))
        lost = lost_without(run, names["step"])[: len(source)]
        heavy, missed, numbers = int(weights.argmax()), int(lost.argmax()), numbers_of(answer)
        assert names["heavy"] == named(source)[heavy] and names["token"].position == missed != heavy
        assert names["weight"] == weights[heavy] and names["word"] == named(run.trace.target_tokens)[names["step"]]
        assert np.sort(lost)[-1] - np.sort(lost)[-2] >= NEAR_NATS - 1e-4 and lost[missed] >= 1 and word(names["word"])
        assert right_of(answer) == str(missed) and str(heavy) not in numbers
        assert numbers == pytest.approx({name: lost[int(name)] for name in numbers}, abs=2e-3)


def whole_words(run: Run, words: frozenset[str]) -> list[int]:
    """Return the steps that write one of some words, after a space or an apostrophe, not a piece of another one."""
    tokens = ("", *named(run.trace.target_tokens), "")
    neighbours = enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False))
    return [
        at
        for at, (before, token, after) in neighbours
        if token.lower() in {("·" if before == "'" else "▁") + each for each in words}
        and after[:1] not in ("·", "'", "-")
    ]


def pronouns_of(run: Run) -> frozenset[str]:
    return PRONOUNS[run.translator.checkpoint.data["target_language"]]


def test_the_share_of_the_source_is_the_rest_of_the_prefix():
    for run, answer in decided("source_share", *TWO, *CARS, *FRIENDS, most=13):
        step, trace, pronouns = answer.names["step"], run.trace, whole_words(run, pronouns_of(run))
        assert set(_pronoun_steps(run)) == set(pronouns), "no ending or verb that is spelled like one"
        later = [each for each in pronouns if each]
        assert step == max(later) if later else step > 0
        row = alti(run.translator.model, trace.source_ids, trace.decoder_input_ids).across[-1][step]
        assert answer.value == pytest.approx(100 * (1 - row[len(trace.source_ids) :].sum()), abs=1e-3)
        assert answer.names["word"] == trace.target_tokens[step] != answer.names["example"]


def test_the_token_that_decides_a_choice_costs_most_of_its_lead():
    for run, answer in decided("decides_choice", *HUNGRY, *CARS, most=3):
        step, trace, begin = answer.names["step"], run.trace, len(run.trace.source_ids)
        against = int(trace.candidate_ids[step][list(trace.candidate_tokens[step]).index(answer.names["against"])])
        assert step > 0 and step in whole_words(run, frozenset({bare(answer.names["word"])}))
        lost = lost_without(run, step, against)
        lost[begin] = -np.inf  # the begin of sentence
        first, second = np.argsort(-lost)[:2]
        assert right_of(answer) == str(first) and lost[first] >= max(lost[second] + NEAR_NATS, 1) - 1e-4
        numbers = numbers_of(answer)
        assert numbers == pytest.approx({name: lost[int(name)] for name in numbers}, abs=2e-3)


def test_a_word_is_whole_if_it_begins_and_ends():
    for at, tokens in ((0, "▁sie ▁hat"), (0, "▁sie"), (0, "▁il , ▁a")):
        assert is_whole_word(tokens.split(), at)
    for at, tokens in ((1, "▁Freund es ."), (0, "▁es sen ."), (0, "▁j ' ai"), (0, "▁vis - tu")):
        assert not is_whole_word(tokens.split(), at)


def test_a_translation_is_not_longer_with_a_prefix_that_cannot_be_read():
    for nonsense in ("", "x", "0", "99999", "1.2.3.4.", "7" * 40):
        assert not outcome_of(run_of("en-de", SENTENCES[0], prefix=nonsense), "longer_translation").done


def test_a_translation_loses_words_where_it_is_shorter_or_a_meaning_is_replaced_by_another_known_one():
    full = "Ils ne voient pas mon argent."
    for other in ("Ils voient mon argent.", "Ils ne voient pas mon travail."):
        assert _loses_words(other, full, "French"), other
    assert _loses_words("Ils voient une valise.", "Ils voient une grosse valise.", "French")
    for other in (full, "Elles ne voient pas mon argent.", "Ils ne voient pas mon fric."):
        assert not _loses_words(other, full, "French"), other


def test_a_model_that_is_sure_of_every_token_leaves_no_choice():
    for measure in ("second_candidate", "after_forcing", "tempered"):
        assert isinstance(outcome_of(run_of("reverse", "a b c d e f g"), measure), str)
    assert isinstance(outcome_of(run_of("en-de", SENTENCES[0]), "best_of_beam", size=1), str)
