"""Laws of the sentences under the questions' figures: computed again from the weights, the ids and the formulas."""

import copy
import dataclasses
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from support.claims import TINY, as_printed, as_scientific, number
from support.head_rows import Head, thresholds
from support.sentences import SENTENCES
from support.small import random_sources, small_model
from support.streams import loaded, stages_of, stream_of, trace_of

from headlight.views.questions import content
from transformer.config import Schedule
from transformer.interpret.residual import record_residual_stream

CASES = [("en-de", text) for text in SENTENCES[:39:3]] + [("reverse", text) for text in SENTENCES[:39:6]]


def _asked(name: str, text: str) -> content.Asked:
    stages = stages_of(name, text, "encoder", 0)
    return content.Asked(
        translator=loaded(name),
        trace=trace_of(name, text),
        stream=stream_of(name, text),
        scores=lambda: stages.scores[0, 0, 0].tolist(),
    )


@pytest.mark.parametrize("name, text", CASES)
def test_what_is_said_of_the_sentence_itself(name, text):
    asked = _asked(name, text)
    model, trace, stream = asked.translator.model, asked.trace, asked.stream
    fed, following = trace.decoder_input_tokens, trace.target_tokens
    assert str(content._shift(asked).see) == (
        f"Row 1 is fed “{fed[0]}” and is to predict “{following[0]}”. Row {len(fed)}, the last, is fed “{fed[-1]}” and "
        f"is to predict “{following[-1]}”. Each row is a task of its own."
    )
    size = len(fed)
    masked, cells, tokens = re.match(
        r"The target mask hides (\d+) of ([\d,]+) cells?\. The source mask, over ([\d,]+) tokens?, hides nothing",
        str(content._masks(asked).see),
    ).groups()
    later = sum(key > query for query in range(size) for key in range(size))
    assert (number(cells), int(masked), number(tokens)) == (size * size, later, len(trace.source_ids))

    row = model.source_embedding.weight[trace.source_ids[1]].detach().numpy().astype(np.float64)
    length, d_model = float(np.sqrt(row @ row)), model.config.d_model
    token, own, scaled, position = re.match(
        r"The row of “(.*)” is ([\d.]+) long, ([\d.]+) after scaling\. Its position's vector is ([\d.]+) long\.$",
        str(content._scale(asked).see),
    ).groups()
    assert token == trace.source_tokens[1] and as_printed(own, length)
    assert as_printed(scaled, length * math.sqrt(d_model)) and as_printed(position, math.sqrt(d_model / 2))

    norm, before, after = re.match(
        r"This checkpoint is (pre|post)-norm: .* norm ([\d.]+) before the encoder's layers and ([\d.]+) at the ",
        str(content._twice(asked).see),
    ).groups()
    angles = [1 / 10000 ** (2 * pair / d_model) for pair in range(d_model // 2)]
    added = np.array([part(angle) for angle in angles for part in (math.sin, math.cos)])
    assert norm == model.config.norm
    assert as_printed(before, float(np.linalg.norm(row * math.sqrt(d_model) + added)))
    assert as_printed(after, float(np.linalg.norm(stream.encoder.end[1].astype(np.float64))))

    logits = stream.decoder.end[0].astype(np.float64) @ model.output_projection.weight.detach().numpy().T.astype(float)
    said = str(content._generator(asked).see)
    best = asked.translator.tokenizer.piece_text(int(logits.argmax()))
    first = re.match(r"“(.*)” has the largest logit of step 1: (\S+)\. By hand: ", said)
    assert first[1] == best and as_printed(first[2], logits.max())
    assert as_printed(re.search(r" = (−?[\d.]+)\. The model has", said)[1], logits.max())

    keys, each, fused, token = re.fullmatch(
        r"With every key masked, −1e9 gives each of (\d+) keys ([\d.]+)\. The fused kernel gives (\d), and −∞ no "
        r"number at all: the row of “(.*)” in layer 1, head 1 of the encoder\.",
        str(content._infinity(asked).see),
    ).groups()
    assert token == trace.source_tokens[0] and int(keys) == len(trace.source_ids) and fused == "0"
    assert as_printed(each, 1 / len(trace.source_ids))


@pytest.mark.parametrize("name", ["en-de", "en-fr", "reverse"])
def test_what_is_said_of_the_checkpoint(name):
    asked = _asked(name, "a")
    model, settings = loaded(name).model, loaded(name).checkpoint.settings("label_smoothing")
    weights = {key: each.detach().numpy().astype(np.float64) for key, each in model.named_parameters()}
    total = sum(each.size for each in weights.values())
    rows = model.config.vocab_size, model.config.d_model
    embeddings = sum(each.size for each in weights.values() if each.shape == rows)
    count, share, d_model, wider = re.match(
        r"This checkpoint has ([\d,]+) parameters, (\d+) % in its embeddings\. Its d_model is (\d+)\. With 512 the "
        r"same layers would have ([\d,]+)\.$",
        str(content._widths(asked).see),
    ).groups()
    assert (int(d_model), number(count)) == (model.config.d_model, total) and number(wider) > total
    assert as_printed(share, 100 * embeddings / total)

    smallest, largest, low, high = re.search(
        r"began at 1, go from (\S+) to (\S+)\. .* the β, which began at 0, go from (\S+) to (\S+)\.$",
        str(content._gamma(asked).see),
    ).groups()
    vectors = [(key, each) for key, each in weights.items() if "norm" in key]
    gammas = np.concatenate([each for key, each in vectors if not key.endswith("bias") and "beta" not in key])
    betas = np.concatenate([each for key, each in vectors if key.endswith("bias") or "beta" in key])
    assert as_printed(smallest, gammas.min()) and as_printed(largest, gammas.max())
    assert as_printed(low, betas.min()) and as_printed(high, betas.max())

    epsilon, best, tokens, least = re.match(
        r"With ε = ([\d.]+) the loss is least at p = ([\d.]+)\. That ε is this model's, over ([\d,]+) tokens; there "
        r"the loss is ([\d.]+), ",
        str(content._smoothing(asked).see),
    ).groups()
    own, classes = settings.label_smoothing, model.config.vocab_size
    right, wrong = 1 - own + own / classes, own / classes
    entropy = -sum(mass * math.log(mass) for mass in (right, *[wrong] * (classes - 1)) if mass)
    assert (float(epsilon), number(tokens)) == (own, classes) and as_printed(best, right) and as_printed(least, entropy)

    if loaded(name).checkpoint.settings("schedule").schedule == Schedule.NOAM:
        _peaks(asked, name)


def _peaks(asked, name: str) -> None:
    step, rate, warmup, factor = re.search(
        rf"^The rate peaks at step ([\d,]+) with ({TINY})\. .* warm-up ([\d,]+) and factor ([\d.]+)\.$",
        str(content._rate(asked).see),
    ).groups()
    schedule = loaded(name).checkpoint.settings("warmup_steps", "rate_factor")
    assert (number(warmup), float(factor)) == (schedule.warmup_steps, schedule.rate_factor)
    true = float(factor) / math.sqrt(loaded(name).model.config.d_model * number(warmup))
    assert number(step) == number(warmup) and as_scientific(rate, true)


def test_a_constant_rate_is_said_to_be_none_of_the_papers():
    own = loaded("en-de")
    training = copy.deepcopy(own.checkpoint.training)
    training["configuration"]["training"]["schedule"] = "constant"
    made = copy.copy(own)
    made.checkpoint = dataclasses.replace(own.checkpoint, training=training)
    said = content._rate(dataclasses.replace(_asked("en-de", "a"), translator=made)).see.more
    assert "the paper's warm-up 4,000 and factor 1." in said
    assert said.endswith("It was itself trained with a constant rate after its warm-up.")


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("embedding_norm", [True, False])
def test_a_layer_norm_after_the_embedding_is_said_and_the_norm_is_what_the_first_layer_is_given(norm, embedding_norm):
    model = small_model(norm=norm, embedding_norm=embedding_norm)
    source, given = random_sources(7)[0], []
    hook = model.encoder[0].register_forward_pre_hook(lambda _, inputs: given.append(inputs[0][0, 1]))
    with torch.inference_mode():
        model.encode(torch.tensor([source]), None)
    hook.remove()
    translator = SimpleNamespace(model=model)
    stream = record_residual_stream(model, source, [2, 9, 8])
    said = content._twice(content.Asked(translator, SimpleNamespace(source_ids=source), stream, list)).see
    said = str(said)
    assert as_printed(re.search(r"norm ([\d.]+) before the encoder's layers", said)[1], float(given[0].norm()))
    after = ", and one follows the embedding" if embedding_norm else ""
    last = "None ends a stack" if norm == "post" else "One more ends each stack"
    assert f"one LayerNorm per sub-layer. {last}{after}. " in said


def test_how_many_heads_have_a_plain_pattern_and_which_weight_is_the_largest():
    asked = _asked("en-de", "I love my teacher.")
    found = content._heads(asked).see
    maps, tokens = asked.trace.cross, asked.trace.source_tokens
    average = maps.astype(np.float64).mean(axis=(0, 1))
    heads = [
        Head("cross", one, tokens, asked.trace.target_tokens, average) for one in maps.reshape(-1, *maps.shape[2:])
    ]
    labels = thresholds().values()
    plain = [
        not head.tied()
        and any((n := head.count(words))[1] >= rows and n[0] / n[1] >= least for words, least, rows in labels)
        for head in heads
    ]
    named = re.findall(r"layer (\d+), head (\d+) \(", found.more)
    assert named and all(plain[(int(layer) - 1) * maps.shape[1] + int(head) - 1] for layer, head in named)
    assert found.headline == f"{sum(plain)} of {len(heads)} heads have a plain pattern in this sentence." and any(plain)
    assert content._weights(asked).see.headline.startswith("The row predicting “")


def test_the_papers_table_is_told_as_it_is():
    """Table 3 (A) of Vaswani et al. 2017: BLEU on newstest2013 with 1, 8 and 32 heads."""
    one, eight, many = 24.9, 25.8, 25.4
    (answer,) = (each.answer for each in content.QUESTIONS if each.name == "heads")
    told = re.search(r"one head is ([\d.]+) BLEU worse than eight, and 32 heads are ([\d.]+) worse than eight", answer)
    assert as_printed(told[1], eight - one) and as_printed(told[2], eight - many)
