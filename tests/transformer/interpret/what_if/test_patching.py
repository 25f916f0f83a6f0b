"""Patching: all cells are the clean run, none the corrupted one, and each cell is the vector of its name."""

import numpy as np
import pytest
import torch
from support.models import random_sources, unlike_model
from support.tolerance import near
from support.traces import CHECKPOINTS, loaded, trace_of

from transformer.errors import CheckpointError, InterventionError
from transformer.interpret.activations import Request, record
from transformer.interpret.what_if import patching
from transformer.interpret.what_if.patching import Cell, Question, patched_logits, patching_map, question_of

ONE, OTHER = (tuple(source) for source in random_sources(7, 7, seed=5))
FED = (2, 9, 8, 5)
QUESTION, SAME = Question(ONE, OTHER, FED, (7, 11)), Question(ONE, ONE, FED, (7, 11))
SITES = [("residual", stack) for stack in ("encoder", "decoder")]
SITES += [(site, kind) for site in ("attention", "head") for kind in ("encoder", "decoder", "cross")]


@pytest.fixture(scope="module", params=["post", "pre"])
def model(request):
    return unlike_model(norm=request.param)


def all_cells(model, sites=SITES):
    return [cell for site in sites for row in patching.every_cell(model, QUESTION, *site) for cell in row]


def logits(model, source):
    return record(model, [source], [FED], Request(keep=(), logits_to_keep=1)).logits[0, -1]


def test_a_run_patched_with_itself_stays_what_it_is_bit_for_bit(model):
    for cells in (all_cells(model), *([cell] for cell in all_cells(model)[::7])):
        clean, _, patched = patched_logits(model, SAME, [cells])
        assert torch.equal(patched, clean) and torch.equal(patched, logits(model, ONE))


@pytest.mark.parametrize("sites", [SITES, SITES[:1], SITES[1:2]], ids=["all", "encoder", "decoder"])
def test_patching_everything_restores_all_and_nothing_none(model, sites):
    """All of either stack's residual stream is enough: the decoder has nothing else from the source."""
    rows = [patched_logits(model, QUESTION, [cells])[2] for cells in (all_cells(model, sites), ())]
    patched = torch.stack([logits(model, ONE), logits(model, OTHER), *rows])
    assert torch.equal(patched[2:], patched[:2]) and not torch.equal(patched[1], patched[0])
    assert patching.restored_shares(patched, QUESTION.tokens).tolist() == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("site, part", SITES)
def test_a_map_is_each_cell_alone_put_there_by_a_hook(model, site, part, monkeypatch):
    monkeypatch.setattr(patching, "_RUNS_AT_ONCE", 5)
    patched = patching_map(model, QUESTION, site, part)
    layers, stack = (2, "encoder") if part == "encoder" else (3, "decoder")
    columns = 4 if site == "head" else {"encoder": len(ONE), "decoder": len(FED)}[stack]
    assert patched.shares.shape == (layers + (site == "residual"), columns)
    both = torch.stack([logits(model, source) for source in (ONE, OTHER)])
    clean, corrupted = (both[:, 7] - both[:, 11]).tolist()
    assert [patched.clean, patched.corrupted] == near([clean, corrupted], scale=both)
    for layer, index in [(0, 1), (1, 3), (len(patched.shares) - 1, columns - 1)]:
        cell = patched.cells[layer][index]
        assert (cell.layer, cell.index) == (layer, index)
        module = f"{stack}.{layer - (site == 'residual')}"
        if site == "residual":
            module = f"{stack}_input" if layer == 0 else module
        else:
            module += f".{'cross' if part == 'cross' else 'self'}_attention" + ".core" * (site == "head")
        difference = difference_with(model, model.get_submodule(module), index)
        assert patched.shares[layer, index] * (clean - corrupted) == near(difference - corrupted, scale=both)


