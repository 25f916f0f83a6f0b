"""Engines: each task's result once, whoever dies; and the corpus in chunks that no shard can change."""

import gzip

import pytest
from support.atlases import Deadly, Dying, Squares
from support.tiny import make_pairs, write_pairs

from transformer.data.chunks import ChunkReader, batches_of, survey
from transformer.data.engines import Here, Local
from transformer.data.reading import TextReader
from transformer.errors import DataError, UserError


def squares(numbers) -> dict[int, bytes]:
    return {index: str(number**2).encode() for index, number in enumerate(numbers)}


@pytest.fixture
def local():
    engine = Local(2)
    yield engine
    engine.close()


def test_here_and_two_processes_give_the_same(local):
    for engine in (Here(), local):
        for numbers in (range(7), [5], []):
            found = list(engine.run(Squares(), numbers))
            assert dict(found) == squares(numbers) and len(found) == len(numbers)


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost_or_there_twice(local, tmp_path):
    found = list(local.run(Dying(Squares(), str(tmp_path / "grave")), range(9)))
    assert (tmp_path / "grave").exists()
    assert dict(found) == squares(range(9)) and len(found) == 9


def test_a_task_of_which_every_worker_dies_is_given_up(local):
    with pytest.raises(UserError, match="3 workers died of one task"):
        list(local.run(Deadly(), range(9)))
    assert dict(local.run(Squares(), range(4))) == squares(range(4)), "what was under way is gone with the workers"


def test_what_a_worker_raises_is_raised(local):
    with pytest.raises(ValueError, match="-3 is negative"):
        list(local.run(Squares(), [1, -3]))


def test_chunks_are_lines_of_all_files_one_after_the_other(tmp_path):
    pairs = make_pairs(40, 3)
    one = write_pairs(tmp_path / "one.tsv", pairs[:17])
    plain = write_pairs(tmp_path / "two.tsv", pairs[17:])
    two = tmp_path / "two.tsv.gz"
    two.write_bytes(gzip.compress(plain.read_bytes()))
    files = survey([one, two], lines_a_chunk=7)
    assert files.lines == 40 and files.chunks == 6 and files.names == ("one.tsv", "two.tsv.gz")
    assert files.digests[1] == survey([plain]).digests[0], "of what is in it, not of how it is packed"
    reader = ChunkReader(files)
    in_order = [reader.read(chunk).pairs for chunk in range(6)]
    assert [pair for chunk in in_order for pair in chunk] == pairs
    for chunk in (4, 1, 5, 0, 3):
        assert reader.read(chunk).pairs == in_order[chunk]
    for shards in (1, 2, 4, 6):
        assert [chunk for shard in range(shards) for chunk in files.chunks_of(shard, shards)] == list(range(6))


def test_bad_lines_are_counted_and_skipped(tmp_path, translator):
    long = " ".join(["red"] * 40)
    path = tmp_path / "bad.tsv"
    path.write_bytes(b"red.\trot.\nno tab\n\tempty.\n" + b"\xff\tx\n" + f"{long}\t{long}\na\tb\tc\n".encode())
    files = survey([path])
    reader = TextReader(translator.tokenizer, translator.model.config)
    batches, skipped = batches_of(ChunkReader(files).read(0), reader, 24)
    assert [(len(batch.examples), batch.texts) for batch in batches] == [(1, ["red."])] and files.lines == 6
    assert skipped == {
        "without a tab": 1,
        "with an empty side": 1,
        "not in UTF-8": 1,
        "longer than 24 tokens a side": 1,
        "with more than one tab": 1,
    }


def test_a_corpus_that_is_gone_or_empty_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        survey([tmp_path / "none.tsv"])
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(DataError, match="holds no line"):
        survey([tmp_path / "empty.tsv"])
    path = write_pairs(tmp_path / "shrunk.tsv", make_pairs(600, 3))
    files = survey([path])
    with pytest.raises(DataError, match="The pairs of .*shrunk.tsv would count twice"):
        survey([path, path])
    write_pairs(path, make_pairs(9, 3))
    with pytest.raises(DataError, match="fewer lines"):
        ChunkReader(files).read(1)
