"""Laws of the captions on a decoding: its steps, what they attend to, and what beam search is said to have gained."""

import dataclasses
import re

import numpy as np
import pytest
from support.traced import all_traces, is_printed, traces, translator

from headlight.views.decoding.text import entropy_words, hardest_step, search_sentence, step_sentence
from transformer import Beam, Greedy
from transformer.decoding.beam import SearchRecord
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.trace import attention_map

SEARCHED = (0, 5, 7, 9, 12, 14, 17, 28, 36, 37)


def test_the_hardest_step_has_the_highest_entropy_and_what_it_offers_can_be_taken():
    never = {translator().tokenizer.pad_id, translator().tokenizer.begin_id}
    cut = [dataclasses.replace(one, finished=False) for one in traces()]
    ends = 0
    for trace in (*all_traces(), *cut):
        said = re.match(
            r"Step (\d+) of (\d+) has the highest entropy: perplexity (\d+\.\d)\. “(.+?)” got (.+? %), "
            r"“(.+?)” (.+? %)\.",
            hardest_step(trace),
        )
        step = int(said[1]) - 1
        entropies = [float(each) for each in trace.entropies]
        assert entropies[step] == max(entropies) and int(said[2]) == len(trace.next_ids)
        assert abs(float(said[3]) - np.exp(entropies[step])) <= 0.05 + 1e-4
        assert said[4] == trace.next_tokens[step] and is_printed(said[5], float(trace.next_probabilities[step]))
        row = zip(trace.candidate_ids[step].tolist(), trace.candidate_probabilities[step].tolist(), strict=True)
        others = {id: each for id, each in row if id != trace.next_ids[step] and id not in never}
        other = max(others, key=others.get)
        assert said[6] == translator().tokenizer.piece_text(other) and is_printed(said[7], others[other])
        at_the_limit = not trace.finished and step + 1 == len(trace.next_ids)
        assert (f"force “{said[6]}” instead" in hardest_step(trace)) == (not at_the_limit)
        if not at_the_limit:
            assert translator().may_begin_with((*trace.next_ids[:step], other))
        ends += at_the_limit
    assert ends, "one translation has its hardest step where nothing can follow"


def test_an_entropy_is_said_in_nats_and_as_a_perplexity():
    for trace in traces():
        for entropy in trace.entropies.astype(np.float64):
            said = re.fullmatch(r"(\d+\.\d\d) nats, perplexity (\d+\.\d)", entropy_words(float(entropy)))
            assert abs(float(said[1]) - entropy) <= 0.005 + 1e-9
            assert abs(float(said[2]) - np.exp(entropy)) <= 0.05 + 1e-9
    assert entropy_words(-0.0) == "0.00 nats, perplexity 1.0"


def test_a_step_attends_most_to_the_tokens_that_are_named():
    for trace in all_traces():
        for layer, head in [(0, 0), (1, 6), (2, 3), (2, None), (None, 4), (None, None)]:
            cross, decoder = (attention_map(trace, kind, layer, head) for kind in ("cross", "decoder"))
            means = []
            for maps in (trace.cross, trace.decoder):
                chosen = maps.astype(np.float64)
                chosen = chosen if layer is None else chosen[layer : layer + 1]
                means.append((chosen if head is None else chosen[:, head : head + 1]).mean(axis=(0, 1)))
            for step in {0, len(trace.next_ids) // 2, len(trace.next_ids) - 1}:
                forced = trace.origin == "prefix" and step == 0
                text = step_sentence(trace, step, cross, decoder, forced)
                said = re.fullmatch(
                    r"With input “(.+?)” the model gives “(.+?)” (.+? %): (the most probable token|rank (\d+)); "
                    r"(you forced it|it is chosen)\. (The average over .+?|Layer \d, head \d) attends most to “(.+?)” "
                    r"\((\d\.\d\d)\) of the source and to “(.+?)” \((\d\.\d\d)\) of the prefix\.",
                    text,
                )
                assert (said[1], said[2]) == (trace.fed_tokens[step], trace.next_tokens[step])
                probability = float(trace.next_probabilities[step])
                assert is_printed(said[3], probability)
                better = sum(float(each) > probability for each in trace.candidate_probabilities[step])
                assert int(said[5] or 1) - 1 == better if better < 10 else int(said[5]) > 10
                assert (said[6] == "you forced it") == forced
                rows = means[0][step], means[1][step][: step + 1]
                for row, keys, at in zip(rows, (trace.source_tokens, trace.fed_tokens), (8, 10), strict=True):
                    most = max(row[place] for place in range(len(row)) if keys[place] == said[at])
                    assert most >= max(row) - 1e-6 and abs(float(said[at + 1]) - max(row)) <= 0.005 + 1e-6
                numbers = [int(each) for each in re.findall(r"(?:[Ll]ayer|head) (\d+)", said[7])]
                assert numbers == [n + 1 for n in ((head, layer) if head is None else (layer, head)) if n is not None]


def log_probability(text, found):
    """By one teacher-forced pass over the whole translation."""
    return float(np.log(translator().trace(text, target=found).next_probabilities.astype(np.float64)).sum())


@pytest.mark.parametrize("size, alpha", [(2, 0.6), (4, 0.0), (4, 1.5)])
def test_what_beam_search_gained_is_what_the_model_gives_both_translations(size, alpha):
    kinds = set()
    for place in SEARCHED:
        text, beam = traces()[place].source_text, Beam(size, alpha)
        record, greedy = translator().beam_search(text, beam), translator().hypotheses(text, Greedy())[0]
        said = search_sentence(record, greedy, beam, translator().tokenizer.decode)
        best = max(record.ended, key=lambda one: one.log_probability / ((5 + len(one.ids)) / 6) ** alpha)
        if "the same translation" in said:
            assert best.ids == greedy.ids
            others = re.search(r"ranked above (\d+) others?\.", said)
            assert int(others[1] if others else 0) == min(size, len(record.ended)) - 1
            continue
        assert best.ids != greedy.ids
        found = re.search(r"log P −(\d+\.\d+) against −(\d+\.\d+)", said)
        likelier = "found a likelier one" in said
        assert likelier or "which is likelier" in said
        for number, one in zip(found.groups(), (best, greedy) if likelier else (greedy, best), strict=True):
            assert abs(float(number) + log_probability(text, one)) <= 0.0051
        first, second = (-float(number) for number in found.groups())
        assert first > second, "the likelier one is named first"
        kinds.add(likelier)
    assert True in kinds


def test_two_likelihoods_that_differ_are_never_printed_alike():
    greedy, better = Hypothesis((5, 3), -2.0004, -2.0004, True), Hypothesis((6, 3), -2.0001, -2.0001, True)
    said = search_sentence(SearchRecord((better, greedy), (((6,), (5,)),), ()), greedy, Beam(2), lambda ids: "")
    assert "likelier one: log P −2.0001 against −2.0004." in said
