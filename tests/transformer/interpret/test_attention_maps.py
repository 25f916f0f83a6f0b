"""Attention of any model: steps of a generation put together, shapes, patterns, and what is refused."""

import numpy as np
import pytest
import torch
from support.other_models import tiny_model

from transformer.interpret.attention_maps import CROSS, DECODER, ENCODER, attention_of_output, collect_maps

STEPS = {"output_attentions": True, "return_dict_in_generate": True, "pad_token_id": 39}
STATIC = {"cache_implementation": "static"}
PROMPTS = torch.tensor([[3, 14, 15, 9], [4, 1, 5, 8]])


def collected(output, batch=None, **tokens):
    return collect_maps(attention_of_output(output, batch), tokens, batch)


def stacked(layers, row=0):
    return torch.stack([layer[row] for layer in layers]).numpy()


def softmax(*shape: int) -> np.ndarray:
    return torch.softmax(torch.randn(*shape, generator=torch.Generator().manual_seed(1)), dim=-1).numpy()


WAYS = [
    (family, options) for family in ("GPT2", "Mistral", "Marian") for options in ({"do_sample": True}, {"num_beams": 3})
]


@pytest.mark.parametrize(("family", "options"), [*WAYS, ("GPT2", STATIC)], ids=str)  # others' static caches slide
def test_the_steps_of_a_generation_are_one_pass_over_its_tokens(family, options):
    """Also of a sliding window, whose cache forgets keys, and of beams, whose rows change places."""
    model, _ = tiny_model(family)
    torch.manual_seed(2)
    with torch.no_grad():
        output = model.generate(PROMPTS, max_new_tokens=7, min_new_tokens=7, **STEPS, **options)
        written = output.sequences[1:]
        if family == "Marian":
            whole = model(input_ids=PROMPTS[1:], decoder_input_ids=written[:, :-1], output_attentions=True)
            expected = {ENCODER: whole.encoder_attentions, DECODER: whole.decoder_attentions}
            expected[CROSS] = whole.cross_attentions
        else:
            expected = {ENCODER: model(written[:, :-1], output_attentions=True).attentions}
    texts = [f"t{token}" for token in written[0].tolist()]
    maps = collected(output, 1, **{"target" if family == "Marian" else "source": texts})
    assert maps.maps.keys() == expected.keys()
    for kind, layers in expected.items():
        np.testing.assert_allclose(maps.maps[kind], stacked(layers), atol=1e-6)
    if family == "Marian":
        assert maps.target == tuple(texts[:-1]) and maps.outputs == tuple(texts[1:])
    else:
        assert maps.source == tuple(texts[:-1]) and maps.outputs is None and maps.is_causal(ENCODER)


def test_layers_may_differ_in_heads_and_a_text_of_a_batch_is_chosen():
    layers = [torch.tensor(softmax(2, 3, 5, 5)), None, softmax(2, 1, 5, 5)]
    maps = collect_maps({ENCODER: layers}, {}, 1)
    assert maps.heads[ENCODER] == (3, 0, 1) and maps.source == ("1", "2", "3", "4", "5")
    assert maps.maps[ENCODER].shape == (3, 3, 5, 5)
    np.testing.assert_array_equal(maps.maps[ENCODER][2, 0], layers[2][1, 0])
    assert maps.row_sums(ENCODER) == pytest.approx((1, 1)), "heads that are not there have no rows"
    half = collect_maps({ENCODER: [layers[0].to(torch.bfloat16)]}, {}, 0)
    np.testing.assert_allclose(half.maps[ENCODER][0], layers[0][0], rtol=0.01)


