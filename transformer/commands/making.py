"""How a checkpoint and its data come about: train, toy, import, export, retokenize, and corpora to train on."""

import argparse
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from enum import StrEnum
from pathlib import Path

from ..checkpoint import load_checkpoint, locate, save_checkpoint
from ..config import TokenizerConfig, load_experiment, locate_config, require
from ..data.corpora import TATOEBA, download_tatoeba, write_reversals
from ..data.mixture import CorpusFile, Mixture, named_files
from ..data.noun_phrases import LANGUAGES
from ..data.pairs import read_pairs
from ..data.tokenizer import Tokenizer
from ..data.verb_sentences import make_verb_sentences, verbs_of
from ..data.word_sentences import make_sentences, nouns_of, write_sentences
from ..errors import ConfigError, DataError
from ..files import new_folder
from ..model.device import bound_primitive_cache, choose_device
from ..toy.lifeline import end_with_standard_input
from ..toy.settings import UNTIL_INPUT_ENDS, ToySettings
from .options import AddCommand, add_device

MOST_LOOKS = 1000  # of a noun in `sentences`: ten thousand nouns fill a gigabyte
_SENTENCES_OF: dict[str, tuple[Callable[..., Sequence], Callable[..., Iterable[tuple[str, str]]], str]] = {
    "nouns": (nouns_of, make_sentences, "noun whose gender is told"),
    "verbs": (verbs_of, make_verb_sentences, "verb of one word"),
}  # what reads them from a dictionary, what makes sentences of them, and what one is
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
        told = f"{_TOY[field.name]}; %(default)s by default"
        toy.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default, help=told)
    toy.add_argument("--out", type=Path, required=True, help="the folder for status.json and replay.safetensors")
    told = "end when standard input does: with the program that started it and holds the other end"
    toy.add_argument(UNTIL_INPUT_ENDS, action="store_true", help=told)
    importing = command("import", _import, "make a checkpoint of a model of Marian, BART, NLLB, T5 or another family")
    importing.add_argument("model", help="a folder in Hugging Face's layout, or a name on its hub")
    importing.add_argument("--out", type=Path, required=True, help="the checkpoint folder to make")
    export = command("export", _export, "write a checkpoint as a model for Hugging Face's transformers")
    export.add_argument("checkpoint", type=locate, help="a checkpoint folder, or the name of a shipped one")
    export.add_argument("--format", choices=["marian"], default="marian", help="whose layout; marian is the only one")
    export.add_argument("--out", type=Path, required=True, help="the folder to make")
    reversals = command("reversals", _reversals, "write pairs of random texts and their reversals")
    download = command("download", _download, "fetch a corpus from its publisher")
    download.add_argument("corpus", choices=["tatoeba"], help="the corpus: Tatoeba's sentence pairs")
    download.add_argument("pair", choices=list(TATOEBA), help="the two languages, source first")
    for parser in (reversals, download):
        parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    sentences = command("sentences", _sentences, "make sentences that show a dictionary's words in contexts")
    sentences.add_argument("language", choices=list(LANGUAGES), help="the language beside English")
    told = "which words of the dictionary; %(default)s by default"
    sentences.add_argument("--of", choices=list(_SENTENCES_OF), default="nouns", help=told)
    told = "pairs of words, TSV or TSV.gz, such as: the fox, a tab, der Fuchs"
    sentences.add_argument("--words", type=Path, required=True, help=told)
    told = "pairs of sentences, TSV or TSV.gz: they tell the gender of nouns, and the usual translation of a verb"
    sentences.add_argument("--texts", type=Path, nargs="+", default=[], help=told)
    sentences.add_argument("--looks", type=int, default=40, help="sentences for each word; %(default)s by default")
    sentences.add_argument("--seed", type=int, default=1, help="seed of what is drawn; %(default)s by default")
    sentences.add_argument("--out", type=Path, required=True, help="the corpus to write, TSV.gz")
    retokenizing = command("retokenize", _retokenize, "give a checkpoint a new tokenizer, to be trained on with")
    retokenizing.add_argument("checkpoint", type=locate, help="a checkpoint folder, or the name of a shipped one")
    told = "pairs to learn the tokenizer from, TSV or TSV.gz"
    retokenizing.add_argument("--data", type=Path, nargs="+", required=True, help=told)
    retokenizing.add_argument("--vocab-size", type=int, required=True, help="pieces of the new vocabulary")
    retokenizing.add_argument("--out", type=Path, required=True, help="the checkpoint folder to make")


def _train(options: argparse.Namespace) -> None:
    from ..model.distributed import joined
    from ..training.trainer import train

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
    from ..exchange.importing import exact_dtype, import_checkpoint

    checkpoint = import_checkpoint(options.model)
    with new_folder(options.out) as made:
        save_checkpoint(made, checkpoint, exact_dtype(checkpoint.model))
    print(f"{options.out}: {checkpoint.model.count_parameters() / 1e6:.1f} M parameters")


def _export(options: argparse.Namespace) -> None:
    from ..exchange.exporting import export_marian

    export_marian(load_checkpoint(options.checkpoint), options.out)


def _sentences(options: argparse.Namespace) -> None:
    require(1 <= options.looks <= MOST_LOOKS, f"--looks must be between 1 and {MOST_LOOKS:,}, not {options.looks}.")
    texts = itertools.chain.from_iterable(read_pairs(path, columns=3) for path in options.texts)
    dictionary = read_pairs(options.words, columns=3)
    read, make, kind = _SENTENCES_OF[options.of]
    found = read(dictionary, texts, options.language)
    if not found:
        raise DataError(f"{options.words} has no {kind}.")
    pairs = make(found, options.language, options.looks, options.seed)
    print(f"{options.out}: {write_sentences(pairs, options.out):,} sentences of {len(found):,} {options.of}")


def _retokenize(options: argparse.Namespace) -> None:
    from ..training.retokenizing import retokenize

    checkpoint = load_checkpoint(options.checkpoint)
    pairs = itertools.chain.from_iterable(read_pairs(path, columns=3) for path in options.data)
    settings = TokenizerConfig(vocab_size=options.vocab_size)
    changed = retokenize(checkpoint, Tokenizer.train((side for pair in pairs for side in pair), settings))
    with new_folder(options.out) as made:
        save_checkpoint(made, changed)
    print(f"{options.out}: {len(checkpoint.tokenizer):,} pieces became {options.vocab_size:,}")


def _reversals(options: argparse.Namespace) -> None:
    write_reversals(options.out)


def _download(options: argparse.Namespace) -> None:
    download_tatoeba(options.pair, options.out)
