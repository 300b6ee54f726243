"""What is changed in an input: numbers, bits, shapes, names, plain values, lines of a text."""

from __future__ import annotations

import json
import math
import random
import struct
from typing import Any

import numpy as np
import xxhash

from fuzz.sealed import ALIGN, SealedFile, SectionBytes

MIXTURE = 5  # the kind of file
SESSION_HEAD = 6  # numbers of a saved session's head, the last of them a checksum of the rest

_WHOLE = (0, 1, 2, 3, 7, 63, 64, 127, 255, 256, 1 << 15, (1 << 16) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324)
_ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 1 << 31, 1 << 63, 1 << 64, -(1 << 63), 10**400, 0.5, 1e308, math.inf, math.nan, "",
    "x", "0", "1", "1111", "\x00", "\ud800", "a" * 3000, [], {}, [[]], [None], {"": {}}, [[[[[[[[[[]]]]]]]]]],
)  # fmt: skip
_DTYPES = ("<i8", "<i4", "<u8", "<f8", "<f4", "|u1", "<i2", ">i8", "|b1", "|O", "<U1", "|V8", "|S1", "<c16", "x")


def mutated_file(data: bytes, draw: random.Random) -> bytes:
    """A file of arrays with one or a few things changed, sealed again; some are left unsealed."""
    if draw.random() < 0.03:
        return mutated_bytes(data, draw)
    file = SealedFile.parse(data)
    for _ in range(1 if draw.random() < 0.7 else draw.randrange(2, 5)):
        kind = draw.random()
        if kind < 0.72:
            _change_numbers(draw.choice(file.sections), draw)
        elif kind < 0.82:
            file.metadata = mutated_value(file.metadata, draw)
        elif kind < 0.88:
            _change_sections(file, draw)
        elif kind < 0.94:
            _lie(draw.choice(file.sections) if file.sections else None, draw)
        elif kind < 0.97:
            file.lies[draw.choice((2, 3, 4, 6))] = draw.choice((0, 1, 63, 64, 65, 1 << 20, 1 << 40, (1 << 64) - 1))
            file.lies[2] = file.lies.get(2, file.kind) & 0xFFFFFFFF
        else:
            file.table = _odd_table(file, draw)
        if not file.sections:
            break
    return file.sealed()


def mutated_session(data: bytes, draw: random.Random) -> bytes:
    """What the library for C saved of a session with some of its numbers changed, sealed again."""
    words = np.frombuffer(data, np.int64).copy()
    for _ in range(draw.randrange(1, 4)):
        odd = (0, 1, -1, 5, 1 << 31, 1 << 52, 1 << 62, -(1 << 63), int(words[draw.randrange(words.size)]))
        words[draw.randrange(words.size)] = draw.choice(odd)
    if draw.random() < 0.2:
        words = words[: draw.randrange(words.size)]
    if words.size > SESSION_HEAD:
        words[SESSION_HEAD - 1] = np.uint64(xxhash.xxh3_64_intdigest(words[SESSION_HEAD:].tobytes())).view(np.int64)
    return words.tobytes()


def mutated_mixture(data: bytes, draw: random.Random) -> bytes:
    """A mixture's file with something changed in it, or in the file of one of its models, sealed again."""
    if draw.random() < 0.4:
        return mutated_file(data, draw)
    file = SealedFile.parse(data)
    parts, sizes = file.section("parts"), _entries(file.section("part_sizes"))
    places = [0, *np.cumsum(sizes + -sizes % ALIGN).tolist()]
    models = [bytes(parts.data[at : at + size]) for at, size in zip(places, sizes.tolist(), strict=False)]
    chosen = draw.randrange(len(models))
    is_mixture = models[chosen][12] == MIXTURE
    models[chosen] = (mutated_mixture if is_mixture else mutated_file)(models[chosen], draw)
    parts.data = bytearray(b"".join(model + bytes(-len(model) % ALIGN) for model in models))
    parts.shape = [len(parts.data)]
    file.section("part_sizes").data = bytearray(np.array([len(model) for model in models], np.int64).tobytes())
    return file.sealed()


def mutated_tokeniser(data: bytes, draw: random.Random) -> bytes:
    """A model's file with another tokeniser in it, sealed again; or with anything changed."""
    if draw.random() < 0.1:
        return mutated_file(data, draw)
    file = SealedFile.parse(data)
    section = file.section("tokenizer")
    before = bytes(section.data[: section.shape[0]])
    if before.startswith(b"{") and draw.random() < 0.7:
        after = json.dumps(mutated_value(json.loads(before), draw)).encode("utf-8", "surrogatepass")
    else:
        after = mutated_bytes(before, draw)
    section.data, section.shape = bytearray(after), [len(after)]
    return file.sealed()


