"""How much memory there is."""

from __future__ import annotations

from pathlib import Path

from gapgram.system.memory import default_memory, half_of


def test_the_default_is_half_of_what_there_is(tmp_path: Path) -> None:
    absent, unlimited, limited = (tmp_path / name for name in ("absent", "unlimited", "limited"))
    unlimited.write_text("max\n")
    limited.write_text(f"{2 << 30}\n")
    assert half_of(8 << 30, []) == half_of(8 << 30, [absent, unlimited]) == 4 << 30
    assert half_of(8 << 30, [unlimited, limited, absent]) == 1 << 30
    assert half_of(1 << 30, [limited]) == 1 << 29
    assert 0 < default_memory() < 1 << 50
