"""What lessons ask about weights as explanations, against passes by hand in which tokens are left out."""

from functools import cache

import numpy as np
import pytest
from support.by_hand import evened, hiding, hiding_earlier, log_probabilities, stays, written
from support.head_rows import word
from support.lesson_runs import LANGUAGES, decided, measured, named, run_of

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.lessons.answer import Run
from headlight.lessons.measures.explanation import PRONOUNS, _pronoun_steps
from headlight.lessons.measures.wording import NEAR_CHANCES, NEAR_NATS, is_whole_word
from transformer import Greedy
from transformer.decoding.sampling import decode
from transformer.interpret.rollout import alti

BOTH = pytest.mark.parametrize("checkpoint", LANGUAGES)
HUNGRY = tuple(f"The {noun} is hungry because it has not eaten." for noun in ("cat", "dog", "child"))
MORE = (*HUNGRY, "I think that he has never read this book.", "She has never seen the old house.")
TWICE = "When he came home, she was in the kitchen."
CARS = ("The car is old but it is fast.", "She said that he was tired.", "The car is not there because it is broken.")


def lost_without(run: Run, step: int, against: int | None = None) -> np.ndarray:
    """What log P of a step's token, or its lead, loses without each source token, then each token of the prefix."""
    return _lost_without(run.request.checkpoint.name, run.request.text, step, against).copy()


@cache
def _lost_without(checkpoint: str, text: str, step: int, against: int | None) -> np.ndarray:
    run = run_of(checkpoint, text)
    ids, token = run.trace.target_ids[: step + 1], run.trace.target_ids[step]

    def score(change=None) -> float:
        row = log_probabilities(run, ids, change)[step]
        return float(row[token] - (0 if against is None else row[against]))

    whole, source = score(), len(run.trace.source_ids)
    changes = [hiding([at], ("encoder", "cross")) for at in range(source)]
    changes += [hiding_earlier(at) for at in range(step)]
    return np.array([whole - score(change) for change in changes])


def bare(token: str) -> str:
    return token.replace("▁", "").lower()


@BOTH
def test_what_is_missed_most_costs_most_by_hand_and_is_not_what_has_most_weight(checkpoint):
    answers = decided(checkpoint, "missed_most", *MORE)
    assert len(answers) >= 3
    for run, answer in answers:
        step, source = int(answer.names["step"]) - 1, run.trace.source_tokens
        weights = run.trace.cross[:, :, step].astype(np.float64).mean(axis=(0, 1))
        lost = lost_without(run, step)[: len(source)]
        heavy, missed = int(weights.argmax()), int(lost.argmax())
        assert (
            answer.names["heavy"] == named(source)[heavy] and answer.names["weight"] == f"{100 * weights[heavy]:.0f} %"
        )
        assert answer.right == {str(missed)} and heavy != missed and answer.names["missed"] == named(source)[missed]
        assert np.sort(lost)[-1] - np.sort(lost)[-2] >= NEAR_NATS - 1e-4 and lost[missed] >= 1
        assert answer.names["word"] == named(run.trace.target_tokens)[step] and word(answer.names["word"])
        assert {str(heavy), str(missed)} <= {option.name for option in answer.options}
        for option in answer.options:
            loss = lost[int(option.name)]
            assert abs(loss) < 0.006 or f"{'falls' if loss > 0 else 'rises'} by {abs(loss):.2f}" in option.told


def ranks(values: np.ndarray) -> np.ndarray:
    return np.array([np.mean(np.flatnonzero(np.sort(values) == value)) for value in values])


@BOTH
def test_the_rank_correlation_is_that_of_the_ranks(checkpoint):
    answers = decided(checkpoint, "ranks_agree", *MORE)
    assert len(answers) >= 3
    for run, answer in answers:
        step = int(answer.names["step"]) - 1
        weights = run.trace.cross[:, :, step].astype(np.float64).mean(axis=(0, 1))
        lost = np.abs(lost_without(run, step)[: len(weights)])
        expected = np.corrcoef(ranks(weights), ranks(lost))[0, 1]
        assert answer.value == pytest.approx(expected, abs=0.08), "values closer than float32 may change places"
        asked = measured(run, "missed_most")
        assert isinstance(asked, str) or asked.names["step"] == answer.names["step"]
        assert answer.is_right(answer.value + 0.19) and not answer.is_right(answer.value - 0.21)