def test_patterns_are_named_as_those_of_a_trace():
    keys = ["[CLS]", "I", "love", "my", "old", "cat", ".", "[SEP]"]
    size = len(keys)
    heads = [np.eye(size, k=shift) for shift in (-1, 0, 1)] + [np.eye(size)[[0] * size], np.eye(size)[[-1] * size]]
    heads = np.stack(heads) + 1e-3 * softmax(size, size)
    maps = collect_maps({ENCODER: [heads]}, {"source": keys})
    names = ["previous", "same", "next", "beginning of sentence", "end of sentence"]
    assert [head.label for head in maps.measure(ENCODER)] == names and not maps.is_causal(ENCODER)
    causal = collect_maps({ENCODER: [np.tril(heads)]}, {"source": keys})
    labels = [head.label for head in causal.measure(ENCODER)]
    assert causal.is_causal(ENCODER) and labels[:2] == names[:2] and labels[3] == names[3]


@pytest.mark.parametrize(
    ("attention", "shown"),
    [
        (["I", "Ġlove", "Ċ"], ("I", "▁love", "↵")),
        (["[CLS]", "tea", "##ching"], ("[CLS]", "▁tea", "ching")),
        (["▁I", "Ġ", "##x"], ("▁I", "Ġ", "##x")),
        (["<s>", "\ud800", ""], ("<s>", "?", "")),
    ],
)
def test_words_begin_as_sentencepiece_marks_them(attention, shown):
    assert collect_maps({ENCODER: [softmax(1, 3, 3)]}, {"source": attention}).source == shown


@pytest.mark.parametrize(
    ("attention", "tokens", "message"),
    [
        ({ENCODER: [softmax(2, 2, 5, 5)]}, None, "encoder has a batch of 2: choose one by batch=0 to batch=1"),
        ({ENCODER: [softmax(5, 5)]}, None, r"\[batch, heads, queries, keys\], got \[5, 5\]"),
        ({ENCODER: [softmax(2, 5, 4)]}, None, r"encoder, layer 0: expected \[2, 5, 5\], got \[2, 5, 4\]"),
        ({CROSS: [softmax(2, 3, 4), softmax(2, 3, 5)]}, None, r"layer 1: expected \[2, 3, 4\], got \[2, 3, 5\]"),
        ({ENCODER: [softmax(2, 4, 4)], CROSS: [softmax(2, 3, 5)]}, None, r"cross, layer 0: expected \[2, 3, 4\]"),
        ({ENCODER: [-softmax(1, 2, 2)]}, None, "expected weights of 0 or more, got -"),
        ({ENCODER: [softmax(1, 2, 2) * np.nan]}, None, "expected weights of 0 or more, got nan"),
        ({ENCODER: [softmax(1, 2, 2)]}, ["a"], "source: expected 2 tokens, as many as the maps have, got 1"),
        ({ENCODER: [softmax(1, 2, 2)]}, list("abc"), "got 3"),
        ({ENCODER: [softmax(1, 2, 2)]}, "ab", "expected a list of texts"),
        ({ENCODER: [softmax(1, 2, 2)]}, torch.tensor([1, 2]), "expected a list of texts"),
        ({ENCODER: [None]}, None, "expected a list of layers, got none"),
        (
            {ENCODER: [np.broadcast_to(np.float32(0), (1, 9000, 9000))]},
            None,
            "at most 64,000,000 weights, got 81,",
        ),
        (
            {ENCODER: [[softmax(1, 2, 3)]]},
            None,
            r"step 0: expected weights on at most 2 keys, got \[1, 2, 3\]",
        ),
    ],
)
def test_wrong_attention_is_refused_with_expected_and_actual_shape(attention, tokens, message):
    with pytest.raises(ValueError, match=message):
        collect_maps(attention, {"source": tokens})


def test_an_output_without_attention_says_how_to_get_it():
    model, inputs = tiny_model("Bert")
    with pytest.raises(ValueError, match="attn_implementation='eager'"):
        collected(model(**inputs))
    model.set_attn_implementation("sdpa")
    with pytest.raises(ValueError, match="attn_implementation='eager'"):
        collected({"attentions": (None, None)})
