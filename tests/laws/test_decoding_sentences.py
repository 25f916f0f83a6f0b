"""Laws of the sentences on a decoding: its steps, what they attend to, and what beam search gained or greedy lost."""

import dataclasses
import re

import numpy as np
import pytest
import torch
from support.claims import as_printed
from support.traced import all_traces, is_printed, odd_traces, traces, translator

from headlight.plots.text import head_name
from headlight.views.decoding.content import describe_hardest, entropy_words, given_words, hardest_step, step_sentence
from headlight.views.decoding.search_content import describe_search
from transformer import Beam, Greedy
from transformer.decoding.beam import SearchRecord
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.trace import attention_map

SEARCHED = (
    *("I love my teacher.", "Tom climbed over the wall.", "My dog has fleas.", "Yes.", "no no no no no no", "a", "..."),
    *("\U0001f600 cat", "If I had known, I would have come.", "How many people live here?", "word " * 60),
    "Machine learning models are trained on large amounts of data.",
)


def test_the_hardest_step_has_the_highest_entropy_and_what_it_offers_can_be_taken():
    never = {translator().tokenizer.pad_id, translator().tokenizer.begin_id}
    cut = [dataclasses.replace(one, finished=False) for one in traces()]
    ends = 0
    for trace in (*all_traces(), *cut, *odd_traces()):
        found, attempt = describe_hardest(trace)
        said = re.fullmatch(
            r"Step (\d+), “(.+?)”, was the hardest choice\. It got (.+? %), the runner-up “(.+?)” (.+? %)\. The "
            r"perplexity is ([\d.]+), .*",
            str(found),
        )
        step = int(said[1]) - 1
        entropies = [float(each) for each in trace.entropies]
        assert step == hardest_step(trace) >= trace.num_forced
        assert entropies[step] == max(entropies[trace.num_forced :])
        assert abs(float(said[6]) - np.exp(entropies[step])) <= 0.05 + 1e-4
        assert said[2] == trace.target_tokens[step] and is_printed(said[3], float(trace.target_probabilities[step]))
        row = zip(trace.candidate_ids[step].tolist(), trace.candidate_probabilities[step].tolist(), strict=True)
        others = {id: each for id, each in row if id != trace.target_ids[step] and id not in never}
        other = max(others, key=others.get)
        assert said[4] == translator().tokenizer.piece_text(other) and is_printed(said[5], others[other])
        at_the_limit = not trace.finished and step + 1 == len(trace.target_ids)
        assert attempt.startswith(f"step {step + 1} with “{said[4]}” forced instead") != at_the_limit
        assert at_the_limit or translator().may_begin_with((*trace.target_ids[:step], other))
        ends += at_the_limit
    assert ends, "one translation has its hardest step where nothing can follow"


def test_an_entropy_is_said_in_nats_and_as_a_perplexity():
    for trace in traces():
        for entropy in trace.entropies.astype(np.float64):
            said = re.fullmatch(r"(\d+\.\d\d) nats, perplexity (\d+\.\d)", entropy_words(float(entropy)))
            assert as_printed(said[1], entropy) and as_printed(said[2], np.exp(entropy))
    assert entropy_words(-0.0) == "0.00 nats, perplexity 1.0"


