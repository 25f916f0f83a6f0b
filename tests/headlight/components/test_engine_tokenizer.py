"""The browser's tokenizer against SentencePiece: text to ids and back, on ordinary and on awkward texts."""

import random
from pathlib import Path

import pytest
from support.texts import awkward_texts

from benchmarks.engine_answers import Run, ask_engine
from transformer.checkpoint import load_checkpoint
from transformer.data.tokenizer import Tokenizer, well_formed
from transformer.exchange.int8 import pack

ROOT = Path(__file__).resolve().parents[3]
SURROGATES = ["\ud800", "a\udc00b", "\udfff\ud800", "ok \ud83d"]


def ordinary_texts(name: str) -> list[str]:
    """Both sides of a checkpoint's samples."""
    lines = (ROOT / "checkpoints" / name / "samples.tsv").read_text("utf-8").splitlines()
    return [text for line in lines for text in line.split("\t")]


def drawn_rows(size: int, number: int) -> list[list[int]]:
    """Ids by chance, the special ones often."""
    drawn = random.Random(3)
    return [[drawn.randrange(drawn.choice((4, size))) for _ in range(drawn.randint(0, 8))] for _ in range(number)]


@pytest.mark.parametrize("name", ["en-de", "en-fr", "reverse"])
def test_it_reads_and_spells_as_sentencepiece_does(name, tmp_path):
    checkpoint = load_checkpoint(ROOT / "checkpoints" / name)
    tokenizer = checkpoint.tokenizer
    assert isinstance(tokenizer, Tokenizer)
    texts = [*ordinary_texts(name), *awkward_texts(3200), *SURROGATES]
    ids = tokenizer.encode_all([well_formed(text) for text in texts])
    rows = [*ids, *drawn_rows(len(tokenizer), 1000)]
    run = Run(name, "plain", [["encode", texts], ["spell", rows]])
    [(read, spelled)] = ask_engine(tmp_path, {name: pack(checkpoint)}, [run])
    assert [text for text, one, other in zip(texts, read, ids, strict=True) if one != other] == []
    assert [row for row, text in zip(rows, spelled, strict=True) if text != tokenizer.decode(row)] == []
