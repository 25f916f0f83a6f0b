"""Laws of the findings on rollout, by products of maps made here."""

from functools import cache

import numpy as np
import pytest
from support.texts import SENTENCES
from support.traces import made_map, trace_of, translator

from headlight.views.research.rollout import HALVES, MEASURED, describe_diagonal, describe_shares
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import half_and_half, measured_mixing, roll_out, share_map
from transformer.interpret.trace import attention_map


def mix(residual, attended, part):
    return np.array([(1 - m) * k + m * r for k, r, m in zip(residual, attended, part, strict=True)])


def by_hand(trace, mixing):
    """Shares after each layer by plain products: encoder, decoder, and across both [target, source + target]."""
    maps = {kind: getattr(trace, kind).astype(np.float64).mean(axis=1) for kind in ("encoder", "decoder", "cross")}
    products = {}
    for kind in ("encoder", "decoder"):
        shares = [np.eye(maps[kind].shape[-1])]
        for layer, part in zip(maps[kind], getattr(mixing, kind), strict=True):
            shares.append(mix(shares[-1], layer @ shares[-1], part))
        products[kind] = shares[1:]
    memory, target = products["encoder"][-1], len(trace.decoder_input_tokens)
    shares, products["cross"] = np.hstack([np.zeros((target, len(memory))), np.eye(target)]), []
    for layer in range(len(maps["cross"])):
        shares = mix(shares, maps["decoder"][layer] @ shares, mixing.decoder[layer])
        attended = np.hstack([maps["cross"][layer] @ memory, np.zeros((target, target))])
        shares = mix(shares, attended, mixing.cross[layer])
        products["cross"].append(shares)
    return products


@cache
def cases():
    """Each sentence with each mixing: trace, mixing, the page's rollout, and the one by hand."""
    model, rows = translator().model, []
    for trace in (trace_of("en-de", text) for text in SENTENCES[:36:6]):
        maps = trace.encoder, trace.decoder, trace.cross
        stream = record_residual_stream(model, trace.source_ids, trace.decoder_input_ids)
        for name, mixing in ((HALVES, half_and_half(*maps)), (MEASURED, measured_mixing(stream))):
            rows.append((trace, name, mixing, roll_out(*maps, mixing), by_hand(trace, mixing)))
    return rows


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_rows_where_weights_and_shares_peak_at_different_tokens(kind):
    names = set()
    for trace, _, _, rollout, products in cases():
        keys = trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens
        for layer in range(len(trace.encoder)):
            raw = attention_map(trace, kind, layer)
            finding = describe_shares(raw, share_map(rollout, trace, kind, layer, "fed"))
            before = getattr(trace, kind)[layer].astype(np.float64).mean(axis=0)
            after = products[kind][layer][:, : len(keys)]
            moved = [row for row in range(len(before)) if before[row].argmax() != after[row].argmax()]
            names.add(finding.name)
            assert finding.name == ("differ" if moved else "agree")
            if moved:
                assert (finding["moved"], finding["rows"]) == (len(moved), len(before))
                row, old, new = (finding[name].position for name in ("row", "old", "new"))
                weights = finding["weight"], finding["share"], before[row, old], after[row, new]
                assert weights == pytest.approx((max(before[row]), max(after[row])) * 2, abs=1e-6)
                gaps = {each: max(after[each]) - after[each, before[each].argmax()] for each in moved}
                assert gaps[row] >= max(gaps.values()) - 1e-6
    assert "differ" in names


def test_a_maximum_that_is_shared_does_not_move():
    tied = describe_shares(made_map([[0.5, 0.5, 0], [0.2, 0.8, 0]]), made_map([[0.3, 0.7, 0], [0.3, 0.6, 0.1]]))
    assert tied.name == "agree"


def test_the_share_that_stays_with_a_token_and_the_part_that_no_attention_touched():
    """Without a decoder's first row, which the mask leaves nothing else to read; half of it is so of any weights."""
    for trace, name, mixing, rollout, products in cases():
        for kind in ("encoder", "decoder"):
            for layer in range(len(trace.encoder)):
                rolled = share_map(rollout, trace, kind, layer, "fed")
                parts, free = getattr(mixing, kind)[: layer + 1], slice(int(kind == "decoder"), None)
                finding, diagonal = describe_diagonal(rolled, parts), np.diagonal(products[kind][layer])[free]
                assert (finding is None) == (not len(diagonal))
                if finding:
                    alone = np.prod(1 - np.array(parts), axis=0)[free].mean()
                    numbers = finding["kept"], finding["alone"]
                    assert numbers == pytest.approx((diagonal.mean(), alone), abs=1e-6) and alone <= numbers[0] + 1e-6
                    assert ("aside" in finding) == (kind == "decoder"), "what the mask makes so is not counted"
                    assert kind == "encoder" or finding["first"].position == 0
                    assert ("always" in finding) == (name == HALVES), "what cannot change is not said as if it did"
