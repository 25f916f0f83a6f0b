"""The browser's tokenizer against SentencePiece: text to ids and back."""

from pathlib import Path
from random import Random

import pytest
from support.models import small_model
from support.texts import awkward_texts

from benchmarks.engine_answers import Run, ask_engine
from transformer.checkpoint import Checkpoint
from transformer.config import TokenizerConfig
from transformer.data.tokenizer import Tokenizer, well_formed
from transformer.exchange.int8 import pack

CHECKPOINTS = Path(__file__).resolve().parents[3] / "checkpoints"
SURROGATES = ["\ud800", "a\udc00b", "\udfff\ud800", "ok \ud83d"]


def tokenizer_of(name: str, kind: str, lines: list[str]) -> Tokenizer:
    """Return the shipped tokenizer, or a unigram model trained on lines; of "ties", with the scores rounded."""
    if kind == "shipped":
        return Tokenizer.load(CHECKPOINTS / name / "tokenizer.model")
    trained = Tokenizer.train(lines, TokenizerConfig(73 if name == "reverse" else 900, model_type="unigram"))
    if kind == "unigram":
        return trained
    proto = trained.proto
    for piece in proto.pieces:
        piece.score = round(piece.score)
    return Tokenizer(proto.SerializeToString())


CASES = [
    *(("en-de", "shipped"), ("en-fr", "shipped"), ("reverse", "shipped")),
    *(("en-de", "unigram"), ("reverse", "unigram"), ("en-de", "ties")),
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_texts_and_ids_are_those_of_sentencepiece(name, kind, tmp_path):
    samples = (CHECKPOINTS / name / "samples.tsv").read_text("utf-8").replace("\n", "\t").split("\t")
    tokenizer, random = tokenizer_of(name, kind, samples), Random(3)
    texts = [*samples, *awkward_texts(3200), *SURROGATES]
    ids = tokenizer.encode_all([well_formed(text) for text in texts])
    # Special tokens are drawn often.
    drawn = (
        [random.randrange(random.choice((4, len(tokenizer)))) for _ in range(number % 9)] for number in range(1000)
    )
    rows = [*ids, *drawn]
    packed = pack(Checkpoint(small_model(vocab_size=len(tokenizer)), tokenizer))
    run = Run(name, "plain", [["encode", texts], ["spell", rows]])
    [(read, spelled)] = ask_engine(tmp_path, {name: packed}, [run])
    assert [text for text, one, other in zip(texts, read, ids, strict=True) if one != other] == []
    assert [row for row, text in zip(rows, spelled, strict=True) if text != tokenizer.decode(row)] == []
