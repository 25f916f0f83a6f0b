"""One attention block step by step, from its input to the LayerNorm around it: as recorded, and recomputed in NumPy."""

import io
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import softmax, to_array
from ..config import Norm, NormType, Positions
from ..data.batching import Ids
from ..model.layers import norm_bias
from ..model.names import AttentionKind
from ..model.transformer import Transformer
from .activations import Activations, Request, bias_of, record, scores_of, unmasked_of, weights_of
from .relative_positions import RelativeBias, relative_bias


@dataclass(frozen=True, eq=False)
class BlockParameters:
    """Parameters of one attention block and the residual around it, each matrix as in the X W of the paper.

    w_query, w_key, w_value: [d_model, heads d_k], w_output: [heads d_k, d_model], head h owns the columns h d_k to (h +
    1) d_k of the first three and these rows of the last; b_*: [heads d_k] and [d_model], 0 where it has none; gamma,
    beta: [d_model], of the LayerNorm, beta 0 of an RMSNorm; `norm`: "post" or "pre"; relative: the bias of
    relative positions on scores, None without. `with_biases` is False where no linear map has a bias.
    """

    w_query: np.ndarray
    w_key: np.ndarray
    w_value: np.ndarray
    w_output: np.ndarray
    b_query: np.ndarray
    b_key: np.ndarray
    b_value: np.ndarray
    b_output: np.ndarray
    gamma: np.ndarray
    beta: np.ndarray
    epsilon: float
    num_heads: int
    norm: Norm
    norm_type: NormType = NormType.LAYER
    scale_scores: bool = True
    relative: RelativeBias | None = None
    with_biases: bool = True

    @property
    def divisor(self) -> float:
        """Return the divisor of Q K^T: sqrt(d_k), or 1 where scores are not scaled."""
        return float(np.sqrt(self.w_query.shape[1] // self.num_heads)) if self.scale_scores else 1.0

    def bias(self, queries: int, keys: int) -> np.ndarray:
        """Return the bias on the scores of these first positions: [heads, queries, keys]."""
        if self.relative is None:
            return np.zeros((self.num_heads, queries, keys))
        return self.relative.between(range(queries), range(keys))[0]


@dataclass(frozen=True, eq=False)
class Stages:
    """Every intermediate result of one attention block for a batch. Nothing here is changed later.

    residual: [batch, queries, d_model], the residual stream that comes in; x: the block's input, equal to it with
    post-norm, its LayerNorm with pre-norm; memory: [batch, keys, d_model], the source of keys and values, x itself in
    self-attention; query, key, value: [batch, length, heads d_k], all heads side by side; products, Q K^T, scores,
    these divided by sqrt(d_k), where the model does so, plus the bias, and weights: [batch, heads, queries, keys];
    bias: [heads, queries, keys], of relative positions, 0 without; unmasked: [batch, queries, keys], True where a
    query may attend; concatenated: [batch, queries, heads d_k], weights times value, head after head; output: times
    W_O; total: residual + output; result: its norm with post-norm, equal to it with pre-norm. is_divided: True where
    products are divided.
    """

    residual: np.ndarray
    x: np.ndarray
    memory: np.ndarray
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    products: np.ndarray
    bias: np.ndarray
    scores: np.ndarray
    unmasked: np.ndarray
    weights: np.ndarray
    concatenated: np.ndarray
    output: np.ndarray
    total: np.ndarray
    result: np.ndarray
    is_divided: bool

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    @property
    def num_heads(self) -> int:
        """Count the heads."""
        return int(self.weights.shape[1])

    @property
    def d_k(self) -> int:
        """Return the dimensions of one head."""
        return int(self.query.shape[-1]) // self.num_heads


def record_stages(model: Transformer, source: Ids, decoder_input: Ids, kind: AttentionKind | str, layer: int) -> Stages:
    """Record the stages of one attention block in a pass over one sentence, as the model computed them, in float32.

    The ids and errors are those of `record`; the layer counts from 0.
    """
    seen = record(model, [source], [decoder_input], Request(keep=stage_modules(kind, layer), logits_to_keep=1))
    return stages_of(model, seen, kind, layer)


def stage_modules(kind: AttentionKind | str, layer: int | str) -> tuple[str, ...]:
    """Name the modules to keep for the stages of a block, or with "*" for those of all layers."""
    name = AttentionKind(kind).block_name(layer)
    return name, f"{name}.core", f"{name}_residual"


def stages_of(model: Transformer, seen: Activations, kind: AttentionKind | str, layer: int) -> Stages:
    """Read the stages of one attention block from a recorded pass that kept its `stage_modules`."""
    block, core, around = (seen.call(module) for module in stage_modules(kind, layer))
    query, key, value, *_ = core.inputs
    merge = getattr(model.layer(AttentionKind(kind).stack, layer), AttentionKind(kind).sublayer).merge
    residual, output = around.inputs[0], block.output
    return Stages(
        residual=to_array(residual),
        x=to_array(block.inputs[0]),
        memory=to_array(block.inputs[1]),
        query=to_array(merge(query)),
        key=to_array(merge(key)),
        value=to_array(merge(value)),
        products=to_array(query @ key.transpose(-2, -1)),
        bias=to_array(bias_of(core)),
        scores=to_array(scores_of(core)),
        unmasked=to_array(unmasked_of(core)),
        weights=to_array(weights_of(core)),
        concatenated=to_array(merge(core.output)),
        output=to_array(output),
        total=to_array(residual + output),
        result=to_array(around.output),
        is_divided=model.config.scale_scores,
    )


def block_parameters(model: Transformer, kind: AttentionKind | str, layer: int) -> BlockParameters:
    """Read the parameters of a kind's block in a layer; raises ValueError for a block that is not there."""
    kind = AttentionKind(kind)
    owner = model.layer(kind.stack, layer)
    block, norm = getattr(owner, kind.sublayer), getattr(owner, f"{kind.sublayer}_residual").norm
    names = ("query", "key", "value", "output")
    weights = (*block.query_key_value.weight.chunk(3), block.output.weight)
    if model.config.bias:
        biases = (*block.query_key_value.bias.chunk(3), block.output.bias)
    else:
        biases = tuple(weight.new_zeros(len(weight)) for weight in weights)
    of_self = model.config.positions == Positions.RELATIVE and kind != AttentionKind.CROSS
    return BlockParameters(
        **{f"w_{name}": to_array(weight.T) for name, weight in zip(names, weights, strict=True)},
        **{f"b_{name}": to_array(bias) for name, bias in zip(names, biases, strict=True)},
        gamma=to_array(norm.weight),
        beta=to_array(norm_bias(norm)),
        epsilon=norm.eps,
        num_heads=block.num_heads,
        norm=model.config.norm,
        norm_type=model.config.norm_type,
        scale_scores=model.config.scale_scores,
        relative=relative_bias(model, kind.stack) if of_self else None,
        with_biases=model.config.bias,
    )


def compute_stages(
    residual: np.ndarray, memory: np.ndarray | None, unmasked: np.ndarray, parameters: BlockParameters
) -> Stages:
    """Compute all stages in float64 (paper, eq. 1, 3.2.2 and 5.4; dropout, which is for training only, left out).

    residual: [batch, queries, d_model]; memory: [batch, keys, d_model], None for self-attention; unmasked: [batch,
    queries, keys]. A row whose every key is masked gets weight 0 everywhere, as from PyTorch's fused kernel. Raises
    ValueError where `num_heads` does not divide d_model.
    """
    residual = np.asarray(residual, dtype=np.float64)
    x = normalise(residual, parameters) if parameters.norm == Norm.PRE else residual
    memory = x if memory is None else np.asarray(memory, dtype=np.float64)
    query = x @ parameters.w_query + parameters.b_query
    key = memory @ parameters.w_key + parameters.b_key
    value = memory @ parameters.w_value + parameters.b_value
    split_query, split_key, split_value = (split_heads(part, parameters.num_heads) for part in (query, key, value))
    products = split_query @ split_key.swapaxes(-2, -1)
    bias = parameters.bias(*products.shape[-2:])
    scores = products / parameters.divisor + bias
    weights = softmax(scores, unmasked[:, None])
    concatenated = merge_heads(weights @ split_value)
    output = concatenated @ parameters.w_output + parameters.b_output
    total = residual + output
    result = total if parameters.norm == Norm.PRE else normalise(total, parameters)
    heads = products, bias, scores, unmasked, weights
    summed = concatenated, output, total, result
    return Stages(residual, x, memory, query, key, value, *heads, *summed, is_divided=parameters.scale_scores)


def undivided(stages: Stages, head: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a head's weights in the first sentence without the division by sqrt(d_k) and with it: [queries, keys].

    One of them is the model's own, the other is softmax of its products, in float64.
    """
    products = np.asarray(stages.products[0, head], dtype=np.float64)
    recorded = np.asarray(stages.weights[0, head], dtype=np.float64)
    if stages.is_divided:
        return softmax(products + stages.bias[head], stages.unmasked[0]), recorded
    return recorded, softmax(products / np.sqrt(stages.d_k) + stages.bias[head], stages.unmasked[0])


def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
    """Split [batch, length, heads d_k] into [batch, heads, length, d_k]; ValueError where a remainder is left."""
    batch, length, d_model = x.shape
    if d_model % num_heads:
        raise ValueError(f"num_heads must divide d_model, got d_model={d_model} and num_heads={num_heads}")
    return x.reshape(batch, length, num_heads, d_model // num_heads).swapaxes(1, 2)


def merge_heads(heads: np.ndarray) -> np.ndarray:
    """Join [batch, heads, length, d_k] to [batch, length, heads d_k], head after head."""
    batch, num_heads, length, d_k = heads.shape
    return heads.swapaxes(1, 2).reshape(batch, length, num_heads * d_k)


def normalise(x: np.ndarray, parameters: BlockParameters) -> np.ndarray:
    """Apply LayerNorm: (x - mean) / standard deviation, times gamma, plus beta (Ba et al. 2016): [..., d_model].

    Or RMSNorm: the same without the mean, in the deviation too, and without beta (Zhang and Sennrich 2019).
    """
    normalised: np.ndarray = centred(x, parameters) / deviation_of(x, parameters) * parameters.gamma + parameters.beta
    return normalised


def centred(x: np.ndarray, parameters: BlockParameters) -> np.ndarray:
    """Subtract the mean of vectors, unless the block has RMSNorm: [..., d_model]."""
    return x if parameters.norm_type == NormType.RMS else x - x.mean(axis=-1, keepdims=True)


def deviation_of(x: np.ndarray, parameters: BlockParameters) -> np.ndarray:
    """Return the divisor of the block's norm for each vector: [..., 1]."""
    squares = np.square(centred(x, parameters)).mean(axis=-1, keepdims=True)
    return np.asarray(np.sqrt(squares + parameters.epsilon))


def differences(shown: Stages, recomputed: Stages) -> dict[str, float]:
    """Return the largest absolute difference of every stage, by the stage's name."""
    names = [name for name in shown.arrays if name != "unmasked"]
    return {name: float(np.abs(getattr(shown, name) - getattr(recomputed, name)).max()) for name in names}


SCRIPT = '''\
"""{title}: recomputed in float64 with NumPy alone, from attention.npz beside it."""
from pathlib import Path

import numpy as np

np.set_printoptions(threshold=10**6, linewidth=10**4, suppress=True)
arrays = np.load(Path(__file__).with_name("attention.npz"))
X, M, mask = (arrays[name].astype(np.float64) for name in ("residual", "memory", "unmasked"))
heads, head, sentence = {heads}, {head}, {sentence}  # the last two count from 0


def {norm}(z):
    deviation = np.sqrt({variance} + {epsilon!r})
    return {centred} / deviation * arrays["gamma"]{shift}


def project(x, name):
    return {projected}


def split(x):  # batch length d_model -> batch heads length d_k
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


x = {x}
query, key, value = project(x, "query"), project({memory}, "key"), project({memory}, "value")
products = split(query) @ split(key).transpose(0, 1, 3, 2)  # batch heads queries keys
scores = {scores}
masked = np.where(mask[:, None] > 0, scores, -1e300)
powers = np.exp(masked - masked.max(-1, keepdims=True)) * mask[:, None]
weights = powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300)  # a row whose every key is masked: 0
concatenated = (weights @ split(value)).transpose(0, 2, 1, 3).reshape(*X.shape[:2], -1)
output = project(concatenated, "output")
total = X + output
result = {result}
for name in ("query", "key", "value", "products", "scores", "weights", "concatenated", "output", "result"):
    gap = abs(locals()[name] - arrays[name]).max()
    print(f"{{name:12}} {{str(locals()[name].shape):18}} differs by {{gap:.0e}} at most")
print(f"weights of head {{head + 1}}, rows are queries:\\n{{weights[sentence, head].round(4)}}")
'''


def script(stages: Stages, parameters: BlockParameters, title: str, *, cross: bool, sentence: int, head: int) -> str:
    """Write the program for one block; `title` describes it, sentence and head count from 0."""
    pre, rms = parameters.norm == Norm.PRE, parameters.norm_type == NormType.RMS
    biased = parameters.relative is not None
    divided = "products / np.sqrt(split(query).shape[-1])" if parameters.scale_scores else "products"
    norm, projected = "RMSNorm" if rms else "LayerNorm", 'x @ arrays["w_" + name].astype(np.float64)'
    return SCRIPT.format(
        title=title.replace("\\", "").replace('"', "'"),
        heads=stages.num_heads,
        head=head,
        sentence=sentence,
        epsilon=parameters.epsilon,
        variance="(z**2).mean(-1, keepdims=True)" if rms else "z.var(-1, keepdims=True)",
        centred="z" if rms else "(z - z.mean(-1, keepdims=True))",
        scores=f'{divided} + arrays["bias"]  # of relative positions' if biased else divided,
        projected=projected + ' + arrays["b_" + name]' * parameters.with_biases,
        norm="rms_norm" if rms else "layer_norm",
        shift="" if rms else ' + arrays["beta"]',
        x=("rms_norm" if rms else "layer_norm") + "(X)  # pre-norm" if pre else f"X  # post-norm: {norm} comes last",
        memory="M" if cross else "x",
        result="total" if pre else ("rms_norm" if rms else "layer_norm") + "(total)",
    )


def bundle(stages: Stages, parameters: BlockParameters, program: str) -> bytes:
    """Zip attention.py and attention.npz: all stages and parameters. Nothing is pickled."""
    learned = {name: value for name, value in vars(parameters).items() if isinstance(value, np.ndarray)}
    if relative := parameters.relative:
        learned |= {"by_distance": relative.numbers, "ranges": relative.buckets}
    arrays: dict[str, Any] = stages.arrays | learned
    packed, whole = io.BytesIO(), io.BytesIO()
    np.savez_compressed(packed, **arrays)
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("attention.py", program)
        archive.writestr("attention.npz", packed.getvalue())
    return whole.getvalue()
