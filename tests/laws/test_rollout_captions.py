"""Laws of rollout's captions: what is said of shares and of source and prefix, by products of maps made here."""

import dataclasses
import re
from functools import cache

import numpy as np
import pytest
from support.traced import TOKEN, place_of, traces, translator

from headlight.views.attention.rollout_figure import raw_and_rolled
from headlight.views.attention.rollout_text import (
    ALTI,
    HALVES,
    MEASURED,
    describe_diagonal,
    describe_parts,
    describe_shares,
)
from transformer.interpret.attention_block import block_parameters, record_stages
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import half_and_half, measured_mixing, roll_out
from transformer.interpret.what_if.alti import alti, contributions

NUMBER = r"(\d\.\d+)"


def close(said, value):
    """Whether a number is printed as this value, to its own digits."""
    return abs(float(said) - value) <= 0.5 * 10.0 ** -len(said.partition(".")[2]) + 1e-9


def mix(kept, read, part):
    return np.array([(1 - m) * k + m * r for k, r, m in zip(kept, read, part, strict=True)])


def by_hand(trace, mixing):
    """Shares after each layer by plain products: encoder, decoder, and across both [target, source + target]."""
    maps = {kind: getattr(trace, kind).astype(np.float64).mean(axis=1) for kind in ("encoder", "decoder", "cross")}
    found = {}
    for kind in ("encoder", "decoder"):
        shares = [np.eye(maps[kind].shape[-1])]
        for layer, part in zip(maps[kind], getattr(mixing, kind), strict=True):
            shares.append(mix(shares[-1], layer @ shares[-1], part))
        found[kind] = shares[1:]
    memory, target = found["encoder"][-1], len(trace.fed_tokens)
    shares, found["cross"] = np.hstack([np.zeros((target, len(memory))), np.eye(target)]), []
    for layer in range(len(maps["cross"])):
        shares = mix(shares, maps["decoder"][layer] @ shares, mixing.decoder[layer])
        read = np.hstack([maps["cross"][layer] @ memory, np.zeros((target, target))])
        shares = mix(shares, read, mixing.cross[layer])
        found["cross"].append(shares)
    return found


@cache
def cases():
    """Each sentence with each mixing: trace, mixing, the page's rollout, and the one by hand."""
    model, found = translator().model, []
    for trace in traces():
        maps = trace.encoder, trace.decoder, trace.cross
        stream = record_residual_stream(model, trace.source_ids, trace.fed_ids)
        for name, mixing in ((HALVES, half_and_half(*maps)), (MEASURED, measured_mixing(stream))):
            found.append((trace, name, mixing, roll_out(*maps, mixing), by_hand(trace, mixing)))
    return found


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_what_is_said_of_weights_and_shares_is_so(kind):
    moved_somewhere = False
    for trace, _, _, rollout, own in cases():
        keys = trace.fed_tokens if kind == "decoder" else trace.source_tokens
        queries = trace.source_tokens if kind == "encoder" else trace.fed_tokens
        for layer in range(len(trace.encoder)):
            raw, rolled = raw_and_rolled(trace, rollout, kind, layer, "fed")
            text = describe_shares(raw, rolled)
            before = getattr(trace, kind)[layer].astype(np.float64).mean(axis=0)
            after = own[kind][layer][:, : len(keys)]
            rows = [row for row in range(len(before)) if kind != "decoder" or row > 0]
            if not rows:
                assert "nothing to compare" in text
                continue
            said = re.match(
                rf"The largest weight of a row is {NUMBER} on average, the largest share (?:of a source token )?"
                rf"{NUMBER}\. Over all rows {TOKEN} has the largest share (?:of a source token )?\({NUMBER} on "
                rf"average\); its average weight in this layer is {NUMBER}\. ",
                text,
            )
            assert close(said[1], np.mean([max(before[row]) for row in rows]))
            assert close(said[2], np.mean([max(after[row]) for row in rows]))
            column = place_of(keys, said[3], said[4])
            assert after[:, column].mean() >= after.mean(axis=0).max() - 1e-6
            assert close(said[5], after[:, column].mean()) and close(said[6], before[:, column].mean())
            moved = [row for row in rows if before[row].argmax() != after[row].argmax()]
            moved_somewhere |= bool(moved)
            check_moved_rows(text[said.end() :], queries, keys, rows, moved, before, after)
    assert moved_somewhere