def test_a_step_attends_most_to_the_tokens_that_are_named():
    for trace in (*all_traces(), *odd_traces()):
        layers, heads = trace.cross.shape[:2]
        for layer, head in [(0, 0), (layers - 1, heads - 1), (layers - 1, None), (None, 0), (None, None)]:
            cross, decoder = (attention_map(trace, kind, layer, head) for kind in ("cross", "decoder"))
            means = []
            for maps in (trace.cross, trace.decoder):
                chosen = maps.astype(np.float64)
                chosen = chosen if layer is None else chosen[layer : layer + 1]
                means.append((chosen if head is None else chosen[:, head : head + 1]).mean(axis=(0, 1)))
            for step in {0, len(trace.target_ids) // 2, len(trace.target_ids) - 1}:
                forced = trace.origin == "prefix" and step == 0
                said = re.fullmatch(
                    r"With input “(.+?)” the model gives “(.+?)” (.+? %), rank (\d+)(, forced by you|, given, not "
                    r"chosen)?\. (Average over .+?|Layer \d, head \d) attends most to “(.+?)” \((\d\.\d\d)\) of the "
                    r"source(?: and to “(.+?)” \((\d\.\d\d)\) of the prefix)?\.",
                    step_sentence(trace, step, cross, decoder, forced=forced),
                )
                assert (said[1], said[2]) == (trace.decoder_input_tokens[step], trace.target_tokens[step])
                probability = float(trace.target_probabilities[step])
                assert is_printed(said[3], probability)
                better = sum(float(each) > probability for each in trace.candidate_probabilities[step])
                assert int(said[4]) - 1 == better if better < 10 else int(said[4]) > 10
                assert said[5] == (
                    ", forced by you" if forced else ", given, not chosen" if step < trace.num_forced else None
                )
                rows = means[0][step], means[1][step][: step + 1]
                assert (said[9] is None) == (len(rows[1]) == 1), "a single key gets all there is, whatever the model"
                sides = zip(rows, (trace.source_tokens, trace.decoder_input_tokens), (7, 9), strict=True)
                for row, keys, at in [*sides][: 1 + (len(rows[1]) > 1)]:
                    most = max(row[index] for index in range(len(row)) if keys[index] == said[at])
                    assert most >= max(row) - 1e-6 and as_printed(said[at + 1], max(row))
                assert said[6].lower() == head_name(layer, head, layers, heads)
    assert given_words(odd_traces()[1]).startswith(f"“{odd_traces()[1].target_tokens[0]}” is not the model's choice")


def log_probability(text, found):
    """By one teacher-forced pass over the whole translation."""
    return float(np.log(translator().trace(text, target=found).target_probabilities.astype(np.float64)).sum())


@torch.inference_mode()
def beams_by_hand(text, size, steps):
    """The best `size` continuations of each step, those that end among them, by whole passes over every prefix."""
    tokenizer, model = translator().tokenizer, translator().model
    source = torch.tensor([[*tokenizer.encode(text), tokenizer.end_id]])
    live, kept = {(): 0.0}, []
    for _ in range(steps):
        found = {}
        for ids, total in live.items():
            last = model(source, torch.tensor([[tokenizer.begin_id, *ids]]))[0, -1].log_softmax(-1)
            last[[tokenizer.pad_id, tokenizer.begin_id]] = -torch.inf
            values, tokens = last.topk(size)
            found |= {(*ids, token): total + v for token, v in zip(tokens.tolist(), values.tolist(), strict=True)}
        kept.append(sorted(found, key=lambda ids: -found[ids])[:size])
        live = {ids: found[ids] for ids in kept[-1] if ids[-1] != tokenizer.end_id}
    return kept


def check_fate(said, text, record, greedy, beam):
    """Whether greedy's translation ended at the rank that is said, fell out at the step, or stayed in the beam."""
    ended = [one.ids for one in record.ended]
    if rank := re.search(r"ended with rank (\d+) by score, with length penalty alpha [\d.]+\.", said):
        assert ended[int(rank[1]) - 1] == greedy.ids
    elif step := re.search(r"fell out of the beam at step (\d+) of (\d+)", said):
        assert int(step[2]) == len(greedy.ids)
        by_hand = beams_by_hand(text, beam.size, int(step[1]))
        assert greedy.ids[: int(step[1])] not in by_hand[-1]
        assert all(greedy.ids[: number + 1] in kept for number, kept in enumerate(by_hand[:-1]))
    else:
        assert "still in the beam" in said and greedy.ids not in ended
        by_hand = beams_by_hand(text, beam.size, len(record.kept))
        assert all(greedy.ids[: number + 1] in kept for number, kept in enumerate(by_hand))


@pytest.mark.parametrize("size, alpha", [(2, 0.6), (3, 0.6), (4, 0.0), (4, 1.5)])
def test_what_beam_search_gained_or_greedy_lost_is_so(size, alpha):
    kinds = set()
    for text in SEARCHED:
        beam = Beam(size, alpha)
        record, greedy = translator().beam_search(text, beam), translator().hypotheses(text, Greedy())[0]
        found, attempt = describe_search(record, greedy, beam, translator().tokenizer.decode)
        said = str(found)
        best = max(record.ended, key=lambda one: one.log_probability / ((5 + len(one.ids)) / 6) ** alpha)
        if "the same translation" in said:
            assert best.ids == greedy.ids
            continue
        assert best.ids != greedy.ids
        *numbers, words = re.search(
            r"Beam search has log P (−\d+\.\d+), greedy decoding (−\d+\.\d+)\. .*writes: “(.*)”$", said
        ).groups()
        assert words == translator().tokenizer.decode(list(greedy.ids))
        assert numbers[0] != numbers[1]
        for number, one in zip(numbers, (best, greedy), strict=True):
            assert float(number.replace("−", "-")) == pytest.approx(log_probability(text, one), abs=0.0051)
        likelier = best.log_probability > greedy.log_probability
        assert likelier == ("step by step" in attempt)
        if not likelier:
            check_fate(said, text, record, greedy, beam)
        kinds.add(likelier)
    assert True in kinds


def test_each_fate_of_greedys_path_is_told():
    greedy, better = Hypothesis((5, 3), -2.0, -2.0, True), Hypothesis((6, 3), -2.5, -1.3, True)

    def said(ended, kept) -> str:
        record = SearchRecord(tuple(ended), tuple(kept), ())
        return str(describe_search(record, greedy, Beam(2, 0.6), lambda ids: "")[0])

    assert "rank 3 by score, with length penalty alpha 0.6." in said([better, better, greedy], [((6,), (5,))])
    assert "fell out of the beam at step 2 of 2" in said([better], [((5,), (6,)), ((5, 7), (6, 7))])
    assert "still in the beam, unfinished" in said([better], [((5,), (6,))])
