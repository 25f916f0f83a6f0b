"""Laws of the sentences on source and prefix, parts of a logit, two candidates, and a given translation."""

import re

import numpy as np
import pytest
import torch
from support.captions import PERCENT, as_percent, as_printed, finding_text, number, place_of, scientific_number
from support.models import random_ids, unlike_model
from support.traces import NEXT, loaded, made_trace, trace_of, traces

from headlight.plots.contributions import Contrast
from headlight.views.research.contrast import describe_contrast
from headlight.views.research.contributions import describe_parts, describe_shares
from headlight.views.what_if.own_translation import describe_own, describe_where
from transformer import Beam
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.attribution import gradient_times_input, leave_one_out
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import SourceShares, alti, measured_mixing, roll_out
from transformer.interpret.what_if.logit_attribution import LogitAttribution, attribute_logit

NUMBER = r"(−?[\d.]*\d)"
PLACED = r"“(.+?)”(?: \((?:position|output token) (\d+)\))?"
TEXTS = traces()[1:36:5]
IDS = made_trace().target_ids


def test_what_source_and_prefix_contribute_is_so():
    model = loaded("en-de").model
    for trace in traces():
        across = alti(model, trace.source_ids, trace.decoder_input_ids).across[-1]
        mixing = measured_mixing(record_residual_stream(model, trace.source_ids, trace.decoder_input_ids))
        rolled = roll_out(trace.encoder, trace.decoder, trace.cross, mixing)
        width = len(trace.source_tokens)
        prefix = [sum(row[width:]) for row in across]  # the source has what the prefix has not
        shares = SourceShares(trace.target_tokens, 1 - np.array(prefix), rolled.source_share()[-1], 0.5)
        said = re.fullmatch(
            rf"On average ({PERCENT}) of a token comes from the source\. That is by ALTI\+, which over sentence pairs "
            rf"of this checkpoint gives 50 %; rollout gives ({PERCENT})\. By ALTI\+ {PLACED} \(({PERCENT})\) has least "
            rf"of the source, {PLACED} \(({PERCENT})\) most\.",
            finding_text(describe_shares(shares)),
        )
        assert as_percent(said[1], 1 - np.mean(prefix))
        assert as_percent(said[2], np.mean([sum(row[:width]) for row in rolled.across[-1]]))
        least, most = place_of(trace.target_tokens, said[3], said[4]), place_of(trace.target_tokens, said[6], said[7])
        assert prefix[least] >= max(prefix) - 1e-9 and prefix[most] <= min(prefix) + 1e-9
        assert as_percent(said[5], 1 - prefix[least]) and as_percent(said[8], 1 - prefix[most])


def spearman(first, second):
    """Correlation of the ranks by counting, ties in the middle."""
    ranks = [[sum(y < x for y in each) + sum(y == x for y in each) / 2 for x in each] for each in (first, second)]
    return np.corrcoef(*ranks)[0, 1]


