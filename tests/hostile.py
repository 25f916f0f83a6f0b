"""A hostile campaign: thousands of cases by chance from a seed, each of which must be held or refused in a sentence.

    PYTHONPATH=. python tests/hostile.py [--seed 1] [--share 1.0] [--kinds trace corpus] [--address http://localhost:8501]

Every case is a real file, text or address with faults put in by chance. Cases run in a process of their own: one that
crashes or hangs is told by its number, and the next goes on. Per kind: how many cases, of them held and refused, what
escaped, and the most memory beside that of cases without a fault. With --address the texts and addresses of visitors
are sent to a server over its websocket as well.
"""

import argparse
import contextlib
import gzip
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from support.files import hostile_bytes, spoil
from support.models import small_config
from support.texts import awkward_texts
from support.tiny import VOCABULARY, gold_pair, make_pairs, tiny_experiment, write_pairs, write_toml

from transformer import Beam, Sampling, Translator
from transformer.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from transformer.config import TokenizerConfig, load_experiment
from transformer.corpus.alignment.gold import GoldSet
from transformer.corpus.alignment.measure import measure_alignment
from transformer.corpus.alignment.table import load_alignment, save_alignment, tabulate
from transformer.corpus.head_roles import load_roles, measure_roles, save_roles
from transformer.data.batching import make_examples, read_samples
from transformer.data.mixture import named_files
from transformer.data.pairs import read_pairs
from transformer.data.tokenizer import Tokenizer
from transformer.errors import UserError
from transformer.exchange.exporting import export_marian
from transformer.exchange.importing import import_checkpoint
from transformer.files import object_bytes
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.patching import read_minimal_pairs
from transformer.model.transformer import Transformer
from transformer.training.replay import load_replay

ROOT = Path(__file__).parents[1]
Case = Callable[[], object]
PATIENCE = 60.0  # seconds after which a case counts as one that hangs
MOST_MEMORY = 12 << 30  # bytes of address space, so that a fault harms nobody else
LONGEST_SENTENCE = 2500  # characters of a refusal


@dataclass
class Tally:
    """What became of the cases of a kind; memory in MB, of cases without a fault and of all."""

    outcomes: Counter = field(default_factory=Counter)
    escaped: list[str] = field(default_factory=list)
    slowest: float = 0.0
    ordinary: int = 0
    memory: int = 0


@dataclass(frozen=True)
class Kind:
    """Cases of one kind: `count` in a whole campaign; `make` one from the real files in `real` and chance.

    Without chance it is a case without a fault. What is made with is done in `make`, what is tried in the case itself.
    """

    count: int
    real: Callable[[Path], object]
    make: Callable[[Path, random.Random | None, Path], Case]


def tiny_translator() -> Translator:
    """Random weights and a tokenizer of the tiny language, post-norm, so that it can be exported."""
    torch.manual_seed(1)
    tokenizer = Tokenizer.train((side for pair in make_pairs(400, 1) for side in pair), TokenizerConfig(VOCABULARY))
    return Translator(
        Checkpoint(Transformer(small_config(vocab_size=VOCABULARY, max_length=100)), tokenizer, {"steps": 7})
    )


def write_checkpoint(folder: Path) -> None:
    """A checkpoint with all that may stand beside its weights."""
    translator = tiny_translator()
    history = [{"step": 7.0, "valid_loss": 1.5}]
    save_checkpoint(folder, Checkpoint(translator.model, translator.tokenizer, {"steps": 7}, history))
    write_pairs(folder / "samples.tsv", pairs := make_pairs(30, 3))
    examples = make_examples(pairs, translator.tokenizer, 20)
    save_roles(folder / "heads.json", measure_roles(translator.model, translator.tokenizer, examples, "x"))
    gold = GoldSet("x", tuple(gold_pair(*pair) for pair in pairs[:4]))
    counts = measure_alignment(translator.model, translator.tokenizer, gold)
    save_alignment(folder / "alignment.json", tabulate(counts))
    shutil.copy(ROOT / "checkpoints" / "reverse" / "replay.safetensors", folder)
    shutil.copy(ROOT / "checkpoints" / "en-de" / "minimal_pairs.toml", folder)


