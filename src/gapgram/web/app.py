"""The application: routes, and what is said when something is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Body, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from gapgram.errors import GapgramError
from gapgram.signature import __version__
from gapgram.web import limits, requests, responses
from gapgram.web.examples import make_examples
from gapgram.web.guard import Application, Guard
from gapgram.web.page import PageFile, read_page
from gapgram.web.pool import Deadline, Overloaded, TooSlow, Workshop
from gapgram.web.served import ChangedFile, ServedModel

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})

_MISTAKES: dict[int | str, dict[str, Any]] = {
    status: {"model": responses.Mistake, "description": said}
    for status, said in {
        400: "The body is not JSON.",
        404: "There is no such model.",
        408: "The body took too long to arrive.",
        413: "The body is too large.",
        422: "A field is missing, unknown, of the wrong type or out of range.",
        503: "Too many requests wait, this one took too long, or the model's file was changed.",
    }.items()
}


def make_app(
    served: Sequence[ServedModel],
    *,
    hosts: frozenset[str] | None = LOOPBACK,
    seconds: float = limits.SECONDS,
    held_out: Sequence[str] = (),
) -> Application:
    """The service for some models, guarded; `hosts` are the names it may be asked by, None allows all.

    held_out: sentences that the models have not seen, from which the page's first examples are taken.
    """
    workshop = Workshop(seconds=seconds, waiting=limits.WAITING)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workshop.close()

    app = FastAPI(
        title="gapgram",
        version=__version__,
        description="n-gram language models that may skip words: predictions, scores, and where they come from.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # both would load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # to whatever name the request says
        lifespan=lifespan,
    )
    _add_information(app, served, seconds, held_out)
    _add_queries(app, {model.name: model for model in served}, workshop)
    _add_page(app, read_page())
    _add_mistakes(app)
    _name_models(app, [model.name for model in served])
    return Guard(app, hosts=hosts, seconds=seconds)


def overview(served: Sequence[ServedModel], seconds: float, held_out: Sequence[str]) -> responses.Models:
    """The models, texts to begin with, the limits."""
    limited = {name: getattr(limits, name.upper()) for name in responses.ServiceLimits.model_fields}
    return responses.Models(
        models=[model.description for model in served],
        examples=make_examples(served, held_out),
        limits=responses.ServiceLimits(**{**limited, "seconds": seconds}),
    )


def _add_information(app: FastAPI, served: Sequence[ServedModel], seconds: float, held_out: Sequence[str]) -> None:
    models = _encoded(overview(served, seconds, held_out))
    health = responses.Health(status="ok", version=__version__, models=len(served))

    @app.get("/api/health", response_model=responses.Health, summary="Whether the service answers")
    async def _health() -> Response:
        return _json(_encoded(health))

    @app.get("/api/models", response_model=responses.Models, summary="The models, texts to begin with, the limits")
    async def _models() -> Response:
        return _json(models)


def _add_queries(app: FastAPI, served: dict[str, ServedModel], workshop: Workshop) -> None:
    async def run(question: requests.Question, ask: Callable[[ServedModel, Deadline], BaseModel]) -> Response:
        model = served.get(question.model)
        if model is None:
            known = ", ".join(served)
            raise HTTPException(404, f"There is no model {question.model[:80]!r}; the models are: {known}.")
        model.check_file()
        return _json(await workshop.run(lambda deadline: _encoded(ask(model, deadline))))

    def query(name: str, answer: type[BaseModel], summary: str) -> Callable[[Any], Any]:
        return app.post(f"/api/{name}", response_model=answer, responses=_MISTAKES, summary=summary)

    @query("predict", responses.Predictions, "The most probable next words")
    async def _predict(question: Annotated[requests.PredictQuestion, Body()]) -> Response:
        return await run(question, lambda model, _: model.predict(question))

    @query("score", responses.Scores, "The probability of every word of a text, and its perplexity")
    async def _score(question: Annotated[requests.ScoreQuestion, Body()]) -> Response:
        return await run(question, lambda model, deadline: model.score(question, deadline))

    @query("explain", responses.ExplainedWord, "The lattice behind a probability")
    async def _explain(question: Annotated[requests.ExplainQuestion, Body()]) -> Response:
        return await run(question, lambda model, _: model.explain(question))

    @query("correct", responses.Corrected, "A text with its spelling corrected")
    async def _correct(question: Annotated[requests.CorrectQuestion, Body()]) -> Response:
        return await run(question, lambda model, deadline: model.correct(question, deadline))

    @query("generate", responses.Generated, "Sentences drawn from a model")
    async def _generate(question: Annotated[requests.GenerateQuestion, Body()]) -> Response:
        return await run(question, lambda model, deadline: model.generate(question, deadline))


def _add_page(app: FastAPI, page: dict[str, PageFile]) -> None:
    @app.get("/", include_in_schema=False)
    async def _index(request: Request) -> Response:
        return _file(page["index.html"], request)

    @app.get("/static/{name}", include_in_schema=False)
    async def _static(name: str, request: Request) -> Response:
        if name not in page:
            raise HTTPException(404, "The page has no such file.")
        return _file(page[name], request)


def _name_models(app: FastAPI, names: list[str]) -> None:
    """The description lists the names that a question may hold; it is made once, and FastAPI keeps it."""
    for schema in app.openapi()["components"]["schemas"].values():
        if "model" in schema.get("required", ()) and schema.get("additionalProperties") is False:
            schema["properties"]["model"]["enum"] = names


def _add_mistakes(app: FastAPI) -> None:
    async def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        said = {404: "There is nothing here; the page is at / and the API is described at /api/openapi.json.",
                405: "This method is not allowed here; see /api/openapi.json."}  # fmt: skip
        sentence = error.detail if error.detail.endswith(".") else said.get(error.status_code, f"{error.detail}.")
        return _mistake(error.status_code, sentence, dict(error.headers or {}))

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _mistake(*validation_sentence(error.errors()))

    async def unanswerable(_: Request, error: Exception) -> Response:
        return _mistake(422, f"{error}.")

    async def busy(_: Request, error: Exception) -> Response:
        said = "Too many requests are waiting" if isinstance(error, Overloaded) else "This request took too long"
        return _mistake(503, f"{said}; try again in a moment.", {"retry-after": "1"})

    async def changed(_: Request, error: Exception) -> Response:
        return _mistake(503, f"{str(error).capitalize()}.")

    app.add_exception_handler(ChangedFile, changed)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(GapgramError, unanswerable)
    app.add_exception_handler(Overloaded, busy)
    app.add_exception_handler(TooSlow, busy)


def validation_sentence(errors: Sequence[Any]) -> tuple[int, str]:
    """The status and the sentence for the first thing that is wrong with a body.

    >>> validation_sentence([{"type": "less_than_equal", "loc": ("body", "k"), "msg": "Input should be small"}])
    (422, 'k: input should be small.')
    """
    first = errors[0]
    if first["type"] == "json_invalid":
        return 400, "The body is not JSON."
    field = ".".join(str(key)[:80] for key in first["loc"][1:]) or "body"
    message = str(first["msg"])
    return 422, f"{field}: {message[:1].lower()}{message[1:]}."


def _encoded(answer: BaseModel) -> bytes:
    return answer.__pydantic_serializer__.to_json(answer)


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json", headers={"cache-control": "no-store"})


def _mistake(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": sentence.encode("utf-8", "replace").decode()}, status, headers)


def _file(file: PageFile, request: Request) -> Response:
    headers = {"cache-control": "no-cache", "etag": file.tag}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)
