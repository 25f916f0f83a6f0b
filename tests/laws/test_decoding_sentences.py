"""Laws of the findings on beam search: its gain, or the loss of greedy decoding."""

import pytest

from headlight.views.decoding.search_content import describe_search
from transformer import Beam
from transformer.decoding.beam import SearchRecord
from transformer.decoding.sampling import Hypothesis

GREEDY = Hypothesis((5, 3), -2.0, -2.0, True)


def described(ended, beams=()):
    record = SearchRecord(tuple(ended), tuple(beams), ())
    return describe_search(record, GREEDY, Beam(2, 0.6), lambda ids: f"text of {ids}")


@pytest.mark.parametrize("log_probability", [-7.5, -2.00004, -1.996, -0.5])
def test_the_gain_of_beam_search_or_the_loss_of_greedy_decoding(log_probability):
    best = Hypothesis((6, 7, 3), log_probability, -1.3, True)
    finding, attempt = described([best, GREEDY])
    assert (finding["beam"], finding["greedy"], finding["text"]) == (log_probability, -2, "text of [5, 3]")
    assert len({f"{value:.{finding['digits']}f}" for value in (log_probability, -2)}) == 2, "the digits tell them apart"
    assert (finding.name == "gained") == (log_probability > -2) == ("step by step" in attempt)
    assert finding.name == "gained" or (finding.name, finding["rank"]) == ("lost", 2)
    assert described([GREEDY, best])[0].name == "same"


def test_each_fate_of_greedys_path_is_told_apart():
    better = Hypothesis((6, 3), -2.5, -1.3, True)
    assert described([better, better, GREEDY], [((6,), (5,))])[0]["rank"] == 3
    fell, attempt = described([better], [((5,), (6,)), ((5, 7), (6, 7))])
    assert (fell["step"], fell["steps"], attempt) == (2, 2, "a wider beam.")
    assert "unfinished" in described([better], [((5,), (6,))])[0]
