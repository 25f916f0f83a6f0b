"""Commands that make a checkpoint or its data: train, toy, import, export, reversals, download."""

import argparse
import json
from dataclasses import asdict, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import torch

from ..checkpoint import (
    WEIGHTS_FILE,
    Checkpoint,
    OneStackCheckpoint,
    build_model,
    load_checkpoint,
    locate,
    save_checkpoint,
)
from ..config import Norm, load_experiment, locate_config
from ..data.corpora import TATOEBA, download_tatoeba, write_reversals
from ..data.mixture import CorpusFile, Mixture, named_files
from ..data.pairs import read_pairs
from ..errors import ConfigError, TooLongError
from ..files import new_folder
from ..interpret.content import MOST_WITHOUT_CONTENT
from ..model.device import bound_primitive_cache, choose_device
from ..model.names import AttentionKind
from ..model.one_stack import OneStack
from ..toy.lifeline import end_with_standard_input
from ..toy.settings import UNTIL_INPUT_ENDS, ToySettings
from ..translator import Translator
from .options import AddCommand, add_device

SAMPLE = "The cat is hungry because it has not eaten."
_TOY = {  # what each setting is
    "task": "what the model learns to do with a sequence: copy, reverse or sort",
    "symbols": "what sequences consist of: letters or digits",
    "vocabulary": "number of different symbols",
    "length": "number of symbols in a sequence",
    "d_model": "size of the vectors",
    "num_layers": "layers of the encoder, and as many of the decoder",
    "num_heads": "heads of an attention block",
    "norm": "where LayerNorm stands: pre or post",
    "positions": "positional encoding: sinusoidal, learned, none, multiplied or relative",
    "schedule": "learning rate: noam rises and falls, constant rises and stays, none is the same throughout",
    "warmup_steps": "updates in which the learning rate rises",
    "rate_factor": "factor of the learning rate",
    "label_smoothing": "share of the target's probability given to other tokens",
    "seed": "seed of the weights and the sequences",
    "goal": "share of held-out sequences written entirely right at which training ends",
    "max_updates": "updates after which it ends in any case",
}


def add_commands(command: AddCommand) -> None:
    """Add the commands of this file."""
    train = command("train", _train, "train a model from a configuration and a corpus")
    train.add_argument("config", type=locate_config, help="a CONFIG.toml, or the name of a shipped one, such as en-de")
    train.add_argument("--data", type=Path, help="training pairs, TSV or TSV.gz, instead of those that [data] names")
    train.add_argument("--valid", type=Path, help="validation pairs, TSV or TSV.gz, likewise")
    train.add_argument("--out", type=Path, required=True, help="the checkpoint folder to make")
    train.add_argument("--resume", action="store_true", help="go on with the unfinished run in --out")
    train.add_argument("--warm-start", type=locate, metavar="CHECKPOINT", help="begin with its weights and tokenizer")
    train.add_argument("--tensorboard", type=Path, metavar="FOLDER", help="write TensorBoard's event files there")
    add_device(train)
    train.set_defaults(shared=True)
    toy = command("toy", _toy, "train on copy, reverse or sort, in less than a minute")
    for field in fields(ToySettings):
        kind = type(field.default)
        kind = str if issubclass(kind, StrEnum) else kind  # settings check the names among them
        text = f"{_TOY[field.name]}; %(default)s by default"
        toy.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default, help=text)
    toy.add_argument("--out", type=Path, required=True, help="the folder for status.json and replay.safetensors")
    end = "end when standard input does: with the program that started it and holds the other end"
    toy.add_argument(UNTIL_INPUT_ENDS, action="store_true", help=end)
    importing = command("import", _import, "make a checkpoint of a model of Marian, BART, NLLB, T5 or another family")
    importing.add_argument("model", help="a folder in Hugging Face's layout, or a name on its hub")
    importing.add_argument("--out", type=Path, required=True, help="the checkpoint folder to make")
    export = command("export", _export, "write a checkpoint for Hugging Face's MarianMTModel")
    export.add_argument("checkpoint", type=locate, help="a checkpoint folder, or the name of a shipped one")
    export.add_argument("--out", type=Path, required=True, help="the folder to make")
    shrink = command("shrink", _shrink, "store a checkpoint's weights in 8 bits with a scale per row")
    shrink.add_argument("checkpoint", type=locate, help="a checkpoint folder, or a torch file of a trained one stack")
    like = "for a torch file: the checkpoint whose tokenizer, data and sizes it has; en-de by default"
    shrink.add_argument("--like", type=locate, default=locate("en-de"), metavar="CHECKPOINT", help=like)
    shrink.add_argument("--out", type=Path, required=True, help="the folder to make")
    reversals = command("reversals", _reversals, "write pairs of random texts and their reversals")
    download = command("download", _download, "fetch a corpus from its publisher")
    download.add_argument("corpus", choices=["tatoeba"], help="the corpus: Tatoeba's sentence pairs")
    download.add_argument("pair", choices=list(TATOEBA), help="the two languages, source first")
    for parser in (reversals, download):
        parser.add_argument("--out", type=Path, required=True, help="the folder to write to")


