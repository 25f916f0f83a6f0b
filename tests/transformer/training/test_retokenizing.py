"""A checkpoint with another tokenizer: what both vocabularies have is kept, and training takes it up."""

import dataclasses

import pytest
import torch
from support.tiny import VOCABULARY, make_pairs, tiny_experiment

from transformer.__main__ import main
from transformer.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from transformer.config import TokenizerConfig
from transformer.data.tokenizer import Tokenizer
from transformer.errors import CheckpointError
from transformer.model.transformer import Transformer
from transformer.training.retokenizing import retokenize
from transformer.training.trainer import train


@pytest.fixture(scope="module")
def lines():
    return [side for pair in make_pairs(300, 1) for side in pair]


@pytest.fixture
def checkpoint(lines):
    torch.manual_seed(1)
    tokenizer = Tokenizer.train(lines, TokenizerConfig(vocab_size=VOCABULARY))
    config = dataclasses.replace(tiny_experiment().model, vocab_size=VOCABULARY)
    return Checkpoint(Transformer(config).eval(), tokenizer)


def table(checkpoint):
    return checkpoint.model.source_embedding.embedding.weight.detach()


def test_the_same_tokenizer_changes_nothing(checkpoint):
    same = retokenize(checkpoint, checkpoint.tokenizer)
    for name, weight in checkpoint.model.named_parameters():
        assert torch.equal(weight, dict(same.model.named_parameters())[name]), name


def test_old_pieces_keep_their_vectors_and_new_ones_get_the_mean_of_what_they_are_cut_into(checkpoint, lines):
    old = checkpoint.tokenizer
    new = Tokenizer.train(lines, TokenizerConfig(vocab_size=VOCABULARY + 12))
    changed = retokenize(checkpoint, new)
    assert len(new) == VOCABULARY + 12 == changed.model.config.vocab_size
    added = kept = 0
    for number in range(len(new)):
        text = new.piece_text(number)
        same = old.id_of(text)
        if same != old.unknown_id or number == new.unknown_id:
            assert torch.equal(table(changed)[number], table(checkpoint)[same]), text
            kept += 1
        elif text.startswith("\u2581"):
            expected = table(checkpoint)[old.encode(text[1:])].mean(0)
            assert torch.equal(table(changed)[number], expected), text
            added += 1
    assert kept >= VOCABULARY - 20 and added
    assert changed.model.output_projection.weight is changed.model.target_embedding.embedding.weight


def test_a_piece_inside_a_word_is_cut_into_pieces_inside_words(checkpoint):
    """Its text alone would begin with a piece that begins a word."""
    from transformer.training.retokenizing import _cut

    old = checkpoint.tokenizer
    inside = [old.piece_text(number) for number in range(4, len(old)) if len(old.piece_text(number)) == 1]
    one, other = [text for text in inside if text.isalpha()][:2]
    assert _cut(one + other, old) in ([old.id_of(one), old.id_of(other)], [old.id_of(one + other)])


def test_a_model_of_two_vocabularies_is_refused(checkpoint):
    config = dataclasses.replace(checkpoint.model.config, share_embeddings=False)
    apart = Checkpoint(Transformer(config), checkpoint.tokenizer)
    with pytest.raises(CheckpointError, match="one vocabulary for both languages"):
        retokenize(apart, checkpoint.tokenizer)


def test_the_command_makes_what_training_begins_with(tmp_path, checkpoint):
    save_checkpoint(tmp_path / "old", checkpoint)
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(f"{source}\t{target}\n" for source, target in make_pairs(300, 1)), encoding="utf-8")
    arguments = ["retokenize", str(tmp_path / "old"), "--data", str(data), "--out", str(tmp_path / "new")]
    size = VOCABULARY + 8
    assert main([*arguments, "--vocab-size", str(size)]) == 0
    assert len(load_checkpoint(tmp_path / "new").tokenizer) == size
    experiment = tiny_experiment()
    experiment = dataclasses.replace(
        experiment,
        model=dataclasses.replace(experiment.model, vocab_size=size),
        tokenizer=dataclasses.replace(experiment.tokenizer, vocab_size=size),
        training=dataclasses.replace(experiment.training, max_steps=2, cooldown_steps=0),
    )
    pairs = make_pairs(60, 2)
    train(experiment, pairs, pairs[:8], tmp_path / "run", torch.device("cpu"), warm_start=tmp_path / "new")
    assert load_checkpoint(tmp_path / "run").model.config.vocab_size == size


def test_a_vocabulary_that_the_corpus_cannot_fill_is_refused(tmp_path, checkpoint, capsys):
    save_checkpoint(tmp_path / "old", checkpoint)
    data = tmp_path / "pairs.tsv"
    data.write_text("a\tb\n", encoding="utf-8")
    arguments = ["retokenize", str(tmp_path / "old"), "--data", str(data), "--out", str(tmp_path / "new")]
    assert main([*arguments, "--vocab-size", "5000"]) == 1
    assert "cannot be learned" in capsys.readouterr().err and not (tmp_path / "new").exists()
