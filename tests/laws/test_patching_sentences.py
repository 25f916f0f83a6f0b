"""Laws of the sentences on activation patching: vectors exchanged by a hook of the tests' own, one run at a time."""

import re
from functools import cache

import numpy as np
import pytest
import torch
from support.captions import as_percent, as_printed, finding_text, number
from support.traces import CHECKPOINTS, loaded, trace_of, traces

from headlight.views.research.patching import cell_words, describe_cell, describe_map
from transformer.interpret.what_if.patching import (
    PATCHED,
    PatchingMap,
    patched_predictions,
    patching_map,
    question_of,
    read_minimal_pairs,
)

PAIRS = read_minimal_pairs(CHECKPOINTS / "en-de")
SHOWN = [("encoder stream", 2, 3), ("decoder stream", 3, 1), ("cross-attention", 2, 1), ("cross heads", 2, 7)]
CELL = re.compile(
    r"The logit difference is (\S+): (\S+) % of the way from the corrupted run's (\S+) to the clean run's (\S+?)"
    r"( and past it|, so farther away)?\.$"
)
MAP = re.compile(
    r"(?:Putting back this one \w+ repairs (?P<back>\S+) %|No single \w+ comes nearer to the clean run|"
    r"Even the nearest \w+ overshoots: it repairs (?P<over>\S+) %)\. "
    r"The nearest to the clean run is (?P<cell>.+?); over half of the way go (?P<most>\d+) of (?P<count>\d+)"
    r"(?:, embeddings aside)?\."
    r"(?: The farthest overshoots the clean run: (?P<farthest>\S+) % of the way\.)?"
    r"(?: The runs' logit differences are only (?P<apart>\S+) apart, so a small change is a large share\.)?"
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
    text = describe_cell(found, row, column, columns, seen, name)
    said = re.search(r"token of the corrupted run is “(.+?)” \((.+? %)\), as in (.+?) run\. The logit", text)
    (clean_run, corrupted_run), (clean, corrupted) = both_runs(question)
    logits = patched_logits(model, question, patched, row, column)
    check_cell(text, float(logits[question.tokens[0]] - logits[question.tokens[1]]), clean, corrupted)
    best = int(logits.argmax())
    assert said[1] == name(best) and as_percent(said[2], float(logits.softmax(-1)[best]))
    same = [run for run, each in (("the clean", clean_run), ("the corrupted", corrupted_run)) if each.argmax() == best]
    assert said[3] == (" and ".join(same) or "neither")


def check_cell(text, difference, clean, corrupted):
    """The share is of the way between both runs' differences; one past the end or before the start is called that."""
    said = CELL.search(text)
    numbers = [number(said[at]) for at in (1, 3, 4)]
    assert numbers == pytest.approx([difference, corrupted, clean], abs=0.0052)
    share = 100 * (difference - corrupted) / (clean - corrupted)
    assert number(said[2]) == pytest.approx(share, abs=0.51 + 0.03 / abs(clean - corrupted))
    assert number(said[2]) <= 100 or said[5] == " and past it"
    assert number(said[2]) >= 0 or said[5] == ", so farther away"
    assert not said[5] or not 1 <= number(said[2]) <= 99


def check_map(text, shares, names, apart):
    """What is said of the nearest, the farthest and the many, against shares [cells], whose names are all different."""
    said, nearest = MAP.fullmatch(text), int(np.abs(1 - shares).argmin())
    at, most = names.index(said["cell"]), shares.max()
    assert abs(1 - shares[at]) < abs(1 - shares[nearest]) + 1e-3, text
    assert abs(int(said["most"]) - (shares > 0.5).sum()) <= (np.abs(shares - 0.5) < 1e-3).sum()
    assert int(said["count"]) == len(shares)
    for printed, share in ((said["back"] or said["over"], shares[at]), (said["farthest"], most)):
        assert printed is None or number(printed) == pytest.approx(100 * share, abs=0.7)
    assert said["back"] is None or 0 < number(said["back"]) <= 100, f"{text}: none comes back more than all"
    assert said["over"] is None or number(said["over"]) >= 100
    assert (said["back"] or said["over"]) or np.abs(1 - shares).min() > 0.99, text
    assert bool(said["farthest"] or said["over"]) == (most > 1.005) or abs(most - 1.005) < 1e-3, text
    assert bool(said["apart"]) == (apart < 1) and as_printed(said["apart"] or str(apart), apart)


@cache
def questions():
    """At least forty: the shipped pairs, and each sentence with one of as many tokens and another translation."""
    found = [mapped(pair, "cross heads")[0] for pair in PAIRS]
    for at, one in enumerate(traces()):
        words = one.source_text.split()
        swaps = [[*words[:i], words[i + 1], words[i], *words[i + 2 :]] for i in range(min(3, len(words) - 1))]
        others = [*(trace_of("en-de", " ".join(swap)) for swap in swaps), *traces()[at + 1 :], *traces()[:at]]
        fitting = (other for other in others if len(other.source_ids) == len(one.source_ids))
        other = next((other for other in fitting if other.target_ids != one.target_ids), None)
        if other:
            found.append(question_of(one, other))
    assert len(found) >= 40
    return found


@torch.inference_mode()
def shares_by_hand(question):
    """What each head of cross-attention restores, [layers x heads], one row of a batch a head; and both differences."""
    model, kept = loaded("en-de").model, {}
    layers, heads = len(model.decoder), model.config.num_heads

    def keep(layer, output):
        kept[layer] = output[0].clone()

    def put(layer, output):
        for head in range(heads):
            output[layer * heads + head, head] = kept[layer][head]
        return output

    def differences(source, copies, change):
        cores = [layer.cross_attention.core for layer in model.decoder]
        hooks = [
            core.register_forward_hook(lambda _, inputs, output, layer=layer: change(layer, output))
            for layer, core in enumerate(cores)
        ]
        try:
            seen = model(torch.tensor([source] * copies), torch.tensor([question.fed] * copies))[:, -1].double()
        finally:
            for hook in hooks:
                hook.remove()
        return (seen[:, question.tokens[0]] - seen[:, question.tokens[1]]).numpy()

    (clean,) = differences(question.clean, 1, keep)
    (corrupted,) = differences(question.corrupted, 1, lambda layer, output: None)
    patched = differences(question.corrupted, layers * heads, put)
    return patched, clean, corrupted


def test_what_is_said_of_every_head_in_forty_pairs_of_sentences_is_what_a_run_with_it_does():
    """Each head of cross-attention: what its share is of, where it is past the clean run, and which comes nearest."""
    model, name = loaded("en-de").model, loaded("en-de").tokenizer.piece_text
    past = 0
    for question in questions():
        found = patching_map(model, question, *PATCHED["cross heads"])
        columns = found.column_names(question, loaded("en-de").tokenizer)
        patched, clean, corrupted = shares_by_hand(question)
        shares = (patched - corrupted) / (clean - corrupted)
        names = [f"cross-attention layer {row + 1}, head {at + 1}" for row, at in np.ndindex(found.shares.shape)]
        check_map(finding_text(describe_map(found, columns)), shares, names, abs(clean - corrupted))
        seen = patched_predictions(model, question, [found.cells[0][0]], 1)
        for at, difference in enumerate(patched):
            text = describe_cell(found, *divmod(at, len(columns)), columns, seen, name)
            check_cell(text, difference, clean, corrupted)
            past += "past it" in text or "farther away" in text
    assert past > 30


def test_no_cell_is_said_to_bring_back_more_than_all_or_to_come_nearer_where_it_does_not():
    """Over random shares: small and large, before the start and past the end."""
    random, kinds = np.random.default_rng(4), set()
    _, found, columns = mapped(PAIRS[1], "cross heads")
    cells = (found.cells[0],)
    for _ in range(2000):
        shares = random.normal(random.choice([0, 0.6, 1, 2]), 10.0 ** random.uniform(-3, 1), (1, len(columns)))
        clean, corrupted = random.normal(0, 1, 2).round(3)
        text = finding_text(describe_map(PatchingMap(cells, shares, clean, corrupted), columns))
        names = [f"cross-attention layer 1, head {at + 1}" for at in range(len(columns))]
        check_map(text, shares[0], names, abs(clean - corrupted))
        kinds.add(text.split()[0])
    assert kinds == {"Putting", "No", "Even"}
    nothing = PatchingMap(cells, np.full((1, len(columns)), np.nan), 1.0, 1.0)
    assert finding_text(describe_map(nothing, columns)).startswith("There is nothing to restore")
    assert nothing.default_cell() == (0, 0)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_of_a_residual_stream_the_embeddings_are_not_counted_of_which_a_word_restores_all(stack):
    for pair in PAIRS:
        question, found, columns = mapped(pair, f"{stack} stream")
        (one, other), (clean, corrupted) = question.tokens, both_runs(question)[1]
        shares, names = [], []
        for row, at in np.ndindex(found.shares.shape):
            if row:
                logits = patched_logits(loaded("en-de").model, question, f"{stack} stream", row, at)
                shares.append((float(logits[one] - logits[other]) - corrupted) / (clean - corrupted))
                names.append(cell_words(found.cells[row][at], columns))
            elif stack == "encoder" and sum(map(int.__ne__, question.clean, question.corrupted)) == 1:
                differs = float(question.clean[at] != question.corrupted[at])
                assert found.shares[0, at] == pytest.approx(differs, abs=1e-4)
        text = finding_text(describe_map(found, columns))
        check_map(text, np.array(shares), names, abs(clean - corrupted))
        assert "embeddings aside" in text
