"""Real files and texts made hostile at random: each case is accepted, or refused in one sentence."""

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from safetensors import safe_open
from support.atlases import atlas_of
from support.families import FAMILIES, write_family
from support.files import hostile_bytes, spoil
from support.marian import write_model
from support.models import small_config
from support.texts import awkward_texts
from support.tiny import VOCABULARY, gold_pair, make_pairs, write_pairs

from transformer import Beam, Sampling, Translator
from transformer.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from transformer.config import TokenizerConfig
from transformer.corpus.alignment.gold import GoldSet
from transformer.corpus.alignment.measure import measure_alignment
from transformer.corpus.alignment.table import load_alignment, save_alignment, tabulate
from transformer.corpus.atlas.atlas import load_atlas, save_atlas
from transformer.data.batching import read_samples
from transformer.data.tokenizer import Tokenizer
from transformer.errors import UserError
from transformer.exchange.exporting import export_marian
from transformer.exchange.importing import import_checkpoint
from transformer.files import object_bytes
from transformer.interpret.trace import Trace
from transformer.model.transformer import Transformer
from transformer.training.replay import load_replay

ROOT = Path(__file__).parents[1]
LONGEST_SENTENCE = 2500  # characters of a refusal


@cache
def tiny_translator() -> Translator:
    """Return a post-norm model with random weights and a tokenizer of the tiny language."""
    torch.manual_seed(1)
    tokenizer = Tokenizer.train((side for pair in make_pairs(400, 1) for side in pair), TokenizerConfig(VOCABULARY))
    model = Transformer(small_config(vocab_size=VOCABULARY, max_length=100))
    return Translator(Checkpoint(model, tokenizer, {"steps": 7}, [{"step": 7.0, "valid_loss": 1.5}]))


def check_sentence(error: UserError) -> None:
    """Raise AssertionError unless a refusal is one readable sentence."""
    message = str(error)
    assert message.rstrip().endswith((".", "?", "”")), message
    assert "Traceback" not in message and len(message.splitlines()) == 1, message
    assert 15 < len(message) < LONGEST_SENTENCE and message.encode("utf-8")


def write_checkpoint(folder: Path) -> None:
    """Write a checkpoint with all files that may lie beside its weights."""
    translator = tiny_translator()
    save_checkpoint(folder, translator.checkpoint)
    write_pairs(folder / "samples.tsv", pairs := make_pairs(30, 3))
    save_atlas(folder / "atlas.json", atlas_of(translator, pairs))
    gold = GoldSet("x", tuple(gold_pair(*pair) for pair in pairs[:4]))
    counts = measure_alignment(translator.model, translator.tokenizer, gold)
    save_alignment(folder / "alignment.json", tabulate(counts))
    shutil.copy(ROOT / "checkpoints" / "reverse" / "replay.safetensors", folder)


def read_checkpoint(folder: Path) -> None:
    """Read each file of a checkpoint, and translate; raise the first refusal."""
    refused = []

    def attempt(read: Callable[[], object]) -> None:
        try:
            read()
        except UserError as error:
            check_sentence(error)
            refused.append(error)

    attempt(lambda: load_replay(folder / "replay.safetensors"))
    translator = Translator(load_checkpoint(folder))
    assert translator.trace("big red dog.").target_tokens and translator.translate(["red cat."], beam=3)
    attempt(lambda: load_atlas(folder / "atlas.json", translator.model))
    attempt(lambda: load_alignment(folder / "alignment.json", translator.model))
    attempt(lambda: read_samples(folder, translator.tokenizer, translator.model.config.max_length))
    if refused:
        raise refused[0]


