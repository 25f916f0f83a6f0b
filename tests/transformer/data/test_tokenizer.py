"""The tokenizer: text to pieces and back, and which characters each piece covers."""

import contextlib

import pytest
from support.tiny import VOCABULARY, make_pairs

from transformer.config import TokenizerConfig
from transformer.data.tokenizer import SPACE, Tokenizer
from transformer.errors import CheckpointError, DataError

HOSTILE = [
    "red 🙂 dog",
    "👩‍👩‍👧 cat",
    "<b>red</b> & 'dog'",
    "日本語 und Ελληνικά",
    "old\u200bcat",
    "\u202ered",
    "red\0dog",
    "ﬁne ½ e\u0301",
    "red   dog ",
    "\tbig\ttree\n",
    "red</s>dog <pad> <s>",
    "㍿ car",
    "a" * 300,
]


@pytest.mark.parametrize("text", [source for source, _ in make_pairs(5, 3)] + ["groß grün Wagen."])
def test_encoding_and_decoding_gives_the_text_back(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_the_special_tokens_are_pad_unk_begin_and_end(tokenizer):
    assert (tokenizer.pad_id, tokenizer.unknown_id, tokenizer.begin_id, tokenizer.end_id) == (0, 1, 2, 3)
    assert [tokenizer.piece_text(id) for id in range(4)] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert (tokenizer.pad_id, tokenizer.begin_id, tokenizer.end_id) == (0, 2, 3)
    assert len(tokenizer) == VOCABULARY


def test_special_tokens_leave_nothing_in_the_text(tokenizer):
    ids = tokenizer.encode("red dog")
    assert tokenizer.decode([2, *ids, 3, 0, 0]) == "red dog"


@pytest.mark.parametrize("text", ["red</s>dog", "<s> <pad> <unk>", "</s>"])
def test_text_that_looks_like_a_special_token_is_only_text(tokenizer, text):
    assert not {0, 2, 3} & set(tokenizer.encode(text))


def test_each_piece_covers_its_own_characters(tokenizer):
    text = "grün big groß."
    for piece in tokenizer.pieces(text):
        assert text[piece.begin : piece.end].strip() == piece.text.replace(SPACE, "")


def test_characters_are_counted_as_characters_and_not_as_bytes(tokenizer):
    text = "🙂 grün 日本 dog"
    last = tokenizer.pieces(text)[-1]
    assert text[last.begin : last.end].endswith("dog"[-len(last.text.replace(SPACE, "")) :])
    assert last.end == len(text)
    assert "🙂" in [text[piece.begin : piece.end] for piece in tokenizer.pieces(text)]


@pytest.mark.parametrize("text", HOSTILE)
def test_pieces_cover_the_text_from_left_to_right_without_overlap(tokenizer, text):
    pieces = tokenizer.pieces(text)
    assert [piece.id for piece in pieces] == tokenizer.encode(text)
    place = 0
    for piece in pieces:
        assert place <= piece.begin <= piece.end <= len(text)
        assert not text[place : piece.begin].strip("\u200b \t\n"), "only blanks may be left out"
        place = piece.end
    assert not text[place:].strip()


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u3000"])
def test_blank_text_has_no_pieces(tokenizer, text):
    assert tokenizer.encode(text) == [] == tokenizer.pieces(text)


def test_encoding_many_texts_equals_encoding_each(tokenizer):
    texts = [source for source, _ in make_pairs(10, 4)] + ["", "🙂"]
    assert tokenizer.encode_all(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_all([]) == []


def test_a_tokenizer_survives_its_file(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(tokenizer.model)
    assert Tokenizer.load(path).encode("old bird") == tokenizer.encode("old bird")


def test_the_same_sentences_teach_the_same_tokenizer(tokenizer):
    lines = [side for pair in make_pairs(400, 1) for side in pair]
    assert Tokenizer.train(lines, TokenizerConfig(VOCABULARY)).model == tokenizer.model


@pytest.mark.parametrize("content", [b"", b"garbage", b"\0" * 1000, b"\x80\x02}q\x00."])
def test_bytes_that_are_no_tokenizer_are_refused(content):
    with pytest.raises(CheckpointError):
        Tokenizer(content)


def test_a_tokenizer_cut_short_anywhere_is_refused_or_complete(tokenizer):
    """A cut between two pieces leaves a smaller, valid model: the checkpoint's size check refuses that one."""
    for end in range(0, len(tokenizer.model), 97):
        with contextlib.suppress(CheckpointError):
            assert len(Tokenizer(tokenizer.model[:end])) < len(tokenizer)


def test_a_missing_tokenizer_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="nothing.model cannot be read"):
        Tokenizer.load(tmp_path / "nothing.model")


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "There is no sentence to learn a tokenizer from."),
        (["", " "], "A tokenizer of 500 pieces cannot be learned: the sentences hold too little text."),
        (["a b c"], "A tokenizer of 500 pieces cannot be learned: Vocabulary size too high (500). Please set it to a "),
    ],
)
def test_too_little_text_for_a_vocabulary_is_a_friendly_error(lines, why):
    with pytest.raises(DataError) as caught:
        Tokenizer.train(lines, TokenizerConfig(500))
    assert str(caught.value).startswith(why) and "INTERNAL" not in str(caught.value)
