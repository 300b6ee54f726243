"""Cutting XML files at their documents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapgram.errors import TextError
from gapgram.preparation.records import Head, Item, Malformed, Record, XmlError, as_utf8, elements_of, split_records

FILE = b"<all>\n<!-- c -->\n<d x='1'>a\n</d>\n<d>b</d><d>\xc3\xa9</d >\n\n</all>\n"


def chunks_of(data: bytes, size: int = 7) -> Iterator[bytes]:
    return (data[i : i + size] for i in range(0, len(data), size))


def items(data: bytes, size: int = 7) -> list[Item]:
    return list(split_records("f", chunks_of(data, size), "d"))


@given(st.integers(1, 80))
def test_the_size_of_chunks_makes_no_difference(size: int) -> None:
    assert items(FILE, size) == [
        Head("f", b"<all>\n<!-- c -->\n"),
        Record("f", 3, b"<d x='1'>a\n</d>"),
        Record("f", 5, b"<d>b</d>"),
        Record("f", 5, b"<d>\xc3\xa9</d >"),
    ]


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        (b"<all>\n<d>a\n<d>b</d>\n</all>", ["f:2: not closed before the next document starts"]),
        (b"<all>\n<d>a</d>\n</d>\n</all>", ["f:2: the end of a document that never started"]),
        (b"<all>\n<d>a</d>\n\nx <d>b</d></all>", ["f:4: something outside of any document"]),
        (b"<all>\n<d>a</d>\n<d>b", ["f:3: cut off: the file ends inside this document"]),
        (b"<all>\n<d>a</d>\n", ["f:3: cut off: the file ends without </all>"]),
    ],
)
def test_malformed_files(data: bytes, messages: list[str]) -> None:
    found = items(data)
    assert [str(item) for item in found if isinstance(item, Malformed)] == messages
    assert any(isinstance(item, Record) for item in found)


def test_a_document_without_an_end_is_given_up() -> None:
    data = b"<all><d>" + b"x" * (3 << 19) + b"</d><d>b</d></all>"
    found = list(split_records("f", chunks_of(data, 1 << 18), "d", longest_bytes=1 << 20))
    assert [str(i) for i in found if isinstance(i, Malformed)] == [
        "f:1: more than 1 MiB without an end",
        "f:1: the end of a document that never started",
    ]
    assert Record("f", 1, b"<d>b</d>") in found


@given(st.integers(1, 9), st.sampled_from(["utf-16", "utf-16-le", "utf-16-be", "utf-8"]))
def test_encodings(size: int, encoding: str) -> None:
    data = "<é/>\U0001f600".encode(encoding)
    chunks = chunks_of(data, size)
    assert b"".join(as_utf8("f", chunks)).decode() == "<é/>\U0001f600"


def test_declared_encodings() -> None:
    data = "<?xml version='1.0' encoding='ISO-8859-1'?><é/>".encode("latin-1")
    assert b"".join(as_utf8("f", [data])).decode().endswith("<é/>")


@pytest.mark.parametrize("name", ["klingon", "zip", "hex_codec", "rot13", "punycode", "idna", "undefined", "utf-7"])
def test_encodings_that_are_none_of_text(name: str) -> None:
    with pytest.raises(TextError, match=rf"^f:1: unknown encoding {name}$"):
        list(as_utf8("f", [f"<?xml version='1.0' encoding='{name}'?><a/>".encode()]))


@pytest.mark.parametrize(("head", "root"), [
    (b"<?xml version='1.0'?>\n<!-- <no> --><all>", "all"),
    (b"<!DOCTYPE a><all>", "all"),
    (b"<!DOCTYPE a [<!ELEMENT b ANY>]  ><x:all y='>'>", "x:all"),
    (b"<?php <no> ?> < <all\n>", "all"),
])  # fmt: skip
def test_the_root_is_the_first_element(head: bytes, root: str) -> None:
    found = items(head + b"<d>a</d>")
    assert str(found[-1]).endswith(f"cut off: the file ends without </{root}>")


@pytest.mark.parametrize("head", [b"<!-- <all>", b"<? <all>", b"<!DOCTYPE a [ <all>", b"", b"<1>"])
def test_heads_without_an_element(head: bytes) -> None:
    assert items(head + b"<d>a</d>") == [Head("f", head), Record("f", 1, b"<d>a</d>")]


@pytest.mark.parametrize("good", [b" \n", b"<!-- a > b -->", b"<?x?>", b"<!-- c ><!x></y>", b"<!-->", b"<!--> -->"])
def test_what_may_stand_between_documents(good: bytes) -> None:
    assert items(b"<d>a</d>" + good + b"<d>b</d>")[-1] == Record("f", 1 + good.count(b"\n"), b"<d>b</d>")
    assert str(items(b"<d>a</d>" + good + b"x<d>b</d>")[2]).endswith("something outside of any document")


def test_elements_nested_too_deep() -> None:
    assert elements_of(b"<a>" * 200 + b"x" + b"</a>" * 200)[-1].text == "x"
    with pytest.raises(XmlError, match="elements nested more than 200 deep"):
        elements_of(b"<a>" * 201 + b"</a>" * 201)


def test_all_text_inside_an_element() -> None:
    found = elements_of(b"<a>1<b>2<c/>3</b>4<b>5</b></a>")
    assert [(e.name, e.text) for e in found] == [("a", "12345"), ("b", "23"), ("c", ""), ("b", "5")]
    assert elements_of(b"<a>1<b>2", whole=False)[0].text == "12"


def test_text_that_breaks_off_keeps_what_came_before() -> None:
    data = "<all><d>a</d><d>b</d></all>".encode("utf-16")
    found = items(data + b"x", 16)
    assert sum(isinstance(item, Record) for item in found) == 2
    assert str(found[-1]).startswith("f:1: the text is damaged or cut off: ")


def test_entities_are_not_followed() -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>'
    with pytest.raises(XmlError, match="declares entities, which are not followed"):
        elements_of(bomb)
    outside = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'
    with pytest.raises(XmlError, match="declares entities, which are not followed"):
        elements_of(outside)
    with pytest.raises(XmlError, match="undefined entity"):
        elements_of(b"<a>&b;</a>")
