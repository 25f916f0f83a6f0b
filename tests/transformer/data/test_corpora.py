"""Downloading from a publisher (a local server here), and a split without leakage."""

import gzip
import http.server
import io
import threading
import zipfile

import pytest

from transformer.data.corpora import _plain, download_tatoeba, split_pairs
from transformer.data.pairs import read_pairs
from transformer.errors import DownloadError


def corpus(number: int = 300) -> list[tuple[str, str]]:
    """Pairs of which many share a side, some but for case and punctuation."""
    pairs = [(f"Sentence {n // 2}.", f"Satz {n}.") for n in range(number)]
    return pairs + [(f"sentence {n}!", f"Ausruf {n // 3}!") for n in range(number // 4)]


def make_zip(pairs: list[tuple[str, str]]) -> bytes:
    """The publisher's archive: a notice, and a text of three columns."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("_about.txt", "about")
        lines = [f"{source}\t{target}\tCC-BY 2.0 (France)" for source, target in pairs]
        files.writestr("deu.txt", "\n".join([*lines, "no tab", "\t"]))
    return content.getvalue()


class Publisher(http.server.BaseHTTPRequestHandler):
    """Server with the answer `answer`."""

    def do_GET(self):  # noqa: N802 (the base class's name)
        server = self.server
        server.requests += 1
        if server.answer == "gibberish":
            self.wfile.write(b"\x00\x01 what?\r\n\r\n")
        elif server.answer == "404":
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(server.content)))
            self.end_headers()
            self.wfile.write(server.content[: len(server.content) // (2 if server.answer == "interrupted" else 1)])

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def publisher():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    server.content, server.answer, server.requests = make_zip(corpus()), "all", 0
    server.url = f"http://127.0.0.1:{server.server_port}/deu-eng.zip"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_damaged_archive_is_refused_and_fetched_again_next_time(publisher, tmp_path):
    good, middle = publisher.content, len(publisher.content) // 2
    flipped = good[:middle] + bytes(byte ^ 0xFF for byte in good[middle : middle + 30]) + good[middle + 30 :]
    for publisher.content in (b"<html>Not here</html>", flipped, make_zip([("", "")])):
        with pytest.raises(DownloadError, match="please try again"):
            download_tatoeba("en-de", tmp_path, publisher.url)
    publisher.content = good
    assert len(download_tatoeba("en-de", tmp_path, publisher.url)) == 3


def test_a_corpus_comes_once_as_three_readable_files_that_the_archive_alone_decides(publisher, tmp_path):
    contents = []
    for folder in ("one", "two", "two"):
        paths = download_tatoeba("en-de", tmp_path / folder, publisher.url)
        assert [path.name for path in paths] == [f"tatoeba.en-de.{name}.tsv.gz" for name in ("train", "valid", "test")]
        contents.append([gzip.decompress(path.read_bytes()) for path in paths])
    assert contents[0] == contents[1] and publisher.requests == 2
    pairs = [pair for path in paths for pair in read_pairs(path)]
    assert set(pairs) <= set(corpus()) and len(pairs) > 0.8 * len(corpus())


def test_no_sentence_of_valid_or_test_was_trained_on_and_each_has_one_reference():
    tenths = split_pairs([(f"Sentence {n // 3}.", f"Satz {n}.") for n in range(900)])
    assert all(len(tenths[name]) == len(dict(tenths[name])) == 90 for name in ("valid", "test"))
    splits = split_pairs(corpus())
    names = list(splits)
    assert names == ["train", "valid", "test"] and all(splits.values())
    for side in (0, 1):
        sets = [{_plain(pair[side]) for pair in splits[name]} for name in names]
        assert not sets[0] & sets[1] and not sets[0] & sets[2] and not sets[1] & sets[2]


def test_a_publisher_that_cannot_answer_and_a_disk_that_is_full_are_named(publisher, tmp_path):
    with pytest.raises(DownloadError, match="en-de, en-fr"):
        download_tatoeba("en-xx", tmp_path)
    for answer, message in (
        ("404", "answered 404"),
        ("gibberish", "cannot be reached"),
        ("interrupted", r"stopped after \d+ of \d+"),
    ):
        publisher.answer = answer
        with pytest.raises(DownloadError, match=message):
            download_tatoeba("en-de", tmp_path, publisher.url)
    publisher.answer, part = "all", tmp_path / "tatoeba.en-de.part"
    part.unlink()
    part.symlink_to("/dev/full")
    with pytest.raises(DownloadError, match=r"tatoeba\.en-de\.part cannot be written \(No space left on device\)"):
        download_tatoeba("en-de", tmp_path, publisher.url)
    part.unlink()
    publisher.content = make_zip([("a" * 70_000_000, "b")])
    with pytest.raises(DownloadError, match="it would unpack to more than 64 MB"):
        download_tatoeba("en-de", tmp_path, publisher.url)
    publisher.shutdown()
    publisher.server_close()
    with pytest.raises(DownloadError, match="cannot be reached"):
        download_tatoeba("en-de", tmp_path, publisher.url)