def test_what_speaks_for_either_candidate_is_so():
    model, agreements = loaded("en-de").model, set()
    for trace in TEXTS:
        step = (len(trace.target_ids) - 1) // 2
        asked = model, trace.source_ids, trace.decoder_input_ids[: step + 1]
        chosen, other = trace.target_ids[step], int(trace.candidate_ids[step][2])
        names, fed = (
            (trace.target_tokens[step], trace.candidate_tokens[step][2]),
            trace.decoder_input_tokens[: step + 1],
        )
        methods = [method(*asked, chosen, other) for method in (gradient_times_input, leave_one_out)]
        text = finding_text(describe_contrast(Contrast(*names, trace.source_tokens, fed, *methods)))
        # By linearity: what speaks for the one token, less what speaks for the other, each computed alone.
        apart = []
        for method in (gradient_times_input, leave_one_out):
            one, two = method(*asked, chosen), method(*asked, other)
            apart.append(np.concatenate([one.source - two.source, one.prefix[1:] - two.prefix[1:]]))
        width = len(trace.source_tokens)
        bar = r"“([^”]+)”(?: \(position (\d+)\))? of the (source|prefix) \((−?[\d.]+)\)"
        said = re.findall(rf"by (\S[^“]*?) {bar} and {bar}", text.partition("Highest and lowest bar: ")[2])
        assert [each[0] for each in said] == ["gradient × input", "leave-one-out"]
        for (_, *bars), values in zip(said, apart, strict=True):
            for (token, position, side, value), most in zip(
                (bars[:4], bars[4:]), (np.nanmax(values), np.nanmin(values)), strict=True
            ):
                at = place_of(trace.source_tokens if side == "source" else fed, token, position or None)
                at += (side == "prefix") * (width - 1)
                assert number(value) == pytest.approx(most, abs=0.0061) and values[at] == pytest.approx(most, abs=1e-3)
        known = np.isfinite(apart[0]) & np.isfinite(apart[1])
        said = re.match(rf"The two methods (.*?): their ranks correlate by {NUMBER}\.", text)
        assert bool(said) != text.startswith("There is too little here to compare the two methods.")
        if said:
            value = spearman(apart[0][known], apart[1][known])
            assert number(said[2]) == pytest.approx(value, abs=0.03)
            agreements.add(said[1])
            bounds = {"agree": (0.69, 1), "agree in part": (0.29, 0.71), "do not agree": (-1, 0.31)}[said[1]]
            assert bounds[0] <= value <= bounds[1] + 1e-9
    assert len(agreements) > 1


def test_what_the_model_gives_a_translation_is_so():
    own, kinds = loaded("en-de"), set()
    for trace, other in zip(TEXTS, (*TEXTS[1:], TEXTS[0]), strict=True):
        words = trace.target_text.split()
        for given in (" ".join(words[::-1]) or "Ja.", trace.target_text or "Nein.", other.target_text or "Haus"):
            forced = own.trace(trace.source_text, target=given)
            kinds.add(check_own(finding_text(describe_own(forced, trace)), forced, trace))
    # The search's own hypothesis as the given one, against a worse one as the model's: the other way round.
    forced = own.trace(TEXTS[0].source_text, target=TEXTS[1].target_text)
    best = own.trace(TEXTS[0].source_text, target=Hypothesis(TEXTS[0].target_ids, 0.0, 0.0, True))
    kinds.add(check_own(finding_text(describe_own(best, forced)), best, forced))
    assert kinds == {"same", "its own", "your"}


def test_a_translation_is_said_to_be_unfound_only_where_the_beam_did_not_find_it():
    """In forty sentences, of every hypothesis of a beam: a shorter one may have more log P and less score."""
    own, lower, missed = loaded("en-de"), 0, 0
    for trace in (one for one in traces() if len(one.target_ids) < 40):
        found = own.hypotheses(trace.source_text, Beam(4, 1.0))
        ids = [one.ids for one in found]
        first = own.trace(trace.source_text, target=found[0])
        for rank, one in enumerate(found[1:], start=2):
            second = own.trace(trace.source_text, target=one)
            more = sums(second)[0] - sums(first)[0]
            text = finding_text(describe_own(second, first, ids))
            assert ("missed" not in text) and (f"found yours too, in place {rank}: it ranks" in text) == (more > 0.005)
            alone = finding_text(describe_own(second, first))
            assert ("missed yours." in alone) == (more > 0.005)
            lower += more > 0.005
        ranked_second = finding_text(
            describe_own(first, second, ids)
        )  # the page shows the last of the beam, yours is its best
        assert "over a length penalty" not in ranked_second and "missed" not in ranked_second
        missed += 1
    assert lower and missed > 30


@torch.no_grad()
def log_softmax(trace):
    model = loaded("en-de").model
    seen = model(torch.tensor([trace.source_ids]), torch.tensor([trace.decoder_input_ids]))[0]
    return seen.double().log_softmax(-1).numpy()


def sums(trace):
    values = log_softmax(trace)[range(len(trace.target_ids)), trace.target_ids]
    return values.sum(), values.mean()


