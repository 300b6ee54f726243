"""Results show themselves: in one line, as text, and as notebooks show them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import gapgram
from gapgram import Model


def test_a_perplexity_prints_its_perplexities(models: dict[str, Model]) -> None:
    found = models["mkn"].perplexity(sentences=["w1 w2 zzz"])
    shown = f"{found.perplexity:,.2f}; {found.perplexity_known:,.2f} without unknown words"
    assert str(found) == f"<Perplexity {shown}; 3 words, 1 unknown, in 1 sentences>"
    html = found._repr_html_()
    assert f"{found.perplexity:,.2f}" in html
    assert str(models["mkn"].signature) in html
    ElementTree.fromstring(html)


def test_an_explanation_has_a_summary(made: dict[str, Model]) -> None:
    whole = made["classes"].explain("w5", "w1 w2 w3")
    assert re.fullmatch(
        r"[\w ]+ % classes, [\w ]+ % gaps, [\w ]+ % contiguous(, [\w ]+ % every word alike)?", whole.summary
    )
    assert repr(whole) == f"<Explanation P(w5 | w1 w2 w3) = {whole.probability:.4g}: {whole.summary}>"
    gained = {kind: sum(p.contribution for p in whole.patterns if p.kind == kind) for kind in ("classes", "gaps")}
    for kind, part in gained.items():
        figure = f"{100 * part / whole.probability:.0f} %" if part >= 0.005 * whole.probability else "under 1 %"
        assert f"{figure} {kind}" in whole.summary
    assert "classes" not in made["mkn"].explain("w5", "w1").summary


def test_the_text_of_an_explanation_has_rows_by_contribution(made: dict[str, Model]) -> None:
    whole = made["learned"].explain("w5", "w1 w2 w3")
    title, summary, *rows = str(whole).splitlines()
    assert (title, summary) == (whole.title, whole.summary)
    parts = [float(row.split(" %")[0]) for row in rows]
    assert parts == sorted(parts, reverse=True)
    assert len(rows) == sum(p.contribution > 0 for p in whole.patterns)


def test_an_explanation_is_a_picture_in_a_notebook(made: dict[str, Model]) -> None:
    whole = made["classes"].explain("w5", "w1 w2 w3")
    assert whole._repr_svg_() == gapgram.as_svg(whole)
    html = whole._repr_html_()
    assert gapgram.as_svg(whole) in html
    ElementTree.fromstring(f"<div>{html}</div>")
    assert html.count("<tr") == len(whole.patterns) + 1
    assert 'fill="#d9822b"' in html


def test_words_are_escaped(models: dict[str, Model]) -> None:
    html = models["mkn"].explain("<b>&", "w1")._repr_html_()
    assert "P(&lt;b&gt;&amp; | w1)" in html


def test_a_model_says_what_it_is(made: dict[str, Model]) -> None:
    model = made["classes"]
    assert re.fullmatch(
        r"<Model estimator glm, \d+ patterns, classes \d+, order 4, vocabulary \d+ words, grams [\d,]+, "
        r"trained on [\d,]+ words, layout fast>",
        repr(model),
    )
    html = model._repr_html_()
    ElementTree.fromstring(html)
    assert str(model.path) in html
    mixed = gapgram.Mixture([model, made["mkn"]], [0.5, 0.5])
    assert repr(mixed).startswith("<Mixture order 4, vocabulary ")
    assert "signature" in mixed._repr_html_()
