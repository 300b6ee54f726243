"""A file of arrays taken apart, so that anything in it can be changed, and sealed again with right checksums."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import Any

import xxhash

HEADER = struct.Struct("<8sIIQQQQQ8x")
ALIGN = 64


@dataclass
class SectionBytes:
    """A section: what the table says of it, and its bytes. `lies` replaces entries of the table after sealing."""

    name: str
    dtype: str
    shape: list[int]
    data: bytearray
    lies: dict[str, Any] = field(default_factory=dict)


@dataclass
class SealedFile:
    """A file of arrays. `lies` are fields of its header, by their place, that are not as they should be."""

    kind: int
    metadata: Any
    sections: list[SectionBytes]
    lies: dict[int, int] = field(default_factory=dict)
    table: bytes | None = None  # instead of the table that belongs to the sections

    @classmethod
    def parse(cls, data: bytes) -> SealedFile:
        """Take a whole file apart."""
        _, _, kind, at, length, *_ = HEADER.unpack(data[: HEADER.size])
        table = json.loads(data[at : at + length])
        sections = []
        for entry in table["sections"]:
            begin = entry["offset"]
            padded = data[begin : begin + entry["padded"]]
            sections.append(SectionBytes(entry["name"], entry["dtype"], list(entry["shape"]), bytearray(padded)))
        return cls(kind, table["metadata"], sections)

    def section(self, name: str) -> SectionBytes:
        """The section of a name."""
        return next(section for section in self.sections if section.name == name)

    def sealed(self) -> bytes:
        """The bytes of the file, with checksums that are right for whatever is in it."""
        body, entries, at = [], [], HEADER.size
        for section in self.sections:
            data = bytes(section.data) + bytes(-len(section.data) % ALIGN)
            entry = {
                "name": section.name, "dtype": section.dtype, "shape": section.shape, "offset": at,
                "padded": len(data), "checksum": xxhash.xxh3_64_intdigest(data),
            }  # fmt: skip
            entries.append({**entry, **section.lies})
            body.append(data)
            at += len(data)
        table = self.table
        if table is None:
            table = json.dumps({"metadata": self.metadata, "sections": entries}, sort_keys=True).encode()
        fields = [b"gapgram\n", 2, self.kind, at, len(table), xxhash.xxh3_64_intdigest(table), at + len(table)]
        for place, value in self.lies.items():
            fields[place] = value
        own = xxhash.xxh3_64_intdigest(HEADER.pack(*fields, 0))
        return b"".join([HEADER.pack(*fields, own), *body, table])
