"""Five hundred awkward texts become the ids that the tokenizers of transformers make of them."""

import pytest
import sentencepiece
from support.awkward import awkward_texts
from support.families import write_family
from support.marian import write_vocabulary
from transformers import MarianTokenizer as Peer
from transformers import NllbTokenizer

from transformer.data.marian_tokenizer import MarianTokenizer
from transformer.exchange.importing import import_checkpoint

TEXTS = awkward_texts(500, seed=1)
LEARNED = awkward_texts(700, seed=2)  # what the pieces are learned from: others, of the same characters
KINDS = "marian", "nllb", "m2m100"


@pytest.fixture(scope="module", params=KINDS)
def both(request, tmp_path_factory):
    """Our tokenizer and the one of transformers, from the same files."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "marian":
        write_vocabulary(folder, 1400, more=LEARNED)
        return MarianTokenizer.load(folder), Peer.from_pretrained(folder)
    _, theirs = write_family(folder, request.param, more=LEARNED)
    return import_checkpoint(folder).tokenizer, theirs


def test_every_text_becomes_their_ids(both):
    ours, theirs = both
    (before, after), blank = ours.frame("red dog"), theirs.convert_tokens_to_ids("▁")

    def inner(ids: list[int], own: list[int]) -> list[int]:
        assert (tuple(ids[: len(before)]), tuple(ids[len(ids) - len(after) :])) == (before, after)
        ids = ids[len(before) : len(ids) - len(after)]
        # Their conversion keeps a last blank, which SentencePiece drops.
        return ids[:-1] if ids[-1:] == [blank] and own[-1:] != [blank] else ids

    known, unlike = 0, []
    for text, own, ids in zip(TEXTS, ours.encode_all(TEXTS), theirs(TEXTS)["input_ids"], strict=True):
        assert own == ours.encode(text), ascii(text)
        if own != inner(ids, own):
            unlike.append((text, own))
        known += ours.unknown_id not in own
        spans = [(piece.begin, piece.end) for piece in ours.pieces(text)]
        assert len(spans) == len(own) and all(0 <= begin <= end <= len(text) for begin, end in spans), ascii(text)
        assert [piece.id for piece in ours.target_pieces(text)] == ours.encode_target(text), ascii(text)
    assert len(TEXTS) == len(set(TEXTS)) == 500 and known > 100
    if not isinstance(theirs, NllbTokenizer):
        assert not unlike
        return
    # Its library of Rust normalizes combining marks in another way than SentencePiece, which the models were trained
    # with: what SentencePiece makes of these texts, it reads as we do.
    pieces = sentencepiece.SentencePieceProcessor(model_proto=ours.files["sentencepiece.bpe.model"])
    for text, own in unlike:
        normal = pieces.normalize(text).replace("▁", " ").strip()
        assert theirs.backend_tokenizer.normalizer.normalize_str(text).strip() != normal, ascii(text)
        assert inner(theirs(normal)["input_ids"], own) == own, ascii(text)
    assert len(unlike) < 60