def whole_words(run: Run, *words: str) -> list[int]:
    """The steps that write one of some words, not a piece of another one."""
    names = (*named(run.trace.target_tokens), "")
    steps = range(len(run.trace.target_tokens))
    joined = ("·", "'", "-")
    return [
        at for at in steps if names[at].lower() in {f"▁{word}" for word in words} and names[at + 1][:1] not in joined
    ]


@BOTH
def test_the_other_noun_brings_the_pronoun_that_the_model_writes_by_hand(checkpoint):
    more = (sentence.replace("eaten", "slept").replace("hungry", "tired") for sentence in HUNGRY)
    answers = decided(checkpoint, "pronoun_of_another", *HUNGRY, *more, nouns="cat dog child girl car woman")
    assert len(answers) >= 2
    pronouns = PRONOUNS[run_of(checkpoint, "?").translator.checkpoint.data["target_language"]]
    for run, answer in answers:
        names = answer.names
        assert names["sentence"] == run.request.text.replace(names["noun"], names["other"])
        other = Run(TranslationRequest(run.request.checkpoint, names["sentence"]))
        tokens = other.trace.target_tokens
        (step,) = whole_words(other, *pronouns)
        chances = np.exp(log_probabilities(other, other.trace.target_ids)[step])
        assert chances.argmax() == other.trace.target_ids[step] and answer.right == {bare(tokens[step])}
        assert names["pronoun"] == bare(tokens[step]) != names["word"]
        assert names["word"] in map(bare, run.trace.target_tokens) and other.trace.target_text in answer.truth
        piece = run.translator.tokenizer.piece_text
        for option in answer.options:
            alike = (id for id in np.argsort(-chances) if piece(int(id)).lower() == f"▁{option.name}")
            best = chances[next(alike)]
            assert (f"{100 * best:.0f} %" if best >= 0.01 else "under 1 %") in option.told
            assert option.name in answer.right or best <= chances.max() - NEAR_CHANCES


@BOTH
def test_the_share_of_the_source_is_what_the_prefix_leaves(checkpoint):
    answers = decided(checkpoint, "source_share", *HUNGRY, *CARS, TWICE)
    pronouns = PRONOUNS[run_of(checkpoint, "?").translator.checkpoint.data["target_language"]]
    assert len(answers) >= 12 and answers[-1][0].request.text == TWICE
    assert len([step for step in whole_words(answers[-1][0], *pronouns) if step]) > 1
    for run, answer in answers:
        step, trace = int(answer.names["step"]) - 1, run.trace
        assert step > 0, "what was written before is not nothing"
        later = [each for each in whole_words(run, *pronouns) if each]
        assert not later or step == max(later), "the last pronoun"
        row = alti(run.translator.model, trace.source_ids, trace.decoder_input_ids).across[-1][step]
        assert answer.value == pytest.approx(100 * (1 - row[len(trace.source_ids) :].sum()), abs=1e-3)
        assert answer.is_right(answer.value + 9) and not answer.is_right(answer.value + 11)
        assert answer.names["share"] == f"{answer.value:.0f} %"


