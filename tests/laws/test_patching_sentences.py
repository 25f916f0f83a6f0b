"""Laws of the findings on activation patching: vectors exchanged by hooks of the tests, one run at a time."""

from functools import cache

import numpy as np
import pytest
import torch
from support.traces import CHECKPOINTS, loaded

from headlight.views.research.patching import describe_cell, describe_map
from transformer.interpret.what_if.patching import (
    PATCHED,
    PatchingMap,
    patched_predictions,
    patching_map,
    read_minimal_pairs,
)

PAIRS = read_minimal_pairs(CHECKPOINTS / "en-de")
SHOWN = [("encoder stream", 2, 3), ("decoder stream", 3, 1), ("cross-attention", 2, 1), ("cross heads", 2, 7)]


def module_of(model, patched, layer):
    if patched == "cross-attention":
        return model.decoder[layer].cross_attention
    if patched == "cross heads":
        return model.decoder[layer].cross_attention.core
    return getattr(model, patched.split()[0])[layer - 1]


@torch.inference_mode()
def logits_of(model, source, fed, module=None, replaced=lambda output: None):
    """The logits after the decoder's input, the output of one module replaced."""
    handle = module.register_forward_hook(lambda _, inputs, output: replaced(output)) if module else None
    try:
        return model(torch.tensor([source]), torch.tensor([fed]))[0, -1].double()
    finally:
        if handle:
            handle.remove()


def patched_logits(model, question, patched, row, column):
    module, outputs = module_of(model, patched, row), []
    logits_of(model, question.clean, question.fed, module, outputs.append)

    def put(output):
        output = output.clone()
        output[:, column] = outputs[0][:, column]
        return output

    return logits_of(model, question.corrupted, question.fed, module, put)


@cache
def mapped(pair, patched):
    """Question, map and columns of a shipped pair."""
    model, tokenizer = loaded("en-de").model, loaded("en-de").tokenizer
    question = pair.question(tokenizer)
    patching = patching_map(model, question, *PATCHED[patched])
    return question, patching, patching.column_names(question, tokenizer)


def both_runs(question):
    model, (one, other) = loaded("en-de").model, question.tokens
    runs = [logits_of(model, source, question.fed) for source in (question.clean, question.corrupted)]
    return runs, [float(logits[one] - logits[other]) for logits in runs]


@pytest.mark.parametrize("patched, row, column", SHOWN)
@pytest.mark.parametrize("pair", PAIRS[::2], ids=lambda pair: pair.name)
def test_a_cell_is_described_by_its_patched_run(pair, patched, row, column):
    model, name = loaded("en-de").model, loaded("en-de").tokenizer.piece_text
    question, patching, columns = mapped(pair, patched)
    seen = patched_predictions(model, question, [patching.cells[row][column]], 3)
    finding = describe_cell(patching, row, column, columns, seen, name)
    runs, (clean, corrupted) = both_runs(question)
    logits = patched_logits(model, question, patched, row, column)
    check_cell(finding, float(logits[question.tokens[0]] - logits[question.tokens[1]]), clean, corrupted)
    best, (like_clean, like_corrupted) = int(logits.argmax()), (each.argmax() == logits.argmax() for each in runs)
    assert finding["cell"].cell == patching.cells[row][column] and finding["best"] == name(best)
    assert finding["chance"] == pytest.approx(float(logits.softmax(-1)[best]), abs=1e-4)
    as_in = "both" if like_clean and like_corrupted else "clean" if like_clean else "corrupted"
    assert finding["as_in"].name == (as_in if like_clean or like_corrupted else "neither")


def check_cell(finding, difference, clean, corrupted):
    """Compare the share of the way between both runs' differences; one past the end or before the start is marked."""
    numbers = finding["difference"], finding["corrupted"], finding["clean"]
    assert numbers == pytest.approx((difference, corrupted, clean), abs=1e-3)
    share = finding["percent"] / 100
    assert share == pytest.approx((difference - corrupted) / (clean - corrupted), abs=1e-3 / abs(clean - corrupted))
    assert ("past" in finding, "away" in finding) == (share >= 1.005, share <= -0.005)