def spoiled(real: Path, chance: random.Random | None, work: Path) -> Path:
    """A copy of a folder, with faults by chance."""
    folder = shutil.copytree(real, work / "copy", symlinks=True)
    if chance:
        spoil(folder, chance)
    return folder


def checkpoint_case(real: Path, chance: random.Random | None, work: Path) -> Case:
    """Open a checkpoint's folder as the app does, and translate with it; each file beside the weights on its own."""
    folder = spoiled(real, chance, work)

    def read() -> None:
        refused = []
        for each in (open_model, read_minimal_pairs, lambda folder: load_replay(folder / "replay.safetensors")):
            try:
                each(folder)
            except UserError as error:
                check_sentence(str(error))
                refused.append(error)
        if refused:
            raise refused[0]

    return read


def open_model(folder: Path) -> None:
    """Translate and trace a sentence, and read what was measured."""
    translator = Translator(load_checkpoint(folder))
    trace = translator.trace("big red dog.")
    translator.translate(["red cat."], beam=3)
    assert trace.target_tokens
    for load in (
        lambda: load_roles(folder / "heads.json", translator.model),
        lambda: load_alignment(folder / "alignment.json", translator.model),
        lambda: read_samples(folder, translator.tokenizer, translator.model.config.max_length),
        lambda: [pair.question(translator.tokenizer) for pair in read_minimal_pairs(folder)],
    ):
        try:
            load()
        except UserError as error:
            check_sentence(str(error))


