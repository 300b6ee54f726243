"""A service of small models: inside this process for the API, in a process of its own for the browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.support.running import HANGING_SECONDS
from tests.support.running_service import Service

from gapgram import Model


@pytest.fixture(scope="session")
def served(models: dict[str, Model]) -> list[Any]:
    """The models of the toy text, as a service holds them."""
    from gapgram.web.served import ServedModel

    return [ServedModel(name, models[name]) for name in ("mkn", "glm", "custom")]


@pytest.fixture(scope="session")
def client(served: list[Any]) -> Iterator[Any]:
    """A client of the application, which waits as long as a busy machine takes; errors of ours would be raised."""
    from fastapi.testclient import TestClient

    from gapgram.web.app import make_app

    with TestClient(make_app(served, seconds=HANGING_SECONDS), base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def ask(client: Any) -> Callable[..., Any]:
    """Ask, and get the JSON of an answer with a status."""

    def ask(path: str, status: int = 200, **body: Any) -> Any:
        answer = client.post(f"/api/{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    return ask


@pytest.fixture(scope="session")
def service(models: dict[str, Model]) -> Iterator[Service]:
    """mkn and glm side by side."""
    pytest.importorskip("uvicorn", reason="the extra web is not installed")
    paths = [models[name].path for name in ("mkn", "glm")]
    running = Service([path for path in paths if path is not None])
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium; for one module, because its driver keeps an event loop running until it is closed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        assert not os.environ.get("GAPGRAM_NEEDS_CHROMIUM"), "no chromium, though the tests were told to need it"
        pytest.skip("no chromium on this machine: apt-get install chromium")
    arguments = [
        "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync",
    ]  # fmt: skip
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=arguments)
        yield chromium
        chromium.close()
