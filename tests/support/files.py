"""Real files made hostile at random: cut, flipped, retyped, renamed, or replaced by another kind of file."""

import gzip
import io
import json
import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

Chance = random.Random

DEEP = 3000  # of nesting: more than Python's parsers bear
_BYTES = (b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b'"', b"PK\x05\x06", b"[" * DEEP)
_TEXTS = ("", " ", "\ud800", "\0", "\n", "a" * 100_000, "../../etc/passwd", "/dev/zero", "<pad>", "\u202e", "🙂", "NaN")
_NUMBERS = (0, -1, 1, 3, 2**31, 2**63, -(2**64), 10**400, 1e308, -0.0, 1e-320, float("nan"), float("inf"), 0.5, 7.0)
_NAMES = ("post", "sinusoidal", "learned", "silu", "relu", "marian", "m2m_100", "noam", "eng_Latn", "__de__")
_LINES = ("x = " + "[" * DEEP, "x." * 500 + "x = 1", "x = " + "{a=" * DEEP, "[" + "a." * 500, "x = '''", "[[pair]]")


def hostile_bytes(content: bytes, chance: Chance) -> bytes:
    """Return the bytes with one to three faults: a cut, flipped bits, a part that is gone, doubled, strange or zero."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 3)):
        first = chance.randrange(len(data) + 1)
        part = data[first : first + chance.choice((1, 8, 100, 10_000))]
        size = len(part)
        others = (b"", part * 2, chance.randbytes(size), b"\0" * size, b"\xff" * size, chance.choice(_BYTES) + part)
        match chance.randrange(6):
            case 0:
                del data[first:]
            case 1 if data:
                for _ in range(chance.randint(1, 40)):
                    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            case _:
                data[first : first + size] = chance.choice(others)
    return bytes(data)


def hostile_value(chance: Chance) -> object:
    """Return a value of JSON, seldom an expected one."""
    match chance.randrange(8):
        case 0:
            return chance.choice((None, True, False))
        case 1 | 2:
            return chance.choice(_NUMBERS)
        case 3:
            return chance.choice(_TEXTS)
        case 4:
            return chance.choice(_NAMES)
        case 5:
            return chance.choice(([], {}, [[]], {"": {}}, [None] * 1000, [0], ["a"], {"content": 3}))
        case 6:
            return chance.randint(-10, 100)
    return [hostile_value(chance) for _ in range(chance.randint(1, 3))]


def hostile_json(content: bytes, chance: Chance) -> bytes:
    """A JSON file with some values changed, dropped or called otherwise; now and then hostile as mere bytes."""
    if chance.random() < 0.2:
        return hostile_bytes(content, chance)
    if chance.random() < 0.05:
        return content.replace(b"}", b"," + b'"deep":' + b"[" * DEEP, 1)
    value = json.loads(content)
    for _ in range(chance.randint(1, 3)):
        value = _changed(value, chance)
    return json.dumps(value, ensure_ascii=chance.random() < 0.9).encode("utf-8", "surrogatepass")


def _changed(value: object, chance: Chance) -> object:
    """The value with one change somewhere in it."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(list(value))
        match chance.randrange(6):
            case 0:
                return {key: each for key, each in value.items() if key != name}
            case 1:
                return {(chance.choice(_TEXTS) if key == name else key): each for key, each in value.items()}
            case 2:
                return value | {name: hostile_value(chance)}
        return value | {name: _changed(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        index = chance.randrange(len(value))
        return [*value[:index], _changed(value[index], chance), *value[index + chance.randint(0, 1) :]]
    return hostile_value(chance)


def hostile_toml(content: bytes, chance: Chance) -> bytes:
    """Return a TOML file with another value of a setting, or a line that is gone, doubled or strange."""
    if chance.random() < 0.2:
        return hostile_bytes(content, chance)
    lines = content.decode().splitlines()
    for _ in range(chance.randint(1, 3)):
        index = chance.randrange(len(lines))
        line, other = lines[index], chance.choice(lines)
        setting = f"{line.split('=')[0]}= {_toml_value(chance)}" if "=" in line else line
        lines[index : index + 1] = chance.choice(([], [other, line], [chance.choice(_LINES)], *[[setting]] * 3))
        lines = lines or [""]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _toml_value(chance: Chance) -> str:
    value = hostile_value(chance)
    if isinstance(value, float):
        return str(value)
    return json.dumps(value, ensure_ascii=chance.random() < 0.9).replace("null", "1979-05-27T07:32:00")


def hostile_tensors(content: bytes, chance: Chance) -> bytes:
    """Return a safetensors file with a wrong header, or faults in its bytes."""
    if chance.random() < 0.5:
        return hostile_bytes(content, chance)
    size = int.from_bytes(content[:8], "little")
    header = hostile_json(content[8 : 8 + size], chance)
    length = chance.choice((len(header), len(header), len(header), 0, 2**63, 99_999_999, len(header) + 1))
    return length.to_bytes(8, "little") + header + content[8 + size :]


def hostile_archive(content: bytes, chance: Chance) -> bytes:
    """Return an .npz with faults in its bytes, or in whole members: another header, shape, type, name, or none."""
    if chance.random() < 0.3:
        return hostile_bytes(content, chance)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(chance.randint(1, 2)):
        name = chance.choice(list(members))
        match chance.randrange(6):
            case 0:
                del members[name]
            case 1:
                members[chance.choice(("x.npy", "x", "../x.npy", chance.choice(list(members))))] = members.pop(name)
            case 2:
                members[name] = hostile_bytes(members[name], chance)
            case 3:
                members[name] = _with_header(members[name], chance)
            case _:
                members[name] = _with_values(members[name], chance)
    packed = io.BytesIO()
    how = chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(packed, "w", how) as archive:
        for name, each in members.items():
            archive.writestr(name, each)
    return packed.getvalue()


def _with_header(member: bytes, chance: Chance) -> bytes:
    """Return the values under another header."""
    file = io.BytesIO(member)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    more = (0, 1, 2**20, 2**40, -1, 3)
    shape = (*shape[:-1], chance.choice(more)) if chance.random() < 0.6 else (*shape, chance.choice(more))
    kind = chance.choice((dtype.str, dtype.str, "<f8", "<f2", "|O", "<U100000", "|V8", "<M8[s]", "|b1", ">i4", "<U0"))
    header = {"descr": kind, "fortran_order": chance.random() < 0.3, "shape": shape}
    text = repr(header)
    if chance.random() < 0.1:
        text = text.replace("}", chance.choice((", 'x': 1}", "(" * 500, "")))
    return b"\x93NUMPY\x01\x00" + (len(text) + 1).to_bytes(2, "little") + text.encode() + b"\n" + file.read()


def _with_values(member: bytes, chance: Chance) -> bytes:
    """Return a sound array with strange numbers or texts, or of another shape."""
    array = np.load(io.BytesIO(member))
    if array.dtype.kind == "U":
        texts = ("", "\ud800", "a" * 1000, "\0", "zero:cross.0.0", "forbid:cross.9.9:3@4-", "decoded", "prefix")
        array = np.full(array.shape, chance.choice(texts))
    elif array.dtype.kind == "f":
        array = np.full(array.shape, chance.choice((np.nan, np.inf, -1.0, 2.0, 1e-30, 0.0)), array.dtype)
    else:
        array = np.full(array.shape, chance.choice((-1, 0, 1, 2**31 - 1, 10**9))).astype(array.dtype)
    if chance.random() < 0.3:
        array = np.resize(array, tuple(chance.choice((0, 1, 2, size, size + 1)) for size in array.shape))
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def hostile_corpus(content: bytes, chance: Chance) -> bytes:
    """Return pairs with faults before or after they are packed, or one very long line."""
    match chance.randrange(4):
        case 0:
            return gzip.compress(hostile_bytes(gzip.decompress(content), chance), 1)
        case 1:
            return hostile_bytes(content, chance)
        case 2:
            line = chance.choice((b"a", b"\t", b"\0", b"a\tb", b"\xff", b"\r"))
            return gzip.compress(line * chance.choice((1, 10_000, 3_000_000)), 1)
    return content + chance.randbytes(chance.randint(0, 50))


BY_ENDING: dict[str, Callable[[bytes, Chance], bytes]] = {
    ".json": hostile_json,
    ".toml": hostile_toml,
    ".safetensors": hostile_tensors,
    ".npz": hostile_archive,
    ".gz": hostile_corpus,
}


def spoil(folder: Path, chance: Chance) -> None:
    """Make one or two of a folder's files hostile: their content, or what they are."""
    for _ in range(chance.choice((1, 1, 1, 2))):
        if not (paths := sorted(folder.iterdir())):
            return
        path = chance.choice(paths)
        if chance.random() < 0.12:
            _replace(path, chance)
        elif path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 24:
            content = path.read_bytes()
            try:
                content = BY_ENDING.get(path.suffix, hostile_bytes)(content, chance)
            except Exception:  # it was made hostile before
                content = hostile_bytes(content, chance)
            path.write_bytes(content)


def _replace(path: Path, chance: Chance) -> None:
    """Put something else, or nothing, in a file's place; a folder stays."""
    if path.is_dir() and not path.is_symlink():
        return
    others = [other for other in sorted(path.parent.iterdir()) if other != path]
    path.rename(path.with_name("aside")) if chance.random() < 0.3 else path.unlink()
    match chance.randrange(6):
        case 0:
            path.symlink_to(chance.choice(("/dev/zero", "/dev/full", "/nowhere", str(path), "/proc/self/maps", "/")))
        case 1:
            os.mkfifo(path)
        case 2:
            path.mkdir()
        case 3 if others:
            path.symlink_to(chance.choice(others).name)
        case 4:
            path.touch()
            os.truncate(path, chance.choice((1, 1 << 20, 1 << 40)))


def broken(change: Callable[[dict], object]) -> Callable[[dict], str]:
    """Return a function that writes a file's content after a change to it."""

    def apply(content: dict) -> str:
        change(content)
        return json.dumps(content)

    return apply
