"""Laws of the findings on early exits, over random translations of encoder layers and ranks of decoder layers."""

from itertools import combinations

import numpy as np
from support.traces import made_trace

from headlight.views.research.logit_lens import describe_early, describe_lens, lens_rows
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.activations import Predictions
from transformer.interpret.residual import kept_positions


def check_early(translations, same):
    """Compare the finding with the layers, [embeddings and layers], that give the translation."""
    finding, names = describe_early(translations), ["embeddings", *(f"layer {at}" for at in range(1, len(same)))]
    at, is_alone = finding["start"], same.count(True) == 1 and len(same) > 1
    assert all(same[at:]) and (at == 0 or not same[at - 1]), "the earliest from which all do"
    assert finding.name == ("only_last" if is_alone else "from_layer" if at else "from_embeddings")
    earlier = [name for name, is_same in zip(names[:at], same, strict=False) if is_same]
    assert ("also" in finding) == bool(earlier)
    if earlier:
        assert (list(finding["also"]), finding["missing"]) == (earlier, names[at - 1])
    first, last = translations[0], translations[-1].ids
    assert (finding["written"], finding["final"]) == (len(first.ids), len(last))
    assert ("endless" in finding) == (not first.finished)
    assert finding["kept"] == len(kept_positions(first.ids, last))
    return bool(earlier)


def test_the_first_layer_is_the_one_after_which_none_lacks_the_translation(random):
    seen = set()
    for _ in range(300):
        ids = [tuple(random.integers(0, 2, random.integers(1, 3)).tolist()) for _ in range(random.integers(2, 6))]
        translations = [Hypothesis(each, -1.0, -1.0, bool(random.integers(2))) for each in ids]
        seen.add(check_early(translations, [each == ids[-1] for each in ids]))
    assert seen == {True, False}


def test_no_choice_of_tokens_in_the_same_order_is_longer_than_the_kept_ones(random):
    for _ in range(60):
        ids, last = (tuple(random.integers(0, 4, size).tolist()) for size in random.integers(0, 7, 2))
        positions = kept_positions(ids, last)
        assert tuple(ids[at] for at in sorted(positions)) in set(combinations(last, len(positions)))
        longer = set(combinations(ids, len(positions) + 1)) & set(combinations(last, len(positions) + 1))
        assert not longer


def test_the_lens_knows_the_layer_from_which_a_final_token_leads_and_the_worst_rank(random):
    """A token that no layer expects is counted apart, and a forced one nowhere."""
    for forced in (0, 1, 2) * 30:
        ranks, steps = random.choice([1, 1, 1, 2, 5, 900], (5, 3)), range(forced, 3)
        best, chances = random.integers(0, 99, (5, 3, 2)), random.random((5, 3))
        lens, trace = Predictions(best, chances[..., None], chances, ranks, chances), made_trace(num_forced=forced)
        finding, first = describe_lens(lens, trace), {}
        for step in steps:
            since = next(row for row in range(6) if (ranks[row:, step] == 1).all())
            first[since] = first.get(since, 0) + 1
        assert {part["row"]: part["steps"] for part in finding["leads"]} == first
        assert [part.name == "never_leads" for part in finding["leads"]] == [row == 5 for row in sorted(first)]
        early = sum(count for since, count in first.items() if since < 4)
        assert (finding["early"], finding["tokens"]) == (early, len(steps))
        worst, products = finding["step"] - 1, np.prod(ranks.astype(np.float64), axis=0)
        assert worst in steps and products[worst] >= products[forced:].max() * (1 - 1e-9)
        assert finding["token"] == trace.target_tokens[worst]
        assert [each["rank"] for each in finding["ranks"]] == ranks[:, worst].tolist()
        cells = [[cell.partition("\n")[0] for cell in row] for _, row in lens_rows(lens, lambda id: f"▁#{id}")]
        assert cells == [[f"#{id}" for id in row] for row in best[..., 0]]
