"""Laws of rollout's sentences: what is said of shares and of source and prefix, by products of maps made here."""

import re
from functools import cache

import numpy as np
import pytest
from support.claims import as_printed
from support.made import made_map
from support.traced import TOKEN, place_of, traces, translator

from headlight.plots.contributions import raw_and_rolled
from headlight.views.attention.rollout import (
    ALTI,
    HALVES,
    MEASURED,
    describe_diagonal,
    describe_parts,
    describe_shares,
)
from transformer.interpret.attention_block import block_parameters, record_stages
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import alti, contributions, half_and_half, measured_mixing, roll_out

NUMBER = r"(\d\.\d+)"


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
    memory, target = found["encoder"][-1], len(trace.decoder_input_tokens)
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
        stream = record_residual_stream(model, trace.source_ids, trace.decoder_input_ids)
        for name, mixing in ((HALVES, half_and_half(*maps)), (MEASURED, measured_mixing(stream))):
            found.append((trace, name, mixing, roll_out(*maps, mixing), by_hand(trace, mixing)))
    return found


SHARES = re.compile(
    rf"The maximum moves in (\d+) of (\d+) rows(?:, most clearly in that of {TOKEN}: from {TOKEN} \(weight {NUMBER}\) "
    rf"to {TOKEN} \(share {NUMBER}\))?\. Row maxima are {NUMBER} on average in the weights, {NUMBER} in the shares; "
    rf"over all rows {TOKEN} has most \(share {NUMBER}, weight {NUMBER}\)\."
)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_what_is_said_of_weights_and_shares_is_so(kind):
    moved_somewhere = False
    for trace, _, _, rollout, own in cases():
        keys = trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens
        queries = trace.source_tokens if kind == "encoder" else trace.decoder_input_tokens
        for layer in range(len(trace.encoder)):
            said = SHARES.fullmatch(describe_shares(*raw_and_rolled(trace, rollout, kind, layer, "fed")))
            before = getattr(trace, kind)[layer].astype(np.float64).mean(axis=0)
            after = own[kind][layer][:, : len(keys)]
            moved = [row for row in range(len(before)) if before[row].argmax() != after[row].argmax()]
            assert (int(said[1]), int(said[2])) == (len(moved), len(before))
            assert bool(said[3]) == bool(moved)
            if moved:
                row = place_of(queries, said[3], said[4])
                old, new = place_of(keys, said[5], said[6]), place_of(keys, said[8], said[9])
                assert (
                    row in moved and before[row, old] >= max(before[row]) - 1e-6 and after[row, new] == max(after[row])
                )
                assert as_printed(said[7], before[row, old]) and as_printed(said[10], after[row, new])
                gaps = [max(after[each]) - after[each, before[each].argmax()] for each in moved]
                assert gaps[moved.index(row)] >= max(gaps) - 1e-6
            assert as_printed(said[11], np.mean([max(row) for row in before]))
            assert as_printed(said[12], np.mean([max(row) for row in after]))
            column = place_of(keys, said[13], said[14])
            assert after[:, column].mean() >= after.mean(axis=0).max() - 1e-6
            assert as_printed(said[15], after[:, column].mean()) and as_printed(said[16], before[:, column].mean())
            moved_somewhere |= bool(moved)
    assert moved_somewhere


def test_a_maximum_that_is_shared_does_not_move():
    tied = describe_shares(made_map([[0.5, 0.5, 0], [0.2, 0.8, 0]]), made_map([[0.3, 0.7, 0], [0.3, 0.6, 0.1]]))
    assert tied.startswith("The maximum moves in 0 of 2 rows.")


