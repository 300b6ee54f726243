"""`gapgram.load` opens every kind of model, by its first bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram.models import open as opening
from gapgram.models.arpa.writing import as_backoff
from gapgram.models.backoff import write_backoff
from gapgram.models.kenlm_binary.header import MAGIC
from gapgram.models.kenlm_binary.model import KenlmModel
from gapgram.models.open import load_own
from gapgram.text.files import read_head

KENLM = Path(__file__).parent / "kenlm"
ARPA = "\\data\\\nngram 1=3\n\n\\1-grams:\n-0.5\ta\n-0.5\t</s>\n-99\t<s>\n\n\\end\\\n"
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstandard.compress,
}  # fmt: skip


def written(folder: Path, data: bytes) -> Path:
    path = folder / "model"
    path.write_bytes(data)
    return path


def test_each_kind_is_opened(models: dict[str, gapgram.Model], tmp_path: Path) -> None:
    mkn, glm = models["mkn"], models["glm"]
    gapgram.Mixture([mkn, glm], [0.5, 0.5]).save(tmp_path / "both")
    gapgram.write_arpa(mkn, tmp_path / "mkn.arpa")
    assert isinstance(gapgram.load(str(mkn.path)), gapgram.Model)
    assert isinstance(gapgram.load(tmp_path / "both"), gapgram.Mixture)
    assert isinstance(gapgram.load(tmp_path / "mkn.arpa"), gapgram.BackoffModel)
    write_backoff(as_backoff(mkn), tmp_path / "backoff")
    assert isinstance(gapgram.load(tmp_path / "backoff"), gapgram.BackoffModel)
    assert isinstance(gapgram.load(KENLM / "trie.bin"), KenlmModel)


@pytest.mark.parametrize("introduction", ["", "trained by hand\n", "x" * 80 + "\n" + "#\n" * 40_000, "\ufeff", "\r\n"])
@pytest.mark.parametrize("data_line", ["\\data\\", "\\DATA\\", "  \\data\\ \r"])
def test_an_arpa_file_is_recognised_by_its_data_line(tmp_path: Path, introduction: str, data_line: str) -> None:
    text = introduction + ARPA.replace("\\data\\", data_line)
    assert gapgram.load(written(tmp_path, text.encode())).score("a a") == -1.5


@pytest.mark.parametrize("kind", COMPRESSED)
@pytest.mark.parametrize("introduction", ["", "#\n" * 40_000])
def test_a_compressed_arpa_file_is_recognised(tmp_path: Path, kind: str, introduction: str) -> None:
    path = written(tmp_path, COMPRESSED[kind]((introduction + ARPA).encode()))
    assert gapgram.load(path).score("a a") == -1.5


@pytest.mark.parametrize("kind", COMPRESSED)
def test_no_more_than_a_head_is_decompressed(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def watched(path: Path, size: int) -> bytes:
        head = read_head(path, size)
        sizes.append((size, len(head)))
        return head

    monkeypatch.setattr(opening, "read_head", watched)
    path = written(tmp_path, COMPRESSED[kind](bytes(20 << 20)))
    with pytest.raises(gapgram.ModelFileError, match="not a model"):
        gapgram.load(path)
    assert all(length <= size <= 1 << 20 for size, length in sizes)


@pytest.mark.parametrize("data", [
    b"the line \\data\\ of an ARPA file stands alone\n", b"a sentence\n", gzip.compress(b"a sentence\n"),
    b"\x1f\x8b cut", b"PK\x03\x04", MAGIC[:-1],
])  # fmt: skip
def test_what_is_no_model_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(OSError, match="model: not a model: expected a file that gapgram train, mix or convert has"):
        gapgram.load(written(tmp_path, data))


def test_another_kind_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, ARPA.encode() + b"rubbish")
    with pytest.raises(ValueError, match=r"model: an ARPA file: explain needs a model that gapgram train has written$"):
        load_own(path, wanted_by="explain")


@pytest.mark.parametrize(("command", "name"), [
    (["explain", "MODEL", "a"], "explain"),
    (["prune", "MODEL", "-o", "new", "--keep", "0.5"], "prune"),
    (["predict", "MODEL", "--evaluate", "text"], "predict --evaluate"),
])  # fmt: skip
def test_commands_for_models_of_gapgram_say_so(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, ARPA.encode())
    arguments = ["model" if argument == "MODEL" else argument for argument in command]
    assert_refused(cli(*arguments), f"model: an ARPA file: {name} needs a model that gapgram train has written")


def test_info_tells_of_every_kind(cli: Cli, models: dict[str, gapgram.Model], tmp_path: Path) -> None:
    shown = cli("info", written(tmp_path, ARPA.encode())).out
    assert "backoff" in shown
    assert "1-grams             4" in shown  # <unk> is added
    gapgram.Mixture([models["mkn"], models["glm"]], [0.25, 0.75]).save(tmp_path / "both")
    assert f"0.250000            {models['mkn'].path}" in cli("info", tmp_path / "both").out
    assert '"model": "mixture"' in cli("info", tmp_path / "both", "--json").out
    assert_refused(cli("info", tmp_path / "both", "--classes"), "--pattern and --classes need a model that gapgram")
