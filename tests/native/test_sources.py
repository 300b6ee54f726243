"""Which sources the machine code of a kernel depends on."""

from __future__ import annotations

import re
from pathlib import Path

import gapgram
from gapgram.native import sources

_KERNELS = Path(gapgram.__file__).parent / "kernels"


def _reached(module: str) -> set[str]:
    return {path.stem for path in sources._reached_from(_KERNELS / f"{module}.py") if path.parent == _KERNELS}


def test_a_kernel_depends_on_what_its_module_imports_and_on_nothing_else() -> None:
    assert _reached("bits") == {"bits", "jit"}
    assert {"score_text", "scoring", "probabilities", "gate", "lookup", "tables", "bits"} <= _reached("score_text")
    assert not _reached("score_text") & {"fitting", "topk", "sorting", "kenlm_words"}


def test_kernels_import_others_in_the_one_way_that_is_followed() -> None:
    followed = re.compile(r"from gapgram\.[\w.]+\.\w+ import|from gapgram\.(errors|arrays|native) import")
    for path in _KERNELS.glob("*.py"):
        lines = [line for line in path.read_text().splitlines() if re.match(r"\s*(from|import) +(gapgram|\.)", line)]
        assert all(followed.match(line.strip()) for line in lines), path
        if path.stem not in ("jit", "lanes"):  # which import the compiler only where they compile
            assert not [line for line in lines if line.startswith(" ")], path


def test_another_source_is_another_digest(tmp_path: Path) -> None:
    digests = set[str]()
    for text in ("import math\n", "import math\nX = 1\n", "from gapgram.kernels.bits import read_bits\n"):
        path = tmp_path / f"source{len(digests)}" / "module.py"
        path.parent.mkdir()
        path.write_text(text)
        digests.add(sources.digest_of(path))
    assert len(digests) == 3