def _change_numbers(section: SectionBytes, draw: random.Random) -> None:
    """Change a few entries of a section, a run of them, or some bits."""
    if not section.data:
        return
    kind, array = draw.random(), _entries(section)
    if kind < 0.25 or array is None or not array.size:
        for _ in range(draw.choice((1, 1, 1, 2, 8, 64))):
            at = draw.randrange(len(section.data))
            section.data[at] ^= 1 << draw.randrange(8)
        return
    n = min(draw.choice((1, 1, 1, 1, 2, 3, 10, 100, array.size)), array.size)
    at = draw.randrange(array.size) if n < array.size else 0
    places = [draw.randrange(array.size) for _ in range(n)] if kind < 0.7 else list(range(at, min(at + n, array.size)))
    for place in places:
        array[place] = _other(array[place], array, draw)


def _entries(section: SectionBytes) -> Any:
    """The numbers of a section, to be written to."""
    size = math.prod(section.shape)
    try:
        array = np.frombuffer(section.data, section.dtype, count=size)
    except (ValueError, TypeError):
        return None
    return array if array.dtype.kind in "iuf" else None


def _other(value: Any, array: Any, draw: random.Random) -> Any:
    """Another number of the kind of an entry."""
    kind = draw.random()
    if array.dtype.kind == "f":
        if kind < 0.4:
            return draw.choice(_FLOATS)
        if kind < 0.7:
            with np.errstate(all="ignore"):
                return value * draw.choice((-1.0, 0.5, 2.0, 1.001, 1e6, 1e-6)) + draw.choice((0.0, 0.0, 1e-3, -1e-3))
        return array[draw.randrange(array.size)]
    if kind < 0.35:
        number = draw.choice(_WHOLE) * draw.choice((1, 1, -1)) + draw.choice((0, 0, -1, 1))
    elif kind < 0.6:
        number = int(value) + draw.choice((-1, 1, -2, 2, 64, -64, 1 << 24, 1 << 32))
    elif kind < 0.75:
        number = draw.getrandbits(64)
    elif kind < 0.85:
        number = int(value) ^ 1 << draw.randrange(8 * array.dtype.itemsize)
    else:
        number = int(array[draw.randrange(array.size)])
    number &= (1 << 8 * array.dtype.itemsize) - 1
    return np.frombuffer(number.to_bytes(array.dtype.itemsize, "little"), array.dtype)[0]


def _change_sections(file: SealedFile, draw: random.Random) -> None:
    """Drop, repeat, rename, swap, lengthen or shorten a section, or take it for another type."""
    section, kind = draw.choice(file.sections), draw.random()
    if kind < 0.15:
        file.sections.remove(section)
    elif kind < 0.25:
        file.sections.append(SectionBytes(section.name, section.dtype, list(section.shape), bytearray(section.data)))
    elif kind < 0.35:
        section.name = draw.choice((*(other.name for other in file.sections), "x", "", "packed", "word_lengths"))
    elif kind < 0.5:
        section.dtype = draw.choice(_DTYPES)
    elif kind < 0.6:
        other = draw.choice(file.sections)
        section.data, other.data, section.shape, other.shape = other.data, section.data, other.shape, section.shape
    else:
        _resize(section, draw)


def _resize(section: SectionBytes, draw: random.Random) -> None:
    """Give a section another number of entries, with the bytes that they take."""
    try:
        size = np.dtype(section.dtype).itemsize
    except TypeError:
        return
    axis = draw.randrange(len(section.shape)) if section.shape else 0
    if not section.shape:
        section.shape = [1]
    section.shape[axis] = max(0, section.shape[axis] + draw.choice((-1, 1, 1, 2, -2, 7, 64, -section.shape[axis])))
    wanted = size * math.prod(section.shape)
    section.data = section.data[:wanted] + bytes(max(0, wanted - len(section.data)))


def _lie(section: SectionBytes | None, draw: random.Random) -> None:
    """Let the table say something else of a section than is true."""
    if section is None:
        return
    name = draw.choice(("offset", "padded", "shape", "shape", "checksum", "name", "dtype", "extra"))
    if name == "shape":
        numbers: tuple[Any, ...] = (0, -1, 1, 1 << 31, 1 << 32, 1 << 62, 1 << 64, 0.5, True, None, "1", [])
        section.lies[name] = [draw.choice((*numbers, *section.shape)) for _ in range(draw.randrange(4))]
    elif name in ("offset", "padded"):
        section.lies[name] = draw.choice((0, 64, -64, 63, 128, 1 << 40, (1 << 64) - 64, 64.0, "64", None))
    else:
        section.lies[name] = draw.choice(_ODD)


