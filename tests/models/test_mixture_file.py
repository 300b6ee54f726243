"""A mixture as one file: it answers as the mixture of files does, and nothing in it is believed."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from fuzz.sealed import SealedFile, SectionBytes
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram import Mixture
from gapgram.errors import ModelFileError, UsageError

ASKED = ["w1 w2 w3", "w4 zzz w5 w1", ""]


@pytest.fixture(scope="module")
def mixture(seeds: dict[str, Path]) -> Mixture:
    """Models of several kinds, and a mixture among them."""
    inner = Mixture([gapgram.load(seeds["arpa"]), gapgram.load(seeds["classes-compact"])], [0.25, 0.75])
    return Mixture([gapgram.load(seeds["learned"]), inner, gapgram.load(seeds["mkn-pruned"])], [0.5, 0.3, 0.2])


def test_one_file_answers_as_many_do(mixture: Mixture, tmp_path: Path) -> None:
    saved = Mixture(mixture.models, mixture.weights.tolist())
    saved.save(tmp_path / "one", whole=True)
    one = gapgram.load(tmp_path / "one", verify=True)
    assert isinstance(one, Mixture)
    assert one.score_many(ASKED).tolist() == mixture.score_many(ASKED).tolist()
    assert one.distribution("w1 w2").tolist() == mixture.distribution("w1 w2").tolist()
    assert [p.word for p in one.predict("w1", 3)] == [p.word for p in mixture.predict("w1", 3)]
    assert one.session().score("w1 w2") == mixture.session().score("w1 w2")
    assert (one.signature, one.names[0], one.path) == (mixture.signature, "learned.model", tmp_path / "one")
    assert saved.path == one.path
    again = pickle.loads(pickle.dumps(one))
    assert again.score("w1 w2 w3") == one.score("w1 w2 w3")
    one.save(tmp_path / "again", whole=True)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "one").read_bytes()


def test_a_mixture_without_a_file_is_pickled_with_its_models(mixture: Mixture) -> None:
    models = [mixture.models[0], mixture.models[2]]
    mixed = Mixture(models, [0.5, 0.5])
    assert pickle.loads(pickle.dumps(mixed)).score("w1 w2") == mixed.score("w1 w2")


def test_the_models_inside_can_have_another_layout(mixture: Mixture, tmp_path: Path) -> None:
    for layout in ("fast", "compact"):
        Mixture(mixture.models, mixture.weights.tolist()).save(tmp_path / layout, whole=True, layout=layout)
    compact = gapgram.load(tmp_path / "compact")
    assert isinstance(compact, Mixture) and isinstance(compact.models[0], gapgram.Model)
    assert compact.models[0].layout == "compact"
    assert compact.score_many(ASKED).tolist() == mixture.score_many(ASKED).tolist()
    with pytest.raises(UsageError, match="a layout is for a mixture that is written whole"):
        Mixture(mixture.models, [0.5, 0.3, 0.2]).save(tmp_path / "names", layout="fast")


def test_weights_keep_their_bits(seeds: dict[str, Path], tmp_path: Path) -> None:
    models = [gapgram.load(seeds[name]) for name in ("mkn", "uniform", "learned")]
    mixed = Mixture(models, [0.1, 0.7, 0.2000005])
    mixed.save(tmp_path / "one", whole=True)
    again = gapgram.load(tmp_path / "one")
    assert isinstance(again, Mixture) and again.weights.tolist() == mixed.weights.tolist()


def test_a_file_of_kenlm_is_no_part(seeds: dict[str, Path], tmp_path: Path) -> None:
    kenlm = gapgram.load(Path(__file__).parent / "kenlm" / "trie.bin")
    with pytest.raises(UsageError, match=r"trie.bin: cannot be a part of one file: convert it first"):
        Mixture([gapgram.load(seeds["mkn"]), kenlm], [0.5, 0.5]).save(tmp_path / "one", whole=True)
    assert not (tmp_path / "one").exists()


def test_the_commands_take_it(cli: Cli, seeds: dict[str, Path], tmp_path: Path) -> None:
    names, one, text = tmp_path / "names", tmp_path / "one", tmp_path / "text"
    text.write_text("w1 w2 w3\nw5\n")
    paths = [seeds["mkn"], seeds["learned"]]
    assert cli("mix", *paths, "--weights", "0.4,0.6", "-o", names).code == 0
    assert cli("mix", *paths, "--weights", "0.4,0.6", "-o", one, "--whole").code == 0
    assert_refused(cli("mix", *paths, "--weights", "0.4,0.6", "--whole"), "--whole says how FILE is written")
    converted = cli("convert", names, "-o", tmp_path / "converted")
    assert "converted written: " in converted.err and "2 models in it" in converted.err
    assert (tmp_path / "converted").read_bytes() == one.read_bytes()
    assert cli("convert", one, "-o", tmp_path / "small", "--layout", "compact", "--json").json["after"]["bytes"] > 0
    assert_refused(cli("convert", one, "-o", tmp_path / "x.arpa"), "a mixture is no backoff model")
    assert_refused(cli("convert", one, "-o", tmp_path / "x", "--quantise", 2), "--layout also for mixtures")
    for path in (one, tmp_path / "small"):
        assert cli("perplexity", path, text).out == cli("perplexity", names, text).out
        assert "whole; 10 distributions sum to 1" in cli("verify", path).out
    assert "0.400000            mkn.model\n" in cli("info", one).out
    card = cli("card", one).out
    assert "| model 2 | 0.6000 of learned.model: estimator glm" in card and "| model | mixture |" in card
    assert_refused(cli("card", seeds["arpa"]), "card needs a model that gapgram train or mix has written")
    assert_refused(cli("explain", one, "w1"), "one: a mixture: explain needs a model that gapgram train has written")


# Files that gapgram did not write.


def whole(seeds: dict[str, Path]) -> SealedFile:
    return SealedFile.parse(seeds["whole-mixture"].read_bytes())


def refused(path: Path, data: bytes, match: str) -> None:
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=match):
        gapgram.load(path)


def of_parts(parts: list[bytes], weights: list[float], sizes: list[int] | None = None) -> bytes:
    """A sealed mixture of some files."""
    data = b"".join(part + bytes(-len(part) % 64) for part in parts)
    lengths = np.array(sizes or [len(part) for part in parts], np.int64)
    return SealedFile(5, {"models": [f"m{i}" for i in range(len(parts))]}, [
        SectionBytes("parts", "|u1", [len(data)], bytearray(data)),
        SectionBytes("part_sizes", "<i8", [len(lengths)], bytearray(lengths.tobytes())),
        SectionBytes("weights", "<f8", [len(weights)], bytearray(np.array(weights).tobytes())),
    ]).sealed()  # fmt: skip


def test_odd_parts_are_refused(seeds: dict[str, Path], tmp_path: Path) -> None:
    mkn, path = seeds["mkn"].read_bytes(), tmp_path / "odd"
    path.write_bytes(of_parts([mkn, mkn], [0.5, 0.5]))
    assert gapgram.load(path).score("w1 w2") == pytest.approx(gapgram.load(seeds["mkn"]).score("w1 w2"), abs=1e-12)
    refused(path, of_parts([mkn], [1.0]), "1 models with 1 names, expected two or more")
    refused(path, of_parts([mkn, mkn], [0.5, 0.6]), "weights 0.5, 0.6: expected none below 0, and a sum of 1")
    refused(path, of_parts([mkn, mkn], [0.5, 0.5], [len(mkn), len(mkn) - 64]), "larger or smaller than their place")
    refused(path, of_parts([mkn, mkn], [0.5, 0.5], [len(mkn), 0]), "section part_sizes holds numbers from 0")
    refused(path, of_parts([mkn, mkn], [0.5, 0.5], [64 + len(mkn), len(mkn) - 64]), "odd: model 1: damaged: its end")
    refused(path, of_parts([mkn, mkn[:-64]], [0.5, 0.5]), "odd: model 2: truncated")
    refused(path, of_parts([mkn, mkn[:9]], [0.5, 0.5]), "odd: model 2: truncated: 9 bytes are less than a header")
    for name, what in (("counts-file", "holds counts, expected a model"), ("session", "holds a session"),
                       ("mixture", "model 2: not a file of gapgram"), ("arpa", "not a file of gapgram")):  # fmt: skip
        refused(path, of_parts([mkn, seeds[name].read_bytes()], [0.5, 0.5]), what)


def test_odd_sections_are_refused(seeds: dict[str, Path], tmp_path: Path) -> None:
    odd = whole(seeds)
    odd.sections.append(SectionBytes("parts_2", "|u1", [64], bytearray(64)))
    refused(tmp_path / "odd", odd.sealed(), "an unknown section 'parts_2'")
    odd = whole(seeds)
    odd.sections.append(odd.section("parts"))
    refused(tmp_path / "odd", odd.sealed(), "a section that is there twice")
    odd = whole(seeds)
    odd.metadata = {"models": ["one"]}
    refused(tmp_path / "odd", odd.sealed(), "2 models with 1 names")


def test_a_damaged_model_inside_is_named(seeds: dict[str, Path], tmp_path: Path) -> None:
    data = bytearray(whole(seeds).sealed())
    data[200] ^= 1
    refused(tmp_path / "odd", bytes(data), "odd: damaged: its section parts does not match its checksum")
    odd = whole(seeds)
    odd.section("parts").data[200] ^= 1
    refused(tmp_path / "odd", odd.sealed(), "odd: model 1: damaged")


def test_mixtures_inside_of_each_other_have_an_end(seeds: dict[str, Path], tmp_path: Path) -> None:
    mkn = seeds["mkn"].read_bytes()
    nested = mkn
    for _ in range(17):
        nested = of_parts([mkn, nested], [0.5, 0.5])
    refused(tmp_path / "deep", nested, "mixtures inside of each other, more than 16 deep; mix fewer")
    refused(tmp_path / "many", of_parts([mkn] * 101, [1 / 101] * 101), "a mixture of more than 100 models; mix fewer")