def check_moved_rows(text, queries, keys, rows, moved, before, after):
    if not moved:
        where = f"all {len(rows)} rows" if len(rows) > 1 else "the only row"
        assert text == f"In {where} with a choice both belong to the same token."
        return
    said = re.fullmatch(
        rf"In (\d+) of (\d+) rows? with a choice they belong to different tokens: in the row of {TOKEN} the largest "
        rf"weight of this layer is that of {TOKEN} \({NUMBER}\), the largest share (?:of a source token )?that of "
        rf"{TOKEN} \({NUMBER}\); the share of {TOKEN} is {NUMBER}\.",
        text,
    )
    assert (int(said[1]), int(said[2])) == (len(moved), len(rows))
    row = place_of(queries, said[3], said[4])
    old, new = place_of(keys, said[5], said[6]), place_of(keys, said[8], said[9])
    assert row in moved and old != new
    assert before[row, old] == pytest.approx(max(before[row]), abs=1e-6) and close(said[7], before[row, old])
    assert after[row, new] == max(after[row]) and close(said[10], after[row, new])
    assert place_of(keys, said[11], said[12]) == old and close(said[13], after[row, old])
    assert float(said[10]) > float(said[13]), "the largest share is printed larger than the other"
    gaps = [max(after[each]) - after[each, before[each].argmax()] for each in moved]
    assert gaps[moved.index(row)] >= max(gaps) - 1e-6


def test_what_stays_with_a_token_is_said_with_what_no_attention_ever_touched():
    for trace, _, mixing, rollout, own in cases():
        for kind in ("encoder", "decoder"):
            for layer in range(len(trace.encoder)):
                _, rolled = raw_and_rolled(trace, rollout, kind, layer, "fed")
                parts = getattr(mixing, kind)[: layer + 1]
                said = re.fullmatch(
                    rf"The share of a row's own token is {NUMBER} on average, the largest that of {TOKEN} "
                    rf"\({NUMBER}\)\. Of the average, {NUMBER} comes through the residual connections alone\.",
                    describe_diagonal(rolled, parts),
                )
                kept = [own[kind][layer][token, token] for token in range(len(rolled.weights))]
                most = place_of(rolled.queries, said[2], said[3])
                assert close(said[1], np.mean(kept)) and close(said[4], kept[most])
                assert kept[most] >= max(kept) - 1e-9
                alone = np.ones(len(kept))  # by the same mixing with attention that brings nothing
                for part in parts:
                    alone = np.array([(1 - m) * each for m, each in zip(part, alone, strict=True)])
                assert close(said[5], alone.mean()) and alone.mean() <= np.mean(kept) + 1e-9


def test_what_the_source_has_of_each_step_is_so():
    for trace, name, _, rollout, own in cases():
        width = len(trace.source_tokens)
        for layer in range(len(trace.encoder)):
            text = describe_parts(trace, rollout, layer, name)
            source = own["cross"][layer][:, :width].sum(axis=1)
            if name == HALVES:
                check_halves(text, trace, source, own["cross"][layer][:, width:], layer + 1)
            elif "in every step" in text:
                said = re.search(rf"share is {NUMBER} in every step here", text)[1]
                assert all(close(said, each) for each in source)
            else:
                said = re.fullmatch(
                    rf"By norm-based rollout the source's share is largest in step (\d+), which predicts “(.+?)” "
                    rf"\({NUMBER}\), and smallest in step (\d+), which predicts “(.+?)” \({NUMBER}\); {NUMBER} on "
                    r"average\.",
                    text,
                )
                most, least = int(said[1]) - 1, int(said[4]) - 1
                assert (said[2], said[5]) == (trace.next_tokens[most], trace.next_tokens[least])
                assert source[most] == pytest.approx(max(source)) and source[least] == pytest.approx(min(source))
                assert close(said[3], max(source)) and close(said[6], min(source)) and close(said[7], source.mean())
                assert float(said[3]) > float(said[6])


