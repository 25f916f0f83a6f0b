"""The Transformer in NumPy and float64, read from a checkpoint's files alone, with changes to single parts.

It shares no code with the engine, only the names in the file of weights."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from headlight.lessons.answer import Run


class ByHand:
    """One teacher-forced pass over one sentence; `stages[kind, layer]` is a dict of every intermediate result."""

    def __init__(self, folder: Path):
        self.config = json.loads((folder / "config.json").read_text())["model"]
        self.weights = {
            name: array.astype(np.float64) for name, array in load_file(folder / "model.safetensors").items()
        }
        self.stages: dict[tuple[str, int], dict[str, np.ndarray]] = {}

    def run(self, source: tuple[int, ...], fed: tuple[int, ...]) -> np.ndarray:
        """Fill `stages`, and return the logits: [target, vocab]."""
        x = self.changed("encoder.stream", 0, self.embed(source))
        for layer in range(self.config["num_encoder_layers"]):
            name = f"encoder.{layer}"
            x = self.attend(f"{name}.self_attention", "encoder", layer, x, None, causal=False)
            x = self.changed("encoder.stream", layer + 1, self.feed_forward("encoder", layer, x))
        memory = self.last_norm("encoder_norm", x)
        x = self.changed("decoder.stream", 0, self.embed(fed))
        for layer in range(self.config["num_decoder_layers"]):
            name = f"decoder.{layer}"
            x = self.attend(f"{name}.self_attention", "decoder", layer, x, None, causal=True)
            x = self.attend(f"{name}.cross_attention", "cross", layer, x, memory, causal=False)
            x = self.changed("decoder.stream", layer + 1, self.feed_forward("decoder", layer, x))
        return self.last_norm("decoder_norm", x) @ self.weights["source_embedding.embedding.weight"].T

    def changed(self, part: str, layer: int, x: np.ndarray) -> np.ndarray:
        """Return what a run goes on with: of heads their weights, [heads, queries, keys], else [tokens, width]."""
        return x

    def embed(self, ids: tuple[int, ...]) -> np.ndarray:
        d_model = self.config["d_model"]
        pairs = np.arange(0, d_model, 2)
        angles = np.arange(len(ids))[:, None] / 10000 ** (pairs / d_model)
        positions = np.empty((len(ids), d_model))
        positions[:, 0::2], positions[:, 1::2] = np.sin(angles), np.cos(angles)
        return self.weights["source_embedding.embedding.weight"][list(ids)] * np.sqrt(d_model) + positions

    def attend(self, name, kind, layer, stream, memory, causal) -> np.ndarray:
        heads, pre = self.config["num_heads"], self.config["norm"] == "pre"
        x = self.norm(f"{name}_residual", stream) if pre else stream
        memory = x if memory is None else memory
        w_query, w_key, w_value = np.split(self.weights[f"{name}.query_key_value.weight"], 3)
        b_query, b_key, b_value = np.split(self.weights[f"{name}.query_key_value.bias"], 3)
        query, key, value = x @ w_query.T + b_query, memory @ w_key.T + b_key, memory @ w_value.T + b_value
        width = query.shape[1] // heads
        products, scores, weights = [], [], []
        for head in range(heads):
            columns = slice(head * width, (head + 1) * width)
            product = query[:, columns] @ key[:, columns].T
            score = product / width**0.5
            masked = np.where(np.tri(*score.shape, dtype=bool), score, -np.inf) if causal else score
            power = np.exp(masked - masked.max(axis=1, keepdims=True))
            weight = power / power.sum(axis=1, keepdims=True)
            for results, value_of_it in zip((products, scores, weights), (product, score, weight), strict=True):
                results.append(value_of_it)
        weights = self.changed(kind, layer, np.stack(weights))
        outputs = [weights[head] @ value[:, head * width : (head + 1) * width] for head in range(heads)]
        outputs = self.changed(f"{kind}.heads", layer, np.stack(outputs))
        concatenated = np.concatenate(outputs, axis=1)
        output = concatenated @ self.weights[f"{name}.output.weight"].T + self.weights[f"{name}.output.bias"]
        output = self.changed(f"{kind}.attention", layer, output)
        total = stream + output
        result = total if pre else self.norm(f"{name}_residual", total)
        self.stages[kind, layer] = {
            "residual": stream,
            "x": x,
            "memory": memory,
            "query": query,
            "key": key,
            "value": value,
            "products": np.stack(products),
            "scores": np.stack(scores),
            "weights": weights,
            "concatenated": concatenated,
            "output": output,
            "total": total,
            "result": result,
        }
        return result

    def feed_forward(self, stack: str, layer: int, x: np.ndarray) -> np.ndarray:
        prefix = f"{stack}.{layer}"
        pre = self.config["norm"] == "pre"
        inside = self.norm(f"{prefix}.feed_forward_residual", x) if pre else x
        get = lambda name: self.weights[f"{prefix}.feed_forward.{name}"]  # noqa: E731
        hidden = np.maximum(inside @ get("inner.weight").T + get("inner.bias"), 0)
        hidden = self.changed(f"{stack}.feed_forward", layer, hidden)
        total = x + hidden @ get("outer.weight").T + get("outer.bias")
        return total if pre else self.norm(f"{prefix}.feed_forward_residual", total)

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        return self.scaled(x, self.weights[f"{name}.norm.weight"], self.weights[f"{name}.norm.bias"])

    def last_norm(self, name: str, x: np.ndarray) -> np.ndarray:
        if self.config["norm"] == "post":
            return x
        return self.scaled(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    @staticmethod
    def scaled(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gamma + beta


Change = Callable[[str, int, np.ndarray], np.ndarray]  # kind, layer, and what the pass would go on with
MOST = 60  # tokens


class ChangedByHand(ByHand):
    """A pass under a change, which is asked for each part: "cross" for weights, "cross.heads" for heads' outputs."""

    change: Change | None = None

    def changed(self, part: str, layer: int, x: np.ndarray) -> np.ndarray:
        return x if self.change is None else self.change(part, layer, x)


