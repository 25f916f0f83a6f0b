"""The laws' sentences, translated once by the checkpoint that the app opens with; and how captions name tokens."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import torch
from support.replayed import replayed
from support.sentences import SENTENCES
from support.small import small_config
from support.streams import CHECKPOINTS, loaded

from transformer import Translator
from transformer.checkpoint import Checkpoint
from transformer.decoding.sampling import Sampling
from transformer.interpret.trace import Trace
from transformer.model.transformer import Transformer

NAME = "en-de"
CHECKPOINT = CHECKPOINTS / NAME
TOKEN = r"“(.+?)”(?: \(position (\d+)\))?"  # two groups: the token and, where it is said, its position


def translator() -> Translator:
    """The checkpoint that the app opens with."""
    return loaded(NAME)


@cache
def traces() -> tuple[Trace, ...]:
    """Every sentence with its greedy translation, as the pages show it."""
    return tuple(replayed(translator(), text) for text in SENTENCES)


@cache
def all_traces() -> tuple[Trace, ...]:
    """The greedy translations, and some that were drawn or begin with what was forced."""
    asked = traces()[3:23:4]
    drawn = [translator().trace(one.source_text, strategy=Sampling(1.5, seed=3)) for one in asked]
    forced = [translator().trace(one.source_text, prefix=(int(one.candidate_ids[0][-1]),)) for one in asked]
    return (*traces(), *drawn, *forced)


def place_of(tokens: Sequence[str], token: str, position: str | None) -> int:
    """Which token a caption means, from 0; one that stands several times has to come with its position."""
    if position is None:
        assert list(tokens).count(token) == 1, f"{token} is not one of its kind"
        return list(tokens).index(token)
    assert tokens[int(position) - 1] == token
    return int(position) - 1


def is_printed(words: str, probability: float) -> bool:
    """Whether these words stand for this probability: "12.3 %", "> 99.9 %"."""
    if words[0] in "<>":
        return probability < 1e-6 if words[0] == "<" else 0.999 < probability <= 1
    number = words.removesuffix(" %")
    return abs(float(number) - 100 * probability) <= 0.5 * 10.0 ** -len(number.partition(".")[2]) + 1e-6


@cache
def odd_traces() -> tuple[Trace, ...]:
    """Translations by a random model with one layer, one head and no positions; the second's first token is given."""
    torch.manual_seed(1)
    tokenizer, shape = translator().tokenizer, {"num_encoder_layers": 1, "num_decoder_layers": 1, "num_heads": 1}
    model = Transformer(small_config(vocab_size=translator().model.config.vocab_size, positions="none", **shape))
    trace = Translator(Checkpoint(model.eval(), tokenizer)).trace("I love my teacher.")
    return trace, replace(trace, num_forced=1)
