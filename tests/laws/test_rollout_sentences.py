"""Laws of the sentences on rollout, by products of maps made here."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.captions import PERCENT, TOKEN, as_percent, finding_text, place_of
from support.traces import made_map, traces, translator

from headlight.views.research.rollout import HALVES, MEASURED, METHODS, describe_diagonal, describe_shares
from transformer.interpret.attention_block import block_parameters, record_stages
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import alti, contributions, half_and_half, measured_mixing, roll_out, share_map
from transformer.interpret.trace import attention_map

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
    rf"Shares and weights (?:agree: every row peaks at the same token\.|peak at different tokens in (\d+) of (\d+) "
    rf"rows?\. Clearest in that of {TOKEN}: {TOKEN} has the largest weight \(({PERCENT})\), {TOKEN} the largest share "
    rf"\(({PERCENT})\)\.)"
)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_what_is_said_of_weights_and_shares_is_so(kind):
    seen = set()
    for trace, _, _, rollout, own in cases():
        keys = trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens
        queries = trace.source_tokens if kind == "encoder" else trace.decoder_input_tokens
        for layer in range(len(trace.encoder)):
            raw = attention_map(trace, kind, layer)
            said = SHARES.fullmatch(finding_text(describe_shares(raw, share_map(rollout, trace, kind, layer, "fed"))))
            before = getattr(trace, kind)[layer].astype(np.float64).mean(axis=0)
            after = own[kind][layer][:, : len(keys)]
            moved = [row for row in range(len(before)) if before[row].argmax() != after[row].argmax()]
            seen.add(bool(moved))
            assert bool(said[1]) == bool(moved)
            if moved:
                assert (int(said[1]), int(said[2])) == (len(moved), len(before))
                row = place_of(queries, said[3], said[4])
                old, new = place_of(keys, said[5], said[6]), place_of(keys, said[8], said[9])
                assert (
                    row in moved and before[row, old] >= max(before[row]) - 1e-6 and after[row, new] == max(after[row])
                )
                assert as_percent(said[7], before[row, old]) and as_percent(said[10], after[row, new])
                gaps = [max(after[each]) - after[each, before[each].argmax()] for each in moved]
                assert gaps[moved.index(row)] >= max(gaps) - 1e-6
    assert True in seen


def test_a_maximum_that_is_shared_does_not_move():
    tied = describe_shares(made_map([[0.5, 0.5, 0], [0.2, 0.8, 0]]), made_map([[0.3, 0.7, 0], [0.3, 0.6, 0.1]]))
    assert finding_text(tied) == "Shares and weights agree: every row peaks at the same token."


DIAGONAL = re.compile(
    rf"A row's own token has ({PERCENT}) on average(?:, {TOKEN} aside)?(?:; of this, ({PERCENT}) comes through the "
    r"residual connections alone(, whatever the weights)?)?\."
)


def test_what_stays_with_a_token_is_said_with_what_no_attention_ever_touched():
    """Without a decoder's first row, which the mask leaves nothing else to read; a half each is so of any weights."""
    for trace, name, mixing, rollout, own in cases():
        for kind in ("encoder", "decoder"):
            for layer in range(len(trace.encoder)):
                rolled = share_map(rollout, trace, kind, layer, "fed")
                parts, free = getattr(mixing, kind)[: layer + 1], slice(int(kind == "decoder"), None)
                said = DIAGONAL.fullmatch(describe_diagonal(rolled, parts))
                kept = np.diagonal(own[kind][layer])[free]
                if not len(kept):
                    assert describe_diagonal(rolled, parts) == ""
                    continue
                assert as_percent(said[1], kept.mean())
                if kind == "decoder":
                    assert place_of(rolled.queries, said[2], said[3]) == 0
                assert bool(said[2]) == (kind == "decoder"), "what the mask makes so is not counted"
                alone = np.prod(1 - np.array(parts), axis=0)[free]
                assert as_percent(said[4], alone.mean()) and alone.mean() <= kept.mean() + 1e-9
                assert bool(said[5]) == (name == HALVES), "what cannot change is not said as if it did"


def test_what_rollout_is_said_to_look_at_is_what_its_numbers_change_with():
    """Other values with the same weights leave a half each as it is, and change what norms measure."""
    changed = dict.fromkeys((HALVES, MEASURED), False)
    for trace in traces():
        maps, model = (trace.encoder, trace.decoder, trace.cross), translator().model
        stream = record_residual_stream(model, trace.source_ids, trace.decoder_input_ids)
        doubled = replace(
            stream,
            decoder=replace(
                stream.decoder,
                sublayers=tuple(
                    replace(one, change=one.change * 2) if one.name == "cross_attention" else one
                    for one in stream.decoder.sublayers
                ),
            ),
        )
        for name, mixings in (
            (HALVES, (half_and_half(*maps),) * 2),
            (MEASURED, (measured_mixing(stream), measured_mixing(doubled))),
        ):
            one, other = (roll_out(*maps, mixing).across for mixing in mixings)
            changed[name] |= bool(np.abs(one - other).max() > 1e-3)
    for name, is_changed in changed.items():
        assert is_changed == ("measured by norms" in METHODS[name])
        assert is_changed != ("It leaves out values" in METHODS[name])


def test_the_shares_and_the_sentence_of_alti_are_products_of_contributions():
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
        width, prefix = len(memory), np.eye(len(trace.decoder_input_tokens))  # each row's shares of the prefix
        for layer in range(3):
            prefix = layers["cross"][layer][:, width:] * (layers["decoder"][layer] @ prefix)
            np.testing.assert_allclose(rollout.source_share()[layer], 1 - prefix.sum(axis=1), atol=1e-6)
        rolled = share_map(rollout, trace, "encoder", 2, "fed")
        said = DIAGONAL.fullmatch(describe_diagonal(rolled, None))
        assert as_percent(said[1], np.diagonal(memory).mean()) and not said[2] and not said[4]