def check_own(text, own, model):
    """Both log P, which is more probable and how many times, and where the first candidate is another."""
    check_where(text, own)
    said = re.findall(rf"log P {NUMBER} over (\d+) tokens?", text)
    for (total, count), trace in zip(said, (own, model), strict=False):
        assert number(total) == pytest.approx(sums(trace)[0], abs=0.006) and int(count) == len(trace.target_ids)
    if "token for token" in text:
        assert own.target_ids == model.target_ids and len(said) == 1
        return "same"
    gap = sums(model)[0] - sums(own)[0]
    whose, times = re.match(
        r"The model finds (its own|your) translation ([\d.,]+(?:·10[⁰¹²³⁴-⁹]+)?) times as probable\.", text
    ).groups()
    assert (whose == "its own") == (gap > 0) and len(said) == 2
    value = scientific_number(times) if "·" in times else number(times)
    assert np.log(value) == pytest.approx(abs(gap), abs=0.06)
    return whose


def check_where(text, trace):
    values = log_softmax(trace)
    own = values[range(len(trace.target_ids)), trace.target_ids]
    ranks = 1 + (values > own[:, None] + 1e-6).sum(axis=1)
    if not (ranks > 1).any():
        assert text.endswith("Each token is the model's first candidate.")
        return
    said = re.search(
        rf"At (\d+) of (\d+) tokens? the model's first candidate is another; least probable of these is {PLACED} "
        rf"\(log P {NUMBER}\), where it would write “(.+)” \(({PERCENT})\)\.$",
        text,
    )
    assert (int(said[1]), int(said[2])) == ((ranks > 1).sum(), len(ranks))
    place = place_of(trace.target_tokens, said[3], said[4])
    assert own[place] <= own[ranks > 1].min() + 1e-4 and number(said[5]) == pytest.approx(own[place], abs=0.0051)
    best = int(values[place].argmax())
    assert said[6] == loaded("en-de").tokenizer.piece_text(best) and as_percent(said[7], np.exp(values[place, best]))


def test_the_least_probable_is_of_those_tokens_alone_whose_first_candidate_is_another():
    """Over random probabilities and ranks: a first candidate may itself be improbable."""
    random, firsts = np.random.default_rng(8), 0
    for _ in range(500):
        chances, ranks = random.uniform(0.01, 0.9, 3), random.integers(1, 4, 3)
        likelier = [[min(0.99, chance + 0.01), chance] for chance in chances]
        words = describe_where(
            made_trace(
                target_probabilities=chances,
                target_ranks=ranks,
                candidate_ids=np.array([[77 if rank > 1 else id, 78] for rank, id in zip(ranks, IDS, strict=True)]),
                candidate_tokens=tuple(("▁x" if rank > 1 else "▁own", "▁y") for rank in ranks),
                candidate_probabilities=np.array(likelier),
            )
        )
        others = np.flatnonzero(ranks > 1)
        if not len(others):
            assert words == "Each token is the model's first candidate."
            continue
        said = re.match(rf"At (\d) of 3 tokens .* is {PLACED} \(log P {NUMBER}\), where it would write “.+”", words)
        least = others[chances[others].argmin()]
        assert int(said[1]) == len(others) and place_of(NEXT, said[2], said[3]) == least, words
        assert as_printed(said[4], np.log(chances[least]))
        firsts += chances.argmin() not in others
    assert firsts > 50


