"""Laws of the findings on beam search: its gain, or the loss of greedy decoding."""

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


def log_probability(text, hypothesis):
    """Sum of one teacher-forced pass over the whole translation."""
    trace = translator().trace(text, target=hypothesis)
    return float(np.log(trace.target_probabilities.astype(np.float64)).sum())


@torch.inference_mode()
def beams_by_hand(text, size, steps):
    """The best `size` continuations of each step, those that end among them, by whole passes over every prefix."""
    tokenizer, model = translator().tokenizer, translator().model
    source = torch.tensor([[*tokenizer.encode(text), tokenizer.end_id]])
    live, beams = {(): 0.0}, []
    for _ in range(steps):
        sums = {}
        for ids, total in live.items():
            last = model(source, torch.tensor([[tokenizer.begin_id, *ids]]))[0, -1].log_softmax(-1)
            last[[tokenizer.pad_id, tokenizer.begin_id]] = -torch.inf
            values, tokens = last.topk(size)
            sums |= {(*ids, token): total + v for token, v in zip(tokens.tolist(), values.tolist(), strict=True)}
        beams.append(sorted(sums, key=lambda ids: -sums[ids])[:size])
        live = {ids: sums[ids] for ids in beams[-1] if ids[-1] != tokenizer.end_id}
    return beams


def check_fate(finding, text, record, greedy, beam):
    """Compare the fate of greedy's translation with beams by hand: its rank, the step where it fell out, or neither."""
    ended = [one.ids for one in record.ended]
    if "ended" in finding:
        assert ended[finding["rank"] - 1] == greedy.ids
        return
    steps = finding["step"] if "fell_out" in finding else len(record.beams)
    by_hand = beams_by_hand(text, beam.size, steps)
    if "fell_out" in finding:
        assert finding["steps"] == len(greedy.ids) and greedy.ids[:steps] not in by_hand.pop()
    else:
        assert "unfinished" in finding and greedy.ids not in ended
    assert all(greedy.ids[: number + 1] in beams for number, beams in enumerate(by_hand))


@pytest.mark.parametrize("size, alpha", [(2, 0.6), (3, 0.6), (4, 0.0), (4, 1.5)])
def test_the_gain_of_beam_search_or_the_loss_of_greedy_decoding(size, alpha):
    names = set()
    for text in SEARCHED:
        beam = Beam(size, alpha)
        record, greedy = translator().beam_search(text, beam), translator().hypotheses(text, Greedy())[0]
        finding, attempt = describe_search(record, greedy, beam, translator().tokenizer.decode)
        best = max(record.ended, key=lambda one: one.log_probability / ((5 + len(one.ids)) / 6) ** alpha)
        assert (finding.name == "same") == (best.ids == greedy.ids)
        if finding.name == "same":
            continue
        assert finding["text"] == translator().tokenizer.decode(list(greedy.ids))
        sums = [log_probability(text, one) for one in (best, greedy)]
        assert [finding["beam"], finding["greedy"]] == pytest.approx(sums, abs=1e-3)
        assert len({f"{value:.{finding['digits']}f}" for value in sums}) == 2
        assert (finding.name == "gained") == (sums[0] > sums[1]) == ("step by step" in attempt)
        if finding.name == "lost":
            check_fate(finding, text, record, greedy, beam)
        names.add(finding.name)
    assert "gained" in names


def test_each_fate_of_greedys_path_is_told_apart():
    greedy, better = Hypothesis((5, 3), -2.0, -2.0, True), Hypothesis((6, 3), -2.5, -1.3, True)

    def described(ended, beams):
        record = SearchRecord(tuple(ended), tuple(beams), ())
        return describe_search(record, greedy, Beam(2, 0.6), lambda ids: "")

    assert described([better, better, greedy], [((6,), (5,))])[0]["rank"] == 3
    fell, attempt = described([better], [((5,), (6,)), ((5, 7), (6, 7))])
    assert (fell["step"], fell["steps"], attempt) == (2, 2, "a wider beam.")
    assert "unfinished" in described([better], [((5,), (6,))])[0]