def check_map(finding, shares, cells, apart):
    """Compare the nearest and the farthest cell and the count over half with shares of `cells`."""
    nearest, most = cells.index(finding["cell"].cell), shares.max()
    share = shares[nearest]
    assert abs(1 - share) == pytest.approx(np.abs(1 - shares).min(), abs=1e-3)
    assert abs(finding["most"] - (shares > 0.5).sum()) <= (np.abs(shares - 0.5) < 1e-3).sum()
    assert finding["cells"] == len(shares)
    if np.abs(np.array([0.005, 1.005, 1.995]) - share).min() > 1e-3:
        is_nearer = 0.005 <= share <= 1.995
        assert finding.name == ("none_nearer" if not is_nearer else "overshoots" if share >= 1.005 else "repairs")
    assert finding.numbers["nearest"]["percent"] == pytest.approx(100 * share, abs=0.2)
    if "farthest" in finding:
        assert finding["farthest"]["percent"] == pytest.approx(100 * most, abs=0.2) and most > share
    if min(abs(most - 1.005), abs(most - share)) > 1e-3:
        assert ("farthest" in finding) == (most > max(1.005, share))
    assert ("apart" in finding) == (apart < 1) and (apart >= 1 or finding["apart"] == pytest.approx(apart, abs=1e-3))


def test_no_cell_restores_more_than_all_or_comes_nearer_where_it_does_not():
    """Over random shares: small and large, before the start and past the end."""
    random, names = np.random.default_rng(4), set()
    question, patching, columns = mapped(PAIRS[1], "cross heads")
    cells, seen = (patching.cells[0],), patched_predictions(loaded("en-de").model, question, [patching.cells[0][0]], 1)
    for _ in range(2000):
        shares = random.normal(random.choice([0, 0.6, 1, 2]), 10.0 ** random.uniform(-3, 1), (1, len(columns)))
        clean, corrupted = random.normal(0, 1, 2).round(3)
        finding = describe_map(PatchingMap(cells, shares, clean, corrupted), columns)
        check_map(finding, shares[0], list(cells[0]), abs(clean - corrupted))
        names.add(finding.name)
        cell = describe_cell(PatchingMap(cells, shares, clean, corrupted), 0, 3, columns, seen, str)
        if clean != corrupted:
            check_cell(cell, corrupted + shares[0, 3] * (clean - corrupted), clean, corrupted)
    assert names == {"repairs", "none_nearer", "overshoots"}
    nothing = PatchingMap(cells, np.full((1, len(columns)), np.nan), 1.0, 1.0)
    assert describe_map(nothing, columns).name == "nothing" and nothing.default_cell() == (0, 0)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_the_embeddings_of_a_residual_stream_do_not_count_of_which_a_word_restores_all(stack):
    for pair in PAIRS:
        question, patching, columns = mapped(pair, f"{stack} stream")
        (one, other), (clean, corrupted) = question.tokens, both_runs(question)[1]
        shares, cells = [], []
        for row, at in np.ndindex(patching.shares.shape):
            if row:
                logits = patched_logits(loaded("en-de").model, question, f"{stack} stream", row, at)
                shares.append((float(logits[one] - logits[other]) - corrupted) / (clean - corrupted))
                cells.append(patching.cells[row][at])
            elif stack == "encoder" and sum(map(int.__ne__, question.clean, question.corrupted)) == 1:
                differs = float(question.clean[at] != question.corrupted[at])
                assert patching.shares[0, at] == pytest.approx(differs, abs=1e-4)
        finding = describe_map(patching, columns)
        check_map(finding, np.array(shares), cells, abs(clean - corrupted))
        assert "aside" in finding
