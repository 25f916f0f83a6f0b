"""Imported models of all families: the numbers of Hugging Face's transformers, weight by weight, token by token."""

import pytest
import torch
from support.families import FAMILIES, LANGUAGES, write_family
from support.marian import write_model, write_two_vocabularies
from support.models import assert_kept, assert_same_passes
from support.t5 import FAMILIES as T5S
from support.t5 import write_t5
from support.tolerance import near
from transformers import MarianTokenizer
from transformers.models.mt5.modeling_mt5 import MT5LayerNorm
from transformers.models.t5.modeling_t5 import T5LayerNorm

from transformer import Beam, Greedy, Translator
from transformer.data.tokenizer import source_ids
from transformer.decoding.sampling import LENGTH_MARGIN
from transformer.exchange.importing import import_checkpoint

SEEDS = {"nllb": 4, "m2m100": 8}  # with which translations end, after 2 to 14 tokens
MARIANS = {
    "marian, swish": {"activation_function": "swish", "scale_embedding": True},
    "marian, gelu, not scaled": {"activation_function": "gelu", "scale_embedding": False},
    "marian, relu": {"activation_function": "relu", "scale_embedding": True},
}
TEXTS = "red dog", "old green bird house"
LENGTH = {"length_penalty": 1.0, "early_stopping": False}


def write(folder, name: str):
    """Write a folder of this model; return the model and the tokenizer of transformers."""
    if name == "two vocabularies":
        return write_two_vocabularies(folder), MarianTokenizer.from_pretrained(folder)
    if name in MARIANS:
        return write_model(folder, seed=len(name), **MARIANS[name]), MarianTokenizer.from_pretrained(folder)
    return write_t5(folder, name) if name in T5S else write_family(folder, name, seed=SEEDS.get(name, 1))


@pytest.fixture(scope="module", params=[*FAMILIES, *MARIANS, "two vocabularies", *T5S])
def both(request, tmp_path_factory):
    """Return a model of transformers with random weights, its import, its tokenizer and its name."""
    folder = tmp_path_factory.mktemp("model")
    theirs, tokenizer = write(folder, request.param)
    return theirs, Translator(import_checkpoint(folder)), tokenizer, request.param


@pytest.fixture
def exact_norms(monkeypatch):
    def normalise(norm, x):  # transformers computes the mean square in float32, in every type
        return norm.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)

    for kind in (T5LayerNorm, MT5LayerNorm):
        monkeypatch.setattr(kind, "forward", normalise)


@pytest.mark.usefixtures("exact_norms")
def test_logits_and_all_maps_are_theirs_for_a_padded_batch(both):
    theirs, ours, *_ = both
    start, end = ours.tokenizer.begin_id, ours.tokenizer.end_id
    sources = ((5, 9, 3, end), (7, end), (4, 11, 6, 8, 21, end))
    assert_same_passes(theirs, ours, sources, ((start, 4, 8), (start, 12, 3, 5, 9), (start, 7)))


def test_greedy_and_beam_search_give_the_translations_of_generate(both):
    """T5's beams may differ: `generate` refills a beam whose translation has ended."""
    theirs, ours, tokenizer, name = both
    options = {"do_sample": False, "return_dict_in_generate": True, "output_scores": True}
    if name in LANGUAGES and name != "mbart":
        language = LANGUAGES[name][1]
        ids = tokenizer.lang_code_to_id if name == "m2m100" else tokenizer.get_vocab()
        options["forced_bos_token_id"] = ids[language]
    if name in T5S:  # theirs makes a cache of as many layers as the encoder has
        options["use_cache"] = False
    for text, size in zip(TEXTS, (1, 4), strict=True):
        ids = torch.tensor([source_ids(ours.tokenizer, text)])
        options["max_new_tokens"] = min(ids.shape[1] + LENGTH_MARGIN, ours.model.config.max_length)
        result = theirs.generate(input_ids=ids, num_beams=size, **options, **(LENGTH if size > 1 else {}))
        output = result.sequences[0, 1:].tolist()
        strategy = Beam(size, alpha=1.0, penalty="length") if size > 1 else Greedy()
        (translation,) = ours.best_ids([text], strategy)
        if name in T5S and size > 1:
            trace = ours.trace(text, target=output)
            score = float(result.sequences_scores[0])
            assert trace.mean_log_probability == near(score, scale=trace.log_probability)
        else:
            assert (len(translation) > 1 or name in T5S) and output[: len(translation)] == list(translation)


def test_a_checkpoint_stores_all_that_was_imported(both, tmp_path):
    _, ours, *_ = both
    again = assert_kept(ours, tmp_path / "again")
    assert ours.translate(["red dog"]) == again.translate(["red dog"])
    assert again.checkpoint.prefixes == ours.checkpoint.prefixes
