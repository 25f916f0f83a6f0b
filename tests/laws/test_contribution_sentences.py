"""Laws of the findings on source and prefix, parts of a logit, two candidates, and a visitor's translation."""

import numpy as np
import pytest
import torch
from support.models import random_ids, unlike_model
from support.traces import loaded, made_trace, trace_of, traces

from headlight.plots.contributions import Contrast
from headlight.views.research.contrast import describe_contrast
from headlight.views.research.contributions import _SUBJECTS, describe_parts, describe_shares
from headlight.views.what_if.own_translation import describe_own, describe_where
from transformer import Beam
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.attribution import gradient_times_input, leave_one_out
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import SourceShares, alti, measured_mixing, roll_out
from transformer.interpret.what_if.logit_attribution import LogitAttribution, attribute_logit
from transformer.model.head_ref import HeadRef

TEXTS = traces()[1:36:5]
IDS = made_trace().target_ids


def test_shares_of_source_and_prefix():
    model = loaded("en-de").model
    for trace in traces():
        across = alti(model, trace.source_ids, trace.decoder_input_ids).across[-1]
        mixing = measured_mixing(record_residual_stream(model, trace.source_ids, trace.decoder_input_ids))
        rolled = roll_out(trace.encoder, trace.decoder, trace.cross, mixing)
        width = len(trace.source_tokens)
        prefix = [sum(row[width:]) for row in across]  # the source has what the prefix has not
        shares = SourceShares(trace.target_tokens, 1 - np.array(prefix), rolled.source_share()[-1], 0.5)
        finding = describe_shares(shares)
        rollout = np.mean([sum(row[:width]) for row in rolled.across[-1]])
        numbers = finding["mean"], finding["rollout"], finding["usual_share"]
        assert numbers == pytest.approx((1 - np.mean(prefix), rollout, 0.5))
        least, most = finding["least"].position, finding["most"].position
        assert (prefix[least], prefix[most]) == pytest.approx((max(prefix), min(prefix)), abs=1e-9)
        expected = 1 - prefix[least], 1 - prefix[most]
        assert (finding["least_share"], finding["most_share"]) == pytest.approx(expected)


def spearman(first, second):
    """Correlation of the ranks by counting, ties in the middle."""
    ranks = [[sum(y < x for y in each) + sum(y == x for y in each) / 2 for x in each] for each in (first, second)]
    return np.corrcoef(*ranks)[0, 1]


def test_support_for_either_candidate():
    model, names = loaded("en-de").model, set()
    for trace in TEXTS:
        step = (len(trace.target_ids) - 1) // 2
        inputs = model, trace.source_ids, trace.decoder_input_ids[: step + 1]
        chosen, other = trace.target_ids[step], int(trace.candidate_ids[step][2])
        tokens = trace.target_tokens[step], trace.candidate_tokens[step][2]
        fed, methods = trace.decoder_input_tokens[: step + 1], (gradient_times_input, leave_one_out)
        both = [method(*inputs, chosen, other) for method in methods]
        finding = describe_contrast(Contrast(*tokens, trace.source_tokens, fed, *both))
        # By linearity: support for the one token, less support for the other, each computed alone.
        apart = []
        for method in methods:
            one, two = method(*inputs, chosen), method(*inputs, other)
            apart.append(np.concatenate([one.source - two.source, one.prefix[1:] - two.prefix[1:]]))
        assert [each["method"] for each in finding["methods"]] == ["gradient × input", "leave-one-out"]
        for part, values in zip(finding["methods"], apart, strict=True):
            for bar, most in ((part["highest"], np.nanmax(values)), (part["lowest"], np.nanmin(values))):
                at = bar["token"].position + (bar.name == "of_prefix") * (len(trace.source_tokens) - 1)
                assert (bar["value"], values[at]) == pytest.approx((most, most), abs=1e-3)
        known = np.isfinite(apart[0]) & np.isfinite(apart[1])
        if finding.name != "too_little":
            value = spearman(apart[0][known], apart[1][known])
            assert finding["correlation"] == pytest.approx(value, abs=0.03)
            bounds = {"agree": (0.69, 1), "agree_in_part": (0.29, 0.71), "do_not_agree": (-1, 0.31)}[finding.name]
            assert bounds[0] <= value <= bounds[1] + 1e-9
            names.add(finding.name)
    assert len(names) > 1


