"""The page without a service, in a real browser: it answers as the service does, and asks nobody."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

from tests.support.running import Ran, assert_refused

import gapgram
from gapgram import Model
from gapgram.web import alone, requests
from gapgram.web.pool import Deadline
from gapgram.web.served import ServedModel

Page = Any  # playwright's, which may be missing
TEXT = [
    "He did n't go to London , I think .", "She is n't in Paris ( 1914 - 1918 ) .", "the man 's hat , and $ 5",
    "It is the U.S. , he said ... ", "well-known towns : London , Paris",
] * 12  # fmt: skip


@pytest.fixture(scope="module")
def wasm() -> Path:
    """The library that `python -m compiler` puts into the source tree."""
    place = Path(alone.__file__).parent / "wasm" / alone.WASM
    if not place.is_file():
        assert not os.environ.get("GAPGRAM_NEEDS_CHROMIUM"), "no library for WebAssembly, which is told to be needed"
        pytest.skip("no library for WebAssembly: pip install ziglang, python -m compiler")
    return place


@pytest.fixture(scope="module")
def served(
    seeds: dict[str, Path], models: dict[str, Model], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, ServedModel]:
    """Models of classes, of gaps, and of text with marks."""
    path = tmp_path_factory.mktemp("english") / "english.model"
    english = gapgram.train(sentences=TEXT, order=3, split="done", layout="compact", output=path)
    opened = {"classes": Model.load(seeds["clusterings"]), "gaps": models["glm"], "english": english}
    return {name: ServedModel(name, model) for name, model in opened.items()}


@pytest.fixture(scope="module")
def folder(wasm: Path, served: dict[str, ServedModel], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return alone.write_page(list(served.values()), [], tmp_path_factory.mktemp("page") / "own").parent


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """Of the folder, served as files are."""
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


def opened(browser: Any, address: str, complaints: list[str], **settings: Any) -> Page:
    """A page in a context of its own."""
    page = browser.new_context(**settings).new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    return page


@pytest.fixture(scope="module")
def ask(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Asks what stands behind the page in the place of the service."""
    complaints: list[str] = []
    page = opened(browser, address, complaints)
    page.wait_for_selector(".guess")
    ask = "([path, body]) => import('./api.js').then((api) => api.request(path, body))"
    yield lambda path, **body: page.evaluate(ask, [path, body])
    page.context.close()
    assert complaints == []


def assert_alike(found: Any, expected: Any, place: str = "") -> None:
    """Texts and whole numbers are equal; exp and log10 may differ in their last bit."""
    if isinstance(expected, dict):
        assert isinstance(found, dict) and expected.keys() <= found.keys(), place
        for name in expected:
            if not (name == "kept" and expected.get("classes")):  # classes, of which the page shows how many
                assert_alike(found[name], expected[name], f"{place}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_alike(one, other, f"{place}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15), place
    else:
        assert found == expected, place


@pytest.mark.parametrize("name", ["classes", "gaps", "english"])
@pytest.mark.parametrize("history", ["", "w1 zebra w2\nHe didn't.\n", "w1 zebra w2\nHe didn't.\nzebra London w1\n"])
def test_guesses_are_those_of_the_service(
    served: dict[str, ServedModel], ask: Callable[..., Any], name: str, history: str
) -> None:
    for context, prefix in (("w1 w2 zebra", ""), ("", "w1"), ("he isn't in (London", ""), ("w1", "ze"), ("in", "lodn")):
        for words_only in (False, True):
            question: dict[str, Any] = {"context": context, "prefix": prefix, "words_only": words_only, "k": 5}
            question |= {"history": history, "start": True}
            expected = served[name].predict(requests.PredictQuestion(model=name, **question)).model_dump()
            del expected["signature"]  # which says how much a session has read
            assert_alike(ask("predict", model=name, **question), expected, f"{question}")


@pytest.mark.parametrize("name", ["classes", "gaps", "english"])
def test_explanations_and_scores_are_those_of_the_service(
    served: dict[str, ServedModel], ask: Callable[..., Any], name: str
) -> None:
    for context, word in (("w1 w2 w9", "w4"), ("", "</s>"), ("never <s>", "zebra"), ("It isn't", "London")):
        question: dict[str, Any] = {"context": context, "word": word, "start": len(context) % 2 == 0}
        expected = served[name].explain(requests.ExplainQuestion(model=name, **question))
        assert_alike(ask("explain", model=name, **question), expected.model_dump(), f"{question}")
    text = "w1 w2 zebra\n\n He didn't (in “London”…\n$5 1914–1918 U.S. </s> \u202e<b>"
    expected_scores = served[name].score(requests.ScoreQuestion(model=name, text=text), Deadline.never())
    assert_alike(ask("score", model=name, text=text), expected_scores.model_dump())


