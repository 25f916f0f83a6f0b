"""Tokenizers of imported models: the ids that `transformers` makes of a text, and the interface that the app uses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.families import write_family
from support.marian import write_model
from support.t5 import write_t5
from support.texts import SENTENCES, awkward_texts
from transformers import MarianTokenizer

from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.data.tokenizer import SPACE, source_ids, unknown_parts
from transformer.exchange.importing import import_checkpoint

WRITERS = {
    **dict.fromkeys(("bart", "mbart", "mbart50", "m2m100", "nllb"), write_family),
    **dict.fromkeys(("t5", "mt5", "byt5", "pegasus"), write_t5),
}
ADDRESSED = ("", " ", ">>deu<<", ">>deu<< red dog", ">>xxx<< a", ">> <<", "a >>deu<< b", "<<", ">>")
LEARNED = awkward_texts(700, seed=2)
SCRIPTS = (
    *("the red DOG runs, 12 cafés! ", "Привет, мир Ёж ", "Ελληνικά ἀρχή ", "مرحبا بالعالم ۱۲۳ "),
    *("שלום עולם ", "हिन्दी में ", "日本語テスト漢字 ", "한국어 각 ไทย "),
)
OTHERS = "\u0301\u0308\u0323\u200b\u200d\ufe0f\x85\u00a0\u3000\u2028😀👩▁ﬁ…'\"-()"
lines = st.lists(
    st.sampled_from([*SCRIPTS, OTHERS]).flatmap(lambda signs: st.text(st.sampled_from(signs), max_size=20)), max_size=4
).map("".join)


@pytest.fixture(scope="module", params=["marian", *WRITERS])
def both(request, tmp_path_factory):
    """The adapter's tokenizer, loaded from a checkpoint, and the one of `transformers`, from the same files."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "marian":
        write_model(folder, more=LEARNED, activation_function="swish", scale_embedding=True)
        theirs = MarianTokenizer.from_pretrained(folder)
    elif request.param == "bart":
        _, theirs = write_family(folder, "bart")
    else:
        _, theirs = WRITERS[request.param](folder, request.param, more=LEARNED)
    save_checkpoint(folder / "checkpoint", import_checkpoint(folder))
    return load_checkpoint(folder / "checkpoint").tokenizer, theirs


def check(ours, theirs, text: str) -> None:
    assert source_ids(ours, text) == theirs(text)["input_ids"], ascii(text)
    pieces = ours.pieces(text)
    assert [piece.id for piece in pieces] == ours.encode(text)
    assert all(0 <= piece.begin <= piece.end <= len(text) for piece in pieces), ascii(text)
    assert [piece.id for piece in ours.target_pieces(text)] == ours.encode_target(text)


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(texts=st.lists(lines, min_size=8, max_size=8))
def test_lines_in_eight_scripts_become_their_ids(both, texts):
    for text in texts:
        check(*both, text)


def test_awkward_lines_become_their_ids(both):
    for text in (*SENTENCES, *ADDRESSED, *awkward_texts(150, seed=1)):
        check(*both, text)


def test_ids_become_text_again(both):
    ours, theirs = both
    for text in ("The old man saw the old dog.", "red dog", *SENTENCES):
        ids = ours.encode_target(text)
        assert ours.decode([ours.begin_id, *ids, ours.end_id, ours.pad_id]) == ours.decode(ids)
        if ours.unknown_id not in ids:
            assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True).strip()
    assert ours.decode([]) == ours.decode(theirs.all_special_ids) == ""


def test_every_row_has_another_text_and_special_or_unknown_text_no_row_of_its_own(both, request):
    ours, _ = both
    texts = [ours.piece_text(row) for row in range(len(ours))]
    assert len(set(texts)) == len(texts)
    assert [ours.source_piece_text(row) for row in range(len(ours))] == texts
    joined = "".join(map(ours.piece_text, ours.encode("red dog"))).removeprefix(SPACE)
    assert joined == f"red{SPACE}dog"
    special = {ours.pad_id, ours.begin_id, ours.end_id, *ours.frame("")[0], *ours.frame("")[1]}
    for encode in (ours.encode, ours.encode_target):
        assert not special & set(encode("<pad> </s> <s> <mask> eng_Latn en_XX __en__ <extra_id_0>"))
    of_bytes = request.node.callspec.params["both"] in ("bart", "byt5")
    assert unknown_parts(ours, "red \U0001f9ff dog") == ([] if of_bytes else ["\U0001f9ff"])


@pytest.mark.parametrize("family", ["bart", "mbart", "mbart50", "nllb", "t5", "mt5", "pegasus"])
def test_a_tokenizer_json_alone_is_enough(family, tmp_path):
    """As `save_pretrained` of transformers 5 writes it."""
    _, theirs = WRITERS[family](tmp_path, family)
    whole = import_checkpoint(tmp_path).tokenizer
    theirs.save_pretrained(tmp_path)
    for name in ("sentencepiece.bpe.model", "spiece.model", "vocab.json", "merges.txt"):
        (tmp_path / name).unlink(missing_ok=True)
    alone = import_checkpoint(tmp_path).tokenizer
    for text in (*SENTENCES, *awkward_texts(50, seed=3)):
        assert source_ids(alone, text) == source_ids(whole, text), text
