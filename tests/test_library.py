"""The library for C: the same bits as Python for every kind of model; nothing that a file or a caller does ends it."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.seeds import made_files, made_lines
from tests.support.c_library import Library, LibraryError, built_library

import gapgram
from gapgram.models.backoff import write_backoff
from gapgram.models.kenlm_binary.conversion import as_backoff

KINDS = (
    "mkn", "uniform", "counts", "learned", "classes", "clusterings", "custom", "learned-compact", "mkn-pruned",
    "classes-quantised", "open", "backoff", "of-kenlm", "whole-mixture",
)  # fmt: skip
KENLM = Path(__file__).parent / "models" / "kenlm"


@pytest.fixture(scope="module")
def library() -> Library:
    return Library(built_library())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("seeds")
    write_backoff(as_backoff(gapgram.load(KENLM / "trie.bin")), folder / "of-kenlm")  # type: ignore[arg-type]
    return {**made_files(folder), "of-kenlm": folder / "of-kenlm"}


@cache
def sentences() -> list[str]:
    return [*made_lines(60, seed=3), "never w1 w2 met", "", "w14 w9 ☃"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_as_python(library: Library, files: dict[str, Path], kind: str) -> None:
    model = gapgram.load(files[kind])
    with library.open(files[kind]) as other:
        assert (other.order, len(other)) == (model.order, len(model.vocabulary))
        for line in sentences():
            assert other.score(line) == model.score(line)
            assert other.score(line, bos=False, eos=False) == model.score(line, bos=False, eos=False)
            words = line.split()
            state, steps = other.begin(), model.begin_sentence()
            for word in words:
                score, state = other.extend(state, other.find(word))
                expected, steps = model.extend(steps, model.vocabulary.id(word))
                assert score == expected
            ids = [1, *(other.find(word) for word in words)][-model.order + 1 :]
            given = ["<s>", *words]
            assert (other.distribution(ids) == model.distribution(given)).all()
            for prefix in ("", "w1"):
                mine = [(p.word, p.probability) for p in model.predict(given, 5, prefix=prefix)]
                assert other.predict(ids, 5, prefix=prefix) == mine
        assert (other.score_words([1, 3, 4, 2]) == model.score_ids(np.array([1, 3, 4, 2]), np.array([0, 4]))).all()


@pytest.mark.parametrize("kind", ["classes", "of-kenlm", "whole-mixture"])
def test_many_states_at_once(library: Library, files: dict[str, Path], kind: str) -> None:
    with library.open(files[kind]) as model:
        draw = random.Random(1)
        words = np.array([draw.randrange(2, len(model)) for _ in range(600)], np.int32)
        one_by_one = [model.extend(model.begin(), int(word)) for word in words]
        scores, states = model.extend_many([model.begin()] * words.size, words)
        assert scores.tolist() == [score for score, _ in one_by_one]
        assert states == [state for _, state in one_by_one]


def test_an_explanation_adds_up_as_in_python(library: Library, files: dict[str, Path]) -> None:
    expected = gapgram.load(files["clusterings"]).explain("w3", "w1 w2")  # type: ignore[union-attr]
    with library.open(files["clusterings"]) as model:
        shares, rest = model.explain([model.find("w1"), model.find("w2")], model.find("w3"))
    assert rest == expected.uniform_contribution
    names = "total", "count", "discounted", "backoff", "share", "given_class", "contribution"
    assert [[getattr(own, name) for name in names] for own in shares] == [
        [getattr(pattern, name) for name in names] for pattern in expected.patterns
    ]


def test_classes_have_the_words_that_python_says(library: Library, files: dict[str, Path]) -> None:
    model = gapgram.Model.load(files["clusterings"])
    class_of = model.counts.tables.class_of.reshape(-1, len(model.vocabulary))
    with library.open(files["clusterings"]) as own:
        for clustering, numbers in enumerate(class_of, 1):
            found = own.class_of(clustering, 5)
            assert 5 in found and sorted(found) == np.flatnonzero(numbers == numbers[5]).tolist()
        assert own.class_of(0, 5) == own.class_of(len(class_of) + 1, 5) == []
        with pytest.raises(LibraryError, match="word -1 where one from 0"):
            own.class_of(1, -1)


@pytest.mark.parametrize("kind", ["mkn", "backoff", "whole-mixture"])
def test_next_characters_and_allowed_ones(library: Library, files: dict[str, Path], kind: str) -> None:
    with library.open(files[kind]) as model:
        everything = {model.word(i): p for i, p in enumerate(model.distribution([1])) if i > 2}
        for character, probability in model.next_characters([1], "w1"):
            own = [p for word, p in everything.items() if word[:2] == "w1" and word[2:3] == character]
            assert probability == pytest.approx(sum(own))
        allowed = [word for word, _ in model.predict([1], 20, letters="w23")]
        assert sorted(allowed) == sorted(word for word in everything if set(word) <= set("w23"))


@pytest.mark.parametrize("kind", ["mkn", "classes", "backoff", "of-kenlm", "whole-mixture"])
def test_sessions_learn_forget_and_are_restored(library: Library, files: dict[str, Path], kind: str) -> None:
    model, lines = gapgram.load(files[kind]), sentences()
    expected = model.session(max_words=150)
    with library.open(files[kind]) as own, own.session(150) as session:
        for i, line in enumerate(lines):
            if line.split():
                assert session.score(line, learn=True) == expected.score(line, learn=True), i
            if i == 20:
                expected.forget(0.5)
                session.forget(0.5)
        words = ["never", "w1"]
        ids = [session.find(word) for word in words][-model.order + 1 :]
        of_model = expected.explain("w2", words).sources[0]
        assert session.trust(ids) == of_model.weight
        assert session.distribution(ids).tolist() == expected.distribution(words).tolist()
        assert [word for word, _ in session.predict([1], 3)] == [p.word for p in expected.predict(["<s>"], 3)]
        assert session.predict([1], 1, prefix="ne")[0][0] == "never"
        saved = session.save()
        with own.session(150) as other:
            other.restore(saved)
            assert other.score("never w1 w2") == session.score("never w1 w2") == expected.score("never w1 w2")
            for damaged in (saved[:-9], b"", saved[:60] + b"\1" + saved[61:]):
                with pytest.raises(LibraryError, match="damaged"):
                    other.restore(damaged)
            session.forget(1.0)
            assert session.score("w1 w2") == model.session().score("w1 w2")


def test_of_what_it_does_not_open_it_says_what_to_do(library: Library, files: dict[str, Path], tmp_path: Path) -> None:
    unbounded = tmp_path / "unbounded"
    gapgram.train(sentences=made_lines(60), order=3, unbounded=True, output=unbounded)
    convert = "this library does not open: `gapgram convert` makes a model file of it"
    for path, sentence in (
        (KENLM / "trie.bin", f"a binary file of KenLM, which {convert}"),
        (files["arpa"], f"an ARPA file, which {convert}"),
        (files["mixture"], f"a mixture that names files, which {convert}"),
        (files["text.gz"], f"a compressed file, which {convert}"), (unbounded, "train without --unbounded"),
        (files["counts-file"], "holds counts, not a model"),
    ):  # fmt: skip
        with pytest.raises(LibraryError) as said:
            library.open(path)
        assert sentence in str(said.value)
    with library.open(files["whole-mixture"]) as model, pytest.raises(LibraryError, match="backoff models or mixtures"):
        model.explain([1], 3)


def test_what_callers_do_wrong_is_said(library: Library, files: dict[str, Path], tmp_path: Path) -> None:
    whole = files["mkn"].read_bytes()
    for data, sentence in (
        (whole[:-1], "truncated"), (b"", "an empty file"), (b"x" * 99, "not a file of gapgram"),
        (b"gapgram?", "unfinished"), (files["session"].read_bytes(), "holds a session"),
    ):  # fmt: skip
        with pytest.raises(LibraryError, match=sentence):
            library.open_memory(data)
    with pytest.raises(LibraryError, match="cannot be read"):
        library.open(tmp_path / "none")
    with library.open(files["mkn"]) as model, library.open_memory(whole) as held:
        assert model.score("w1 w2") == held.score("w1 w2")
        assert json.loads(model.about())["order"] == 3
        for asked, sentence in (
            (lambda: model.score("a\nb"), "newline"), (lambda: model.score("a <s>"), "<s> and </s> are no words"),
            (lambda: model.extend(model.begin(), 99), "word 99 where one from 0 to"),
            (lambda: model.predict([5, 2], 3), "</s> nowhere"), (lambda: model.predict([1], 0), "k = 0"),
        ):  # fmt: skip
            question: Callable[[], object] = asked
            with pytest.raises(LibraryError, match=sentence):
                question()
    nothing: Any = None
    for name, arguments in library.with_nulls():
        assert getattr(library.functions, name)(*arguments) != 0, name
    library.functions.gapgram_close(nothing)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("programs")
    library = built_library()
    for source, compiler in (("keyboard.c", "cc"), ("decoder.cpp", "c++")):
        if shutil.which(compiler) is None:
            pytest.skip(f"no {compiler}")
        path = Path("examples/library") / source
        made = [compiler, "-O1", "-Wall", "-Werror", f"-I{library.parent}", str(path)]
        subprocess.run([*made, library.with_name("libgapgram.a"), "-lm", "-o", folder / path.stem], check=True)
    yield folder


def test_the_keyboard_in_c_learns(programs: Path, files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join(["w1 Zorblax w2 of Zorblax", *made_lines(3, seed=4)] * 3))
    asked = programs / "keyboard", files["mkn"], tmp_path / "text"
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()
    saved = [float(line.split()[-3]) for line in said]
    assert 0 < saved[0] < saved[1] < 100


def test_the_decoder_in_cpp_finds_the_most_probable_words(programs: Path, files: dict[str, Path]) -> None:
    model = gapgram.load(files["mkn"])
    said = subprocess.run(
        [programs / "decoder", files["mkn"], "w1|w2 w3|w4 w5|w6"], check=True, capture_output=True, text=True
    ).stdout.splitlines()[0]
    ways = [f"{a} {b} {c}" for a in ("w1", "w2") for b in ("w3", "w4") for c in ("w5", "w6")]
    assert said.split(maxsplit=1)[1] == max(ways, key=model.score)


def test_the_example_of_the_jvm_learns(files: dict[str, Path], tmp_path: Path) -> None:
    javac = shutil.which("javac")
    headers = Path(javac).resolve().parents[1] / "include" if javac else Path("none")
    if not (headers / "linux" / "jni_md.h").exists() or shutil.which("cc") is None:
        pytest.skip("no javac with jni.h, or no cc")
    library, lines = built_library(), ["w1 Zorblax w2 Zorblax", *made_lines(4, seed=4)]
    includes = [f"-I{folder}" for folder in (headers, headers / "linux", library.parent)]
    sources = "examples/library/gapgram_jni.c", library.with_name("libgapgram.a")
    out = tmp_path / "libgapgram_jni.so"
    made: list[str | Path] = ["cc", "-shared", "-fPIC", "-Wall", *includes, *sources, "-lm", "-o", out]
    subprocess.run(made, check=True)
    subprocess.run([str(javac), "-d", tmp_path, "examples/library/Gapgram.java"], check=True)
    (tmp_path / "text").write_text("\n".join(lines))
    asked: list[str | Path] = ["java", f"-Djava.library.path={tmp_path}", "-cp", tmp_path, "Gapgram"]
    told = subprocess.run([*asked, files["mkn"], tmp_path / "text"], check=True, capture_output=True, text=True).stdout
    session = gapgram.load(files["mkn"]).session()
    for line, answer in zip(lines, told.splitlines(), strict=True):
        score, *guesses = answer.split("\t")
        assert float(score) == session.score(line, learn=True)
        expected = [f"{p.word} {p.probability}" for p in session.predict(["<s>", *line.split()], 3)]
        assert [guess.split()[0] for guess in guesses] == [guess.split()[0] for guess in expected]
    refused = subprocess.run([*asked, tmp_path / "text", tmp_path / "text"], capture_output=True, text=True)
    assert (refused.returncode, refused.stderr.partition(": ")[2][:21]) == (1, "not a file of gapgram")


FAILING = """
#include <stdlib.h>
void *__real_malloc(size_t), *__real_calloc(size_t, size_t), *__real_realloc(void *, size_t);
static int is_refused(void) {
    static long n;
    return n++ == atol(getenv("FAILS"));
}
void *__wrap_malloc(size_t n) { return is_refused() ? 0 : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return is_refused() ? 0 : __real_calloc(n, size); }
void *__wrap_realloc(void *old, size_t n) { return is_refused() ? 0 : __real_realloc(old, n); }
"""


@pytest.mark.parametrize("kind", ["learned-compact", "whole-mixture"])
def test_without_memory_it_says_so(files: dict[str, Path], tmp_path: Path, kind: str) -> None:
    """Each time another request for memory is refused, until there are no more of them."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("no cc, or none whose linker wraps functions")
    (tmp_path / "failing.c").write_text(FAILING)
    (tmp_path / "text").write_text("w1 Zorblax w2\nw3 Zorblax\n")
    library, program = built_library(), tmp_path / "keyboard"
    wrapped = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc")]
    sources = "examples/library/keyboard.c", tmp_path / "failing.c", library.with_name("libgapgram.a")
    subprocess.run(["cc", f"-I{library.parent}", *sources, *wrapped, "-lm", "-o", program], check=True)
    said = []
    for n in (*range(40), *range(40, 400, 9), 1 << 20):
        asked = subprocess.run(
            [program, files[kind], tmp_path / "text"], env={"FAILS": str(n)}, capture_output=True, text=True
        )
        said.append((asked.returncode, asked.stderr.removeprefix(f"{files[kind]}: ")[-18:]))
    assert {*said[:30]} == {(1, "not enough memory\n")}
    assert {*said} == {(1, "not enough memory\n"), (0, "")}
    assert said[-1] == (0, "")


