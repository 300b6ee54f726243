"""Makes the files of this folder, given KenLM: see README.md."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent

# name: (source, arguments of build_binary)
FILES = {
    "probing": ("toy", ["-p", "1.2", "probing"]),
    "probing-no-words": ("toy", ["-p", "1.2", "-v", "probing"]),
    "probing-rest": ("toy", ["-p", "1.2", "-r", "toy1.arpa toy2.bin toy3.bin", "probing"]),
    "trie": ("toy", ["trie"]),
    "trie-no-words": ("toy", ["-v", "trie"]),
    "trie-q4": ("toy", ["-q", "4", "-b", "3", "trie"]),
    "trie-a22": ("toy", ["-a", "22", "trie"]),
    "trie-q3-a22": ("toy", ["-q", "3", "-a", "22", "trie"]),
    "probing-order-2": ("toy2", ["-p", "1.2", "probing"]),
    "trie-order-2": ("toy2", ["-q", "3", "-a", "22", "trie"]),
    "probing-blanks": ("blanks", ["-p", "1.9", "probing"]),
    "trie-blanks": ("blanks", ["trie"]),
    "trie-blanks-a22": ("blanks", ["-a", "22", "trie"]),
    "probing-no-start": ("plain", ["-s", "probing"]),
    "trie-no-start": ("plain", ["-s", "trie"]),
}

PLAIN = """\\data\\
ngram 1=3
ngram 2=3

\\1-grams:
-1.5\ta\t-0.2
-1.2\tb\t-0.3
-0.7\tc

\\2-grams:
-0.1\tb a
-0.2\ta c
-0.4\tc a

\\end\\
"""


def with_blanks(arpa: str) -> str:
    """The file without every other gram that is no context: where it ends a longer one, KenLM puts a blank."""
    sections: dict[int, list[str]] = {}
    length = 0
    for line in arpa.splitlines():
        if line.startswith("\\"):
            length = int(line[1]) if line[1].isdigit() else 0
        elif line and length:
            sections.setdefault(length, []).append(line)
    for length in range(max(sections) - 1, 1, -1):
        contexts = {tuple(line.split("\t")[1].split()[:-1]) for line in sections[length + 1]}
        sections[length] = [
            line
            for i, line in enumerate(sections[length])
            if i % 2 or tuple(line.split("\t")[1].split()) in contexts
        ]
    head = "".join(f"ngram {k}={len(lines)}\n" for k, lines in sorted(sections.items()))
    parts = [f"\\{k}-grams:\n" + "\n".join(lines) + "\n\n" for k, lines in sorted(sections.items())]
    return f"\\data\\\n{head}\n{''.join(parts)}\\end\\\n"


def build(programs: Path, work: Path) -> None:
    """All binary files."""
    from tests.support.corpora import toy_text

    text = "\n".join([*toy_text(80, seed=31, vocabulary=60), ""]).encode()
    for order, name in ((1, "toy1"), (2, "toy2"), (3, "toy3"), (4, "toy")):
        command: list[str | Path] = [programs / "lmplz", "-o", str(order), "--discount_fallback"]
        (work / f"{name}.arpa").write_bytes(subprocess.run(command, input=text, capture_output=True, check=True).stdout)
    for name in ("toy2", "toy3"):
        subprocess.run([programs / "build_binary", f"{name}.arpa", f"{name}.bin"], cwd=work, check=True)
    (work / "blanks.arpa").write_text(with_blanks((work / "toy.arpa").read_text()))
    (work / "plain.arpa").write_text(PLAIN)
    for name, (source, arguments) in FILES.items():
        command = [programs / "build_binary", *arguments, f"{source}.arpa", HERE / f"{name}.bin"]
        subprocess.run(command, cwd=work, check=True)


def rows(name: str) -> Iterator[str]:
    """Sentence, word, log10 probability, length of the gram, whether it is unknown, words of the state after it."""
    import kenlm
    from tests.support.corpora import toy_text

    model = kenlm.Model(str(HERE / f"{name}.bin"))
    for number, sentence in enumerate([*toy_text(9, seed=32, vocabulary=66), "", "c a b b a c x a"]):
        words, state = sentence.split(), kenlm.State()
        model.BeginSentenceWrite(state)
        for i, word in enumerate([*words, "</s>"]):
            after = kenlm.State()
            found = model.BaseFullScore(state, word, after)
            kept = state_words(model, [*words, "</s>"][: i + 1], after)
            yield f"{number}\t{word}\t{found.log_prob!r}\t{found.ngram_length}\t{int(found.oov)}\t{kept}\n"
            state = after


def state_words(model, words: list[str], state) -> int:  # type: ignore[no-untyped-def]
    """How many words a state of KenLM holds: the fewest last words after which, and nothing else, it is the same."""
    import kenlm

    for n in range(len(words) + 2):
        found = kenlm.State()
        if n > len(words):
            model.BeginSentenceWrite(found)
        else:
            model.NullContextWrite(found)
        for word in words[max(0, len(words) - n) :]:
            after = kenlm.State()
            model.BaseScore(found, word, after)
            found = after
        if found == state:
            return n
    raise AssertionError(words)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[2]))
    work = Path(sys.argv[2])
    work.mkdir(exist_ok=True)
    build(Path(sys.argv[1]), work)
    for name in FILES:
        (HERE / f"{name}.tsv").write_text("".join(rows(name)))
