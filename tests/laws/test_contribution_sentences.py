"""Laws of the findings on source and prefix, parts of a logit, two candidates, and a visitor's translation."""

import numpy as np
import pytest
from support.traces import made_trace

from headlight.plots.contributions import Contrast
from headlight.views.research.contrast import describe_contrast
from headlight.views.research.contributions import TEMPLATES, describe_parts, describe_shares
from headlight.views.what_if.own_translation import describe_own, describe_where
from transformer.interpret.attribution import Attribution
from transformer.interpret.rollout import SourceShares
from transformer.interpret.what_if.logit_attribution import LogitAttribution

IDS = made_trace().target_ids


def test_shares_of_source_and_prefix_leave_out_forced_tokens(random):
    for forced in (0, 1, 2):
        alti = random.random(5)
        shares = SourceShares(("▁a", "▁b", "▁c", ".", "</s>"), alti, 0.5, forced)
        finding, least, most = describe_shares(shares), alti[forced:].argmin(), alti[forced:].argmax()
        numbers = [finding[name] for name in ("mean", "usual_share", "least_share", "most_share")]
        expected = [alti[forced:].mean(), 0.5, alti[forced:].min(), alti[forced:].max()]
        assert numbers == pytest.approx(expected) and shares.least_word == forced + alti[forced:3].argmin()
        assert (finding["least"].position, finding["most"].position) == (forced + least, forced + most)


def spearman(first, second):
    """Correlation of the ranks by counting, ties in the middle."""
    ranks = [[sum(y < x for y in each) + sum(y == x for y in each) / 2 for x in each] for each in (first, second)]
    return np.corrcoef(*ranks)[0, 1]


def test_support_for_either_candidate(random):
    names = set()
    for noise in (0, 0.3, 0.8, 3) * 10:
        base = random.normal(0, 1, 8)
        both = base, base + noise * random.normal(0, 1, 8)
        sides = [Attribution(each[:5], np.array([9.0, *each[5:], np.nan]), 0.0) for each in both]
        contrast = Contrast("▁x", "▁y", ("▁a", "▁b", "▁c", ".", "</s>"), ("<s>", "▁d", "▁e", "▁f", "▁g"), *sides)
        finding = describe_contrast(contrast)
        assert [each["method"] for each in finding["methods"]] == ["gradient × input", "leave-one-out"]
        for part, values in zip(finding["methods"], both, strict=True):
            for bar, most in ((part["highest"], max(values)), (part["lowest"], min(values))):
                at = bar["token"].position + (bar.name == "of_prefix") * 4
                assert bar["value"] == values[at] == most, "the begin of sentence does not count"
        value = spearman(*both)
        assert finding["correlation"] == pytest.approx(value)
        assert finding.name == ("agree" if value >= 0.7 else "agree_in_part" if value >= 0.3 else "do_not_agree")
        names.add(finding.name)
    assert len(names) == 3


def test_two_translations_are_compared_by_log_p_and_by_the_models_search(random):
    names = set()
    for _ in range(400):
        ids = [(int(random.integers(20, 23)), 3) for _ in range(2)]
        chances = random.uniform(0.1, 0.9, (2, 3))
        yours, model = (
            made_trace(target_ids=(20, *each), target_probabilities=row) for each, row in zip(ids, chances, strict=True)
        )
        hypotheses = [(20, int(each), 3) for each in random.permutation([20, 21, 22])[: random.integers(0, 4)]]
        finding, (one, other) = describe_own(yours, model, hypotheses), np.log(chances).sum(axis=1)
        assert (finding["sum"]["log_probability"], finding["sum"]["tokens"]) == (pytest.approx(one), 3)
        names.add(finding.name)
        assert (finding.name == "same") == (ids[0] == ids[1])
        if finding.name == "same":
            continue
        assert finding["model_sum"]["log_probability"] == pytest.approx(other)
        if abs(one - other) >= 0.005:
            assert (finding.name == "yours") == (one > other)
            assert np.log(finding["ratio"]) == pytest.approx(abs(one - other))
        is_likelier, ranks = one - other >= 0.005, {each: rank for rank, each in enumerate(hypotheses, start=1)}
        rank, rank_of_model = (ranks.get(each.target_ids) for each in (yours, model))
        assert ("missed" in finding) == (is_likelier and rank is None)
        if is_likelier and rank:
            assert finding["rank"] == rank
            assert ("in_beam_by_penalty" in finding) == bool(rank_of_model and rank_of_model < rank)
    assert {"same", "own", "yours"} <= names