def test_the_log_p_of_a_visitors_translation():
    translator, names = loaded("en-de"), set()
    for trace, other in zip(TEXTS, (*TEXTS[1:], TEXTS[0]), strict=True):
        words = trace.target_text.split()
        for text in (" ".join(words[::-1]) or "Ja.", trace.target_text or "Nein.", other.target_text or "Haus"):
            names.add(check_own(translator.trace(trace.source_text, target=text), trace))
    # The search's hypothesis as the visitor's, against a worse one as the model's: the other way round.
    forced = translator.trace(TEXTS[0].source_text, target=TEXTS[1].target_text)
    best = translator.trace(TEXTS[0].source_text, target=Hypothesis(TEXTS[0].target_ids, 0.0, 0.0, True))
    assert names | {check_own(best, forced)} == {"same", "own", "yours"}


def test_a_translation_is_missed_only_where_the_beam_did_not_find_it():
    """In forty sentences, of every hypothesis of a beam: a shorter one may have more log P and less score."""
    translator, likelier, count = loaded("en-de"), 0, 0
    for trace in (one for one in traces() if len(one.target_ids) < 40):
        hypotheses = translator.hypotheses(trace.source_text, Beam(4, 1.0))
        ids = [one.ids for one in hypotheses]
        first = translator.trace(trace.source_text, target=hypotheses[0])
        for rank, one in enumerate(hypotheses[1:], start=2):
            second = translator.trace(trace.source_text, target=one)
            is_likelier = log_p(second).sum() - log_p(first).sum() > 0.005
            finding, alone = describe_own(second, first, ids), describe_own(second, first)
            assert ("in_beam_by_penalty" in finding) == ("missed" in alone) == is_likelier
            assert "missed" not in finding and (not is_likelier or finding["rank"] == rank)
            likelier += is_likelier
        last = describe_own(first, second, ids)  # the page shows the last of the beam, the visitor's is its best
        assert "in_beam_by_penalty" not in last and "missed" not in last
        count += 1
    assert likelier and count > 30


@torch.no_grad()
def log_softmax(trace):
    model = loaded("en-de").model
    logits = model(torch.tensor([trace.source_ids]), torch.tensor([trace.decoder_input_ids]))[0]
    return logits.double().log_softmax(-1).numpy()


def log_p(trace):
    return log_softmax(trace)[range(len(trace.target_ids)), trace.target_ids]


def check_own(yours, model):
    """Compare both log P, their ratio, and the tokens whose first candidate is another."""
    finding = describe_own(yours, model)
    check_where(describe_where(yours), yours)
    total = finding["sum"]
    assert total["log_probability"] == pytest.approx(log_p(yours).sum(), abs=1e-3)
    assert total["tokens"] == len(yours.target_ids)
    if finding.name == "same":
        assert yours.target_ids == model.target_ids
    else:
        gap = log_p(model).sum() - log_p(yours).sum()
        assert finding["model_sum"]["log_probability"] == pytest.approx(log_p(model).sum(), abs=1e-3)
        assert (finding.name == "own") == (gap > 0) and np.log(finding["ratio"]) == pytest.approx(abs(gap), abs=1e-3)
    return finding.name


