"""Laws of the sentences on activation patching: vectors exchanged by a hook of the tests' own, one run at a time."""

import re
from functools import cache

import numpy as np
import pytest
import torch
from support.claims import as_percent, number
from support.streams import CHECKPOINTS, loaded

from headlight.views.what_if.patching import describe_cell, describe_map
from transformer.interpret.what_if.patching import (
    PATCHED,
    PatchingMap,
    patched_predictions,
    patching_map,
    read_minimal_pairs,
)

PAIRS = read_minimal_pairs(CHECKPOINTS / "en-de")
SHOWN = [("encoder stream", 2, 3), ("decoder stream", 3, 1), ("cross-attention", 2, 1), ("cross heads", 2, 7)]
TOLD = (
    r"is (?P<clean>\S+) in the clean run and (?P<corrupted>\S+) in the corrupted run\. Nearest to the clean run comes "
    r"(?P<cell>.+?): (?P<share>\S+) % of the way\. Cells that alone restore over half: (?P<over>\d+) of "
    r"(?P<count>\d+)\."
)


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
    module, kept = module_of(model, patched, row), []
    logits_of(model, question.clean, question.fed, module, kept.append)

    def put(output):
        output = output.clone()
        output[:, column] = kept[0][:, column]
        return output

    return logits_of(model, question.corrupted, question.fed, module, put)


@cache
def mapped(pair, patched):
    """Question, map and columns of a shipped pair."""
    model, tokenizer = loaded("en-de").model, loaded("en-de").tokenizer
    question = pair.question(tokenizer)
    found = patching_map(model, question, *PATCHED[patched])
    return question, found, found.column_names(question, tokenizer)


def both_runs(question):
    model, (one, other) = loaded("en-de").model, question.tokens
    runs = [logits_of(model, source, question.fed) for source in (question.clean, question.corrupted)]
    return runs, [float(logits[one] - logits[other]) for logits in runs]


@pytest.mark.parametrize("patched, row, column", SHOWN)
@pytest.mark.parametrize("pair", PAIRS[::2], ids=lambda pair: pair.name)
def test_what_is_said_of_a_cell_is_what_the_patched_run_does(pair, patched, row, column):
    model, name = loaded("en-de").model, loaded("en-de").tokenizer.piece_text
    question, found, columns = mapped(pair, patched)
    seen = patched_predictions(model, question, [found.cells[row][column]], 3)
    said = re.search(
        r"token of the corrupted run is “(.+?)” \((.+? %)\), as in (.+?) run\. The logit difference is (\S+): (\S+) % "
        r"of the way from the corrupted run's (\S+) to the clean run's (\S+)\.$",
        describe_cell(found, row, column, columns, seen, name),
    ).groups()
    (clean_run, corrupted_run), (clean, corrupted) = both_runs(question)
    logits = patched_logits(model, question, patched, row, column)
    difference = float(logits[question.tokens[0]] - logits[question.tokens[1]])
    numbers = [number(said[at]) for at in (3, 5, 6)]
    assert numbers == pytest.approx([difference, corrupted, clean], abs=0.0051)
    assert number(said[4]) == pytest.approx(100 * (difference - corrupted) / (clean - corrupted), abs=0.51)
    best = int(logits.argmax())
    assert said[0] == name(best) and as_percent(said[1], float(logits.softmax(-1)[best]))
    same = [run for run, each in (("the clean", clean_run), ("the corrupted", corrupted_run)) if each.argmax() == best]
    assert said[2] == (" and ".join(same) or "neither")


@pytest.mark.parametrize("patched, rows", [("encoder stream", (1, 2, 3)), ("cross heads", (0, 1, 2))])
def test_the_nearest_and_how_many_over_half_are_counted_over_runs_of_one_cell_each(patched, rows):
    question, found, columns = mapped(PAIRS[1], patched)
    model, (one, other) = loaded("en-de").model, question.tokens
    said = re.search(TOLD, describe_map(found, columns, ("x", "y")))
    _, (clean, corrupted) = both_runs(question)
    assert [number(said["clean"]), number(said["corrupted"])] == pytest.approx([clean, corrupted], abs=0.0051)
    shares = np.zeros((len(rows), len(columns)))
    for at, row in enumerate(rows):
        for column in range(len(columns)):
            logits = patched_logits(model, question, patched, row, column)
            shares[at, column] = (float(logits[one] - logits[other]) - corrupted) / (clean - corrupted)
    over, nearest = int((shares > 0.5).sum()), np.abs(1 - shares).argmin()
    if patched == "encoder stream":  # of the embeddings, the word that differs restores all
        assert said["share"] == "100" and int(said["over"]) == over + 1
    else:
        layer, head = divmod(int(nearest), len(columns))
        assert said["cell"] == f"cross-attention layer {layer + 1}, head {head + 1}"
        assert said["share"] == f"{100 * shares.flat[nearest]:.0f}" and int(said["over"]) == over
    assert int(said["count"]) == found.shares.size


def test_a_share_past_the_clean_run_is_called_that_and_a_small_difference_small():
    _, found, columns = mapped(PAIRS[1], "cross heads")
    for shares, clean, corrupted in (([0.2, 0.9, 9.09], 0.56, -0.02), ([0.2, 0.9, 1.0], 3.0, -2.0)):
        made = PatchingMap(tuple(row[:3] for row in found.cells[:1]), np.array([shares]), clean, corrupted)
        words = describe_map(made, columns[:3], ("x", "y"))
        nearest = 1 if shares[2] > 2 else 2
        assert made.default_cell() == (0, nearest)
        assert re.search(TOLD, words)["share"] == f"{100 * shares[nearest]:.0f}"
        assert ("909 %, is past the clean run" in words) == ("differ little" in words) == (shares[2] > 2)
    nothing = PatchingMap(made.cells, np.full((1, 3), np.nan), 1.0, 1.0)
    assert describe_map(nothing, columns[:3], ("x", "y")).endswith("There is nothing to restore.")
    assert nothing.default_cell() == (0, 0)
