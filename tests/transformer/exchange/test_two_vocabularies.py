"""A Marian model with a vocabulary for each language: the same numbers as transformers, and each id in its own."""

import copy
import json

import pytest
import torch
from support.marian import write_two_vocabularies
from support.texts import SENTENCES
from support.tolerance import near
from transformers import MarianTokenizer

from transformer import Beam, Greedy, Translator
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.data.batching import pad
from transformer.decoding.sampling import LENGTH_MARGIN
from transformer.errors import CheckpointError
from transformer.exchange.exporting import export_marian
from transformer.exchange.importing import import_checkpoint
from transformer.interpret.activations import record
from transformer.interpret.parameters import blocks_of

SOURCES, TARGETS = ((5, 9, 3, 0), (7, 0), (57, 11, 6, 8, 21, 0)), ((2, 64, 8), (2, 12, 3, 5, 9), (2, 66))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("two")


@pytest.fixture(scope="module")
def both(folder):
    theirs = write_two_vocabularies(folder)
    return theirs, Translator(import_checkpoint(folder)), MarianTokenizer.from_pretrained(folder)


def test_logits_and_all_maps_are_theirs_for_a_padded_batch(both):
    theirs, model = copy.deepcopy(both[0]).double(), copy.deepcopy(both[1].model).double()
    source, target = pad(SOURCES, 2), pad(TARGETS, 2)
    real = torch.tensor([[place < len(row) for place in range(target.shape[1])] for row in TARGETS])
    given = {"attention_mask": (source != 2).long(), "decoder_attention_mask": real.long()}
    with torch.inference_mode():
        found = theirs(input_ids=source, decoder_input_ids=target, output_attentions=True, **given)
        logits = model(source, target)
    assert logits.shape[-1] == theirs.config.decoder_vocab_size != theirs.config.vocab_size
    assert logits[real] == near(found.logits[real]) and found.logits[real].std() > 0.5
    for row, (one, fed) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        weights = record(model, [one], [fed]).weights("cross")[:, 0]
        expected = torch.stack(list(found.cross_attentions))[:, row, :, : len(fed), : len(one)]
        assert weights == near(expected)


@pytest.mark.parametrize("size", [1, 4])
def test_greedy_and_beam_search_find_what_generate_finds(both, size):
    theirs, ours, tokenizer = both
    for text in ("red dog", "old green bird house"):
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        most = min(ids.shape[1] + LENGTH_MARGIN, 40)
        options = {"num_beams": size, "do_sample": False, "length_penalty": 1.0, "early_stopping": False}
        found = theirs.generate(input_ids=ids, max_new_tokens=most, **options)[0, 1:].tolist()
        own = ours.best_ids([text], Beam(size, alpha=1.0, penalty="length") if size > 1 else Greedy())[0]
        assert len(own) > 1 and found[: len(own)] == list(own)


def test_each_side_has_the_ids_and_texts_of_its_own_vocabulary(both, folder):
    _, ours, theirs = both
    for text in (*SENTENCES, "red dog"):
        assert [*ours.tokenizer.encode(text), 0] == theirs(text)["input_ids"]
        target = theirs(text_target=text)["input_ids"]
        assert ours.tokenizer.encode_target(text) == target[:-1]
    trace = ours.trace("red dog", target="rot Hund")
    source, target = (json.loads((folder / name).read_text()) for name in ("vocab.json", "target_vocab.json"))
    assert [source[token] for token in trace.source_tokens] == list(trace.source_ids)
    assert [target[token] for token in trace.target_tokens] == list(
        trace.target_ids
    ) and trace.target_text == "rot Hund"
    assert ours.may_begin_with([len(target) - 1]) and not ours.may_begin_with([len(target)])


def test_a_checkpoint_keeps_both_and_counts_each_matrix_once(both, folder, tmp_path):
    _, ours, _ = both
    save_checkpoint(tmp_path / "again", ours.checkpoint, torch.float32)
    again = Translator(load_checkpoint(tmp_path / "again"))
    assert again.model.config == ours.model.config and again.tokenizer.files == ours.tokenizer.files
    assert again.translate(["red dog"]) == ours.translate(["red dog"])
    count, blocks = ours.model.count_parameters(), blocks_of(ours.model)
    assert sum(block.parameters for block in blocks) == count
    shared = {block.name: block.shared_with for block in blocks if block.shared_with}
    assert shared == {"generator": "target_embedding"}
    with pytest.raises(CheckpointError, match="its languages have a vocabulary each"):
        export_marian(ours.checkpoint, tmp_path / "out")
    vocabulary = json.loads((tmp_path / "again" / "target_vocab.json").read_text())
    swapped = {"<pad>": vocabulary["</s>"], "</s>": vocabulary["<pad>"]}
    (tmp_path / "again" / "target_vocab.json").write_text(json.dumps(vocabulary | swapped))
    with pytest.raises(CheckpointError, match="unlike ids"):
        load_checkpoint(tmp_path / "again")
