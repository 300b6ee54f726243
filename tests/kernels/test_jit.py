"""How kernels are compiled, and that it is said."""

from __future__ import annotations

from gapgram.kernels.jit import kernel, on_first_compilation


def test_the_last_who_asks_is_told_of_the_first_compilation() -> None:
    told: list[str] = []
    on_first_compilation(lambda: told.append("first"))
    on_first_compilation(lambda: told.append("second"))

    @kernel
    def double(number: int) -> int:
        return 2 * number

    assert told == []
    assert double(3) == 6
    assert double(3.5) == 7
    assert told == ["second"]
