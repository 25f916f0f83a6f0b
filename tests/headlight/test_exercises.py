"""Exercises of the notebook: solutions are right, and each known mistake is named."""

import math

import pytest
import torch

from headlight.exercises import EXERCISES, check


def causal_mask(length):
    return torch.ones(length, length).tril().bool()


def attention(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ value


def multi_head_attention(x, memory, parameters, heads, mask):
    def project(vectors, name):  # [heads, length, d_k]
        projected = vectors @ parameters[f"w_{name}"] + parameters[f"b_{name}"]
        return projected.unflatten(-1, (heads, -1)).transpose(0, 1)

    result = attention(project(x, "query"), project(memory, "key"), project(memory, "value"), mask)
    return result.transpose(0, 1).flatten(1) @ parameters["w_output"] + parameters["b_output"]


def positional_encoding(length, d_model):
    angles = torch.arange(length)[:, None] / 10000.0 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


SOLUTIONS = {each.__name__: each for each in (causal_mask, attention, multi_head_attention, positional_encoding)}


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_is_right_and_each_mistake_is_named(name):
    assert check(name, SOLUTIONS[name]).is_right
    exercise = EXERCISES[name][0]()
    for sentence, mistake in exercise.mistakes:
        verdict = check(name, lambda *_, result=mistake: result)
        assert not verdict.is_right and verdict.sentence == sentence
    assert str(tuple(exercise.expected.shape)) in check(name, lambda *_: exercise.expected[:-1]).sentence
    assert not check(name, lambda *_: exercise.expected + 1e-2).is_right
    if len(EXERCISES[name]) > 1:
        assert "another length: The shape" in check(name, lambda *_: exercise.expected).sentence


def test_a_solution_may_change_its_arguments():
    def in_place(query, key, value, mask):
        query /= math.sqrt(query.shape[-1])
        return (query @ key.mT).masked_fill(mask.logical_not_(), -math.inf).softmax(dim=-1) @ value

    assert check("attention", in_place).is_right and check("attention", in_place).is_right
    assert check("multi_head_attention", multi_head_attention).is_right


def test_a_function_that_fails_gets_a_sentence():
    assert "10,240 of 10,240" in check("positional_encoding", lambda *shape: torch.full(shape, 2.0)).sentence
    assert "NoneType" in check("attention", lambda *_: None).sentence
    assert "ZeroDivisionError" in check("attention", lambda *_: 1 / 0).sentence
    with pytest.raises(ValueError, match="causal_mask"):
        check("softmax", causal_mask)