@cache
def by_hand(checkpoint: str) -> ChangedByHand:
    return ChangedByHand(Path(__file__).parents[2] / "checkpoints" / checkpoint)


def log_probabilities(run: Run, ids: list[int] | tuple[int, ...], change: Change | None = None) -> np.ndarray:
    """log P of every token at each step of a target that is fed: [target, vocab]."""
    model = by_hand(run.request.checkpoint.name)
    model.change = change
    begin = run.translator.tokenizer.begin_id
    logits = model.run(run.trace.source_ids, (begin, *ids[:-1]))
    return (
        logits
        - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
        - logits.max(1, keepdims=True)
    )


def chosen(run: Run, log_p: np.ndarray) -> np.ndarray:
    """The tokens that greedy decoding takes: [target]."""
    log_p = log_p.copy()
    log_p[:, list(run.translator.model.config.never_chosen)] = -np.inf
    return np.asarray(log_p.argmax(axis=1))


def stays(run: Run, change: Change) -> bool:
    """Return whether greedy decoding writes the run's own translation under a change, too."""
    ids = run.trace.target_ids
    return bool((chosen(run, log_probabilities(run, ids, change)) == ids).all())


def written(run: Run, change: Change) -> str:
    """Return the greedy translation under a change."""
    ids: list[int] = []
    while len(ids) < MOST and run.translator.tokenizer.end_id not in ids:
        ids.append(int(chosen(run, log_probabilities(run, [*ids, 0], change))[-1]))
    return run.translator.tokenizer.decode(ids)


def loss_under(run: Run, change: Change) -> float:
    """Return the log P that the run's own translation loses under a change, in nats."""
    ids, steps = list(run.trace.target_ids), np.arange(len(run.trace.target_ids))
    before, after = (log_probabilities(run, ids, each)[steps, ids].sum() for each in (None, change))
    return float(before - after)


def hiding(positions: list[int], kinds: tuple[str, ...] = ("cross",)) -> Change:
    """No row of these kinds may read these positions; each other row of the hidden ones' own goes on as it can."""

    def change(part: str, layer: int, x: np.ndarray) -> np.ndarray:
        if part not in kinds:
            return x
        left = x.copy()
        left[..., positions] = 0
        return left / left.sum(axis=-1, keepdims=True)

    return change


def hiding_earlier(position: int) -> Change:
    """No later row of the decoder may read this position; its own row may."""

    def change(part: str, layer: int, x: np.ndarray) -> np.ndarray:
        if part != "decoder":
            return x
        left = x.copy()
        left[:, position + 1 :, position] = 0
        return left / left.sum(axis=-1, keepdims=True)

    return change


def without_heads(*heads: tuple[str, int, int]) -> Change:
    """Nothing comes out of these heads: kind, layer and head each, from 0."""

    def change(part: str, layer: int, x: np.ndarray) -> np.ndarray:
        off = [head for kind, at, head in heads if (f"{kind}.heads", at) == (part, layer)]
        left = x.copy()
        left[off] = 0
        return left

    return change
