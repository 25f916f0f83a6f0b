"""Laws of the sentences under the questions' figures: computed again from the weights, the ids and the formulas."""

import copy
import dataclasses
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from support.claims import as_printed, number
from support.sentences import SENTENCES
from support.streams import loaded, stages_of, stream_of, trace_of

from headlight.app.results import blocks

CASES = [("en-de", text) for text in SENTENCES[:39:2]] + [("reverse", text) for text in SENTENCES[:39:4]]


def _asked(name: str, text: str) -> SimpleNamespace:
    return SimpleNamespace(
        choice=text, translator=loaded(name), trace=trace_of(name, text), stream=stream_of(name, text)
    )


@pytest.mark.parametrize("name, text", CASES)
def test_what_is_said_of_the_sentence_itself(name, text, monkeypatch):
    asked = _asked(name, text)
    model, trace, stream = asked.translator.model, asked.trace, asked.stream
    fed, following = trace.fed_tokens, trace.next_tokens
    assert questions_model._shift(asked).see == (
        f"Row 1 is fed “{fed[0]}” and is to predict “{following[0]}”; the last is fed “{fed[-1]}” and is to predict "
        f"“{following[-1]}”. Each row is a task of its own, {len(fed)} task{'s' * (len(fed) != 1)} in all."
    )
    assert fed[1:] == following[:-1]

    size = len(fed)
    masked, cells, tokens = re.match(
        r"The target mask of this sentence: (\d+) of ([\d,]+) cells? masked\. Its source mask, over (\d+) ",
        questions_attention._masks(asked).see,
    ).groups()
    later = sum(key > query for query in range(size) for key in range(size))
    assert (int(masked), number(cells), int(tokens)) == (later, size * size, len(trace.source_ids))

    row = model.source_embedding.weight[trace.source_ids[1]].detach().numpy().astype(np.float64)
    length, d_model = float(np.sqrt(row @ row)), model.config.d_model
    token, own, scaled, position = re.match(
        r"The row of “(.*)” is ([\d.]+) long, ([\d.]+) after scaling; its position's vector ([\d.]+)\.$",
        questions_model._scale(asked).see,
    ).groups()
    assert token == trace.source_tokens[1] and as_printed(own, length)
    assert as_printed(scaled, length * math.sqrt(d_model)) and as_printed(position, math.sqrt(d_model / 2))

    norm, before, after = re.match(
        r"This checkpoint is (pre|post)-norm: .* norm ([\d.]+) before the encoder's layers and ([\d.]+) at the ",
        questions_model._twice(asked).see,
    ).groups()
    waves = [math.sin(1 / 10000 ** (2 * pair / d_model)) for pair in range(d_model // 2)]
    turns = [math.cos(1 / 10000 ** (2 * pair / d_model)) for pair in range(d_model // 2)]
    added = np.stack([waves, turns], axis=1).ravel()
    assert norm == model.config.norm
    assert as_printed(before, float(np.linalg.norm(row * math.sqrt(d_model) + added)))
    assert as_printed(after, float(np.linalg.norm(stream.encoder.end[1].astype(np.float64))))

    logits = stream.decoder.end[0].astype(np.float64) @ model.output_projection.weight.detach().numpy().T.astype(float)
    said = questions_model._generator(asked).see
    best = asked.translator.tokenizer.piece_text(int(logits.argmax()))
    assert said.startswith(f"The first step's best, {best}: ")
    total, own = re.search(r" = (−?[\d.]+)\. The model has (−?[\d.]+), difference", said).groups()
    assert as_printed(total, logits.max()) and abs(number(own) - logits.max()) < 1e-3

    stages = stages_of(name, text, "encoder", 0)
    monkeypatch.setattr(blocks, "stages", lambda *_: (stages, None, None))
    token, keys, each, fused = re.match(
        r"The scores of “(.*)” in layer 1, .* gives each of (\d+) keys ([\d.]+), the fused kernel (\d), and −∞",
        questions_attention._infinity(asked).see,
    ).groups()
    assert token == trace.source_tokens[0] and int(keys) == len(trace.source_ids) and fused == "0"
    assert as_printed(each, 1 / len(trace.source_ids))


@pytest.mark.parametrize("name", ["en-de", "en-fr", "reverse"])
def test_what_is_said_of_the_checkpoint(name):
    asked = _asked(name, "a")
    model, settings = loaded(name).model, loaded(name).checkpoint.settings("label_smoothing")
    weights = {key: each.detach().numpy().astype(np.float64) for key, each in model.named_parameters()}
    total = sum(each.size for each in weights.values())
    embeddings = sum(
        each.size for each in weights.values() if each.shape == (model.config.vocab_size, model.config.d_model)
    )
    d_model, count, share, wider = re.match(
        r"This checkpoint has d_model (\d+) and ([\d,]+) parameters, (\d+) % of them in its embeddings\. With 512 the "
        r"same layers would have ([\d,]+)\.$",
        questions_attention._widths(asked).see,
    ).groups()
    assert (int(d_model), number(count)) == (model.config.d_model, total) and as_printed(
        share, 100 * embeddings / total
    )
    assert number(wider) > total

    smallest, largest, low, high = re.search(
        r"the smallest is (\S+) and the largest ([\d.]+); .* go from (\S+) to (\S+)\.$",
        questions_model._gamma(asked).see,
    ).groups()
    vectors = [(key, each) for key, each in weights.items() if "norm" in key]
    gammas = np.concatenate([each for key, each in vectors if not key.endswith("bias") and "beta" not in key])
    betas = np.concatenate([each for key, each in vectors if key.endswith("bias") or "beta" in key])
    assert as_printed(smallest, gammas.min()) and as_printed(largest, gammas.max())
    assert as_printed(low, betas.min()) and as_printed(high, betas.max())

    epsilon, tokens, best, least = re.match(
        r"With this model's ε = ([\d.]+) and ([\d,]+) tokens the loss is least at p = ([\d.]+), where it "
        r"is ([\d.]+\d|0)",
        questions_model._smoothing(asked).see,
    ).groups()
    own, classes = settings.label_smoothing, model.config.vocab_size
    right, wrong = 1 - own + own / classes, own / classes
    entropy = -sum(mass * math.log(mass) for mass in (right, *[wrong] * (classes - 1)) if mass)
    assert (float(epsilon), number(tokens)) == (own, classes) and as_printed(best, right) and as_printed(least, entropy)

    warmup, factor, step, rate, formula = re.search(
        r"warm-up ([\d,]+) and factor ([\d.]+), the rate peaks at step ([\d,]+) with (\S+); the formula says (\S+)\.$",
        questions_model._rate(asked).see,
    ).groups()
    schedule = loaded(name).checkpoint.settings("warmup_steps", "rate_factor")
    assert (number(warmup), float(factor)) == (schedule.warmup_steps, schedule.rate_factor)
    true = float(factor) / math.sqrt(model.config.d_model * number(warmup))
    assert number(step) == number(warmup) and rate == formula and float(rate) == pytest.approx(true, rel=0.006)


def test_a_constant_rate_is_said_to_be_none_of_the_papers():
    own = loaded("en-de")
    training = copy.deepcopy(own.checkpoint.training)
    training["configuration"]["training"]["schedule"] = "constant"
    made = SimpleNamespace(model=own.model, checkpoint=dataclasses.replace(own.checkpoint, training=training))
    said = questions_model._rate(SimpleNamespace(translator=made)).see
    assert "the paper's warm-up 4,000 and factor 1," in said
    assert said.endswith("It was itself trained with a constant rate after its warm-up.")
