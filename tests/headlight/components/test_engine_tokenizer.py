"""The browser's tokenizer against SentencePiece: text to ids and back."""

from pathlib import Path
from random import Random

import pytest
from support.texts import awkward_texts

from benchmarks.engine_answers import Run, ask_engine
from transformer.checkpoint import load_checkpoint
from transformer.data.tokenizer import Tokenizer, well_formed
from transformer.exchange.int8 import pack

ROOT = Path(__file__).resolve().parents[3]
SURROGATES = ["\ud800", "a\udc00b", "\udfff\ud800", "ok \ud83d"]


@pytest.mark.parametrize("name", ["en-de", "en-fr", "reverse"])
def test_texts_and_ids_are_those_of_sentencepiece(name, tmp_path):
    checkpoint = load_checkpoint(ROOT / "checkpoints" / name)
    tokenizer, random = checkpoint.tokenizer, Random(3)
    assert isinstance(tokenizer, Tokenizer)
    samples = (ROOT / "checkpoints" / name / "samples.tsv").read_text("utf-8").replace("\n", "\t").split("\t")
    texts = [*samples, *awkward_texts(3200), *SURROGATES]
    ids = tokenizer.encode_all([well_formed(text) for text in texts])
    # Special tokens are drawn often.
    drawn = (
        [random.randrange(random.choice((4, len(tokenizer)))) for _ in range(number % 9)] for number in range(1000)
    )
    rows = [*ids, *drawn]
    run = Run(name, "plain", [["encode", texts], ["spell", rows]])
    [(read, spelled)] = ask_engine(tmp_path, {name: pack(checkpoint)}, [run])
    assert [text for text, one, other in zip(texts, read, ids, strict=True) if one != other] == []
    assert [row for row, text in zip(rows, spelled, strict=True) if text != tokenizer.decode(row)] == []
