"""Target tokens a second in training, against torch.nn.Transformer of the same shape in the same loop.

python -m benchmarks.train --data TRAIN.tsv.gz [--config CONFIG.toml] [--checkpoint FOLDER] [--steps N]
"""

import argparse
import itertools
import math
import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.timing import describe_machine, milliseconds, print_table, time_interleaved, verdict
from transformer.config import Experiment, ModelConfig, load_experiment
from transformer.data.batching import Example, collate, epoch_batches, make_examples
from transformer.data.pairs import read_pairs
from transformer.data.tokenizer import Tokenizer
from transformer.model.device import bound_primitive_cache, keep_freed_memory
from transformer.model.distributed import Processes
from transformer.model.layers import sinusoidal_positions
from transformer.model.transformer import Transformer
from transformer.training import Objective, Updater, attention_kernel, learning_rate, smoothed_cross_entropy

BAR = 1.25
WARMUP = 5  # batches before the clock counts
SAMPLE = 20_000  # pairs of the corpus that are used
OURS, THEIRS = "Headlight", "torch.nn.Transformer"


class PyTorchTransformer(nn.Module):
    """torch.nn.Transformer with what it lacks: one embedding for source, target and output, sinusoids, dropout."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.register_buffer("table", sinusoidal_positions(config.max_length, config.d_model))
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            *(config.d_model, config.num_heads, config.num_encoder_layers, config.num_decoder_layers, config.d_ff),
            dropout=config.dropout,
            batch_first=True,
            norm_first=False,
        )
        self._leave_out_what_the_paper_has_not()

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Source [batch, source], fed target [batch, target] -> logits [batch, target, vocab]."""
        source_padding, target_padding = (ids == self.config.pad_id for ids in (source, target))
        length = target.shape[1]
        hidden = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),  # True = may not attend
            src_key_padding_mask=source_padding,
            tgt_key_padding_mask=target_padding,
            memory_key_padding_mask=source_padding,
            tgt_is_causal=True,
        )
        return nn.functional.linear(hidden, self.embedding.weight)

    def _leave_out_what_the_paper_has_not(self) -> None:
        """Dropout on attention weights and in the feed-forward, and a last norm on each stack: like for like."""
        for module in self.transformer.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0
        self.transformer.encoder.norm = self.transformer.decoder.norm = None

    def embed(self, ids: Tensor) -> Tensor:
        """[batch, length] -> [batch, length, d_model]."""
        scaled = self.embedding(ids) * math.sqrt(self.config.d_model)
        return self.dropout(scaled + self.table[: ids.shape[1]])


class PlainObjective(Objective):
    """The trainer's loss of any model that returns logits."""

    def forward(self, source: Tensor, fed: Tensor, predicted: Tensor) -> Tensor:
        """Source [batch, source], decoder input and target [batch, target] -> the summed smoothed loss, in nats."""
        logits = self.model(source, fed)
        return smoothed_cross_entropy(logits, predicted, self.model.config.pad_id, self.smoothing)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="TSV file of sentence pairs, the training split")
    parser.add_argument("--config", default="configs/en-de.toml", help="shape and settings of the run")
    parser.add_argument("--checkpoint", default="checkpoints/en-de", help="folder whose tokenizer.model is used")
    parser.add_argument("--steps", type=int, default=40, help="timed batches a contender")
    arguments = parser.parse_args()
    experiment = load_experiment(Path(arguments.config))
    tokenizer = Tokenizer.load(Path(arguments.checkpoint) / "tokenizer.model")
    bound_primitive_cache()
    batches = make_batches(Path(arguments.data), tokenizer, experiment, WARMUP + arguments.steps)
    keep_freed_memory()
    seconds = time_interleaved(make_contenders(experiment, batches), arguments.steps, WARMUP)
    print(describe_machine())
    print_rates(seconds, sum(map(count_tokens, batches[WARMUP:])))


def make_batches(path: Path, tokenizer: Tokenizer, experiment: Experiment, count: int) -> list[list[Example]]:
    """Return the first batches of a run on a random sample of the corpus, epoch after epoch."""
    settings, max_length = experiment.training, experiment.model.max_length
    pairs = read_pairs(path)
    sample = random.Random(settings.seed).sample(pairs, min(SAMPLE, len(pairs)))
    examples = make_examples(sample, tokenizer, max_length)
    epochs = (
        epoch_batches(examples, settings.batch_tokens, settings.join_probability, max_length, seed)
        for seed in itertools.count()
    )
    return list(itertools.islice(itertools.chain.from_iterable(epochs), count))


def make_contenders(experiment: Experiment, batches: Sequence[list[Example]]) -> dict[str, Callable[[], None]]:
    """Headlight as its Trainer runs it on a CPU, and PyTorch's model in the same loop."""
    torch.manual_seed(experiment.training.seed)
    config, unfused = experiment.model, partial(attention_kernel, torch.device("cpu"))
    return {
        OURS: updates(Transformer(config), experiment, batches, unfused),
        THEIRS: updates(PyTorchTransformer(config), experiment, batches, nullcontext),
    }


def updates(model: nn.Module, experiment: Experiment, batches: Sequence[list[Example]], kernel: Callable) -> Callable:
    """Return the trainer's next update of a model at each call, from the pairs' ids to the changed weights."""
    config, settings, numbered = experiment.model, experiment.training, enumerate(batches, start=1)
    objective = Objective if isinstance(model, Transformer) else PlainObjective
    updater = Updater(model.train(), settings, Processes(), objective)

    def update() -> None:
        number, batch = next(numbered)
        with kernel():
            rate = learning_rate(number, config.d_model, settings)
            updater.learn([collate(batch, config.pad_id)], count_tokens(batch), rate)

    return update


def count_tokens(batch: Sequence[Example]) -> int:
    """Target tokens that are predicted: all but begin of sentence."""
    return sum(len(example.target) - 1 for example in batch)


def print_rates(seconds: dict[str, list[float]], tokens: int) -> None:
    """Print target tokens a second of each, and the ratio."""
    rates = {name: tokens / sum(each) for name, each in seconds.items()}
    rows = [[name, f"{rate:.0f}", milliseconds(seconds[name])] for name, rate in rates.items()]
    rows.append(["ratio", verdict(rates[OURS] / rates[THEIRS], BAR, at_most=False), ""])
    title = f"Training, {tokens} target tokens in {len(seconds[OURS])} batches"
    print_table(title, ["", "target tokens a second", "ms a step: median (fastest - slowest)"], rows)


if __name__ == "__main__":
    main()