def test_the_least_probable_is_of_those_tokens_alone_whose_first_candidate_is_another(random):
    """Over random probabilities and ranks: a first candidate may itself be improbable."""
    firsts = 0
    for _ in range(300):
        chances, ranks = random.uniform(0.01, 0.9, 3), random.integers(1, 4, 3)
        trace = made_trace(
            target_probabilities=chances,
            target_ranks=ranks,
            candidate_ids=np.array([[77 if rank > 1 else id, 78] for rank, id in zip(ranks, IDS, strict=True)]),
            candidate_tokens=tuple(("▁x" if rank > 1 else "▁own", "▁y") for rank in ranks),
            candidate_probabilities=np.array([[min(0.99, chance + 0.01), chance] for chance in chances]),
        )
        finding, others = describe_where(trace), np.flatnonzero(ranks > 1)
        assert (finding.name == "all_first") == (not len(others))
        if len(others):
            least = others[chances[others].argmin()]
            assert (finding["others"], finding["tokens"], finding["least"].position) == (len(others), 3, least)
            assert finding["least_log_probability"] == pytest.approx(np.log(chances[least]))
            assert (finding["first"], finding["first_probability"]) == ("▁x", min(0.99, chances[least] + 0.01))
            firsts += chances.argmin() not in others
    assert firsts > 30


def check_kinds(finding, parts):
    """Compare the kind that adds most, or takes least where all take, and the kind that takes most where one does."""
    sums = {
        "embedding": parts.embedding,
        "position": parts.position,
        "self-attention": np.sum(parts.decoder),
        "cross-attention": np.sum(parts.cross),
        "feed-forward": np.sum(parts.feed_forward),
        "biases": parts.biases,
    }
    kind, most, lowest = finding["kind"][0].lower() + finding["kind"][1:], max(sums.values()), min(sums.values())
    assert sums[kind] == pytest.approx(most) == finding["highest"]
    one, several = ("contributes", "contribute") if most > 0 else ("takes_least", "take_least")
    assert finding.name == (several if kind in ("feed-forward", "biases") else one)
    assert finding["subject"] == TEMPLATES.text(f"subject_{kind}")
    assert finding["total"] == pytest.approx(sum(sums.values())) and finding["logit"] == parts.logit
    takes = "takes_most" in finding or "take_most" in finding
    assert takes == (lowest <= -0.005), "a part is not more than the whole alone"
    if takes:
        assert finding["taker"] == TEMPLATES.text(f"subject_{min(sums, key=sums.get)}")
        assert finding["taken"] == pytest.approx(-lowest)


def test_the_parts_that_add_and_take_most_are_named(random):
    """Over random parts of both signs, all negative ones among them."""
    names = set()
    for _ in range(300):
        middle = random.choice([-3, 0, 3])
        shapes = {"decoder": (2, 3), "cross": (2, 3), "feed_forward": 2}
        arrays = {name: random.normal(middle, 1, shape) for name, shape in shapes.items()}
        numbers = dict(zip(("embedding", "position", "biases"), random.normal(middle, 1, 3).tolist(), strict=True))
        parts = LogitAttribution(**arrays, **numbers, logit=1.5)
        finding = describe_parts(parts, "x")
        check_kinds(finding, parts)
        head, highest = finding["head"], max(parts.decoder.max(), parts.cross.max())
        assert finding["by_head"] == arrays[head.kind][head.layer, head.head] == highest
        assert finding["by_layer"] == parts.feed_forward[finding["layer"] - 1] == max(parts.feed_forward)
        names.add(finding.name)
    assert len(names) == 4