def test_a_model_writes_sentences_of_its_words(served: dict[str, ServedModel], ask: Callable[..., Any]) -> None:
    question = {"model": "gaps", "begin": "w1 w2", "max_words": 12, "temperature": 0.8, "seed": 3}
    words = ask("generate", **question)["sentences"][0].split()
    assert words[:2] == ["w1", "w2"] and 2 <= len(words) <= 12
    assert all(word in served["gaps"].model for word in words)
    assert ask("generate", **question)["sentences"][0].split() == words


@pytest.fixture(scope="module")
def one_file(wasm: Path, models: dict[str, Model], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("one") / "page.html"
    return alone.write_page([ServedModel(name, models[name]) for name in ("mkn", "glm")], [], path)


def test_one_file_opens_offline_and_its_views_answer(browser: Any, one_file: Path, models: dict[str, Model]) -> None:
    complaints: list[str] = []
    page = opened(browser, one_file.as_uri(), complaints, offline=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_selector(".guess")
    assert page.locator("nav button").all_inner_texts() == ["Type", "Why", "Surprise"]
    page.fill("#type-text", "w1 w2 ")
    page.wait_for_selector("#type-lists[aria-busy=false]")
    for column, name in enumerate(["mkn", "glm"]):
        shown = page.locator(f".guesses >> nth={column} >> .guess b").all_inner_texts()
        assert shown == [p.word for p in models[name].predict(["<s>", "w1", "w2"], 5)]
    page.fill("#type-text", "w1 w2 zebra\nw1 w2 zebra\nw1 w2 ze")
    page.wait_for_selector("#type-lists[aria-busy=false] .learned")
    assert page.inner_text("#type-learned").startswith("8 words of your text learned")
    page.click("#tab-why")
    page.fill("#why-context", "w1 w2 w9")
    page.fill("#why-word", "w4")
    page.wait_for_selector("#why-lattice[aria-busy=false]")
    found = models["glm"].explain("w4", ["w1", "w2", "w9"])
    drawn = "all => all.map(n => [n.dataset.pattern, +n.dataset.part])"
    nodes = dict(page.locator("#why-lattice .node").evaluate_all(drawn))
    assert nodes == pytest.approx({
        **{p.pattern: p.contribution / found.probability for p in found.patterns},
        "uniform": found.uniform_contribution / found.probability,
    }, abs=1e-12)  # fmt: skip
    page.click("#tab-surprise")
    page.fill("#surprise-text", "w1 w2 w3\nnever w1")
    page.wait_for_selector("#surprise-shaded[aria-busy=false]")
    bits = page.locator(".word").evaluate_all("all => all.map(w => +w.dataset.bits)")
    scores = [*models["glm"].scores("w1 w2 w3").tolist(), *models["glm"].scores("never w1").tolist()]
    assert bits == pytest.approx([-score / 0.30102999566 for score in scores], abs=2e-3)
    assert complaints == []
    assert all(url.startswith("data:") for url in asked)
    page.context.close()


def test_text_of_the_page_is_text(browser: Any, wasm: Path, tmp_path: Path) -> None:
    """Words of a model and its name that look like markup, in the data that the page holds."""
    odd = ["</script><script>alert(1)</script> & <!--x-->"] * 9
    model = gapgram.train(sentences=odd, order=2, model="mkn", output=tmp_path / "odd.model")
    path = alone.write_page([ServedModel("</script><b>", model)], odd[:1], tmp_path / "page.html")
    complaints: list[str] = []
    page = opened(browser, path.as_uri(), complaints, offline=True, viewport={"width": 375, "height": 800})
    page.wait_for_selector(".guess")
    assert page.inner_text(".guesses h2") == "</script><b>"
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert complaints == []
    page.context.close()


@pytest.mark.parametrize("name, change, expected", [
    ("0.model", lambda data: data[:-999], "truncated"), ("1.model", lambda data: b"gapgram?" + data[8:], "unfinished"),
    ("2.model", None, "2.model is not beside it"), ("gapgram.wasm", lambda data: data[:-999], "cannot show its model"),
])  # fmt: skip
def test_what_is_damaged_is_said(
    browser: Any, address: str, folder: Path, name: str, change: Callable[[bytes], bytes] | None, expected: str
) -> None:
    whole = (folder / name).read_bytes()
    (folder / name).unlink()
    if change:
        (folder / name).write_bytes(change(whole))
    page = opened(browser, address, [])
    page.wait_for_selector("#away:not([hidden])")
    assert expected in page.inner_text("#away")
    page.context.close()
    (folder / name).write_bytes(whole)


def test_models_that_a_page_cannot_have_are_refused(
    cli: Callable[..., Ran], seeds: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "_resource", lambda *place: Path(alone.__file__))  # none is needed for that
    page, mkn = tmp_path / "page.html", seeds["mkn"]
    gapgram.train(sentences=TEXT, order=3, unbounded=True, output=tmp_path / "text.model")
    chars = tmp_path / "chars.model"
    gapgram.train(sentences=TEXT, order=3, model="mkn", tokenizer="chars", output=chars)
    for path, expected in (
        (seeds["backoff"], "a page has models that gapgram train has written"),
        (tmp_path / "text.model", "holds its training text"), (chars, "counts tokens of a tokeniser"),
        (tmp_path / "none", "no such file"),
    ):  # fmt: skip
        assert_refused(cli("page", path, "-o", page), expected)
    (tmp_path / "cut").write_bytes(mkn.read_bytes()[:-9])
    assert_refused(cli("page", tmp_path / "cut", "-o", page), "truncated")
    assert_refused(cli("page", mkn, "-o", tmp_path / "none" / "page"), "the folder")
    (tmp_path / "file").touch()
    assert_refused(cli("page", mkn, "-o", tmp_path / "file"), "name a folder, or a file that ends in .html")
    monkeypatch.setattr(alone, "_size", lambda path: 10**8)
    assert_refused(cli("page", mkn, "-o", page), "are too many for one page, which may have 32MiB: write a folder")
    monkeypatch.setattr(alone, "_resource", lambda *place: tmp_path / "none")
    assert_refused(cli("page", mkn, "-o", page), "no library for WebAssembly")
    assert not page.exists()


NODE = """
import { readFile } from "node:fs/promises";
import { Model } from "FOLDER/gapgram.mjs";
import { Splitter, TypedWords } from "FOLDER/typing.mjs";
const [file, wasm, questions] = process.argv.slice(2);
const model = await Model.open(await readFile(file), await readFile(wasm));
const [lines, typed] = JSON.parse(questions);
const [splitter, words] = [new Splitter(model), new TypedWords(model)];
const found = typed.map((prefix) => words.predict(model, "in", { prefix }));
console.log(JSON.stringify([lines.map((line) => splitter.words(line)), found]));
"""


def test_what_is_typed_is_cut_and_found_as_in_python(
    wasm: Path, served: dict[str, ServedModel], tmp_path: Path
) -> None:
    if shutil.which("node") is None:
        pytest.skip("no Node")
    import subprocess

    model = served["english"].model
    (tmp_path / "ask.mjs").write_text(NODE.replace("FOLDER", str(wasm.parent)))
    lines = [
        "He didn’t go (to “London”), did he?", "it's the man's hat: $5…", "U.S. (U.S.) e.g. 1914–1918,",
        "1914-1918 well-known",
        "...!!! ??? , '' “” −5 +5 $ $$", "👩‍👩‍👧 שלום, e\u0301\u0301 <unk> </s> \u200b\ufeff,",
    ]  # fmt: skip
    typed = ["", "l", "lon", "lodn", "LONDON", "État", "pars", "zzz", "'", "welk"]
    asked = ["node", str(tmp_path / "ask.mjs"), str(model.path), str(wasm), json.dumps([lines, typed])]
    cut, found = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    assert cut == [model.splitter.words(line) for line in lines]
    words = gapgram.TypedWords(model)
    for prefix, guesses in zip(typed, found, strict=True):
        expected = [(p.word, p.probability) for p in words.predict(["<s>", "in"], 5, prefix=prefix)]
        assert [one["word"] for one in guesses] == [word for word, _ in expected], prefix
        assert [one["probability"] for one in guesses] == pytest.approx([p for _, p in expected])
