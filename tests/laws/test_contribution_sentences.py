"""Laws of the sentences on source and prefix, on two candidates, and on a translation that is given."""

import re

import numpy as np
import pytest
import torch
from support.claims import as_percent, as_printed, number, scientific_number
from support.streams import loaded
from support.traced import place_of, traces

from headlight.plots.contributions import Contrast
from headlight.views.what_if.own_translation import describe_own, describe_where
from headlight.views.why.contrast import describe_contrast
from headlight.views.why.source_or_prefix import describe_shares, describe_token
from transformer import Beam
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.attribution import gradient_times_input, leave_one_out
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import SourceShares, alti, measured_mixing, roll_out

NUMBER = r"(−?[\d.]*\d)"
PLACED = r"“(.+?)”(?: \((?:position|output token) (\d+)\))?"
TEXTS = traces()[1:36:5]


def test_what_source_and_prefix_contribute_is_so():
    model = loaded("en-de").model
    for trace in TEXTS:
        across = alti(model, trace.source_ids, trace.decoder_input_ids).across[-1]
        mixing = measured_mixing(record_residual_stream(model, trace.source_ids, trace.decoder_input_ids))
        rolled = roll_out(trace.encoder, trace.decoder, trace.cross, mixing)
        width = len(trace.source_tokens)
        prefix = [sum(row[width:]) for row in across]  # the source has what the prefix has not
        shares = SourceShares(trace.target_tokens, 1 - np.array(prefix), rolled.source_share()[-1], 0.5)
        said = re.fullmatch(
            rf"By ALTI\+ the source contributes {NUMBER} on average \(0\.50 over sentence pairs of this checkpoint\), "
            rf"by rollout {NUMBER}\. Lowest by ALTI\+: {PLACED} \({NUMBER}\), highest: {PLACED} \({NUMBER}\)\.",
            describe_shares(shares),
        )
        assert as_printed(said[1], 1 - np.mean(prefix))
        assert as_printed(said[2], np.mean([sum(row[:width]) for row in rolled.across[-1]]))
        least, most = place_of(trace.target_tokens, said[3], said[4]), place_of(trace.target_tokens, said[6], said[7])
        assert prefix[least] >= max(prefix) - 1e-9 and prefix[most] <= min(prefix) + 1e-9
        assert as_printed(said[5], 1 - prefix[least]) and as_printed(said[8], 1 - prefix[most])
        for step, row in enumerate(across):
            check_token(describe_token(trace, step, row), trace, step, row)


def check_token(text, trace, step, row):
    said = re.fullmatch(
        rf"To {PLACED} contribute most {PLACED} of the source \({NUMBER}\) and {PLACED} of the prefix \({NUMBER}\)\.",
        text,
    )
    assert place_of(trace.target_tokens, said[1], said[2]) == step
    width = len(trace.source_tokens)
    of_source = place_of(trace.source_tokens, said[3], said[4])
    of_prefix = place_of(trace.decoder_input_tokens[: step + 1], said[6], said[7])
    assert as_printed(said[5], max(row[:width])) and as_printed(said[8], max(row[width:]))
    assert as_printed(said[5], row[of_source]) and as_printed(said[8], row[width + of_prefix])


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
        text = describe_contrast(Contrast(*names, trace.source_tokens, fed, *methods))
        assert text.startswith(f"Above 0 speaks for “{names[0]}”, below for “{names[1]}”. By ")
        # By linearity: what speaks for the one token, less what speaks for the other, each computed alone.
        apart = []
        for method in (gradient_times_input, leave_one_out):
            one, two = method(*asked, chosen), method(*asked, other)
            apart.append(np.concatenate([one.source - two.source, one.prefix[1:] - two.prefix[1:]]))
        width = len(trace.source_tokens)
        bar = r"that of “([^”]+)”(?: \(position (\d+)\))? of the (source|prefix) \((−?[\d.]+)\)"
        said = re.findall(rf"By (\S.*?) the highest bar is {bar}, the lowest {bar}\.", text)
        assert [each[0] for each in said] == ["gradient × input", "leave-one-out"]
        for (_, *bars), values in zip(said, apart, strict=True):
            for (token, position, side, value), most in zip(
                (bars[:4], bars[4:]), (np.nanmax(values), np.nanmin(values)), strict=True
            ):
                at = place_of(trace.source_tokens if side == "source" else fed, token, position or None)
                at += (side == "prefix") * (width - 1)
                assert number(value) == pytest.approx(most, abs=0.0061) and values[at] == pytest.approx(most, abs=1e-3)
        known = np.isfinite(apart[0]) & np.isfinite(apart[1])
        said = re.search(rf"The ranks of (\d+) tokens correlate by {NUMBER} \(Spearman\): the methods (.*?)\. ", text)
        if said:
            value = spearman(apart[0][known], apart[1][known])
            assert int(said[1]) == known.sum() and number(said[2]) == pytest.approx(value, abs=0.03)
            agreements.add(said[3])
            bounds = {"agree": (0.69, 1), "agree in part": (0.29, 0.71), "do not agree": (-1, 0.31)}[said[3]]
            assert bounds[0] <= value <= bounds[1] + 1e-9
    assert len(agreements) > 1


