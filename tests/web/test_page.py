"""The page in a real browser, by what a reader sees and does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.running_service import Service

from gapgram import Model

Page = Any  # playwright's, which may be missing
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def page(browser: Any, service: Service) -> Iterator[Page]:
    """The page, started. Whatever the browser complains of fails the test."""
    context = browser.new_context()
    page = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []

    def dismissed(dialog: Any) -> None:
        complaints.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", dismissed)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(service.url)
    page.wait_for_selector(".guess")
    page.complaints = complaints
    yield page
    assert complaints == []
    assert all(url.startswith(service.url) for url in asked)
    context.close()


def guesses(page: Page, column: int) -> list[str]:
    """The words of one model's list."""
    words: list[str] = page.locator(f".guesses >> nth={column} >> .guess b").all_inner_texts()
    return words


def write(page: Page, text: str) -> None:
    """Write a text into Type and wait for its guesses."""
    page.click("#tab-type")
    page.fill("#type-text", text)
    page.wait_for_selector("#type-lists[aria-busy=false]")


def parts(page: Page, place: str) -> dict[str, float]:
    """The drawn discs and which part of the probability each gives."""
    nodes = page.locator(f"{place} .node").evaluate_all("all => all.map(n => [n.dataset.pattern, +n.dataset.part])")
    return dict(map(tuple, nodes))


def open_why(page: Page, context: str, word: str, model: str = "glm") -> None:
    """Ask for the lattice of a word and wait until it is drawn."""
    page.click("#tab-why")
    page.check(f"#why-models input[value={model}]", force=True)
    page.fill("#why-context", context)
    page.fill("#why-word", word)
    page.wait_for_selector("#why-lattice[aria-busy=false]")


def test_an_example_is_there_from_the_start(page: Page) -> None:
    assert page.input_value("#type-text").strip()
    assert len(guesses(page, 0)) == len(guesses(page, 1)) == 5
    assert page.evaluate("document.activeElement.id") == "type-text"


def test_typing_gives_each_models_guesses(page: Page, models: dict[str, Model]) -> None:
    page.fill("#type-text", "")
    page.type("#type-text", "w1 w2 ")
    write(page, "w1 w2 w3 ")
    for column, name in enumerate(["mkn", "glm"]):
        expected = models[name].predict(["<s>", "w1", "w2", "w3"][-3:], 5)
        assert guesses(page, column) == [p.word for p in expected]
    assert page.locator(".guess span").first.inner_text().endswith("%")


def test_guesses_learn_from_what_is_written_and_forget_at_a_click(page: Page) -> None:
    write(page, "w1 w2 zebra\nw1 w2 zebra\nw1 w2 ze")
    assert guesses(page, 0) == guesses(page, 1) == ["zebra"]
    assert page.inner_text("#type-learned").startswith("8 words of your text learned")
    assert page.locator(".guess .learned").count() == 2
    page.click("#type-forget")
    page.wait_for_selector(".none")
    assert page.locator("#type-forget").is_hidden()
    page.type("#type-text", "bra\nw1 ze")
    page.wait_for_selector(".guess .learned")
    assert page.inner_text("#type-learned").startswith("2 words of your text learned")
    page.uncheck("#type-learn")
    page.wait_for_selector(".none")
    assert page.inner_text("#type-learned") == "The guesses learn nothing from your text."


def test_letters_of_a_word_complete_it(page: Page) -> None:
    write(page, "w1 w2 w1")
    assert all(word.startswith("w1") for word in guesses(page, 0) + guesses(page, 1))
    page.press("#type-text", "ArrowRight")
    assert re.fullmatch(r"w1 w2 w1\d* ", page.input_value("#type-text"))


@pytest.mark.parametrize(("keys", "column", "place"), [
    (["ArrowRight"], 0, 0),
    (["3"], 0, 2),
    (["0"], 1, 4),
    (["ArrowDown", "ArrowDown", "Enter"], 0, 1),
    (["ArrowDown", "ArrowRight", "Enter"], 1, 0),
    (["ArrowDown", "ArrowDown", "ArrowUp", "Enter"], 0, 0),
])  # fmt: skip
def test_keys_insert_a_guess(page: Page, keys: list[str], column: int, place: int) -> None:
    write(page, "w1 w2 ")
    page.check("#type-digits")
    word = guesses(page, column)[place]
    for key in keys:
        page.press("#type-text", key)
    assert page.input_value("#type-text") == f"w1 w2 {word} "