def difference_with(model, module, index):
    """Run the corrupted source with the output of one module replaced by the clean run's."""
    calls = []

    def keep(_, inputs, output):
        calls.append(output)

    def put(_, inputs, output):
        output = output.clone()
        output[:, index] = calls[0][:, index]
        return output

    for hook, source in ((keep, ONE), (put, OTHER)):
        handle = module.register_forward_hook(hook)
        patched = logits(model, source)
        handle.remove()
    return float(patched[7] - patched[11])


def test_predictions_are_those_of_all_three_runs(model):
    cells = all_cells(model)[:3]
    patched, rows = patching.patched_predictions(model, QUESTION, cells, 4), patched_logits(model, QUESTION, [cells])
    assert patched.best_ids.shape == (3, 4) and np.array_equal(patched.best_ids[:, 0], rows.argmax(dim=-1))
    assert patched.probabilities == near(rows.softmax(dim=-1)[:, 7])


def test_the_default_cell_is_the_nearest_to_the_clean_run_embeddings_aside():
    for site, cell in (("residual", (1, 1)), ("head", (0, 0))):
        cells = ((Cell(site, "encoder", 0, 0),),)
        assert patching.PatchingMap(cells, np.array([[1.0, 0.1], [1.4, 0.7]]), 1.0, 0.0).default_cell() == cell


def test_unequal_lengths_equal_sentences_and_unknown_cells_are_refused(model):
    with pytest.raises(InterventionError, match="have 7 and 6 tokens"):
        Question(ONE, OTHER[1:], FED, (7, 11))
    for cell in (Cell("residual", "encoder", 3, 0), Cell("residual", "decoder", 0, 4), Cell("head", "cross", 0, 4)):
        with pytest.raises(ValueError, match="must be in 0 to"):
            patched_logits(model, QUESTION, [[cell]])
    with pytest.raises(ValueError, match="stack must be one of"):
        patching_map(model, QUESTION, "residual", "cross")
    assert np.isnan(patching_map(model, SAME, "head", "cross").shares).all()
    trace = trace_of("en-de", "I love my teacher.")
    with pytest.raises(InterventionError, match="same translation"):
        question_of(trace, trace)


@pytest.mark.parametrize("name", ["en-de", "en-fr"])
def test_each_shipped_pair_is_told_apart_by_its_model(name):
    translator, pairs = loaded(name), patching.read_minimal_pairs(CHECKPOINTS / name)
    assert [pair.name for pair in pairs] == ["number", "gender", "negation", "tense", "name"]
    for pair in pairs:
        question = pair.question(translator.tokenizer)
        both = patched_logits(translator.model, question, [])
        assert both.argmax(dim=-1).tolist() == list(question.tokens), pair.name
        difference = both[:, question.tokens[0]] - both[:, question.tokens[1]]
        assert difference[0] > 1 and difference[1] < -1, pair.name
        assert question == question_of(*(trace_of(name, sentence) for sentence in pair.sentences))


def test_damaged_pairs_are_refused(tmp_path, tokenizer):
    assert patching.read_minimal_pairs(tmp_path) == ()
    one_sentence = "[[pair]]\nname='x'\nprefix=''\nsentences=['a']\ntokens=['b','c']"
    for text in ("pair = 3", "[[pair]]\nname = 'x'", "no toml", one_sentence):
        (tmp_path / "minimal_pairs.toml").write_text(text)
        with pytest.raises(CheckpointError, match="holds no minimal pairs"):
            patching.read_minimal_pairs(tmp_path)
    with pytest.raises(CheckpointError, match="must be pieces"):
        patching.MinimalPair("x", ("red dog", "big dog"), "", ("▁nope", "▁not")).question(tokenizer)


def test_second_sentences_have_two_words_exchanged_or_one_of_them_twice():
    expected = "two one three, one three two, one one three, one two two, two two three, one three three"
    assert patching.sentences_like(" one  two three") == expected.split(", ")
    assert patching.sentences_like("one one") == patching.sentences_like("one") == patching.sentences_like("") == []