def _odd_table(file: SealedFile, draw: random.Random) -> bytes:
    """A table of contents that is none."""
    whole = json.dumps({"metadata": file.metadata, "sections": []}).encode()
    return draw.choice((
        b"", b"{}", b"[]", b"null", b"NaN", whole, b"[" * 100_000, b'{"a":' * 5000, b"1" * 6000, b"\xff\xfe",
        b'{"metadata": {}, "sections": [{}]}', b'{"metadata": 1, "sections": [1]}', whole[:-1], whole + b"}",
    ))  # fmt: skip


def mutated_value(value: Any, draw: random.Random) -> Any:
    """A plain value with one value in it changed, dropped or added."""
    if isinstance(value, dict) and value and draw.random() < 0.92:
        changed, key = dict(value), draw.choice(list(value))
        kind = draw.random()
        if kind < 0.1:
            del changed[key]
        elif kind < 0.15:
            changed[draw.choice(("x", "", "order", "classes", "quantised"))] = draw.choice(_ODD)
        else:
            changed[key] = mutated_value(value[key], draw)
        return changed
    if isinstance(value, list) and value and draw.random() < 0.85:
        items, at = list(value), draw.randrange(len(value))
        kind = draw.random()
        if kind < 0.2:
            del items[at]
        elif kind < 0.3:
            items.insert(at, items[at])
        else:
            items[at] = mutated_value(items[at], draw)
        return items
    if isinstance(value, str) and value and draw.random() < 0.6:
        return mutated_text(value, draw)
    if type(value) in (int, float) and abs(value) < 1e300 and draw.random() < 0.5:
        return draw.choice((value + 1, value - 1, -value, value * 2, value + 0.5, 0, 1))
    return draw.choice(_ODD)


def mutated_text(text: str, draw: random.Random) -> str:
    """A text with some letters changed, dropped, repeated or added."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        at, kind = draw.randrange(len(text) + 1), draw.random()
        if kind < 0.3:
            text = text[:at] + text[at + draw.choice((1, 1, 2, 9)) :]
        elif kind < 0.6:
            text = text[:at] + draw.choice("0123456789.-+eE \t\n<>[]{}\\\"'/_nainf\x00\x1b\u2028\ud800é") + text[at:]
        elif kind < 0.8:
            text = text[:at] + chr(draw.randrange(32, 127)) + text[at + 1 :]
        else:
            end = min(len(text), at + draw.choice((1, 3, 20)))
            text = text[:end] + text[at:end] * draw.choice((1, 2, 9)) + text[end:]
    return text


def mutated_lines(data: bytes, draw: random.Random) -> bytes:
    """A text file with a line or some bytes changed, dropped, repeated, swapped, or a number replaced."""
    lines, kind = data.split(b"\n"), draw.random()
    at = draw.randrange(len(lines))
    if kind < 0.15:
        del lines[at]
    elif kind < 0.3:
        lines.insert(at, lines[draw.randrange(len(lines))])
    elif kind < 0.4:
        other = draw.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind < 0.7:
        fields = lines[at].split(draw.choice((b"\t", b" ", b"=")))
        fields[draw.randrange(len(fields))] = draw.choice((
            b"nan", b"inf", b"-inf", b"1e999", b"-0", b"0.5", b"99", b"-99", b"9" * 30, b"-1", b"", b"x", b"<s>",
            b"</s>", b"<unk>", b"9" * 5000, b"1_0", b"\xff", b"0x10", b"-1e-400",
        ))  # fmt: skip
        lines[at] = b"\t".join(fields)
    else:
        return mutated_bytes(data, draw)
    return b"\n".join(lines)


def mutated_bytes(data: bytes, draw: random.Random) -> bytes:
    """Bytes with some changed, cut off, dropped, repeated or added."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        if not changed:
            return bytes(changed)
        at, kind = draw.randrange(len(changed)), draw.random()
        if kind < 0.35:
            changed[at] ^= 1 << draw.randrange(8)
        elif kind < 0.6:
            changed[at] = draw.randrange(256)
        elif kind < 0.7:
            del changed[at : at + draw.choice((1, 2, 8, 64, 1000))]
        elif kind < 0.8:
            changed[at:at] = changed[at : at + draw.choice((1, 8, 64, 1000))]
        elif kind < 0.9:
            value = draw.choice(_WHOLE) & (1 << 64) - 1
            changed[at : at + 8] = struct.pack("<Q", value)[: len(changed) - at]
        else:
            del changed[at:]
    return bytes(changed)