def test_the_header_is_cpp_too(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text('#include "gapgram.h"\nint main() { return gapgram_order(nullptr); }\n')
    if shutil.which("c++") is None:
        pytest.skip("no c++")
    asked = "c++", "-Wall", "-Werror", "-fsyntax-only", f"-I{built_library().parent}", tmp_path / "a.cpp"
    subprocess.run(asked, check=True)



NODE = """
import { readFile } from "node:fs/promises";
import { Model } from "MODULE";
const [file, wasm, ...lines] = process.argv.slice(2);
const model = await Model.open(await readFile(file), await readFile(wasm));
const session = model.session();
const answers = lines.map((line) => {
  session.learn(line);
  const { patterns, uniform } = model.explain("w2", line);
  return [model.score(line), model.predict(line, { k: 3 }).map((p) => [p.word, p.probability]),
    patterns.reduce((sum, p) => sum + p.contribution, uniform), session.score(line)];
});
const other = model.session();
other.restore(session.save());
let said = "";
try { model.score("a <s>"); } catch (error) { said = error.message; }
const same = other.score(lines[0]) === session.score(lines[0]);
console.log(JSON.stringify({ answers, same, said, n: model.nextCharacters("", "").length }));
"""


def test_the_npm_package_has_what_it_names() -> None:
    folder = Path("library/wasm")
    package = json.loads((folder / "package.json").read_text())
    assert package["version"] == gapgram.__version__
    exported = [{"": entry} if isinstance(entry, str) else entry for entry in package["exports"].values()]
    named = {name for entry in exported for name in entry.values() if not name.endswith(".wasm")}
    own = (path.name for path in folder.iterdir() if path.suffix in (".mjs", ".mts"))
    assert named == {"./package.json", *(f"./{name}" for name in own)}


@pytest.mark.parametrize("kind", ["mkn", "clusterings", "learned-compact"])
@pytest.mark.parametrize("module", ["gapgram", "gapgram-simd"])
def test_webassembly_in_node(files: dict[str, Path], tmp_path: Path, kind: str, module: str) -> None:
    """Where `python -m compiler.library wasm` has built it; exp and log10 may differ in the last bit."""
    folder = Path("build/library/wasm").resolve()
    if shutil.which("node") is None or not (folder / f"{module}.wasm").exists():
        pytest.skip("no Node, or no module: make library")
    (tmp_path / "ask.mjs").write_text(NODE.replace("MODULE", str(Path("library/wasm/gapgram.mjs").resolve())))
    lines = sentences()[:8]
    asked = ["node", *map(str, (tmp_path / "ask.mjs", files[kind], folder / f"{module}.wasm")), *lines]
    told = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    model = gapgram.load(files[kind])
    session = model.session()
    for line, (score, guesses, explained, learned) in zip(lines, told["answers"], strict=True):
        context = ["<s>", *line.split()]
        assert score == pytest.approx(model.score(line), rel=1e-14)
        assert [word for word, _ in guesses] == [p.word for p in model.predict(context, 3)]
        assert [p for _, p in guesses] == pytest.approx([p.probability for p in model.predict(context, 3)], rel=1e-14)
        assert explained == pytest.approx(model.explain("w2", context).probability, rel=1e-12)  # type: ignore[union-attr]
        session.read([line])
        assert learned == pytest.approx(session.score(line), rel=1e-12)
    assert told["same"]
    assert "<s> and </s> are no words" in told["said"]
    assert told["n"] > 0
