"""Every kind of markup: what is seen of it, and that nothing of the markup stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mwparserfromhell", reason="needs the extra gapgram[prepare]")

from gapgram.preparation.languages import language_of
from gapgram.preparation.markup import paragraphs_of
from gapgram.preparation.unpaired import HIDDEN, with_unpaired_hidden, without_marks_at_ends, without_templates
from gapgram.preparation.wikipedia import Article, Page, Site, convert_page

SITE = Site("en", frozenset({"file", "image", "файл"}), frozenset({"category", "категория"}), frozenset())
MARKUP = (
    "[[", "]]", "{{", "}}", "{|", "|}", "|-", "<ref", "</",
    "'''", "''", "&nbsp;", "&amp;", "thumb|", "style=", "==", "__",
    "<!--", "-->", "|", "http:", "\x01", "\x02", "\x03", "\x04",
)  # fmt: skip


def read(wikitext: str) -> list[str]:
    return paragraphs_of(Article("Title", wikitext), SITE)


CASES = {
    "bold and italic": ("'''A''' ''b'' '''''c''''' d's.", ["A b c d's."]),
    "quotes inside quotes": ("'''L'''''amour'' of ''d'''x'''''.", ["Lamour of dx."]),
    "link": ("A [[dog]]s and [[Cat (animal)|cats]].", ["A dogs and cats."]),
    "link to a section": ("See [[#Top|above]].", ["See above."]),
    "pipe trick": ("A [[Cat (animal)|]].", ["A Cat."]),
    "category": ("A.\n[[Category:Dogs|*]]\n[[Категория:Кучета]]", ["A."]),
    "link to a category": ("See [[:Category:Dogs|dogs]].", ["See dogs."]),
    "other languages": ("A.\n[[de:Hund]]\n[[fr:Chien]]", ["A."]),
    "file with caption": ("[[File:a.jpg|thumb|200px|alt=x|The [[dog]] ''A''.]]Text.", ["The dog A.", "Text."]),
    "file inside a sentence": ("A [[File:a.jpg|thumb|Big caption]] dog.", ["Big caption", "A dog."]),
    "file without caption": ("A [[Image:a.svg|20px|link=]] dog.", ["A dog."]),
    "file in another alphabet": ("[[Файл:a.jpg|мини|дясно|Едно куче.]]", ["Едно куче."]),
    "gallery": ("<gallery>\nFile:a.jpg|A '''dog'''\nb.jpg|alt=x|A [[cat]]\nc.jpg\n</gallery>", ["A dog", "A cat"]),
    "external link": ("See [http://a.org the site] and [http://b.org].", ["See the site and ."]),
    "reference": ("A<ref>B {{cite|c}}</ref> d<ref name=x/>.<ref name=\"y\">\nz</ref>", ["A d."]),
    "list of references": ("A.\n==Notes==\n<references />\n{{reflist}}", ["A."]),
    "math": ("Let <math>x^2 < \\frac{1}{2}</math> be.", ["Let be."]),
    "comment": ("A<!-- b\n\nc --> d.<!-- open", ["A d."]),
    "nowiki": ("A <nowiki>[[b]]</nowiki> c.", ["A b c."]),
    "code block": ("A.\n<syntaxhighlight lang=c>int x;</syntaxhighlight>\n<source>y</source>B.", ["A.", "B."]),
    "html": ("<div style=\"x\">A <span class='y'>b</span><br/>c<sub>2</sub></div>", ["A b c2"]),
    "quotation": ("<blockquote>\nA b.\n</blockquote>\nC.", ["A b.", "C."]),
    "unclosed html": ("A <b>b.\n\nC </span>d.", ["A b.", "C d."]),
    "entities": ("A&nbsp;b &amp; c &ndash; d &#233; &lt;e&gt; f.", ["A b & c – d é f."]),
    "entities twice": ("A &amp;nbsp; b.", ["A b."]),
    "headings": ("==One==\nA.\n===Two===\n==Three==\n===Four===\nB.", ["One", "A.", "Three", "Four", "B."]),
    "lists": ("* a\n** b\n# c\n; d : e\n: f\nG\nh.", ["a", "b", "c", "d", "e", "f", "G h."]),
    "paragraphs": ("A\nb.\n\nC.", ["A b.", "C."]),
    "magic words": ("__NOTOC__\nA.\n__KEIN_INHALT__ {{DEFAULTSORT:X}}{{PAGENAME}} b.", ["A. Title b."]),
    "unknown template": ("{{Infobox|a={{b|c}}|d=[[e]]}}A{{fact|date=x}} f.", ["A f."]),
    "unclosed template": ("A {{b|c.\n\nD.", ["A b c.", "D."]),
    "unclosed link": ("A [[b|c.\n\nD ]] e.", ["A c.", "D e."]),
    "brackets left empty": ("A ({{ipa-x}}) b ({{q}}; born 1) c ({{q}}, ) d.", ["A b (born 1) c d."]),
    "table": ("A.\n{| class=x\n|+ Cap\n! h\n|-\n| style=\"y\" | 1 || 2\n|}\nB.", ["A.", "B."]),
    "table with a sentence": ("{|\n| x || He went to the old town.\n|}", ["He went to the old town."]),
    "nested tables": ("{|\n| a\n{|\n| b\n|}\n| c\n|}\nB.", ["B."]),
    "html table": (
        "<table><tr><td>1</td><td>A cell that is a sentence.</td></tr></table>", ["A cell that is a sentence."]),
    "unclosed table": ("A.\n{| class=\"x\" style=\"color:red\"\n|-\n| 1 || 2", None),
    "argument": ("A {{{1|b}}} {{{2}}}.", ["A b ."]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_markup(name: str) -> None:
    wikitext, expected = CASES[name]
    found = read(wikitext)
    left = [mark for mark in MARKUP for paragraph in found if mark in paragraph]
    assert not left
    if expected is not None and name != "nowiki":
        assert found == expected


TEMPLATES = {
    "{{convert|5|km|mi}}": "5 km",
    "{{convert|5|to|10|km|mi|abbr=on}}": "5 to 10 km",
    "{{convert|5|x|10|ft}}": "5 × 10 ft",
    "{{lang|fr|mot ''juste''}}": "mot juste",
    "{{lang-la|[[rex]]}}": "rex",
    "{{nowrap|a b}}": "a b",
    "{{Nowrap|1=a = b}}": "a = b",
    "{{transl|ar|ALA|kitāb}}": "kitāb",
    "{{small|{{nowrap|x}}}}": "x",
    "a{{nbsp}}b{{snd}}c": "a b – c",
    "{{frac|1|2}}": "1/2",
    "{{frac|3|1|2}}": "3 1/2",
    "{{frac|8}}": "1/8",
    "{{chem|H|2|O}}": "H2O",
    "{{formatnum:1234}}": "1234",
    "{{As of|2010}}": "As of 2010",
    "{{as of|2010|5|lc=y}}": "as of 5 2010",
    "{{as of|2010|alt=Now}}": "Now",
    "{{as of|1990|since=y}}": "Since 1990",
    "{{circa|1900}}": "c. 1900",
    "{{nihongo|Zen|禅|zen}}": "Zen (禅, zen)",
    "{{nihongo|Zen}}": "Zen",
    "{{val|1.5|u=kg}}": "1.5 kg",
    "{{USS|Enterprise|CV-6}}": "USS Enterprise",
    "{{flag|France}}": "France",
    "{{citation|last=X|title=Y}}": "",
    "{{citation|Bonjour}}": "« Bonjour »",
    '{{"|Guten Tag}}': "„Guten Tag“",
    "{{s|XIX}}": "XIXe siècle",
    "{{-s|I}}": "Ier siècle av. J.-C.",
    "{{unité|5|km}}": "5 km",
    "{{date|12|mai|1990}}": "12 mai 1990",
    "{{sfn|Smith|2000}}": "",
    "{{efn|A note.}}": "",
    "{{main|Other article}}": "",
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_template(template: str) -> None:
    assert read(f"Before {template} after.") == [" ".join(f"Before {TEMPLATES[template]} after.".split())]


def test_templates_that_stand_apart() -> None:
    assert read("A.{{quote|text=B c.|author=D}}E.") == ["A.", "B c.", "E."]
    assert read("A {{ubl|b|[[c]]}} d.") == ["A", "b", "c", "d."]


@given(st.text(alphabet="{}ab", max_size=30))
def test_templates_are_removed_from_the_inside_out(text: str) -> None:
    expected, innermost = text, re.compile(r"\{\{[^{}]*\}\}")
    while (shorter := innermost.sub("", expected)) != expected:
        expected = shorter
    assert without_templates(text) == expected


@given(st.text(alphabet=",; )a\t\xa0(", max_size=20))
def test_marks_before_a_closing_bracket(text: str) -> None:
    assert without_marks_at_ends(text) == re.sub(r"(?:[,;]\s*)+\)", ")", text)


def test_a_character_of_a_number_that_is_none() -> None:
    assert read("A &amp;#" + "9" * 5000 + "; b &#" + "9" * 5000 + "; c &amp;#x41; d.") == ["A b c A d."]


def test_an_end_tag_belongs_to_the_last_tag_that_is_open() -> None:
    assert read("A<ref>b<ref>c</ref> d <nowiki>[[e]] <ref>f</ref> g.") == ["A d e g."]
    assert read("A <NOWIKI >[[b]]</nowiki > c <nowiki>d.") == ["A b c d."]


@pytest.mark.parametrize(("text", "expected"), [
    ("[[a]] {{b|{{c}}}} {{{d}}} <b>x</b> [http://a b] <br> <a/>", None),
    ("{|\n|-\n| a\n|}", None),
    ("[[a", "[?[a"),
    ("[[ {{ ]] }}", "[[ {?{? ]] }}"),
    ("{{{{a}}", "{?{?{{a}}"),
    ("<b><i></b></i>", "<b><?i></b></i>"),
    ("<a <b>x</b>", "<?a <b>x</b>"),
    ("\n{|\n| a", "\n{?|\n| a"),
    ("[//a b", "[?//a b"),
    ("<li>a<li>b", "\n\n<?li>a\n\n<?li>b"),
    ("{" * 17, "?".join("{" * 17)),
])  # fmt: skip
def test_signs_without_a_partner_are_hidden(text: str, expected: str | None) -> None:
    assert with_unpaired_hidden(text, most_steps=0).replace(HIDDEN, "?") == (expected or text)
    assert with_unpaired_hidden(text[:16]) == text[:16], "a page of few is read as it is"


def test_hidden_signs_are_left_out_like_others() -> None:
    few, many = "A [[b|c <i>d {{e", 2000
    assert set(" ".join(read(f"{few} . " * many)).split()) <= {"A", "c", "d", "e", "."}


def test_markup_that_is_nested_too_deep_is_malformed(monkeypatch: pytest.MonkeyPatch) -> None:
    def deep(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("gapgram.preparation.markup.paragraphs_of", deep)
    data = b"<page><title>T</title><revision><text>x</text></revision></page>"
    found = convert_page(language_of("en"), Page("f", 7, data, SITE))
    assert str(found) == "f:7: markup that is nested too deep"