@BOTH
def test_what_decides_a_choice_costs_most_of_its_lead_by_hand(checkpoint):
    answers = decided(checkpoint, "decides_choice", *HUNGRY, *CARS)
    assert len(answers) >= 10
    sides = set()
    for run, answer in answers:
        step, trace = int(answer.names["step"]) - 1, run.trace
        (against,) = {
            int(each)
            for each, token in zip(trace.candidate_ids[step], trace.candidate_tokens[step], strict=True)
            if token == answer.names["against"]
        }
        assert step > 0 and step in whole_words(run, bare(answer.names["word"]))
        lost = lost_without(run, step, against)
        lost[len(trace.source_ids) :][:1] = -np.inf  # the begin of sentence, where it can be left out
        first, second = np.argsort(-lost)[:2]
        assert answer.right == {str(first)} and lost[first] - lost[second] >= NEAR_NATS - 1e-4
        assert lost[first] >= float(answer.names["least"]) - 1e-4, "hardly a fall is no cause"
        ids = [*trace.target_ids[:step], against]
        forced = decode(run.translator.model, [list(trace.source_ids)], Greedy(), [ids])[0].ids
        pieces = named([run.translator.tokenizer.piece_text(each) for each in forced])
        assert pieces[step + 1 : step + 2] == [] or pieces[step + 1][0] != "·", "the rival is a word"
        sides.add(bool(first < len(trace.source_ids)))
        for option in answer.options:
            at = int(option.name)
            names = (*named(trace.source_tokens), *named(trace.decoder_input_tokens))
            assert names[at] in option.label
            assert ("of the source" in option.label) == (at < len(trace.source_ids))
            if abs(lost[at]) > 0.006:
                assert f"{'falls' if lost[at] > 0 else 'rises'} by {abs(lost[at]):.2f}" in option.told
    assert sides == {True, False}, "in some sentence what the model wrote itself decides"


@pytest.mark.parametrize(
    ("checkpoint", "text"),
    [
        ("en-de", "She bought a new dress for the wedding of her best friend."),  # Freund|es, the ending
        ("en-fr", "You are the best friend that I have."),  # Tu es, the verb
    ],
)
def test_an_ending_or_a_verb_that_reads_like_a_pronoun_is_none(checkpoint, text):
    run = run_of(checkpoint, text)
    language = run.translator.checkpoint.data["target_language"]
    assert "es" not in PRONOUNS["French"]
    assert set(_pronoun_steps(run)) == set(whole_words(run, *PRONOUNS[language]))
    answer = measured(run, "source_share")
    assert not isinstance(answer, str) and bare(answer.names["word"]) != "es"


@pytest.mark.parametrize(
    ("tokens", "at", "whole"),
    [
        (("▁Freund", "es", "."), 1, False),
        (("▁es", "sen", "."), 0, False),
        (("▁sie", "."), 0, True),
        (("▁sie", "▁hat"), 0, True),
        (("▁sie", "</s>"), 0, True),
        (("▁sie",), 0, True),
        (("▁j", "'", "ai"), 0, False),
        (("▁vis", "-", "tu"), 0, False),
        (("▁il", ",", "▁a"), 0, True),
    ],
)
def test_a_word_is_whole_if_it_begins_and_ends(tokens, at, whole):
    assert is_whole_word(tokens, at) == whole


@BOTH
def test_equal_weights_leave_the_translation_where_they_do_by_hand(checkpoint):
    answers = decided(checkpoint, "even_weights", *HUNGRY)
    assert len(answers) >= 8
    for number, (run, answer) in enumerate(answers):
        layer, head = results.default_head(run.request, "cross")
        assert (answer.names["layer"], answer.names["head"]) == (str(layer + 1), str(head + 1))
        changes = [evened(layer, head), *(evened(each) for each in range(len(run.trace.cross)))]
        same = {str(at) for at, change in enumerate(changes) if stays(run, change)}
        assert answer.right == same and 0 < len(same) < len(answer.options) == len(changes)
        first = next(change for at, change in enumerate(changes) if str(at) not in same)
        if number < 2:
            assert f"“{written(run, first)}”" in answer.calculation


@BOTH
@pytest.mark.parametrize(
    ("measure", "arguments"),
    [
        ("missed_most", {}),
        ("ranks_agree", {}),
        ("pronoun_of_another", {"nouns": "cat dog"}),
        ("source_share", {}),
        ("decides_choice", {}),
    ],
)
def test_a_sentence_without_what_is_asked_about_says_so(checkpoint, measure, arguments):
    told = measured(run_of(checkpoint, "?"), measure, **arguments)
    assert isinstance(told, str) and told[0].isupper() and told.endswith(".")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The sun shines because it is summer.", "no cat or dog"),
        ("She took the dog out, and it was happy.", "one “it” and no other pronoun"),
        ("The children are playing.", "one “it” and no other pronoun"),
    ],
)
def test_a_sentence_without_one_it_or_without_a_noun_to_exchange_is_not_asked_about(text, words):
    told = measured(run_of("en-de", text), "pronoun_of_another", nouns="cat dog")
    assert words in told