def write_imports(folder: Path) -> None:
    """Folders in Hugging Face's layout: one of ours exported, and, where transformers is installed, all families."""
    folder.mkdir()
    export_marian(tiny_translator().checkpoint, folder / "exported")
    (folder / "exported" / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n")
    with contextlib.suppress(ImportError):
        from support.families import FAMILIES, write_family
        from support.marian import write_model

        for name in FAMILIES:
            (folder / name).mkdir()
            write_family(folder / name, name)
        (folder / "marian").mkdir()
        write_model(folder / "marian")
        weights = torch.nn.Module.state_dict(write_model(folder / "marian"))
        shutil.copytree(folder / "marian", folder / "pickled")
        (folder / "pickled" / "model.safetensors").unlink()
        torch.save(dict(weights), folder / "pickled" / "pytorch_model.bin")
        shutil.copytree(folder / "exported", folder / "shards")
        (folder / "shards" / "model.safetensors").rename(folder / "shards" / "model-1.safetensors")
        from safetensors import safe_open

        with safe_open(folder / "shards" / "model-1.safetensors", "pt") as stored:
            names = dict.fromkeys(stored.keys(), "model-1.safetensors")
        (folder / "shards" / "model.safetensors.index.json").write_bytes(object_bytes({"weight_map": names}))


def import_case(real: Path, chance: random.Random | None, work: Path) -> Case:
    """Import a folder, translate a sentence, and save the checkpoint, as the command does."""
    folders = sorted(real.iterdir())
    folder = spoiled(chance.choice(folders) if chance else folders[0], chance, work)

    def read() -> None:
        checkpoint = import_checkpoint(folder)
        Translator(checkpoint).translate(["big red dog."])
        save_checkpoint(work / "saved", checkpoint)
        load_checkpoint(work / "saved")

    return read


def file_case(name: str, read: Callable[[Path], object]) -> Callable[[Path, random.Random | None, Path], Case]:
    """Cases of one file of this name."""

    def make(real: Path, chance: random.Random | None, work: Path) -> Case:
        shutil.copy(real, work / name)
        if chance:
            spoil(work, chance)
        return lambda: read(work / name)

    return make


def read_configuration(path: Path) -> None:
    """Read a configuration, and the files that it names."""
    load_experiment(path)
    named_files(path)


def write_trace(path: Path) -> None:
    """A trace under two interventions."""
    tiny_translator().trace("big red dog.", interventions=["zero:cross.1.2", "forbid:encoder.0.*:1"]).save(path)


def write_corpus(path: Path) -> None:
    """Two hundred pairs, packed."""
    write_pairs(path, make_pairs(200, 1))
    path.write_bytes(gzip.compress(path.read_bytes()))


def write_settings(path: Path) -> None:
    """A configuration that names its corpora."""
    write_toml(path, tiny_experiment())
    text = path.read_text()
    path.write_text(text.replace("[data]\n", '[data]\ntrain = [{file = "a.tsv", weight = 2}]\nvalid = "b.tsv"\n'))


TEXTS = awkward_texts(400)
PARTS = ("\ud800", "\udfff\ud83d", "\0", ">>deu<<", "<pad>", "</s>", "<unk>", "▁", "\ufeff", "\u202e", "<b>")
INTERVENTIONS = ("zero:cross.1.2", "mean:decoder.*.*", "forbid:cross.9.9:3@4-", "shift:encoder.0.1:-9")


def hostile_text(chance: random.Random) -> str:
    """A text that nobody would call a sentence."""
    parts = [chance.choice((*TEXTS, *PARTS)) for _ in range(chance.randint(0, 3))]
    text = chance.choice(("", " ", "\n")).join(parts)
    if chance.random() < 0.1:
        text = text * chance.choice((50, 5000))
    if chance.random() < 0.2:
        text = hostile_bytes(text.encode("utf-8", "surrogatepass"), chance).decode("utf-8", "surrogateescape")
    return text


def text_case(real: Path, chance: random.Random | None, work: Path) -> Case:
    """Translate and trace a text, with a target, a prefix, a search and interventions by chance."""
    translator = _translators.setdefault(real, tiny_translator())
    if not chance:
        return lambda: translator.trace("big red dog.", Beam(4)).save(work / "trace.npz")
    text, other = hostile_text(chance), hostile_text(chance)
    strategy = chance.choice((None, Beam(chance.choice((1, 3, 100))), Sampling(seed=3), Beam(2, 10.0, "length")))
    asked = [hostile_bytes(each.encode(), chance).decode("utf-8", "replace") for each in INTERVENTIONS]
    interventions = chance.sample([*INTERVENTIONS, *asked], chance.choice((0, 0, 0, 1, 2)))
    side = chance.choice(("prefix", "target", ""))

    def try_it() -> None:
        more = {side: other} if side else {}
        trace = translator.trace(text, strategy, interventions=interventions, **more)
        trace.save(work / "trace.npz")
        Trace.load(work / "trace.npz")
        translator.translate([text], beam=2)
        translator.unknown_characters(text)

    return try_it


_translators: dict[Path, Translator] = {}

KINDS = {
    "text": Kind(2500, lambda path: path.touch(), text_case),
    "checkpoint": Kind(2500, write_checkpoint, checkpoint_case),
    "import": Kind(2000, write_imports, import_case),
    "trace": Kind(2000, write_trace, file_case("trace.npz", Trace.load)),
    "corpus": Kind(1200, write_corpus, file_case("pairs.tsv.gz", read_pairs)),
    "configuration": Kind(1500, write_settings, file_case("config.toml", read_configuration)),
    "minimal pairs": Kind(
        500,
        lambda path: shutil.copy(ROOT / "checkpoints" / "en-de" / "minimal_pairs.toml", path),
        file_case("minimal_pairs.toml", lambda path: read_minimal_pairs(path.parent)),
    ),
}


def check_sentence(message: str) -> None:
    """Raise AssertionError unless a refusal is one sentence that a person can read."""
    assert message.rstrip().endswith((".", "?", "”")), f"no sentence: {message[-200:]!r}"
    assert "\n" not in message and "Traceback" not in message, f"not one line: {message[:200]!r}"
    assert 15 < len(message) < LONGEST_SENTENCE, f"{len(message)} characters: {message[:200]!r}"
    message.encode("utf-8")  # a terminal can show it


def outcome(case: Case) -> str:
    """What a case ends with: "held", "refused", or what escaped with the end of its traceback."""
    try:
        case()
        return "held"
    except UserError as error:
        try:
            check_sentence(str(error))
            return "refused"
        except (AssertionError, UnicodeError) as poor:
            return f"{type(error).__name__}, {poor}"
    except BaseException:
        return "".join(traceback.format_exc().splitlines(keepends=True)[-7:])


def attack(kind: str, real: Path, numbers: range, seed: int, told: Connection) -> None:
    """Run these cases in this process, and tell of each; a number of None is of a case without a fault."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    for number in numbers:
        with tempfile.TemporaryDirectory() as work:
            chance = random.Random(f"{seed} {kind} {number}") if number >= 0 else None
            case = KINDS[kind].make(real, chance, Path(work))
            began = time.perf_counter()
            told.send((number, outcome(case), time.perf_counter() - began))
    told.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def run(kind: str, real: Path, numbers: range, seed: int, tally: Tally) -> int:
    """Run cases in processes of their own, one for all unless it crashes or hangs; returns the most memory, MB."""
    fork, peak = multiprocessing.get_context("fork"), 0
    while numbers:
        ours, theirs = fork.Pipe()
        process = fork.Process(target=attack, args=(kind, real, numbers, seed, theirs))
        process.start()
        theirs.close()
        for answer in answers(ours):
            if isinstance(answer, int):
                peak, numbers = max(peak, answer), range(0)
                continue
            number, what, seconds = answer
            numbers = range(number + 1, numbers.stop)
            note(tally, kind, number, what)
            tally.slowest = max(tally.slowest, seconds)
        if numbers:
            hangs = not ours.poll(0)  # of what has ended the end can be read
            if hangs:
                process.kill()
            process.join()
            note(tally, kind, numbers.start, "hangs" if hangs else f"crashes with {process.exitcode}")
            numbers = numbers[1:]
        process.join()
    return peak


def answers(ours: Connection) -> Iterator[object]:
    """What a process tells, until it ends or says nothing for long."""
    with contextlib.suppress(EOFError, ConnectionError):
        while ours.poll(PATIENCE):
            yield ours.recv()


def note(tally: Tally, kind: str, number: int, what: str) -> None:
    if number < 0:
        assert what == "held", f"a case of {kind} without a fault: {what}"
    elif what in ("held", "refused"):
        tally.outcomes[what] += 1
    else:
        tally.outcomes["escaped"] += 1
        tally.escaped.append(f"{kind} {number}: {what}")


def campaign(kind: str, seed: int, first: int, count: int) -> Tally:
    """Run so many cases of a kind from `first` on, after some without a fault."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        real = Path(folder) / "real"
        KINDS[kind].real(real)
        tally.ordinary = run(kind, real, range(-3, 0), seed, tally)
        tally.memory = run(kind, real, range(first, first + count), seed, tally)
    return tally


def report(kind: str, tally: Tally) -> None:
    held, refused, escaped = (tally.outcomes[name] for name in ("held", "refused", "escaped"))
    print(
        f"{kind:14} {sum(tally.outcomes.values()):6} cases: {held:5} held, {refused:5} refused, {escaped:3} escaped; "
        f"slowest {tally.slowest:5.1f} s, memory {tally.memory} MB ({tally.ordinary} without faults)",
        flush=True,
    )
    for text in tally.escaped:
        print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of a whole campaign's cases")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    os.environ["HEADLIGHT_DEVICE"] = "cpu"
    escaped = 0
    for kind in options.kinds:
        tally = campaign(kind, options.seed, options.first, round(KINDS[kind].count * options.share))
        report(kind, tally)
        escaped += tally.outcomes["escaped"]
    return int(escaped > 0)


if __name__ == "__main__":
    sys.exit(main())