def test_what_stays_with_a_token_is_said_with_what_no_attention_ever_touched():
    for trace, _, mixing, rollout, own in cases():
        for kind in ("encoder", "decoder"):
            for layer in range(len(trace.encoder)):
                _, rolled = raw_and_rolled(trace, rollout, kind, layer, "fed")
                parts = getattr(mixing, kind)[: layer + 1]
                said = re.fullmatch(
                    rf"A row's own token has {NUMBER} on average, at most {NUMBER} \({TOKEN}\); of the average, "
                    rf"{NUMBER} comes through the residual connections alone\.",
                    describe_diagonal(rolled, parts),
                )
                kept = [own[kind][layer][token, token] for token in range(len(rolled.weights))]
                most = place_of(rolled.queries, said[3], said[4])
                assert as_printed(said[1], np.mean(kept)) and as_printed(said[2], kept[most])
                assert kept[most] >= max(kept) - 1e-9
                alone = np.ones(len(kept))  # by the same mixing with attention that brings nothing
                for part in parts:
                    alone = np.array([(1 - m) * each for m, each in zip(part, alone, strict=True)])
                assert as_printed(said[5], alone.mean()) and alone.mean() <= np.mean(kept) + 1e-9


def check_parts(text, trace, source, measure):
    """Whether the sentence on a measured share is true of the source's share in each step, [target]."""
    said = re.fullmatch(
        rf"By {measure} the source's share is {NUMBER} on average: from {NUMBER} in step (\d+), which predicts “(.+?)”"
        rf", to {NUMBER} in step (\d+), which predicts “(.+?)”\.",
        text,
    )
    least, most = int(said[3]) - 1, int(said[6]) - 1
    assert (said[4], said[7]) == (trace.target_tokens[least], trace.target_tokens[most])
    assert source[most] >= max(source) - 1e-6 and source[least] <= min(source) + 1e-6
    assert as_printed(said[1], source.mean()) and as_printed(said[2], min(source)) and as_printed(said[5], max(source))


def test_what_the_source_has_of_each_step_is_so():
    for trace, name, _, rollout, own in cases():
        width = len(trace.source_tokens)
        for layer in range(len(trace.encoder)):
            text = describe_parts(trace, rollout, layer, name)
            source = own["cross"][layer][:, :width].sum(axis=1)
            if name == MEASURED:
                check_parts(text, trace, source, "norm-based rollout")
                continue
            assert text.startswith(f"With a half each the source's share is 1 − ½{'¹²³'[layer]} = ")
            assert all(float(re.search(r" = ([\d.]+) in", text)[1]) == pytest.approx(each, abs=5e-5) for each in source)


def test_what_alti_says_of_a_row_and_of_the_source_is_so():
    model = translator().model
    for trace in traces()[:36:7]:
        rollout, layers = alti(model, trace.source_ids, trace.decoder_input_ids), {}
        for kind in ("encoder", "decoder", "cross"):
            stages = [
                record_stages(model, trace.source_ids, trace.decoder_input_ids, kind, layer) for layer in range(3)
            ]
            layers[kind] = [
                contributions(each, block_parameters(model, kind, layer), reads_itself=kind != "cross")
                for layer, each in enumerate(stages)
            ]
        memory = layers["encoder"][2] @ layers["encoder"][1] @ layers["encoder"][0]
        width, prefix = (
            len(memory),
            np.eye(len(trace.decoder_input_tokens)),
        )  # what each row has of the prefix, layer by layer
        for layer in range(3):
            prefix = layers["cross"][layer][:, width:] * (layers["decoder"][layer] @ prefix)
            check_parts(describe_parts(trace, rollout, layer, ALTI), trace, 1 - prefix.sum(axis=1), r"ALTI\+")
        _, rolled = raw_and_rolled(trace, rollout, "encoder", 2, "fed")
        said = re.fullmatch(
            rf"A row's own token has {NUMBER} on average, at most {NUMBER} \({TOKEN}\)\.",
            describe_diagonal(rolled, None),
        )
        most = place_of(trace.source_tokens, said[3], said[4])
        assert as_printed(said[1], np.diagonal(memory).mean()) and as_printed(said[2], memory[most, most])
        assert memory[most, most] >= max(np.diagonal(memory)) - 1e-6