def test_a_click_inserts_a_guess(page: Page) -> None:
    write(page, "w1 ")
    word = guesses(page, 1)[1]
    page.locator(".guesses >> nth=1 >> .guess >> nth=1").click()
    assert page.input_value("#type-text") == f"w1 {word} "


def test_digits_can_be_typed_and_tab_can_leave(page: Page) -> None:
    write(page, "w1 ")
    page.press("#type-text", "4")
    assert page.input_value("#type-text") == "w1 4"
    page.press("#type-text", "Tab")
    assert page.evaluate("document.activeElement.id") != "type-text"
    assert page.input_value("#type-text") == "w1 4"


def test_the_address_holds_the_question(page: Page) -> None:
    open_why(page, "w1 w2 w9", "w4", "mkn")
    address = page.evaluate("location.href")
    assert address.endswith("#why?after=w1+w2+w9&word=w4&model=mkn")
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#why-lattice .answer:has-text('“w4”')")
    assert page.input_value("#why-context") == "w1 w2 w9"
    assert page.is_checked("#why-models input[value=mkn]")
    page.goto("about:blank")
    page.goto(address.split("#")[0] + "#type?text=w1+w2+%231+")
    page.wait_for_selector("#type-lists[aria-busy=false], .guess")
    assert page.input_value("#type-text") == "w1 w2 #1 "


def test_figures_of_a_text_can_be_downloaded(page: Page) -> None:
    page.click("#tab-surprise")
    page.fill("#surprise-text", "w1 w2\nzzz")
    page.wait_for_selector("#surprise-shaded[aria-busy=false]")
    with page.expect_download() as waiting:
        page.click("#surprise-download")
    lines = waiting.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# mkn: order:4|")
    assert lines[2] == "sentence\tposition\tword\tbits_mkn\tknown_mkn\tbits_glm\tknown_glm"
    assert [line.split("\t")[:3] for line in lines[3:]] == [
        ["1", "1", "w1"], ["1", "2", "w2"], ["1", "3", "</s>"], ["2", "1", "zzz"], ["2", "2", "</s>"],
    ]  # fmt: skip
    assert lines[6].split("\t")[4] == "0"


def test_the_active_guess_is_told_to_screen_readers(page: Page) -> None:
    write(page, "w1 ")
    page.press("#type-text", "ArrowDown")
    active = page.get_attribute("#type-text", "aria-activedescendant")
    assert page.get_attribute(f"#{active}", "aria-selected") == "true"
    assert page.get_attribute(f"#{active}", "role") == "option"


def test_a_model_writes_on(page: Page) -> None:
    write(page, "w1 w2 ")
    with page.expect_response("**/api/generate") as caught:
        page.locator("text=Continue").last.click()
    written = caught.value.json()["sentences"][0]
    page.wait_for_function("text => document.querySelector('#type-text').value.trim() === text", arg=written)


@pytest.mark.parametrize("name", ["mkn", "glm"])
def test_the_lattice_has_the_models_nodes_and_shares(page: Page, models: dict[str, Model], name: str) -> None:
    open_why(page, "w1 w2 w9", "w4", name)
    found = models[name].explain("w4", ["w1", "w2", "w9"])
    expected = {p.pattern: p.contribution / found.probability for p in found.patterns}
    expected["uniform"] = found.uniform_contribution / found.probability
    assert parts(page, "#why-lattice") == pytest.approx(expected, abs=1e-12)
    sizes = page.locator("#why-lattice .disc").evaluate_all("all => all.map(c => +c.getAttribute('r'))")
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    drawn = list(parts(page, "#why-lattice").values())
    assert [drawn[i] for i in order] == sorted(drawn)