def write_imports(folder: Path) -> None:
    """Write folders in Hugging Face's layout: an export, all families, pickled weights and shards."""
    for name in FAMILIES:
        (folder / name).mkdir()
        write_family(folder / name, name)
    (folder / "marian").mkdir()
    weights = write_model(folder / "marian").state_dict()
    shutil.copytree(folder / "marian", folder / "pickled")
    (folder / "pickled" / "model.safetensors").unlink()
    torch.save(dict(weights), folder / "pickled" / "pytorch_model.bin")
    export_marian(tiny_translator().checkpoint, folder / "exported")
    (folder / "exported" / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n")
    shutil.copytree(folder / "exported", folder / "shards")
    shard = (folder / "shards" / "model.safetensors").rename(folder / "shards" / "model-1.safetensors")
    with safe_open(shard, "pt") as stored:
        names = dict.fromkeys(stored.keys(), shard.name)
    (folder / "shards" / "model.safetensors.index.json").write_bytes(object_bytes({"weight_map": names}))


def read_import(folder: Path) -> None:
    checkpoint = import_checkpoint(folder)
    Translator(checkpoint).translate(["big red dog."])
    save_checkpoint(folder / "saved", checkpoint)
    load_checkpoint(folder / "saved")


def write_trace(folder: Path) -> None:
    tiny_translator().trace("red dog.", interventions=["zero:cross.1.2"]).save(folder / "trace.npz")


@dataclass(frozen=True)
class Kind:
    """Writer and reader of a folder of files; `several`: the folder contains folders, one of which is read."""

    write: Callable[[Path], object]
    read: Callable[[Path], object]
    several: bool = False


KINDS = {
    "checkpoint": Kind(write_checkpoint, read_checkpoint),
    "import": Kind(write_imports, read_import, several=True),
    "trace": Kind(write_trace, lambda folder: Trace.load(folder / "trace.npz")),
}


def read_spoiled(kind: Kind, real: Path, work: Path, chance: random.Random | None) -> None:
    """Read a copy of real files, with faults if there is `chance`."""
    source = (chance or random.Random(1)).choice(sorted(real.iterdir())) if kind.several else real
    folder = shutil.copytree(source, work / "copy", symlinks=True)
    if chance:
        spoil(folder, chance)
    kind.read(folder)


TEXTS = awkward_texts(400)
PARTS = ("\ud800", "\udfff\ud83d", "\0", ">>deu<<", "<pad>", "</s>", "<unk>", "▁", "\ufeff", "\u202e", "<b>")
INTERVENTIONS = ("zero:cross.1.2", "mean:decoder.*.*", "forbid:cross.9.9:3@4-", "shift:encoder.0.1:-9")


def hostile_text(chance: random.Random) -> str:
    """Return a text of awkward parts, damaged bytes and special tokens, sometimes a very long one."""
    text = chance.choice(("", " ", "\n")).join(chance.choice((*TEXTS, *PARTS)) for _ in range(chance.randint(0, 3)))
    if chance.random() < 0.1:
        text = text * chance.choice((50, 5000))
    if chance.random() < 0.2:
        text = hostile_bytes(text.encode("utf-8", "surrogatepass"), chance).decode("utf-8", "surrogateescape")
    return text


def trace_hostile_text(work: Path, chance: random.Random) -> None:
    """Translate and trace a text, with a random target, prefix, search and interventions."""
    translator, text = tiny_translator(), hostile_text(chance)
    strategy = chance.choice((None, Beam(chance.choice((1, 3, 100))), Sampling(seed=3), Beam(2, 10.0, "length")))
    damaged = [hostile_bytes(each.encode(), chance).decode("utf-8", "replace") for each in INTERVENTIONS]
    interventions = chance.sample([*INTERVENTIONS, *damaged], chance.choice((0, 0, 0, 1, 2)))
    side = chance.choice(("prefix", "target", ""))
    more = {side: hostile_text(chance)} if side else {}
    translator.trace(text, strategy, interventions=interventions, **more).save(work / "trace.npz")
    Trace.load(work / "trace.npz")
    translator.translate([text], beam=2)
    translator.unknown_characters(text)
