"""Plain text: its lines, and those that have no end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sentencex", reason="needs the extra gapgram[prepare]")

from gapgram.errors import TextError
from gapgram.preparation import Options, prepare_text
from gapgram.preparation.plain import _lines


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"bc\n", b""]), max_size=12), st.integers(1, 5))
def test_lines_of_plain_text_end_as_any_system_ends_them(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    chunks = (data[at : at + size] for at in range(0, len(data), size))
    assert list(_lines("f", chunks)) == data.splitlines(keepends=True)


def test_a_line_of_plain_text_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"a\n\nb" + bytes(1 << 25))
    with pytest.raises(TextError, match=r"t:3: a line of more than 16 MiB: expected one sentence a line$"):
        prepare_text([tmp_path / "t"], tmp_path / "out", "en", Options(processes=1))
    assert [entry.name for entry in tmp_path.iterdir()] == ["t"]
