"""Laws of the captions on activation patching: vectors exchanged by a hook of the tests' own, one run at a time."""

import re

import numpy as np
import pytest
import torch
from support.streams import CHECKPOINTS, loaded

from headlight.plots.what_if import column_names
from headlight.views.what_if.patching_text import PATCHED, describe_cell, describe_map
from transformer.interpret.what_if.minimal_pairs import read_minimal_pairs
from transformer.interpret.what_if.patching import patched_predictions, patching_map

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
    module, kept = module_of(model, patched, row), []
    logits_of(model, question.clean, question.fed, module, kept.append)

    def put(output):
        output = output.clone()
        output[:, column] = kept[0][:, column]
        return output

    return logits_of(model, question.corrupted, question.fed, module, put)


@pytest.mark.parametrize("patched, row, column", SHOWN)
@pytest.mark.parametrize("pair", PAIRS[::2], ids=lambda pair: pair.name)
def test_what_is_said_of_a_cell_is_what_the_patched_run_does(pair, patched, row, column):
    model, tokenizer = loaded("en-de").model, loaded("en-de").tokenizer
    question, site = pair.question(tokenizer), PATCHED[patched]
    found = patching_map(model, question, site.site, site.part)
    columns, name = column_names(found, question, tokenizer), tokenizer.piece_text
    seen = patched_predictions(model, question, [found.cells[row][column]], 3)
    words = describe_cell(found, row, column, columns, seen, name)
    one, other = question.tokens
    runs = [logits_of(model, source, question.fed) for source in (question.clean, question.corrupted)]
    runs.append(patched_logits(model, question, patched, row, column))
    clean, corrupted, difference = (float(logits[one] - logits[other]) for logits in runs)
    said = re.search(
        r"token of the corrupted run is “(.+?)” \((.+?) %\), (.+); the logit difference is (\S+), so", words
    )
    assert float(said[4].replace("−", "-")) == pytest.approx(difference, abs=0.0051)
    share = float(re.search(r"so (\S+) % of it is restored", words)[1].replace("−", "-"))
    assert share == pytest.approx(100 * (difference - corrupted) / (clean - corrupted), abs=0.51)
    best = [int(logits.argmax()) for logits in runs]
    assert said[1] == name(best[2])
    whose = {best[0]: "the clean run's", best[1]: "still the corrupted run's"}
    assert said[3] == whose.get(best[2], "neither run's")
    if said[2][0] != ">":
        assert float(said[2]) == pytest.approx(100 * float(runs[2].softmax(-1)[best[2]]), abs=0.051)


@pytest.mark.parametrize("patched, rows", [("encoder stream", (1, 2, 3)), ("cross heads", (0, 1, 2))])
def test_the_most_and_how_many_over_half_are_counted_over_runs_of_one_cell_each(patched, rows):
    model, tokenizer = loaded("en-de").model, loaded("en-de").tokenizer
    question, site = PAIRS[1].question(tokenizer), PATCHED[patched]
    found = patching_map(model, question, site.site, site.part)
    columns = column_names(found, question, tokenizer)
    words = describe_map(found, columns, tuple(map(tokenizer.piece_text, question.tokens)))
    one, other = question.tokens
    runs = [logits_of(model, source, question.fed) for source in (question.clean, question.corrupted)]
    clean, corrupted = (float(logits[one] - logits[other]) for logits in runs)
    sums = re.search(r"is (\S+) in the clean run and (\S+) in the corrupted run", words).groups()
    assert [float(each.replace("−", "-")) for each in sums] == pytest.approx([clean, corrupted], abs=0.0051)
    shares = np.zeros((len(rows), len(columns)))
    for place, row in enumerate(rows):
        for column in range(len(columns)):
            logits = patched_logits(model, question, patched, row, column)
            shares[place, column] = (float(logits[one] - logits[other]) - corrupted) / (clean - corrupted)
    over, cells = int((shares > 0.5).sum()), found.shares.size
    if patched == "encoder stream":  # of the embeddings, the word that differs restores all
        over, most = over + 1, "100 %"
    else:
        most = f"{100 * shares.max():.0f} %"
        head = shares.argmax() % len(columns)
        assert f"cross-attention layer {shares.argmax() // len(columns) + 1}, head {head + 1}: {most}" in words
    assert f": {most}." in words
    said = f"{over} cell{'s' if over != 1 else ''} of {cells} alone" if over else f"None of the {cells} cells alone"
    assert said in words
