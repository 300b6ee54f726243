"""The command: mistakes that end it, and the usual end."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

from click.testing import CliRunner
from tests.support.running import HANGING_SECONDS
from tests.support.running_service import Service

from gapgram import Model
from gapgram.cli.serve import command
from gapgram.errors import GapgramError
from gapgram.web.server import application, listen, name_and_path, open_models


def refused(*arguments: object) -> str:
    """What the command says against its arguments."""
    error = CliRunner().invoke(command, list(map(str, arguments))).exception
    assert isinstance(error, GapgramError), error
    assert len(str(error).splitlines()) <= 3
    return str(error)


def test_no_such_model(tmp_path: Path) -> None:
    assert "none.model: no such file" in refused(tmp_path / "none.model", "--port", 0)


def test_two_models_of_one_name(models: dict[str, Model]) -> None:
    path = models["mkn"].path
    assert f"two models are called mkn: {path} and {path}\ngive one of them a name" in refused(path, path, "--port", 0)


def test_names(models: dict[str, Model]) -> None:
    served = open_models([f"new={models['mkn'].path}", str(models["mkn"].path)])
    assert [model.name for model in served] == ["new", "mkn"]


def test_a_path_with_an_equals_sign_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a=b.model").touch()
    monkeypatch.chdir(tmp_path)
    assert name_and_path("a=b.model") == ("a=b", "a=b.model")


def test_a_port_in_use(models: dict[str, Model]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(models["mkn"].path, "--port", port)
    assert said.startswith(f"cannot listen on 127.0.0.1, port {port}: ")
    assert said.endswith("end what uses it, or take another with --port")


def test_no_such_address(models: dict[str, Model]) -> None:
    assert "cannot listen on 192.0.2.1, port 0" in refused(models["mkn"].path, "--host", "192.0.2.1", "--port", 0)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, models: dict[str, Model]) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert refused(models["mkn"].path) == "uvicorn is not installed: pip install 'fastapi>=0.115' 'uvicorn<1,>=0.30'"


def test_other_addresses_answer_to_every_name(models: dict[str, Model]) -> None:
    served = open_models([str(models["mkn"].path)])
    assert application(served, "0.0.0.0")._hosts is None  # type: ignore[attr-defined]
    assert "localhost" in application(served, "localhost")._hosts  # type: ignore[attr-defined]


def test_loopback_is_the_default() -> None:
    assert next(p for p in command.params if p.name == "host").default == "127.0.0.1"
    with listen("127.0.0.1", 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_endless_headers_are_cut_off(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=HANGING_SECONDS) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 40_000)
        assert client.recv(100).startswith(b"HTTP/1.1 4")
    with socket.create_connection(("127.0.0.1", service.port), timeout=HANGING_SECONDS) as client:
        client.sendall(b"GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200")


def test_being_ended_is_no_error(models: dict[str, Model]) -> None:
    path = models["mkn"].path
    assert path is not None
    assert Service([path]).stop() == 0


def test_a_file_that_is_changed_in_place_is_not_read(models: dict[str, Model], tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    from gapgram.web.app import make_app
    from gapgram.web.served import ServedModel

    path = tmp_path / "m.model"
    shutil.copy(str(models["mkn"].path), path)
    app = make_app([ServedModel("m", Model.load(path))], seconds=HANGING_SECONDS)
    with TestClient(app, base_url="http://127.0.0.1") as client:

        def status() -> int:
            return int(client.post("/api/predict", json={"model": "m", "context": "w1"}).status_code)

        assert status() == 200
        shutil.copy(path, tmp_path / "new")
        (tmp_path / "new").replace(path)  # as mv does
        assert status() == 200
        path.unlink()
        assert status() == 200
        opened = tmp_path / "opened.model"
        shutil.copy(str(models["mkn"].path), opened)
    app = make_app([ServedModel("m", Model.load(opened))], seconds=HANGING_SECONDS)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        os.truncate(opened, 100)
        answer = client.post("/api/predict", json={"model": "m", "context": "w1"})
        assert answer.status_code == 503
        assert answer.json() == {"error": "The file of model m was changed in place: start the service again."}
        assert client.get("/api/health").status_code == 200