def test_the_parts_are_said_to_sum_to_what_an_unobserved_pass_has():
    """In forty sentences at their first, middle and last step."""
    for name, trace in [("reverse", trace_of("reverse", "abc def")), *(("en-de", each) for each in traces())]:
        last = len(trace.target_ids) - 1
        for step in sorted({0, last // 2, last}):
            asked = loaded(name).model, trace.source_ids, trace.decoder_input_ids[: step + 1], trace.target_ids[step]
            assert_parts(*asked)


def test_they_are_so_for_one_layer_of_one_head_and_where_every_part_takes():
    model = unlike_model(num_encoder_layers=1, num_decoder_layers=1, num_heads=1)
    source, fed = [*random_ids(4).tolist(), 3], [2, 9]
    for token in range(4, 31):
        assert_parts(model, source, fed, token)


KINDS = {
    "the embedding": "embedding",
    "the position": "position",
    "reading its own words": "self-attention",
    "reading the source": "cross-attention",
    "the feed-forwards": "feed-forward",
    "the biases": "biases",
}
PARTS = re.compile(
    r"(?P<kind>.+?) (?P<does>contributes? most|takes? least)\. .+?: (?P<by>\S+)\. "
    r"(?:(?P<taker>\S.+?) takes? most, (?P<taken>\S+)\. )?All parts sum to (?P<sum>\S+); the run's logit of “x” is "
    r"(?P<logit>\S+)\. The highest head is (?P<of>.+?) layer (?P<layer>\d+), head (?P<head>\d+) \((?P<most>\S+)\), the "
    r"highest feed-forward that of layer (?P<forward>\d+) \((?P<part>\S+)\)\."
)


def assert_parts(model, source, fed, token):
    """What is said sums to the logit of a pass, and the kind, head and feed-forward that are named are the highest."""
    with torch.inference_mode():
        logits = model(torch.tensor([source]), torch.tensor([fed]))[0, -1].double()
    found = attribute_logit(model, source, fed, token)
    said, expected = PARTS.fullmatch(finding_text(describe_parts(found, "x"))), float(logits[token])
    assert [number(said["sum"]), number(said["logit"])] == pytest.approx([expected] * 2, abs=0.0052)
    sums = {
        "embedding": found.embedding,
        "position": found.position,
        "self-attention": np.sum(found.decoder),
        "cross-attention": np.sum(found.cross),
        "feed-forward": np.sum(found.feed_forward),
        "biases": found.biases,
    }
    check_kinds(said, sums)
    heads = {"masked decoder self-attention": found.decoder, "cross-attention": found.cross}
    layer, head, of_forward = (int(said[name]) - 1 for name in ("layer", "head", "forward"))
    named = heads[said["of"]][layer, head], found.feed_forward[of_forward]
    assert named == (max(found.decoder.max(), found.cross.max()), max(found.feed_forward))
    assert [number(said["most"]), number(said["part"])] == pytest.approx(named, abs=0.0051)


def check_kinds(said, sums):
    """The kind named adds most, or, where all take, takes least; what takes most is named wherever one does."""
    kind, lowest = KINDS[said["kind"][0].lower() + said["kind"][1:]], min(sums.values())
    assert sums[kind] == max(sums.values()) and number(said["by"]) == pytest.approx(sums[kind], abs=0.0051)
    assert said["does"].startswith("contribute") == (sums[kind] > 0)
    many = said["kind"].startswith("The ") and said["kind"].endswith("s")  # reading its own words is one
    assert said["does"].split()[0].endswith("s") != many, "subject and verb agree in number"
    assert bool(said["taker"]) == (lowest <= -0.005), "a part is not more than the whole alone"
    if said["taker"]:
        taker = said["taker"][0].lower() + said["taker"][1:]
        assert sums[KINDS[taker]] == lowest and number(said["taken"]) == pytest.approx(-lowest, abs=0.0051)


def test_what_takes_is_not_said_to_add():
    """Over random parts of both signs, all negative ones among them."""
    random, does = np.random.default_rng(7), set()
    for _ in range(300):
        middle = random.choice([-3, 0, 3])
        shapes = {"decoder": (2, 3), "cross": (2, 3), "feed_forward": 2}
        parts = {name: random.normal(middle, 1, shape) for name, shape in shapes.items()}
        numbers = dict(zip(("embedding", "position", "biases"), random.normal(middle, 1, 3).tolist(), strict=True))
        found = LogitAttribution(**parts, **numbers, logit=0.0)
        said = PARTS.fullmatch(finding_text(describe_parts(found, "x")))
        check_kinds(said, {name: float(np.sum(value)) for name, value in found.by_kind().items()})
        assert number(said["part"]) == pytest.approx(parts["feed_forward"].max(), abs=0.0051)
        does.add(said["does"])
    assert does >= {"contributes most", "contribute most", "takes least", "take least"}
