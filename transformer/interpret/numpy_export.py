"""The steps of one attention block as a short NumPy program with its arrays, to be run anywhere."""

import io
import zipfile
from dataclasses import fields

import numpy as np

from ..config import Norm
from .attention_block import BlockParameters, Stages

SCRIPT = '''\
"""{title}: recomputed in float64 with NumPy alone, from attention.npz beside it."""
from pathlib import Path

import numpy as np

np.set_printoptions(threshold=10**6, linewidth=10**4, suppress=True)
arrays = np.load(Path(__file__).with_name("attention.npz"))
X, M, mask = (arrays[name].astype(np.float64) for name in ("residual", "memory", "unmasked"))
heads, head, sentence = {heads}, {head}, {sentence}  # the last two count from 0


def layer_norm(z):
    deviation = np.sqrt(z.var(-1, keepdims=True) + {epsilon!r})
    return (z - z.mean(-1, keepdims=True)) / deviation * arrays["gamma"] + arrays["beta"]


def project(x, name):
    return x @ arrays["w_" + name].astype(np.float64) + arrays["b_" + name]


def split(x):  # batch length d_model -> batch heads length d_k
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


x = {x}
query, key, value = project(x, "query"), project({memory}, "key"), project({memory}, "value")
products = split(query) @ split(key).transpose(0, 1, 3, 2)  # batch heads queries keys
scores = products / np.sqrt(split(query).shape[-1])
masked = np.where(mask[:, None] > 0, scores, -1e300)
powers = np.exp(masked - masked.max(-1, keepdims=True)) * mask[:, None]
weights = powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300)  # a row whose every key is masked: 0
concatenated = (weights @ split(value)).transpose(0, 2, 1, 3).reshape(X.shape)
output = project(concatenated, "output")
total = X + output
result = {result}
for name in ("query", "key", "value", "products", "scores", "weights", "concatenated", "output", "result"):
    gap = abs(locals()[name] - arrays[name]).max()
    print(f"{{name:12}} {{str(locals()[name].shape):18}} differs by {{gap:.0e}} at most")
print(f"weights of head {{head + 1}}, rows are queries:\\n{{weights[sentence, head].round(4)}}")
'''


def script(stages: Stages, parameters: BlockParameters, title: str, *, cross: bool, sentence: int, head: int) -> str:
    """The program for one block; `title` says what it shows, sentence and head count from 0."""
    pre = parameters.norm == Norm.PRE
    return SCRIPT.format(
        title=title.replace("\\", "").replace('"', "'"),
        heads=stages.num_heads,
        head=head,
        sentence=sentence,
        epsilon=parameters.epsilon,
        x="layer_norm(X)  # pre-norm" if pre else "X  # post-norm: LayerNorm comes last",
        memory="M" if cross else "x",
        result="total" if pre else "layer_norm(total)",
    )


def bundle(stages: Stages, parameters: BlockParameters, program: str) -> bytes:
    """A zip of attention.py and attention.npz: all stages, and what the block has learned. Nothing is pickled."""
    arrays = {field.name: getattr(stages, field.name) for field in fields(Stages)}
    learned = ((field.name, getattr(parameters, field.name)) for field in fields(BlockParameters))
    arrays |= {name: value for name, value in learned if isinstance(value, np.ndarray)}
    packed, whole = io.BytesIO(), io.BytesIO()
    np.savez_compressed(packed, **arrays)
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("attention.py", program)
        archive.writestr("attention.npz", packed.getvalue())
    return whole.getvalue()
