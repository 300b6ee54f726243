"""Models by name, from addresses and from a hub; a model sent to a hub. The servers are on this machine."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.support.running import HANGING_SECONDS, Cli, Ran, assert_refused

import gapgram
from gapgram.models import places


class Hub(BaseHTTPRequestHandler):
    """Files by path, and as much of a hub as reading and writing a repository takes."""

    files: dict[str, bytes] = {}  # noqa: RUF012 - set anew by the fixture
    asked: list[str] = []  # noqa: RUF012
    commit = "0123456789abcdef0123456789abcdef01234567"

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        self.asked.append(f"{self.command} {self.path}")
        name = self.path.replace("/resolve/main/", "/").replace(f"/resolve/{self.commit}/", "/").lstrip("/")
        if name not in self.files:
            self.answer(b"{}", 404, X_Error_Code="EntryNotFound", X_Error_Message="no such entry")
            return
        body = self.files[name]
        tag = f'"{hashlib.sha256(body).hexdigest()}"'
        self.answer(body, ETag=tag, X_Repo_Commit=self.commit, Accept_Ranges="bytes")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self.asked.append(f"POST {self.path}")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        given: Any = {}
        if "/preupload/" in self.path:
            way = {"uploadMode": "regular", "shouldIgnore": False}
            given = {"files": [{"path": file["path"], **way} for file in json.loads(body)["files"]]}
        elif "/commit/" in self.path:
            repository = self.path.split("/api/models/")[1].split("/commit/")[0]
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.files[f"{repository}/{line['value']['path']}"] = base64.b64decode(line["value"]["content"])
            url = f"http://{self.headers['Host']}/{repository}/commit/{self.commit}"
            given = {"success": True, "commitOid": self.commit, "commitUrl": url, "hookOutput": ""}
        elif self.path.endswith("/repos/create"):
            asked = json.loads(body)
            given = {"url": f"http://{self.headers['Host']}/{asked['organization']}/{asked['name']}"}
        else:  # is the card in order?
            given = {"errors": [], "warnings": []}
        self.answer(json.dumps(given).encode(), Content_Type="application/json")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of a server; what is fetched is kept in the folder of the test."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Hub.files, Hub.asked = {}, []
    address = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield address
    server.shutdown()
    server.server_close()
    thread.join()


def test_models_that_are_there_have_names(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    named = places.named_models()
    if not named:
        pytest.skip("the models are not beside the program here")
    assert {"en", "de", "law-en", "law-fr", "law-it"} <= named.keys()
    assert sum(path.stat().st_size for path in named.values()) <= 40_000_000
    for name in named:
        model = gapgram.load(name)
        assert isinstance(model, gapgram.Model)
        assert model.splitting == "marks" and model.about["licence"] and model.path == named[name].resolve()
        assert 5_000_000 < named[name].stat().st_size <= 12_000_000
    assert cli("predict", "en", "the end of", "-k", "1", "--json").json["predictions"][0]["word"] == "the"
    ran = cli("perplexity", "law-fr", "-", "--json", stdin="L'article 2 n'est pas modifié.\n".encode())
    assert ran.json["unknown_words"] == 0 and ran.json["words"] == 8


def test_a_file_of_the_name_comes_first(models: dict[str, gapgram.Model], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    models["mkn"].save("en")
    assert gapgram.load("en").path == (tmp_path / "en").resolve()


def test_packages_of_models_are_found(
    models: dict[str, gapgram.Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, about = tmp_path / "my_models", tmp_path / "my_models-1.0.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('nothing is executed')")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-models\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[gapgram.models]\nmine = my_models\n")
    models["glm"].save(package / "toy-language.model")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert gapgram.load("toy-language").order == 4


def test_a_name_that_no_model_has(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    there = "models by name: " if places.named_models() else "no package of models is installed"
    assert_refused(cli("info", "klingon"), f"klingon: no such file; {there}")
    with pytest.raises(FileNotFoundError, match="klingon: no such file"):
        gapgram.load("klingon")
    assert_refused(cli("info", "klingon.model"), "klingon.model: no such file")


def test_an_address_with_a_hash(models: dict[str, gapgram.Model], hub: str, cli: Cli) -> None:
    assert models["mkn"].path is not None
    data = models["mkn"].path.read_bytes()
    Hub.files["a/my.model"] = data
    digest = hashlib.sha256(data).hexdigest()
    address = f"{hub}/a/my.model#sha256={digest}"
    for _ in range(2):
        assert gapgram.load(address).score("w1 w2") == models["mkn"].score("w1 w2")
    assert len(Hub.asked) == 1  # the second is kept
    assert_refused(cli("info", f"{hub}/a/my.model"), f"say which file is meant: {hub}/a/my.model#sha256=…")
    wrong = f"{hub}/a/my.model#sha256={'0' * 64}"
    assert_refused(cli("info", wrong), f"its SHA-256 is {digest}, expected {'0' * 64}; nothing was kept")
    assert_refused(cli("info", f"{hub}/b#sha256={digest[:-1]}0"), "the server answers 404")
    kept = Path(os.environ["XDG_CACHE_HOME"]) / "gapgram" / "models"
    assert [path.name for path in kept.iterdir()] == [f"{digest}.model"]
    # What others could have put there is compared once more.
    (kept / f"{digest}.model").write_bytes(b"another")
    kept.chmod(0o777)
    assert gapgram.load(address).path is not None
    assert hashlib.sha256((kept / f"{digest}.model").read_bytes()).hexdigest() == digest


@pytest.mark.parametrize(
    ("odd", "said"), [("https://[x", "no address: Invalid IPv6 URL"), ("https://a..b/x", "cannot be reached")]
)
def test_addresses_that_are_none(cli: Cli, odd: str, said: str) -> None:
    assert_refused(cli("info", f"{odd}#sha256={'0' * 64}"), said)


def test_there_and_back_through_a_hub(
    models: dict[str, gapgram.Model], hub: str, tmp_path: Path, cli: Cli
) -> None:
    pytest.importorskip("huggingface_hub")
    model = models["glm"].with_about({"name": "toys", "licence": "CC0-1.0"}, output=tmp_path / "toys.model")
    known = {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "hub"), "HF_TOKEN": "hf_local", "HF_HUB_DISABLE_XET": "1"}

    def ran(*arguments: object) -> Ran:
        command = [sys.executable, "-m", "gapgram", *map(str, arguments)]
        environment = {**os.environ, **known}
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANGING_SECONDS, env=environment)
        return Ran(done.returncode, done.stdout, done.stderr)

    pushed = ran("push", model.path, "hf://me/toys")
    assert pushed.code == 0 and pushed.out.strip().endswith("/me/toys"), pushed
    assert Hub.files["me/toys/gapgram.model"] == (tmp_path / "toys.model").read_bytes()
    card = Hub.files["me/toys/README.md"].decode()
    assert 'gapgram.load("hf://me/toys")' in card and 'license: "CC0-1.0"' in card
    (tmp_path / "text").write_text("w1 w2\n")
    for address in ("hf://me/toys", "hf://me/toys@main/gapgram.model"):
        found = ran("score", address, tmp_path / "text")
        assert found.out == cli("score", model.path, tmp_path / "text").out, found
    assert ran("push", model.path, "hf://me/toys/other.model").code == 0
    assert "me/toys/other.model" in Hub.files
    assert_refused(ran("info", "hf://me/nothing"), "hf://me/nothing: not fetched from the hub: ")
    assert_refused(cli("info", "hf://me/toys/../../x"), "expected hf://OWNER/NAME")
    assert_refused(cli("info", "hf://me"), "expected hf://OWNER/NAME, or hf://OWNER/NAME@REVISION/FILE")
    with pytest.raises(gapgram.ModelFileError, match="save it first"):
        gapgram.push(gapgram.train(sentences=["a b", "a c"] * 9, model="mkn", order=2), "hf://me/toys")


def test_a_hub_without_its_client(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert_refused(cli("info", "hf://me/toys"), "models of a hub need huggingface_hub: pip install")
