"""Interventions as values: their texts, what they refuse, and what each makes of weights, held against NumPy."""

import numpy as np
import pytest
import torch

from transformer.errors import InterventionError
from transformer.interpret.what_if.intervention import (
    Focus,
    Forbid,
    Mean,
    Rows,
    SetWeights,
    Shift,
    Uniform,
    Zero,
    parse,
)

TEXTS = {
    "zero:cross.2.5": Zero("cross", 2, 5),
    "mean:decoder.0.*@3": Mean("decoder", 0, rows=Rows(3, 3)),
    "uniform:encoder.*.*@2-4": Uniform("encoder", rows=Rows(2, 4)),
    "focus:cross.*.1:3@4-": Focus("cross", None, 1, key=3, rows=Rows(4)),
    "forbid:cross.1.2:0": Forbid("cross", 1, 2, key=0),
    "shift:decoder.1.2:-1@0": Shift("decoder", 1, 2, by=-1, rows=Rows(0, 0)),
    "given:cross.1.2:0.1,0,2@7-": SetWeights("cross", 1, 2, weights=(0.1, 0, 2), rows=Rows(7)),
    "zero:encoder.feed_forward.2.5,17": Zero("encoder.feed_forward", 2, units=[5, 17]),
    "mean:decoder.feed_forward.*.*@3": Mean("decoder.feed_forward", rows=Rows(3, 3)),
}


@pytest.mark.parametrize("text", TEXTS)
def test_each_has_one_text_which_gives_it_back(text):
    assert parse(text) == TEXTS[text] and str(TEXTS[text]) == text
    assert not set(text) & set(" %&?#+/\"'<>~"), "an address need not encode it"
    assert hash(parse(text)) == hash(TEXTS[text])


def test_a_weight_keeps_all_its_digits():
    given = SetWeights("cross", 0, 0, weights=(1 / 3, 1e-7, 2 / 7))
    assert parse(str(given)) == given


@pytest.mark.parametrize(
    "text",
    [
        "",
        "zero",
        "zero:cross",
        "zero:cross.1",
        "zero:sideways.1.2",
        "zero:cross.-1.2",
        "zero:cross.1.2:3",
        "zero:cross.1.2@",
        "zero:cross.1.2@4-3",
        "zero:cross.1.2 ",
        "half:cross.1.2",
        "focus:cross.1.2",
        "focus:cross.1.2:x",
        "focus:cross.1.2:-1",
        "forbid:cross.1.2:1.5",
        "shift:cross.1.2:",
        "given:cross.1.2",
        "given:cross.1.2:0,0",
        "given:cross.1.2:1,-1",
        "given:cross.1.2:nan",
        "given:cross.1.2:1,inf",
        "given:cross.1.2:1,,2",
        "focus:cross.1.2:" + "9" * 5000,
        "zero:cross.1.2@" + "9" * 5000,
        "zero:cross.١.2",
        "zero:cross.1.2,3",
        "zero:encoder.feed_forward.1.2,x",
        "zero:encoder.feed_forward.1.",
        "zero:encoder.stream.1.*",
        "uniform:encoder.feed_forward.1.*",
        "uniform:encoder.feed_forward.1.2",
        "patch:encoder.stream.1.*@2",
        "patch:encoder.stream.1.2",
        "apply:encoder.feed_forward.1.5,6",
        "apply:cross.1.2:3",
    ],
)
def test_a_text_that_is_none_is_refused_in_a_sentence(text):
    with pytest.raises(InterventionError, match=r"\.$"):
        parse(text)


def test_numbers_that_cannot_be_are_refused():
    for make in (lambda: Zero("cross", -1), lambda: Rows(-1), lambda: Rows(3, 2)):
        with pytest.raises(InterventionError):
            make()


WEIGHTS = np.array([[0.7, 0.3, 0, 0], [0.1, 0.2, 0.7, 0], [0.4, 0.3, 0.2, 0.1]])
UNMASKED = WEIGHTS > 0


def rewritten(intervention) -> np.ndarray:
    weights = torch.tensor(WEIGHTS)[None, None]
    return intervention.rewritten(weights, torch.tensor(UNMASKED)[None, None])[0, 0].numpy()


@pytest.mark.parametrize(
    "text, expected",
    [
        ("uniform:cross.0.0", [[1 / 2, 1 / 2, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0], [1 / 4] * 4]),
        ("focus:cross.0.0:2", [[0.7, 0.3, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]),
        ("focus:cross.0.0:9", WEIGHTS),
        ("forbid:cross.0.0:2", [[0.7, 0.3, 0, 0], [1 / 3, 2 / 3, 0, 0], [0.5, 0.375, 0, 0.125]]),
        ("shift:cross.0.0:1", [[0, 1, 0, 0], [0, 1 / 3, 2 / 3, 0], [0, 4 / 9, 3 / 9, 2 / 9]]),
        ("shift:cross.0.0:-1", [[1, 0, 0, 0], [2 / 9, 7 / 9, 0, 0], [3 / 6, 2 / 6, 1 / 6, 0]]),
        ("shift:cross.0.0:3", [[0.7, 0.3, 0, 0], [0.1, 0.2, 0.7, 0], [0, 0, 0, 1]]),
        ("given:cross.0.0:1,1,0,2", [[1 / 2, 1 / 2, 0, 0], [1 / 2, 1 / 2, 0, 0], [1 / 4, 1 / 4, 0, 1 / 2]]),
        ("given:cross.0.0:0,0,3", [[0.7, 0.3, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]),
        ("given:cross.0.0:0,1,0,1,7,7", [[0, 1, 0, 0], [0, 1, 0, 0], [0, 1 / 2, 0, 1 / 2]]),
    ],
)
def test_each_rewriting_by_hand(text, expected):
    np.testing.assert_allclose(rewritten(parse(text)), expected, atol=1e-12)


def test_a_row_whose_only_key_is_forbidden_attends_to_nothing():
    weights = torch.tensor([[[[1.0, 0, 0], [0.0, 1, 0]]]])
    found = Forbid("cross", key=0).rewritten(weights, weights > 0)
    assert found.tolist() == [[[[0, 0, 0], [0, 1, 0]]]]
