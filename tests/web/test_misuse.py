"""What the service refuses, each with a sentence; and what it never does, whatever it is asked."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

from fastapi.testclient import TestClient
from tests.support.running import HANGING_SECONDS

from gapgram import Model
from gapgram.web import limits
from gapgram.web.app import make_app
from gapgram.web.guard import SECURITY_HEADERS
from gapgram.web.pool import Deadline, Overloaded, TooSlow, Workshop
from gapgram.web.requests import GenerateQuestion
from gapgram.web.responses import Generated
from gapgram.web.served import ServedModel

Ask = Callable[..., Any]
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(("path", "body", "status", "expected"), [
    ("predict", {"model": "none"}, 404, "There is no model 'none'; the models are: mkn, glm, custom."),
    ("predict", {"model": "../../etc/passwd"}, 404, "There is no model"),
    ("predict", {"model": "mkn", "k": 101}, 422, "k: input should be less than or equal to 100."),
    ("predict", {"model": "mkn", "k": 10**30}, 422, "k: "),
    ("predict", {"model": "mkn", "k": 0}, 422, "k: "),
    ("predict", {"model": "mkn", "k": "5"}, 422, "k: input should be a valid integer."),
    ("predict", {"model": "mkn", "k": True}, 422, "k: input should be a valid integer."),
    ("predict", {"model": "mkn", "kk": 5}, 422, "kk: extra inputs are not permitted."),
    ("predict", {"model": 7}, 422, "model: input should be a valid string."),
    ("predict", {"context": "w1"}, 422, "model: field required."),
    ("predict", {"model": "mkn", "prefix": "w1 w2"}, 422, "prefix: "),
    ("predict", {"model": "mkn", "context": "w" * 200_001}, 422, "context: string should have at most 200000 char"),
    ("predict", {"model": "mkn", "history": "w" * 12_001}, 422, "history: string should have at most 12000 char"),
    ("explain", {"model": "mkn"}, 422, "word: field required."),
    ("explain", {"model": "mkn", "word": ""}, 422, "word: "),
    ("explain", {"model": "mkn", "word": "<s>"}, 422, "the word <s> starts a sentence and is never predicted."),
    ("generate", {"model": "mkn", "max_words": 201}, 422, "max_words: "),
    ("generate", {"model": "mkn", "sentences": 21}, 422, "sentences: "),
    ("generate", {"model": "mkn", "temperature": 0}, 422, "temperature: "),
    ("generate", {"model": "mkn", "seed": -1}, 422, "seed: "),
    ("score", {"model": "mkn", "text": None}, 422, "text: input should be a valid string."),
])  # fmt: skip
def test_wrong_questions(ask: Ask, path: str, body: dict[str, Any], status: int, expected: str) -> None:
    answer = ask(path, status, **body)
    assert list(answer) == ["error"]
    assert answer["error"].startswith(expected)
    assert answer["error"].endswith(".")


@pytest.mark.parametrize(("body", "status"), [
    (b"{", 400),
    (b"", 422),
    (b"[]", 422),
    (b"null", 422),
    (b"\xff\xfe", 400),
    (b"[" * 100_000, 400),
    (b'{"model":"mkn","k":' + b"9" * 5000 + b"}", 400),
    (b'{"model":"mkn","context":"\\ud800"}', 422),
    (b'{"model":"mkn","temperature":NaN}', 422),
])  # fmt: skip
def test_bodies_that_are_no_questions(client: TestClient, body: bytes, status: int) -> None:
    answer = client.post("/api/predict", content=body, headers=JSON)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"].endswith(".")


def test_not_a_number_is_no_temperature(client: TestClient) -> None:
    for value in (b"NaN", b"Infinity"):
        body = b'{"model":"mkn","temperature":' + value + b"}"
        assert client.post("/api/generate", content=body, headers=JSON).status_code == 422


def test_a_form_is_no_json(client: TestClient) -> None:
    answer = client.post("/api/predict", content=b'{"model":"mkn"}', headers={"content-type": "text/plain"})
    assert (answer.status_code, list(answer.json())) == (422, ["error"])


def test_large_bodies_are_refused_announced_or_not(client: TestClient) -> None:
    large = b" " * (limits.BODY_BYTES + 1)
    for content in (large, iter([large[:-9], large[-9:]])):
        answer = client.post("/api/score", content=content, headers=JSON)
        assert answer.status_code == 413
        assert answer.json() == {"error": "The request is too large: at most 2,465,536 bytes are read."}


def test_the_largest_text_is_answered(ask: Ask) -> None:
    answer = ask("score", model="glm", text="a " * 100_000)
    assert answer["unknown_words"] == 100_000
    assert len(ask("score", model="glm", text="a\n" * 100_000)["sentences"]) == 100_000


@pytest.mark.parametrize("path", [
    "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/etc/passwd",
    "/static/", "/docs", "/redoc", "/api", "/api/predict/x",
])  # fmt: skip
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"].endswith(".")


def test_methods(client: TestClient) -> None:
    answer = client.get("/api/predict")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["error"].startswith("This method is not allowed here")


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/static/style.css", "/api/models", "/nothing"])
def test_every_answer_is_guarded(client: TestClient, path: str) -> None:
    answer = client.get(path)
    for name, value in SECURITY_HEADERS.items():
        assert answer.headers[name] == value
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "server" not in answer.headers


def test_the_page_is_sent_once(client: TestClient) -> None:
    first = client.get("/")
    again = client.get("/", headers={"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


def test_other_names_are_refused(client: TestClient) -> None:
    answer = client.get("/api/health", headers={"host": "evil.example:8000"})
    assert (answer.status_code, answer.json()["error"].startswith("This service is not called")) == (421, True)
    assert client.get("/api/health", headers={"host": "localhost:8000"}).status_code == 200


class Slow(ServedModel):
    """A model that draws sentences until nobody waits for them any more, and then says that it has stopped."""

    def __init__(self, name: str, model: Model) -> None:
        super().__init__(name, model)
        self.stopped = threading.Event()

    def generate(self, question: GenerateQuestion, deadline: Deadline) -> Generated:
        try:
            while deadline != Deadline.never():
                deadline.check()
                time.sleep(0.01)
        except TooSlow:
            self.stopped.set()
            raise
        return super().generate(question, deadline)


def test_slow_work_is_given_up(models: dict[str, Model]) -> None:
    slow = Slow("mkn", models["mkn"])
    with TestClient(make_app([slow], seconds=0.2), base_url="http://localhost") as client:
        answer = client.post("/api/generate", json={"model": "mkn"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json() == {"error": "This request took too long; try again in a moment."}
        assert slow.stopped.wait(HANGING_SECONDS)
        answers = (client.post("/api/predict", json={"model": "mkn"}) for _ in range(100))
        assert any(answer.status_code == 200 for answer in answers)  # one may be too slow on a busy machine


def test_a_full_queue_is_said() -> None:
    async def crowd() -> list[Any]:
        workshop = Workshop(seconds=HANGING_SECONDS, waiting=2, threads=1)
        hold = threading.Event()
        jobs = [workshop.run(lambda _: str(hold.wait(HANGING_SECONDS)).encode()) for _ in range(4)]
        asyncio.get_running_loop().call_later(0.1, hold.set)
        return await asyncio.gather(*jobs, return_exceptions=True)

    found = asyncio.run(crowd())
    assert found[:2] == [b"True", b"True"]
    assert all(isinstance(error, Overloaded) for error in found[2:])


def test_a_body_that_never_comes_is_given_up(served: list[ServedModel]) -> None:
    app = make_app(served, seconds=0.1)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(60)
        return {}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [(b"host", b"localhost")], "method": "POST", "path": "/api/score"}
    async def serve() -> None:
        await app(scope, receive, send)

    asyncio.run(serve())
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"] == "The request did not arrive within 0.1 seconds."


@pytest.mark.parametrize(("more", "answers"), [(True, []), (False, [200])])
def test_half_a_body_of_who_has_gone_is_no_question(served: list[ServedModel], more: bool, answers: list[int]) -> None:
    body = json.dumps({"model": "mkn", "text": "w1"}).encode()
    first = {"type": "http.request", "body": body, "more_body": more}
    waiting: list[dict[str, Any]] = [first, {"type": "http.disconnect"}]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "headers": headers, "method": "POST", "path": "/api/score", "query_string": b""}
        await make_app(served)(scope, receive, send)

    asyncio.run(ask())
    assert [one["status"] for one in sent if one["type"] == "http.response.start"] == answers


def test_a_field_that_is_no_text_is_named_all_the_same(client: TestClient) -> None:
    answer = client.post("/api/predict", content=b'{"model":"mkn","\\ud800":1}', headers=JSON)
    assert (answer.status_code, list(answer.json())) == (422, ["error"])


def test_a_request_of_two_lengths_is_refused(client: TestClient) -> None:
    headers = {**JSON, "transfer-encoding": "chunked", "content-length": "2"}
    answer = client.post("/api/predict", content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["error"].startswith("The request has both")) == (400, True)


def test_nothing_is_redirected(client: TestClient) -> None:
    assert client.get("/api/health/", follow_redirects=False).status_code == 404


@pytest.mark.parametrize(("kind", "expected"), [("websocket", ["websocket.close"]), ("odd", [])])
def test_what_is_none_of_http(served: list[ServedModel], kind: str, expected: list[str]) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing is read")

    async def ask() -> None:
        await make_app(served)({"type": kind, "headers": []}, receive, send)

    asyncio.run(ask())
    assert sent == expected
