"""The tokenizer: text to pieces and back, and which characters each piece covers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tiny import WORDS

from transformer.config import TokenizerConfig
from transformer.data.tokenizer import SPACE, Tokenizer
from transformer.errors import CheckpointError, DataError

SETTINGS = settings(deadline=None, derandomize=True, database=None)
HOSTILE = ["👩‍👩‍👧 日本語", "old\u200bcat", "red\0dog", "ﬁne ½ e\u0301", "\tbig\n", "red</s>dog <s>", "㍿"]


words = st.sampled_from([*WORDS, *WORDS.values()])


@SETTINGS
@given(st.lists(st.lists(words, min_size=1, max_size=6).map(" ".join), max_size=4))
def test_decoding_is_the_inverse_of_encoding_one_text_or_many(tokenizer, texts):
    assert [tokenizer.decode([2, *tokenizer.encode(text), 3, 0]) for text in texts] == texts
    assert tokenizer.encode_all(texts) == [tokenizer.encode(text) for text in texts]


@SETTINGS
@given(st.text() | st.lists(words | st.sampled_from(HOSTILE) | st.text(max_size=3)).map(" ".join))
def test_pieces_cover_the_text_from_left_to_right_without_overlap_and_none_is_special(tokenizer, text):
    pieces = tokenizer.pieces(text)
    assert [piece.id for piece in pieces] == tokenizer.encode(text)
    assert not {0, 2, 3} & set(tokenizer.encode(text))
    ends = [0, *(piece.end for piece in pieces), len(text)]
    assert sorted(ends) == ends and all(piece.begin >= end for end, piece in zip(ends, pieces, strict=False))
    for piece in pieces:
        if text.isascii() and piece.id != tokenizer.unknown_id:
            assert text[piece.begin : piece.end].split() == piece.text.replace(SPACE, " ").split()


def test_characters_are_counted_as_characters_and_not_as_bytes(tokenizer):
    text = "🙂 grün 日本 dog"
    covered = [text[piece.begin : piece.end].strip() for piece in tokenizer.pieces(text)]
    assert "🙂" in covered and "".join(covered) == text.replace(" ", "")


def test_missing_files_and_other_bytes_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="nothing.model cannot be read"):
        Tokenizer.load(tmp_path / "nothing.model")
    for content in (b"", b"garbage", b"\0" * 1000, b"\x80\x02}q\x00."):
        with pytest.raises(CheckpointError):
            Tokenizer(content)


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
