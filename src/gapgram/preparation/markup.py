"""Wikitext to paragraphs of plain text, by mwparserfromhell.

The parser gives a tree; `_WikitextReader` says what a reader sees of each node, in a text where control characters
mark what paragraphs are made from; `_paragraphs` makes them. What the parser could not pair up (a bracket
or a tag without its partner) is cleaned at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from mwparserfromhell import nodes
from mwparserfromhell import parse as parse_wikitext
from mwparserfromhell.wikicode import Wikicode

from gapgram.preparation.languages import words_of
from gapgram.preparation.links import BLOCK, CAPTION_END, CAPTION_START, ITEM, Call, file_caption, link_text, text_of
from gapgram.preparation.unpaired import HIDDEN, with_unpaired_hidden, without_leftovers
from gapgram.preparation.wikipedia import Article, Site

HEADING = "\x01"

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOWIKI = re.compile(r"<(nowiki)\s*>", re.IGNORECASE)
_NOTHING_TO_READ = (
    "ref|references|math|chem|ce|score|timeline|hiero|graph|mapframe|maplink|imagemap|inputbox|categorytree|"
    "syntaxhighlight|source|templatestyles|templatedata|section|indicator|noinclude"
)
_EMPTY_TAG = re.compile(rf"<(?:{_NOTHING_TO_READ}|nowiki)\b[^<>]*/>", re.IGNORECASE)
_UNREAD_TAG = re.compile(rf"<({_NOTHING_TO_READ})\b[^<>]*>", re.IGNORECASE)
_MAGIC_WORD = re.compile(r"__[^\W\d_a-z]{3,}(?:_[^\W\d_a-z]+)*__")
_UNREAD_NODES = frozenset(_NOTHING_TO_READ.split("|")) | {"pre", "script", "style"}
_BLOCK_TAGS = words_of("blockquote center dd div dl dt li ol p poem section table tbody tr ul hr caption")
_CELLS = frozenset(("td", "th"))
_SENTENCE_END = re.compile(r"[.!?…][\"'”“»’)\]]*$")
_SHORTEST_PROSE_WORDS = 5
_CAPTIONS = re.compile(f"{CAPTION_START}([^{CAPTION_START}{CAPTION_END}]*){CAPTION_END}")
_CONTROL = re.compile(f"[\x01-\x08{HIDDEN}]")


def paragraphs_of(article: Article, site: Site) -> list[str]:
    """The paragraphs, list items, headings and captions of an article, in order.

    A heading is kept where text follows in its section. A table cell is kept where it reads like a
    sentence: five words or more, with a full stop at the end.
    """
    reader = _WikitextReader(article.title, site)
    blocks = [without_leftovers(block) for block in _blocks(reader.read_text(article.wikitext))]
    return list(_without_empty_sections([block for block in blocks if block]))


class _WikitextReader:
    """What a reader sees of the nodes of an article."""

    def __init__(self, title: str, site: Site) -> None:
        self.title, self.site = title, site

    def read_text(self, wikitext: str) -> str:
        """What is seen of a wikitext. References and the like go first: they are half of it."""
        text = _CONTROL.sub("", _elements_replaced(_NOWIKI, _escaped, _COMMENT.sub("", wikitext)))
        text = _elements_replaced(_UNREAD_TAG, lambda _: "", _EMPTY_TAG.sub("", text))
        text = with_unpaired_hidden(_MAGIC_WORD.sub("", text))
        return self.read(parse_wikitext(text, skip_style_tags=True)).replace(HIDDEN, "")

    def read(self, code: Wikicode | None) -> str:
        """What is seen of a piece of the tree."""
        return "" if code is None else "".join(map(self._node, code.nodes))

    def _node(self, node: nodes.Node) -> str:
        match node:
            case nodes.Text():
                return str(node)
            case nodes.HTMLEntity():
                return _character(node)
            case nodes.Heading():
                return f"\n{HEADING}{node.level}{_line(self.read(node.title))}\n"
            case nodes.Argument():
                return self.read(node.default)
            case nodes.Wikilink():
                label = None if node.text is None else self.read(node.text)
                return link_text(self.read(node.title).strip(), label, self.site)
            case nodes.ExternalLink():
                return self.read(node.title if node.brackets else node.url)
            case nodes.Template():
                return self._template(node)
            case nodes.Tag():
                return self._tag(node)
        return ""

    def _template(self, template: nodes.Template) -> str:
        name = self.read(template.name).strip().replace("_", " ")
        if name == "PAGENAME":
            return self.title
        positional = tuple(self.read(p.value) for p in template.params if not p.showkey)
        named = {str(p.name).strip().lower(): self.read(p.value).strip() for p in template.params if p.showkey}
        return text_of(Call(name.lower(), positional, named))

    def _tag(self, tag: nodes.Tag) -> str:
        name = str(tag.tag).strip().lower()
        if name in _UNREAD_NODES:
            return ""
        if tag.wiki_markup and name in ("li", "dd", "dt"):
            return ITEM
        if name == "br":
            return " "
        if name == "gallery":
            return self._gallery(str(tag.contents))
        content = self.read(tag.contents)
        if name in _CELLS:
            return BLOCK + BLOCK.join(filter(_is_prose, _blocks(content))) + BLOCK
        return f"{BLOCK}{content}{BLOCK}" if name in _BLOCK_TAGS else content

    def _gallery(self, lines: str) -> str:
        captions = (line.partition("|")[2] for line in lines.splitlines())
        return "".join(f"{ITEM}{file_caption(self.read_text(c), framed=True)}" for c in captions if c) + BLOCK


def _elements_replaced(start: re.Pattern[str], replace: Callable[[str], str], text: str) -> str:
    """The text with each element that begins so, up to the first end tag of its name, replaced; read through once."""
    pieces, at, never_ended = [], 0, set()
    while (opening := start.search(text, at)) is not None:
        name = opening[1].lower()
        ending = None if name in never_ended else _end_tag(name).search(text, opening.end())
        if ending is None:
            never_ended.add(name)
            pieces.append(text[at : opening.end()])
            at = opening.end()
        else:
            pieces += [text[at : opening.start()], replace(text[opening.end() : ending.start()])]
            at = ending.end()
    return "".join([*pieces, text[at:]])


@lru_cache
def _end_tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}\s*>", re.IGNORECASE)


def _escaped(inside: str) -> str:
    """Text that must not be read as markup, in numbered entities."""
    return "".join(c if c.isalnum() or c.isspace() else f"&#{ord(c)};" for c in inside)


def _character(entity: nodes.HTMLEntity) -> str:
    try:
        return str(entity.normalize())
    except (ValueError, OverflowError, KeyError):
        return ""


def _line(text: str) -> str:
    return " ".join(text.split())


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs: lines up to a blank line, a list item or a heading; captions come before their line."""
    waiting: list[str] = []
    for line in text.split("\n"):
        captions = _CAPTIONS.findall(line)
        alone = line.startswith((ITEM[-1], HEADING))
        if waiting and (alone or not line.strip()):
            yield " ".join(waiting)
            waiting = []
        yield from (caption for caption in captions if caption.strip())
        rest = _CAPTIONS.sub("", line)
        if alone:
            yield from (item for item in rest.split(ITEM[-1]) if item.strip())
        elif rest.strip():
            waiting.append(rest.replace(ITEM[-1], " "))
    if waiting:
        yield " ".join(waiting)


def _is_prose(block: str) -> bool:
    text = without_leftovers(block)
    return len(text.split()) >= _SHORTEST_PROSE_WORDS and bool(_SENTENCE_END.search(text))


def _without_empty_sections(blocks: Iterable[str]) -> Iterator[str]:
    """Leave out a heading if no text comes before the next one of its level or above."""
    waiting: list[str] = []
    for block in blocks:
        if block.startswith(HEADING):
            waiting = [heading for heading in waiting if heading[1] < block[1]] + [block]
        else:
            yield from (heading[2:] for heading in waiting)
            waiting = []
            yield block
