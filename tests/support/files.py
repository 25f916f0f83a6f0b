"""Real files made hostile at random: cut, flipped, retyped, renamed, or replaced by another kind of file."""

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
_VALUES = (None, True, False, *_NUMBERS, *_TEXTS, *_NAMES, [], {}, [[]], {"": {}}, [None] * 1000, {"content": 3})


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
    return chance.choice((*_VALUES, chance.randint(-10, 100), [chance.choice(_VALUES) for _ in range(3)]))


def hostile_json(content: bytes, chance: Chance) -> bytes:
    """Return a JSON file with some values changed, dropped or renamed."""
    value = json.loads(content)
    for _ in range(chance.randint(1, 3)):
        value = _changed(value, chance)
    return json.dumps(value, ensure_ascii=chance.random() < 0.9).encode("utf-8", "surrogatepass")


def _changed(value: object, chance: Chance) -> object:
    """Return the value with one change somewhere in it."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(list(value))
        rest = {key: each for key, each in value.items() if key != name}
        match chance.randrange(6):
            case 0:
                return rest
            case 1:
                return rest | {chance.choice(_TEXTS): value[name]}
        return value | {name: _changed(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        index = chance.randrange(len(value))
        return [*value[:index], _changed(value[index], chance), *value[index + chance.randint(0, 1) :]]
    return hostile_value(chance)


def hostile_tensors(content: bytes, chance: Chance) -> bytes:
    """Return a safetensors file with a wrong header."""
    size = int.from_bytes(content[:8], "little")
    header = hostile_json(content[8 : 8 + size], chance)
    length = chance.choice((len(header), len(header), len(header), 0, 2**63, 99_999_999, len(header) + 1))
    return length.to_bytes(8, "little") + header + content[8 + size :]


def hostile_archive(content: bytes, chance: Chance) -> bytes:
    """Return an .npz with faults in whole members: other bytes, values, types, shapes or names, or none."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = {name: np.load(io.BytesIO(member)) for name, member in members.items()}
    for name in chance.sample(list(members), chance.choice((1, 2))):
        match chance.randrange(5):
            case 0:
                del members[name]
            case 1:
                members[chance.choice(("x.npy", "../x.npy", f"{name}.npy"))] = members.pop(name)
            case 2:
                members[name] = hostile_bytes(members[name], chance)
            case _:
                first, shape = arrays[name].flat[:1], arrays[name].shape
                strange = (np.nan, np.inf, -1.0, 2.0, 0, 2**31 - 1, "\ud800", "zero:cross.0.0", "prefix", None)
                value = chance.choice((*strange, *[first] * len(strange)))
                np.save(file := io.BytesIO(), np.full((*chance.choice(((), (), (2,))), *shape), value))
                members[name] = file.getvalue()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))) as archive:
        for name, each in members.items():
            archive.writestr(name, each)
    return packed.getvalue()


BY_ENDING: dict[str, Callable[[bytes, Chance], bytes]] = {
    ".json": hostile_json,
    ".safetensors": hostile_tensors,
    ".npz": hostile_archive,
}


def spoil(folder: Path, chance: Chance) -> None:
    """Make one of a folder's files hostile: its content, or what it is."""
    path = chance.choice([path for path in sorted(folder.iterdir()) if path.is_file()])
    if chance.random() < 0.12:
        path.unlink()
        match chance.randrange(5):
            case 0:
                path.symlink_to(
                    chance.choice(("/dev/zero", "/dev/full", "/nowhere", str(path), "/proc/self/maps", "/"))
                )
            case 1:
                os.mkfifo(path)
            case 2:
                path.mkdir()
            case 3:
                path.touch()
                os.truncate(path, chance.choice((1, 1 << 20, 1 << 40)))
    elif path.stat().st_size < 1 << 24:
        mutate = BY_ENDING.get(path.suffix, hostile_bytes) if chance.random() < 0.7 else hostile_bytes
        path.write_bytes(mutate(path.read_bytes(), chance))
