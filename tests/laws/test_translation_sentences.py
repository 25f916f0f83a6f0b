"""Laws of the findings on a translation: its improbable token, and the largest weight between two words."""

import numpy as np
import pytest
from support.head_rows import word
from support.texts import SENTENCES
from support.traces import odd_traces, trace_of, translator

from headlight.plots.names import head_name
from headlight.views.home.content import least_probable_token, strongest_reading
from transformer import Sampling
from transformer.interpret.trace import attention_map


@pytest.fixture(scope="module")
def greedy():
    return [trace_of("en-de", text) for text in SENTENCES[:36:4]]


def test_the_improbable_token_is_the_least_probable_and_the_other_the_best_that_was_not_chosen(greedy):
    never = {translator().tokenizer.pad_id, translator().tokenizer.begin_id}
    drawn = [translator().trace(one.source_text, strategy=Sampling(1.5, seed=3)) for one in greedy[:4]]
    forced = [translator().trace(one.source_text, prefix=(int(one.candidate_ids[0][-1]),)) for one in greedy[:4]]
    for trace in (*greedy, *drawn, *forced, *odd_traces()):
        finding = least_probable_token(trace)
        step, chosen = finding["token"].position, [float(each) for each in trace.target_probabilities]
        assert step >= trace.num_forced and chosen[step] == min(chosen[trace.num_forced :]) == finding["chance"]
        better = sum(float(each) > chosen[step] for each in trace.candidate_probabilities[step])
        assert finding["rank"] == better + 1 if better < 10 else finding["rank"] > 10
        assert ("runner_up" in finding) == (finding["rank"] == 1)
        row = zip(trace.candidate_ids[step].tolist(), trace.candidate_probabilities[step].tolist(), strict=True)
        others = {id: each for id, each in row if id != trace.target_ids[step] and id not in never}
        other = max(others, key=others.get)
        assert finding["other"] == translator().tokenizer.piece_text(other)
        assert finding["other_chance"] == pytest.approx(others[other])


def test_the_weight_named_is_the_largest_between_two_words(greedy):
    named = 0
    for trace in (*greedy, odd_traces()[0]):
        layers, heads = trace.cross.shape[:2]
        for layer, head in [(0, 0), (layers - 1, heads - 1), (layers - 1, None), (None, 0), (None, None)]:
            finding = strongest_reading(attention_map(trace, "cross", layer, head, "predicted"))
            chosen = trace.cross.astype(np.float64)
            chosen = chosen if layer is None else chosen[layer : layer + 1]
            chosen = (chosen if head is None else chosen[:, head : head + 1]).mean(axis=(0, 1))
            weights = {
                (row, column): chosen[row, column]
                for row, out in enumerate(trace.target_tokens)
                for column, key in enumerate(trace.source_tokens)
                if word(out) and word(key)
            }
            assert (finding is None) == (not weights)
            if finding:
                weight = weights[finding["row"].position, finding["key"].position]
                assert weight >= max(weights.values()) - 1e-6 and finding["weight"] == pytest.approx(weight, abs=1e-6)
                assert finding["head"] == head_name(layer, head, layers, heads)
                named += 1
    assert named > 30
