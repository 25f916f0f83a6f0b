"""One pass over a corpus: chunks of lines, executors that agree, workers that die, and Ctrl-C."""

import gzip
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from support.corpus_tasks import identity_but_killed, identity_but_refused
from support.server import until
from support.tiny import make_pairs, write_pairs
from support.tolerance import near

from transformer.corpus.executors import InProcess, ProcessPool, RayTasks, load_for_corpus
from transformer.corpus.measure import measure_corpus
from transformer.corpus.provenance import Corpus
from transformer.errors import DataError, UserError
from transformer.interpret.what_if.running import sum_vectors

ROOT = Path(__file__).parents[3]


def count_tokens(model, tokenizer, examples) -> Counter:
    return Counter(sentences=len(examples), tokens=sum(len(each.source) + len(each.target) for each in examples))


def test_chunks_are_the_lines_of_all_files(tmp_path):
    pairs = make_pairs(40, 3)
    one, plain = write_pairs(tmp_path / "one.tsv", pairs[:17]), write_pairs(tmp_path / "two.tsv", pairs[17:])
    two = tmp_path / "two.tsv.gz"
    two.write_bytes(gzip.compress(plain.read_bytes()))
    corpus = Corpus.open([one, two])
    assert corpus.lines == 40 and corpus.names == ("one.tsv", "two.tsv.gz")
    assert corpus.digests[1] == Corpus.open([plain]).digests[0], "of the content, not of its compression"
    chunks = list(corpus.chunks(7))
    assert list(map(len, chunks)) == [7, 7, 7, 7, 7, 5]
    assert b"".join(sum(chunks, [])) == one.read_bytes() + plain.read_bytes()


def test_bad_lines_are_counted_by_reason(tmp_path, translator):
    long = " ".join(["red"] * 40)
    path = tmp_path / "bad.tsv"
    path.write_bytes(b"red.\trot.\nno tab\n\tempty.\n" + b"\xff\tx\n" + f"{long}\t{long}\na\tb\tc\n".encode())
    done: list[int] = []
    measured = measure_corpus(Corpus.open([path]), count_tokens, InProcess(translator), done.append)
    assert measured.total["sentences"] == 1 and done == [6]
    assert measured.skipped == {
        "without a tab": 1,
        "with an empty side": 1,
        "not in UTF-8": 1,
        f"longer than {translator.model.config.max_length} tokens a side": 1,
        "with more than one tab": 1,
    }
    path.write_bytes(b"no tab\n")
    with pytest.raises(DataError, match=r"No pair of bad.tsv can be measured: 1 without a tab\."):
        measure_corpus(Corpus.open([path]), count_tokens, InProcess(translator))


def test_a_corpus_that_is_missing_empty_or_there_twice_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        Corpus.open([tmp_path / "none.tsv"])
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(DataError, match="holds no line"):
        Corpus.open([tmp_path / "empty.tsv"])
    path = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3))
    with pytest.raises(DataError, match="The pairs of .*pairs.tsv would count twice"):
        Corpus.open([path, path])


def assert_same_sums(checkpoint_folder, tmp_path, executor) -> None:
    """Compare with one process, and require that errors of a task are raised."""
    corpus = Corpus.open([write_pairs(tmp_path / "pairs.tsv", make_pairs(70, 3))])
    alone = InProcess(load_for_corpus(checkpoint_folder, "cpu"))
    one, two = (measure_corpus(corpus, sum_vectors, each, lines_per_chunk=16).total for each in (alone, executor))
    assert one.tokens == two.tokens
    for part, sums in one.sums.items():
        assert two.sums[part] == near(sums)
    with pytest.raises(DataError, match="three is refused"):
        list(executor.map(identity_but_refused, range(9)))


def test_two_processes_give_the_sums_of_one_in_order_until_one_is_killed(checkpoint_folder, tmp_path):
    """Items are read as they are needed."""
    read: list[int] = []

    def items():
        for number in range(100):
            read.append(number)
            yield number + 10

    with closing(ProcessPool(checkpoint_folder, "cpu", 2)) as pool:
        assert_same_sums(checkpoint_folder, tmp_path, pool)
        assert list(pool.map(identity_but_refused, [2, 1, 0, 5, 9, 4, 7])) == [2, 1, 0, 5, 9, 4, 7]
        assert next(pool.map(identity_but_refused, items())) == 10 and len(read) <= 6
        with pytest.raises(UserError, match="A worker process was killed: is there enough memory"):
            list(pool.map(identity_but_killed, range(9)))


@pytest.mark.slow
def test_a_local_ray_gives_the_sums_of_one_process(checkpoint_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "300")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests")]))
    with closing(RayTasks(checkpoint_folder, "cpu", 2)) as executor:
        assert_same_sums(checkpoint_folder, tmp_path, executor)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_command_leaves_no_file_and_no_worker(checkpoint_folder, tmp_path, number):
    """Also when the command is killed: its workers notice."""
    pairs, out = write_pairs(tmp_path / "pairs.tsv", make_pairs(500, 3) * 400), tmp_path / "heads.csv"
    arguments = ["--checkpoint", checkpoint_folder, "--pairs", pairs, "--out", out, "--workers", 2, "--device", "cpu"]
    process = subprocess.Popen(
        [sys.executable, "-m", "transformer", "importance", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    assert any(" of 200000 lines" in line for line in process.stderr), "it is under way"
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    assert "Traceback" not in errors and sorted(each.name for each in tmp_path.iterdir()) == ["checkpoint", "pairs.tsv"]
    until(lambda: not members_of(process.pid))


def members_of(session: int) -> list[int]:
    """List the running processes of a session."""
    pids = subprocess.run(["ps", "-o", "pid=", "-s", str(session)], capture_output=True, text=True).stdout
    return list(map(int, pids.split()))