def test_levels_edges_and_words_of_the_lattice(page: Page) -> None:
    open_why(page, "w1 w2 w9", "w3")
    places = dict(page.locator("#why-lattice .node").evaluate_all(
        "all => all.map(n => [n.dataset.pattern, +n.querySelector('.disc').getAttribute('cy')])"
    ))  # fmt: skip
    levels = [{p for p in places if places[p] == y} for y in sorted(set(places.values()))]
    assert levels == [{"1111"}, {"111", "1011", "1101"}, {"11", "101", "1001"}, {"1"}, {"uniform"}]
    edges = page.locator("#why-lattice .edge").evaluate_all(
        "all => all.map(e => [e.dataset.from, e.dataset.to, e.classList.contains('chain')])"
    )
    bold = {(a, b) for a, b, chain in edges if chain}
    assert bold == {("1111", "111"), ("111", "11"), ("11", "1")}
    assert len(edges) == 13
    labels = dict(page.locator("#why-lattice .node").evaluate_all(
        "all => all.map(n => [n.dataset.pattern, n.querySelector('.kept').textContent])"
    ))  # fmt: skip
    assert labels["1011"] == "w1 _ w9 •"
    assert labels["101"] == "w2 _ •"


def test_a_disc_tells_its_numbers_on_hover_and_focus(page: Page, models: dict[str, Model]) -> None:
    open_why(page, "w1 w2 w9", "w3")
    page.hover("#why-lattice .node[data-pattern='11'] .disc", force=True)
    told = page.inner_text("#why-lattice .details")
    found = next(p for p in models["glm"].explain("w3", ["w1", "w2", "w9"]).patterns if p.pattern == "11")
    assert "After “w9”" in told
    for name in ("count, of", "its discount D", "D of counts 1, 2, 3+", "backoff weight", "weight received"):
        assert name in told
    assert f"{found.backoff:.3f}" in told
    assert f"{found.total:,}" in told
    page.focus("#why-lattice .node[data-pattern='11']")
    page.keyboard.press("ArrowDown")
    assert "After no context" in page.inner_text("#why-lattice .details")
    assert page.evaluate("document.activeElement.dataset.pattern") == "1"


def test_why_opens_from_a_guess(page: Page) -> None:
    write(page, "w1 w2 ")
    word = guesses(page, 1)[0]
    page.locator(f"text=Why “{word}”?").last.click()
    page.wait_for_selector(f".answer:has-text('“{word}”')")
    assert page.is_visible("#view-why")
    assert page.input_value("#why-context") == "w1 w2"


def surprise(page: Page, text: str) -> None:
    """Paste a text into Surprise and wait until it is shaded."""
    page.click("#tab-surprise")
    page.fill("#surprise-text", text)
    page.wait_for_selector("#surprise-shaded[aria-busy=false]")


def test_words_are_shaded_by_surprisal(page: Page, models: dict[str, Model]) -> None:
    surprise(page, "w1 w2 w3\nnever w1")
    words = page.locator(".word").evaluate_all(
        "all => all.map(w => [w.textContent, +w.dataset.bits, getComputedStyle(w).backgroundColor, w.className])"
    )
    scores = [*models["glm"].scores("w1 w2 w3").tolist(), *models["glm"].scores("never w1").tolist()]
    assert [w[0] for w in words] == ["w1", "w2", "w3", "¶", "never", "w1", "¶"]
    assert [w[1] for w in words] == pytest.approx([-s / 0.30102999566 for s in scores], abs=2e-3)
    shades = [float(re.findall(r"[\d.]+", w[2])[3]) for w in words]
    order = sorted(range(7), key=lambda i: words[i][1])
    assert [shades[i] for i in order] == sorted(shades)
    assert len(set(shades)) > 3
    assert [("unknown" in w[3]) for w in words] == [False] * 4 + [True] + [False] * 2


def test_both_perplexities_of_both_models_are_shown(page: Page, models: dict[str, Model]) -> None:
    surprise(page, "w1 w2 w3\nnever w1")
    shown = page.inner_text("#surprise-figures")
    for name in ("mkn", "glm"):
        found = models[name].perplexity(sentences=["w1 w2 w3", "never w1"])
        assert f"{found.perplexity:,.1f}" in shown
        assert f"{found.perplexity_known:,.1f}" in shown


