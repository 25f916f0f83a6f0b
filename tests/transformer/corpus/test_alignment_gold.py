"""Gold sets from files: words, links, and refusals."""

from pathlib import Path

import pytest

from transformer.corpus.alignment.gold import parse_links, read_gold
from transformer.errors import DataError


def write(folder: Path, source: str, target: str, links: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in (("source", source), ("target", target), ("links", links)):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_links_are_sure_or_possible():
    assert parse_links("0-1 2?0 3p3") == (frozenset({(0, 1)}), frozenset({(0, 1), (2, 0), (3, 3)}))
    assert parse_links("1-2 3?1", one_based=True) == (frozenset({(0, 1)}), frozenset({(0, 1), (2, 0)}))
    assert parse_links("0-1 2?0", target_first=True) == (frozenset({(1, 0)}), frozenset({(1, 0), (0, 2)}))
    assert parse_links("  ") == (frozenset(), frozenset())


def test_a_set_has_its_words_and_links(tmp_path):
    """The files have a byte-order mark, line ends of Windows, and no newline at the end."""
    folder = write(tmp_path / "mine", "\ufeffa big dog\r\nyes .", "ein Hund\r\nja .", "0-0 2-1 1?1\r\n\n")
    gold = read_gold(folder)
    assert gold.name == "mine" and [pair.line for pair in gold.pairs] == [1, 2]
    first, second = gold.pairs
    assert first.source == ("a", "big", "dog") and first.target == ("ein", "Hund")
    assert first.sure == {(0, 0), (2, 1)} and first.possible == {(0, 0), (2, 1), (1, 1)}
    assert second.source == ("yes", ".") and not second.possible


@pytest.mark.parametrize(
    ("source", "target", "links", "message"),
    [
        ("a\nb", "c", "0-0", "as many lines in each file: source.txt has 2, target.txt has 1, links.txt has 1"),
        ("a\n\n", "b\nc\n", "0-0\n0-0\n", "Line 2 of .*source.txt has 0 words"),
        ("a " * 251, "b", "0-0", "Line 1 of .*source.txt has 251 words: 1 to 250"),
        ("a b", "c", "0-0 1-1", "Line 1 of .*links.txt: a link to word 1 of the target, which has 1 word "),
        ("a b", "c", "2-0", r"to word 2 of the source, which has 2 words \(do these links count from 1\?\)"),
        ("a b", "c", "7-0", r"to word 7 of the source, which has 2 words\."),
        ("a", "b", "0:0", "'0:0' is no link such as 3-4"),
        ("a", "b", "٠-0", "is no link"),
        ("a", "b", "0?0", "has no sure link"),
        ("<!DOCTYPE html>\n<html>", "b", "0-0", "source.txt is a web page"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, source, target, links, message):
    with pytest.raises(DataError, match=message):
        read_gold(write(tmp_path / "gold", source, target, links))


def test_missing_large_and_binary_files_are_refused(tmp_path):
    folder = write(tmp_path / "gold", "a", "b", "0-0")
    with pytest.raises(DataError, match="is missing: a gold set is a folder of source.txt, target.txt, links.txt"):
        read_gold(tmp_path)
    (folder / "target.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="target.txt is not in UTF-8"):
        read_gold(folder)
    (folder / "target.txt").write_bytes(b"b" * (8 * 2**20 + 1))
    with pytest.raises(DataError, match="target.txt cannot be read: it is larger than 8 MB"):
        read_gold(folder)
    (folder / "links.txt").write_text("0-1")
    (folder / "target.txt").write_text("b")
    with pytest.raises(DataError, match="'0-1' counts from 0, and links that count from 1 are"):
        read_gold(folder, one_based=True)
