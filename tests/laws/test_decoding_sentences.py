"""Laws of the sentences on beam search: what it gained, and what greedy decoding lost."""

import re

import numpy as np
import pytest
import torch
from support.traces import translator

from headlight.views.decoding.search_content import describe_search
from transformer import Beam, Greedy
from transformer.decoding.beam import SearchRecord
from transformer.decoding.sampling import Hypothesis

SEARCHED = (
    *("I love my teacher.", "Tom climbed over the wall.", "My dog has fleas.", "Yes.", "no no no no no no", "a", "..."),
    *("\U0001f600 cat", "If I had known, I would have come.", "How many people live here?", "word " * 60),
    "Machine learning models are trained on large amounts of data.",
)


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
        words, *numbers = re.search(
            r"writes: “(.*)” log P: (−\d+\.\d+) with the beam, (−\d+\.\d+) greedy\.$", said
        ).groups()
        assert words == translator().tokenizer.decode(list(greedy.ids))
        assert numbers[0] != numbers[1]
        for number, one in zip(numbers, (best, greedy), strict=True):
            assert float(number.replace("−", "-")) == pytest.approx(log_probability(text, one), abs=0.0051)
        likelier = best.log_probability > greedy.log_probability
        assert likelier == ("step by step" in attempt) == said.startswith("Beam search finds a likelier")
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