@torch.no_grad()
def log_softmax(trace):
    model = loaded("en-de").model
    return (
        model(torch.tensor([trace.source_ids]), torch.tensor([trace.decoder_input_ids]))[0]
        .double()
        .log_softmax(-1)
        .numpy()
    )


def test_what_the_model_gives_a_translation_is_so():
    own, kinds = loaded("en-de"), set()
    for trace, other in zip(TEXTS, (*TEXTS[1:], TEXTS[0]), strict=True):
        words = trace.target_text.split()
        for given in (" ".join(words[::-1]) or "Ja.", trace.target_text or "Nein.", other.target_text or "Haus"):
            forced = own.trace(trace.source_text, target=given)
            kinds.add(check_own(describe_own(forced, trace), forced, trace))
            check_where(describe_where(forced), forced)
    # The search's own hypothesis as the given one, against a worse one as the model's: the other way round.
    forced = own.trace(TEXTS[0].source_text, target=TEXTS[1].target_text)
    best = own.trace(TEXTS[0].source_text, target=Hypothesis(TEXTS[0].target_ids, 0.0, 0.0, True))
    kinds.add(check_own(describe_own(best, forced), best, forced))
    assert kinds == {"same", "its own", "yours"}


def test_a_translation_that_the_beam_ranked_lower_is_not_said_to_be_unfound():
    """A shorter one may have more log P and less score, which divides by a length penalty."""
    own = loaded("en-de")
    for trace in traces():
        found = own.hypotheses(trace.source_text, Beam(4, 1.0))
        better = [rank for rank, one in enumerate(found) if one.log_probability > found[0].log_probability]
        if better:
            first, second = (own.trace(trace.source_text, target=found[rank]) for rank in (0, better[0]))
            text = describe_own(second, first, [one.ids for one in found])
            assert f"Its beam found yours too, in place {better[0] + 1}:" in text and "did not find" not in text
            assert describe_own(second, first).endswith("Its decoding did not find yours.")
            return
    raise AssertionError("no beam ranked a translation of more log P lower")


def sums(trace):
    values = log_softmax(trace)[range(len(trace.target_ids)), trace.target_ids]
    return values.sum(), values.mean()


def check_own(text, own, model):
    said = re.findall(rf"log P {NUMBER} over (\d+) tokens?, {NUMBER} per token", text)
    for (total, count, mean), trace in zip(said, (own, model), strict=False):
        whole, each = sums(trace)
        assert number(total) == pytest.approx(whole, abs=0.006) and number(mean) == pytest.approx(each, abs=0.0055)
        assert int(count) == len(trace.target_ids)
    if "token for token" in text:
        assert own.target_ids == model.target_ids
        return "same"
    gap = sums(model)[0] - sums(own)[0]
    whose, times = re.search(r"To the model (its own|yours) is ([\d.,]+(?:·10[⁰¹²³⁴-⁹]+)?) times", text).groups()
    assert (whose == "its own") == (gap > 0)
    value = scientific_number(times) if "·" in times else number(times)
    assert np.log(value) == pytest.approx(abs(gap), abs=0.06)
    return whose


def check_where(text, trace):
    values = log_softmax(trace)
    own = values[range(len(trace.target_ids)), trace.target_ids]
    ranks = 1 + (values > own[:, None] + 1e-6).sum(axis=1)
    if not (ranks > 1).any():
        assert text == "Each token is the model's first candidate."
        return
    said = re.search(rf"at (\d+) of (\d+) tokens?\. .*? is {PLACED} \(log P {NUMBER}, rank ([\d,]+)\)", text)
    assert (int(said[1]), int(said[2])) == ((ranks > 1).sum(), len(ranks))
    place = place_of(trace.target_tokens, said[3], said[4])
    assert own[place] <= own[ranks > 1].min() + 1e-4 and number(said[5]) == pytest.approx(own[place], abs=0.0051)
    assert number(said[6]) == pytest.approx(ranks[place], abs=1)
    first, chance = re.search(r"would write “(.+)” \((.+? %)\)", text).groups()
    best = int(values[place].argmax())
    assert first == loaded("en-de").tokenizer.piece_text(best) and as_percent(chance, np.exp(values[place, best]))