def check_halves(text, trace, source, prefix, layers):
    said = re.match(
        r"The source's share is ([\d.]+) in every step, and would be in any sentence: .*, (.+?) leaves? ", text
    )
    assert all(each == pytest.approx(1 - 0.5**layers) for each in source)
    assert float(said[1]) == pytest.approx(1 - 0.5**layers, abs=5e-5)
    assert said[2] == ("1 layer" if layers == 1 else f"{layers} layers") and ("leaves" in text) == (layers == 1)
    earlier = [sum(prefix[row, :row]) for row in range(len(prefix))]
    named = re.search(
        rf"step (\d+), which predicts “(.+?)”, has the largest share of earlier input tokens \({NUMBER}\)", text
    )
    if not named:
        assert len(earlier) < 2
        return
    step = int(named[1]) - 1
    assert named[2] == trace.next_tokens[step] and earlier[step] >= max(earlier) - 1e-9
    assert close(named[3], earlier[step]) and float(named[3]) > 0


def test_what_alti_says_of_a_row_and_of_the_source_is_so():
    model = translator().model
    for trace in traces()[:36:7]:
        rollout = alti(model, trace.source_ids, trace.fed_ids)
        layers = {}
        for kind in ("encoder", "decoder", "cross"):
            stages = [record_stages(model, trace.source_ids, trace.fed_ids, kind, layer) for layer in range(3)]
            layers[kind] = [
                contributions(each, block_parameters(model, kind, layer), reads_itself=kind != "cross")
                for layer, each in enumerate(stages)
            ]
        memory = layers["encoder"][2] @ layers["encoder"][1] @ layers["encoder"][0]
        width, prefix = len(memory), np.eye(len(trace.fed_tokens))  # what each row has of the prefix, layer by layer
        for layer in range(3):
            prefix = layers["cross"][layer][:, width:] * (layers["decoder"][layer] @ prefix)
            said = re.fullmatch(
                r"By ALTI\+ the source's share is largest in step (\d+), which predicts “(.+?)” "
                rf"\({NUMBER}\), and smallest in step (\d+), which predicts “(.+?)” \({NUMBER}\); {NUMBER} on "
                r"average\.",
                describe_parts(trace, rollout, layer, ALTI),
            )
            source = 1 - prefix.sum(axis=1)
            most, least = int(said[1]) - 1, int(said[4]) - 1
            assert (said[2], said[5]) == (trace.next_tokens[most], trace.next_tokens[least])
            assert source[most] >= max(source) - 1e-6 and source[least] <= min(source) + 1e-6
            assert close(said[3], source[most]) and close(said[6], source[least]) and close(said[7], source.mean())
        _, rolled = raw_and_rolled(trace, rollout, "encoder", 2, "fed")
        said = re.fullmatch(
            rf"The share of a row's own token is {NUMBER} on average, the largest that of {TOKEN} \({NUMBER}\)\.",
            describe_diagonal(rolled, None),
        )
        most = place_of(trace.source_tokens, said[2], said[3])
        assert close(said[1], np.diagonal(memory).mean()) and close(said[4], memory[most, most])
        assert memory[most, most] >= max(np.diagonal(memory)) - 1e-6


def test_a_single_row_with_a_choice_is_one_row_and_a_tie_is_no_other_token():
    trace = next(trace for trace in traces() if len(trace.source_tokens) == 2)
    raw, rolled = raw_and_rolled(trace, roll_out(trace.encoder, trace.decoder, trace.cross), "encoder", 0, "fed")

    def maps(weights, shares):
        return (dataclasses.replace(each, weights=np.array(w)) for each, w in ((raw, weights), (rolled, shares)))

    alone = describe_shares(*maps([[1.0, np.nan], [0.2, 0.8]], [[1.0, np.nan], [0.3, 0.7]]))
    assert alone.endswith("In the only row with a choice both belong to the same token.")
    moved = describe_shares(*maps([[1.0, np.nan], [0.2, 0.8]], [[1.0, np.nan], [0.5004, 0.4996]]))
    assert "In 1 of 1 row with a choice they belong" in moved and "(0.5004); the share" in moved
    tied = describe_shares(*maps([[0.5, 0.5], [0.2, 0.8]], [[0.3, 0.7], [0.3, 0.7]]))
    assert "In all 2 rows with a choice both belong to the same token." in tied
