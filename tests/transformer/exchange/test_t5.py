"""T5, FLAN-T5, mT5, ByT5 and Pegasus: the same numbers as Hugging Face's transformers, token by token."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.models import assert_kept, assert_same_passes
from support.t5 import FAMILIES, PREFIXES, write_t5
from support.tolerance import near
from transformers.models.mt5.modeling_mt5 import MT5LayerNorm
from transformers.models.t5.modeling_t5 import T5LayerNorm

from transformer import Beam, Greedy, Translator
from transformer.__main__ import main
from transformer.decoding.sampling import LENGTH_MARGIN
from transformer.errors import CheckpointError
from transformer.exchange.exporting import export_marian
from transformer.exchange.importing import import_checkpoint, import_translator
from transformer.interpret.trace import Trace

SOURCES = ((5, 9, 3, 1), (7, 1), (4, 11, 6, 8, 21, 1))
TARGETS = ((0, 4, 8), (0, 12, 3, 5, 9), (0, 7))


@pytest.fixture(scope="module", params=[f"{family} {seed}" for family in FAMILIES for seed in (1, 2, 3)])
def both(request, tmp_path_factory):
    """A model of transformers with random weights, what the import made of its folder, and their tokenizer."""
    family, seed = request.param.split()
    folder = tmp_path_factory.mktemp(family)
    theirs, tokenizer = write_t5(folder, family, seed=int(seed))
    return theirs, Translator(import_checkpoint(folder)), tokenizer


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    write_t5(folder, "flan-t5")
    return folder


@pytest.fixture
def exact_norms(monkeypatch):
    def normalise(norm, x):  # transformers computes the mean square in float32, whatever the model's type
        return norm.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)

    for kind in (T5LayerNorm, MT5LayerNorm):
        monkeypatch.setattr(kind, "forward", normalise)


@pytest.mark.usefixtures("exact_norms")
def test_logits_and_all_maps_are_theirs_for_a_padded_batch(both):
    theirs, ours, _ = both
    assert_same_passes(theirs, ours, SOURCES, TARGETS)


@pytest.mark.usefixtures("exact_norms")
def test_an_odd_d_model_is_taken(tmp_path):
    theirs, _ = write_t5(tmp_path, "t5", d_model=25)
    assert_same_passes(theirs, Translator(import_checkpoint(tmp_path)), SOURCES, TARGETS)


def test_greedy_and_beam_search_find_what_generate_finds(both):
    """A beam here is smaller by each translation that has ended, where generate() fills it up again: until one has
    ended they find the same, and then mostly.
    """
    theirs, ours, _ = both
    # Without a cache: theirs has as many layers as the encoder, and the decoder may have more.
    options = {"do_sample": False, "use_cache": False, "return_dict_in_generate": True, "output_scores": True}
    unlike, beam = 0, Beam(4, alpha=1.0, penalty="length")
    for text in ("red dog", "old green bird house", "small blue car"):
        ids = torch.tensor([[*ours.tokenizer.encode(text), ours.tokenizer.end_id]])
        options["max_new_tokens"] = min(ids.shape[1] + LENGTH_MARGIN, ours.model.config.max_length)
        own = list(ours.best_ids([text], Greedy())[0])
        assert theirs.generate(input_ids=ids, **options).sequences[0, 1 : len(own) + 1].tolist() == own
        found = theirs.generate(input_ids=ids, num_beams=4, length_penalty=1.0, early_stopping=False, **options)
        best, record = found.sequences[0, 1:].tolist(), ours.beam_search(text, beam)
        trace = ours.trace(text, target=best)
        assert trace.mean_log_probability == near(float(found.sequences_scores[0]), scale=trace.log_probability)
        if best != list(record.ended[0].ids):
            unlike += 1
            assert any(each.finished and len(each.ids) < len(best) for each in record.ended) or len(best) < 40
    assert unlike <= 1


def test_a_checkpoint_keeps_all_that_was_imported(both, tmp_path):
    _, ours, _ = both
    again = assert_kept(ours, tmp_path / "again")
    assert again.checkpoint.prefixes == ours.checkpoint.prefixes
    with pytest.raises(CheckpointError, match="This model cannot be written as one of Marian's"):
        export_marian(ours.checkpoint, tmp_path / "out")


def test_the_prefixes_of_tasks_are_kept_and_come_first(folder, tmp_path):
    ours = import_translator(folder, "cpu")
    assert ours.checkpoint.prefixes == PREFIXES
    told = ours.trace("red dog", task="translate English to German:")
    typed = ours.trace("translate English to German: red dog")
    assert told.source_text == typed.source_text and told.source_ids == typed.source_ids
    assert told.source_ids != ours.trace("red dog").source_ids
    again = ours.trace("translate English to German: red dog", task="translate English to German: ")
    assert again.source_text == typed.source_text, "what is typed is not said twice"
    assert ours.translate(["red dog"], task=PREFIXES["summarization"]) == ours.translate(["summarize: red dog"])
    with pytest.raises(CheckpointError):
        import_translator(tmp_path, "cpu")


@pytest.mark.usefixtures("command_line")
def test_the_command_line_imports_and_puts_a_task_before_each_text(folder, tmp_path, capsys):
    made = str(tmp_path / "made")
    assert main(["import", str(folder), "--out", made]) == 0
    capsys.readouterr()
    task = PREFIXES["translation_en_to_de"]
    assert main(["translate", "red dog", "small cat", "--prefix", task, "--checkpoint", made]) == 0
    expected = Translator.load(made).translate([f"{task} red dog", f"{task} small cat"])
    assert capsys.readouterr().out.splitlines() == expected
    assert main(["trace", "red dog", "--prefix", task, "--checkpoint", made, "--out", f"{made}.npz"]) == 0
    assert Trace.load(f"{made}.npz").source_text == f"{task} red dog"


def change(folder, name: str = "config.json", **changes) -> None:
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(content | changes))


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"feed_forward_proj": "gated-tanh"}, "activation 'tanh'"),
        ({"feed_forward_proj": None}, "feed_forward.inner|lacks the weights|place for"),
        ({"num_decoder_layers": 4}, "lacks the weights 'decoder.block.3"),
        ({"num_layers": 1}, "place for"),
        ({"d_kv": 8}, "output.weight should be 24 x 40 and is 24 x 35"),
        ({"relative_attention_num_buckets": 10}, "decoder_relative.table should be 10 x 5 and is 8 x 5"),
        ({"relative_attention_max_distance": 4}, "relative_distance must be more than 4"),
        ({"vocab_size": 100}, "fills 160 rows of a vocabulary of 100"),
        ({"model_type": "switch_transformers"}, "cannot be imported: each of its tokens goes to another"),
        ({"model_type": "t5gemma"}, "its positions are rotations"),
        ({"model_type": "longt5"}, "a part of a text at a time"),
        ({"model_type": "whisper"}, "it reads sound"),
        ({"eos_token_id": 3}, "padding 0 and end 1"),
    ],
)
def test_what_the_engine_cannot_be_is_named(folder, changes, said):
    change(folder, **changes)
    with pytest.raises(CheckpointError, match=said) as caught:
        import_checkpoint(folder)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and 20 < len(message) < 400, message


def test_files_that_are_missing_or_damaged_are_refused(folder, tmp_path):
    (folder / "spiece.model").rename(tmp_path / "kept")
    with pytest.raises(CheckpointError, match=r"lacks files of its tokenizer: spiece\.model or tokenizer\.json"):
        import_checkpoint(folder)
    (folder / "spiece.model").write_bytes(b"garbage")
    with pytest.raises(CheckpointError, match="not a SentencePiece model"):
        import_checkpoint(folder)
    shutil.copy(tmp_path / "kept", folder / "spiece.model")
    change(folder, "tokenizer_config.json", extra_ids="ten")
    with pytest.raises(CheckpointError, match="cannot be read as a tokenizer"):
        import_checkpoint(folder)
    weights = load_file(folder / "model.safetensors")
    weights["encoder.embed_tokens.weight"] = weights["shared.weight"] + 1
    save_file(weights, folder / "model.safetensors")
    change(folder, "tokenizer_config.json", extra_ids=10)
    with pytest.raises(CheckpointError, match="two embeddings: encoder.embed_tokens.weight"):
        import_checkpoint(folder)


def test_pickled_weights_and_the_bias_that_nothing_read_are_taken(folder):
    expected = import_translator(folder, "cpu").translate(["red dog"])
    weights = load_file(folder / "model.safetensors")
    weights["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = torch.zeros(8, 5)
    weights["decoder.embed_tokens.weight"] = weights["shared.weight"]
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert import_translator(folder, "cpu").translate(["red dog"]) == expected