def test_a_word_of_the_text_opens_its_lattice(page: Page, models: dict[str, Model]) -> None:
    surprise(page, "w1 w2 w3 w4")
    page.locator(".word >> nth=3").click()
    page.wait_for_selector("#surprise-lattice .answer:has-text('“w4”')")
    found = models["glm"].explain("w4", ["w1", "w2", "w3"])
    part = found.patterns[-1].contribution / found.probability
    assert parts(page, "#surprise-lattice")["1111"] == pytest.approx(part)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_selector("#surprise-lattice .answer:has-text('“w3”')")


HOSTILE = [
    "<script>alert(1)</script> <img src=x onerror=alert(1)> &amp; \"'`",
    "שלום עולם \u202eabc مرحبا",
    "👩‍👩‍👧 🏳️‍🌈 e\u0301 \u200b \ufeff x",
    "${alert(1)} {{1}} javascript:alert(1) </textarea></span>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text(page: Page, text: str) -> None:
    before = page.evaluate("document.querySelectorAll('script, img').length")
    write(page, text)
    surprise(page, text)
    shown = page.locator("#surprise-shaded").evaluate("e => e.textContent")
    assert shown.replace("¶", "") == text
    page.locator(".word").first.click()
    page.wait_for_selector("#surprise-lattice .node")
    assert page.locator("#surprise-lattice .answer").evaluate("e => e.textContent").startswith(f"“{text.split()[0]}”")
    open_why(page, text, text.split()[0])
    assert page.evaluate("document.querySelectorAll('script, img').length") == before


@pytest.mark.parametrize("text", ["x" * 100_000, "<b>w1</b> " * 10_000], ids=["one word", "many words"])
def test_100_kilobytes_are_shown(page: Page, text: str) -> None:
    surprise(page, text)
    page.wait_for_selector(".word.unknown")
    assert page.locator("#surprise-shaded").evaluate("e => e.textContent").replace("¶", "") == text
    write(page, text)
    assert page.input_value("#type-text") == text
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_too_long_a_text_is_said(page: Page) -> None:
    page.complaints.clear()
    surprise(page, "w1 " * 70_000)
    assert "at most 200000 characters" in page.inner_text("#surprise-note")
    assert all("422" in complaint for complaint in page.complaints)
    page.complaints.clear()


@pytest.mark.parametrize("look", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(browser: Any, service: Service, look: str) -> None:
    context = browser.new_context(viewport=PHONE, color_scheme=look)
    page = context.new_page()
    page.goto(service.url)
    page.wait_for_selector(".guess")
    for view in ("type", "why", "surprise", "correct"):
        page.click(f"#tab-{view}")
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    ink, paper = page.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
    bright = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (bright[0] > bright[1]) == (look == "dark")
    context.close()


def test_views_are_reached_by_keyboard(page: Page) -> None:
    page.focus("#tab-type")
    for view in ("why", "surprise", "correct", "type"):
        page.keyboard.press("ArrowRight")
        assert page.is_visible(f"#view-{view}")
        assert page.get_attribute(f"#tab-{view}", "aria-selected") == "true"


def test_two_lattices_side_by_side_with_what_they_do_not_see(page: Page) -> None:
    open_why(page, "w1 w2 w9 w4 w5", "w3", model="'*'")
    page.wait_for_selector("#why-lattice.pair > div:last-child svg")
    assert page.locator("#why-lattice h2").all_inner_texts() == ["mkn", "glm"]
    assert page.locator("#why-lattice .beyond").all_inner_texts() == ["w1 w2 ", "w1 w2 "]
    page.check("#why-models input[value=mkn]", force=True)
    page.wait_for_selector("#why-lattice:not(.pair) svg")
    assert page.locator("#why-lattice svg").count() == 1


def test_words_alone_are_guessed_where_asked(page: Page) -> None:
    write(page, "w1 ")
    assert len(guesses(page, 0)) == 5
    page.check("#type-words")
    page.wait_for_selector(".guesses .none")  # w2 is no word of letters