def _train(options: argparse.Namespace) -> None:
    from ..model.distributed import joined
    from ..training import train

    bound_primitive_cache()
    with joined(choose_device(options.device)) as (processes, device):
        experiment = load_experiment(options.config)
        files, valid = _corpus(options)
        pairs, valid_pairs = Mixture.read(files), read_pairs(valid)
        extras = {"warm_start": options.warm_start, "tensorboard": options.tensorboard, "processes": processes}
        train(experiment, pairs, valid_pairs, options.out, device, resume=options.resume, **extras)


def _corpus(options: argparse.Namespace) -> tuple[list[CorpusFile], Path]:
    """Return the files to train on and to validate with: of the options, else those that the configuration names."""
    named, valid = named_files(options.config)
    files = [CorpusFile(str(options.data))] if options.data else named
    valid = options.valid or valid
    if not files or not valid:
        name, option = ("valid", "--valid") if files else ("train", "--data")
        raise ConfigError(f"{options.config} names no file as `{name}` in [data]: add it, or give {option}.")
    return files, valid


def _toy(options: argparse.Namespace) -> None:
    from ..toy.training import train_toy

    if options.until_input_ends:
        end_with_standard_input()
    settings = ToySettings(**{field.name: getattr(options, field.name) for field in fields(ToySettings)})
    options.out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(asdict(train_toy(settings, options.out))))


def _import(options: argparse.Namespace) -> None:
    from ..exchange import exact_dtype, import_checkpoint

    checkpoint = import_checkpoint(options.model)
    with new_folder(options.out) as made:
        save_checkpoint(made, checkpoint, exact_dtype(checkpoint.model))
    print(f"{options.out}: {checkpoint.model.count_parameters() / 1e6:.1f} M parameters")
    share = _share_without_content(checkpoint)
    if share > MOST_WITHOUT_CONTENT:
        print(
            f"{share:.0%} of its cross-attention in a sample sentence rests on the end, language tags and punctuation: "
            "`trace.content_only()`, or “content only” in the explorer, shows the rest."
        )


def _share_without_content(checkpoint: Checkpoint) -> float:
    """Measure the share of cross-attention on keys without content in one pass over a sample sentence, copied.

    0 for a model with too few positions for the sentence.
    """
    try:
        trace = Translator(checkpoint).trace(SAMPLE, target=SAMPLE)
    except TooLongError:
        return 0.0
    return trace.special_share().mean(AttentionKind.CROSS)


def _export(options: argparse.Namespace) -> None:
    from ..exchange import export_marian

    export_marian(load_checkpoint(options.checkpoint), options.out)


def _shrink(options: argparse.Namespace) -> None:
    path: Path = options.checkpoint
    checkpoint = _trained_stack(path, load_checkpoint(options.like)) if path.is_file() else load_checkpoint(path)
    with new_folder(options.out) as made:
        save_checkpoint(made, checkpoint, torch.int8)
    size = (options.out / WEIGHTS_FILE).stat().st_size
    print(f"{options.out}: {checkpoint.model.count_parameters() / 1e6:.1f} M weights, {size / 1e6:.2f} MB")


def _trained_stack(path: Path, like: Checkpoint) -> OneStackCheckpoint:
    """Return the one stack in a torch file, its shape that of `like` but for the layers."""
    from ..exchange import read_pickled

    again = ("input.", "output_projection.")  # other names of the embedding
    weights = {name: weight.float() for name, weight in read_pickled(path).items() if not name.startswith(again)}
    layers = len({name.split(".")[1] for name in weights if name.startswith("layers.")})
    shape: dict[str, Any] = {"num_encoder_layers": max(1, layers), "num_decoder_layers": 1, "norm": Norm.PRE}
    config = replace(like.model.config, max_length=2 * like.model.config.max_length, **shape)
    return OneStackCheckpoint(build_model(config, weights, path, OneStack), like.tokenizer, {"data": like.data})


def _reversals(options: argparse.Namespace) -> None:
    write_reversals(options.out)


def _download(options: argparse.Namespace) -> None:
    download_tatoeba(options.pair, options.out)