def check_where(finding, trace):
    values, chosen = log_softmax(trace), log_p(trace)
    ranks = 1 + (values > chosen[:, None] + 1e-6).sum(axis=1)
    assert (finding.name == "others") == (ranks > 1).any()
    if finding.name == "others":
        assert (finding["others"], finding["tokens"]) == ((ranks > 1).sum(), len(ranks))
        at = finding["least"].position
        best = int(values[at].argmax())
        assert chosen[at] <= chosen[ranks > 1].min() + 1e-4
        assert finding["first"] == loaded("en-de").tokenizer.piece_text(best)
        numbers = finding["least_log_probability"], finding["first_probability"]
        assert numbers == pytest.approx((chosen[at], np.exp(values[at, best])), abs=1e-4)


def test_the_least_probable_is_of_those_tokens_alone_whose_first_candidate_is_another():
    """Over random probabilities and ranks: a first candidate may itself be improbable."""
    random, firsts = np.random.default_rng(8), 0
    for _ in range(500):
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
            assert (finding["others"], finding["least"].position) == (len(others), least)
            assert finding["least_log_probability"] == pytest.approx(np.log(chances[least]))
            firsts += chances.argmin() not in others
    assert firsts > 50


@torch.inference_mode()
def check_parts(model, source, fed, token):
    """Compare the sum of all parts with the logit of a pass, and the named kind, head and feed-forward with others."""
    logit = float(model(torch.tensor([source]), torch.tensor([fed]))[0, -1].double()[token])
    parts = attribute_logit(model, source, fed, token)
    finding = describe_parts(parts, "x")
    assert [finding["total"], finding["logit"]] == pytest.approx([logit] * 2, abs=1e-3)
    check_kinds(finding, parts)
    head = finding["head"]
    heads = {"decoder": parts.decoder, "cross": parts.cross}[head.kind]
    assert finding["by_head"] == heads[head.layer, head.head] == max(parts.decoder.max(), parts.cross.max())
    assert finding["by_layer"] == parts.feed_forward[finding["layer"] - 1] == max(parts.feed_forward)


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
    assert sums[kind] == pytest.approx(most) and finding["highest"] == pytest.approx(most, abs=1e-5)
    assert finding.name == ("contributes" if most > 0 else "takes_least")
    assert (finding["subject"].lower(), finding["ending"]) == _SUBJECTS[kind]
    assert ("takes_most" in finding) == (lowest <= -0.005), "a part is not more than the whole alone"
    if "takes_most" in finding:
        taker = min(sums, key=sums.get)
        assert finding["taker"].lower() == _SUBJECTS[taker][0]
        assert finding["taken"] == pytest.approx(-lowest, abs=1e-5)


def test_the_parts_sum_to_the_logit_of_an_unobserved_pass():
    """In forty sentences at their first, middle and last step, and for one layer of one head."""
    for name, trace in [("reverse", trace_of("reverse", "abc def")), *(("en-de", each) for each in traces())]:
        last = len(trace.target_ids) - 1
        for step in sorted({0, last // 2, last}):
            fed, token = trace.decoder_input_ids[: step + 1], trace.target_ids[step]
            check_parts(loaded(name).model, trace.source_ids, fed, token)
    model = unlike_model(num_encoder_layers=1, num_decoder_layers=1, num_heads=1)
    for token in range(4, 31):
        check_parts(model, [*random_ids(4).tolist(), 3], [2, 9], token)


def test_a_kind_that_takes_does_not_contribute():
    """Over random parts of both signs, all negative ones among them."""
    random, names = np.random.default_rng(7), set()
    for _ in range(300):
        middle = random.choice([-3, 0, 3])
        shapes = {"decoder": (2, 3), "cross": (2, 3), "feed_forward": 2}
        parts = {name: random.normal(middle, 1, shape) for name, shape in shapes.items()}
        numbers = dict(zip(("embedding", "position", "biases"), random.normal(middle, 1, 3).tolist(), strict=True))
        finding = describe_parts(LogitAttribution(**parts, **numbers, logit=0.0), "x")
        check_kinds(finding, LogitAttribution(**parts, **numbers, logit=0.0))
        assert isinstance(finding["head"], HeadRef) and finding["by_layer"] == parts["feed_forward"].max()
        names.add((finding.name, finding["ending"]))
    assert len(names) == 4
