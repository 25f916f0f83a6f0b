"""Corpora to train on: Tatoeba from its publisher, and reversed random texts."""

import errno
import gzip
import hashlib
import http.client
import logging
import os
import random
import re
import shutil
import string
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..errors import DataError, DownloadError
from ..untrusted import most_unpacked, size_text

logger = logging.getLogger(__name__)

# manythings.org publishes tatoeba.org's pairs with English, CC BY 2.0 FR.
TATOEBA = {
    "en-de": "https://www.manythings.org/anki/deu-eng.zip",
    "en-fr": "https://www.manythings.org/anki/fra-eng.zip",
}
LONGEST = 46  # characters of a random text; an everyday sentence has as many
SPLITS = {"train": 200_000, "valid": 1000, "test": 2000}  # pairs of random texts

_HELD_OUT = 2000  # pairs of Tatoeba each in valid and test
_NOT_WRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)
_MARKS = ".,?!'-"
_LONGEST_WORD = 9


def download_tatoeba(pair: str, out: Path, url: str | None = None) -> list[Path]:
    """Fetch the pairs of `pair` into out/tatoeba.PAIR.{train,valid,test}.tsv.gz; returns the three paths.

    Sentences that share a side (but for case and punctuation) come into the same split, which depends on the file: the
    publisher's grows over time. Raises DownloadError when the publisher cannot be reached or sends something else, or
    the corpus cannot be written.
    """
    if pair not in TATOEBA:
        raise DownloadError(f"There is no Tatoeba pair {pair!r} here; choose from {', '.join(TATOEBA)}.")
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    archive = out / f"tatoeba.{pair}.zip"
    if not archive.exists():
        _fetch(url or TATOEBA[pair], archive)
    try:
        pairs = list(_read_archive(archive))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, UnicodeDecodeError) as error:
        archive.unlink()
        raise DownloadError(f"What came from the publisher is not the corpus ({error}); please try again.") from error
    if not pairs:
        archive.unlink()
        raise DownloadError("The publisher's archive holds no sentence pair; please try again.")
    paths = []
    for name, split in split_pairs(pairs).items():
        path = out / f"tatoeba.{pair}.{name}.tsv.gz"
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.writelines(f"{source}\t{target}\n" for source, target in split)
        logger.info("%s: %d pairs", path, len(split))
        paths.append(path)
    return paths


def split_pairs(pairs: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Split into train, valid and test without leakage: pairs connected by a shared side stay together.

    valid and test take groups of a single source sentence until they hold enough, with one reference a source.
    """
    groups = _connected_groups(pairs)
    order = sorted(groups, key=lambda group: hashlib.sha256("\t".join(group[0]).encode()).digest())
    size = min(_HELD_OUT, len(pairs) // 10)
    splits: dict[str, list[tuple[str, str]]] = {"train": [], "valid": [], "test": []}
    for group in order:
        open_split = next((name for name in ("test", "valid") if len(splits[name]) < size), "train")
        small = len({source for source, _ in group}) == 1
        splits[open_split if small else "train"].extend(group[:1] if small and open_split != "train" else group)
    random.Random(1).shuffle(splits["train"])
    return splits


def _fetch(url: str, path: Path) -> None:
    """Download to path.part and rename when complete."""
    part = path.with_suffix(".part")
    request = urllib.request.Request(url, headers={"User-Agent": "Mozilla/5.0 (compatible; headlight)"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer, part.open("wb") as file:
            shutil.copyfileobj(answer, file)
            expected = answer.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        raise DownloadError(f"{url} answered {error.code} {error.reason}; please try again later.") from error
    except (OSError, http.client.HTTPException) as error:
        number = getattr(error, "errno", None)
        if number in _NOT_WRITABLE:  # errors of the network have other numbers or none
            raise DownloadError(f"{part} cannot be written ({os.strerror(number)}).") from error
        raise DownloadError(f"{url} cannot be reached ({getattr(error, 'reason', error)}).") from error
    size = part.stat().st_size
    if expected and size != int(expected):
        raise DownloadError(f"{url} stopped after {size} of {expected} bytes; please try again.")
    part.rename(path)


def _read_archive(archive: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a manythings.org archive: English, tab, other, tab, attribution; verifies its checksums."""
    with zipfile.ZipFile(archive) as files:
        most = most_unpacked(archive.stat().st_size)
        if sum(member.file_size for member in files.infolist()) > most:
            raise zipfile.BadZipFile(f"it would unpack to more than {size_text(most)}")
        damaged = files.testzip()
        if damaged:
            raise zipfile.BadZipFile(f"{damaged} is damaged")
        name = next((n for n in files.namelist() if n.endswith(".txt") and not n.startswith("_")), None)
        if name is None:
            raise zipfile.BadZipFile("no text in it")
        for line in files.read(name).decode("utf-8").splitlines():
            columns = line.split("\t")
            if len(columns) >= 2 and columns[0].strip() and columns[1].strip():
                yield columns[0].strip(), columns[1].strip()


def _connected_groups(pairs: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Return groups of pairs that are linked, directly or through others, by an equal side."""
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        parent.setdefault(key, key)
        while parent[key] != key:
            parent[key] = parent[parent[key]]  # halves the path for the next search
            key = parent[key]
        return key

    keys = [("s" + _plain(source), "t" + _plain(target)) for source, target in pairs]
    for source, target in keys:
        parent[root(source)] = root(target)
    groups: dict[str, list[tuple[str, str]]] = {}
    for pair, (source, _) in zip(pairs, keys, strict=True):
        groups.setdefault(root(source), []).append(pair)
    return list(groups.values())


def _plain(text: str) -> str:
    """Return the text without case and punctuation, so that "Hi." and "hi!" count as the same sentence."""
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def write_reversals(out: Path) -> list[Path]:
    """Write out/reversals.{train,valid,test}.tsv, no text in two of them; raises DataError where it cannot."""
    generator, seen = random.Random(1), set()
    paths = []
    for name, count in SPLITS.items():
        lines: list[str] = []
        while len(lines) < count:
            text = random_text(generator)
            if text not in seen:
                seen.add(text)
                lines.append(f"{text}\t{text[::-1]}\n")
        path = Path(out) / f"reversals.{name}.tsv"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(lines), encoding="utf-8")
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror}.") from error
        logger.info("%s: %d pairs", path, count)
        paths.append(path)
    return paths


def random_text(generator: random.Random) -> str:
    """Words of random letters, some with a capital, a digit or a mark, of 1 to 46 characters in all."""
    length = generator.randint(1, LONGEST)
    text = _word(generator)
    while len(text) < length:
        text = f"{text} {_word(generator)}"
    return text[:length].strip()


def _word(generator: random.Random) -> str:
    letters = generator.choices(string.ascii_lowercase, k=generator.randint(1, _LONGEST_WORD))
    if generator.random() < 0.25:
        index = generator.randrange(len(letters))
        letters[index] = generator.choice(string.ascii_uppercase + string.digits)
    if generator.random() < 0.25:
        letters.append(generator.choice(_MARKS))
    return "".join(letters)
