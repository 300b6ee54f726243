"""Write one small file of each kind, and what it must answer: `python -m tests.models.stored.make`.

Run it only when a new format is added; files that are there stay, since later versions must go on reading them.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from fuzz.seeds import made_lines

import gapgram
from gapgram.models.arpa.writing import to_backoff
from gapgram.models.backoff import write_backoff

FOLDER = Path(__file__).parent
SENTENCES = ["the cat sat", "the dog sat on the cat", "a cat ran", "the old dog ran on", "a dog sat on a cat"] * 4
ASKED = ["the cat sat on a dog", "zzz cat", ""]


def session_answers() -> list[float]:
    """What the stored session gives some sentences."""
    session = gapgram.load(FOLDER / "2-documents.model").session()
    session.load(FOLDER / "2-session.session")
    return [session.score(sentence) for sentence in ("w1 new other", "w5 w2", "zzz")]


def main() -> None:
    """Write the files that are not there yet."""
    warnings.simplefilter("ignore", gapgram.DiscountWarning)
    mkn = gapgram.train(sentences=SENTENCES, order=3, model="mkn")
    glm = gapgram.train(sentences=SENTENCES, order=3, weights="counts")
    learned = gapgram.train(sentences=SENTENCES, order=3, classes=2, about={"language": "en"})
    opened = gapgram.train(sentences=[*SENTENCES, "new words"], order=3, model="mkn", open_vocabulary=True)
    models = {
        "mkn-fast": mkn,
        "open-fast": opened,
        "open-compact": opened.with_layout("compact"),
        "mkn-compact": mkn.with_layout("compact"),
        "glm-fast": glm,
        "glm-pruned": glm.pruned(counts="0,0,1"),
        "glm-quantised": glm.quantised(2),
        "classes-fast": learned,
        "classes-compact": learned.with_layout("compact"),
        "chars-fast": gapgram.train(sentences=SENTENCES, order=3, model="mkn", tokenizer="chars"),
    }
    for name, model in models.items():
        if not (FOLDER / f"2-{name}.model").exists():
            model.save(FOLDER / f"2-{name}.model")
    if not (FOLDER / "2-counts.counts").exists():
        mkn.counts.save(FOLDER / "2-counts.counts")
    if not (FOLDER / "2-backoff.model").exists():
        write_backoff(to_backoff(mkn), FOLDER / "2-backoff.model")
    if not (FOLDER / "1-mixture.mix").exists():
        gapgram.Mixture([gapgram.load(FOLDER / f"2-{n}.model") for n in ("mkn-fast", "glm-fast")], [0.4, 0.6]).save(
            FOLDER / "1-mixture.mix"
        )
    if not (FOLDER / "2-mixture.mix").exists():
        inner = gapgram.Mixture([gapgram.load(FOLDER / f"2-{n}.model") for n in ("backoff", "glm-fast")], [0.5, 0.5])
        parts = [gapgram.load(FOLDER / "2-mkn-compact.model"), inner]
        gapgram.Mixture(parts, [0.4, 0.6]).save(FOLDER / "2-mixture.mix", whole=True)
    if not (FOLDER / "2-documents.model").exists():
        lines = [line for i, line in enumerate(made_lines(1500)) for line in ((line, "") if i % 10 == 9 else (line,))]
        gapgram.train(
            sentences=lines, order=2, model="mkn", documents=True, layout="compact", output=FOLDER / "2-documents.model"
        )
    if not (FOLDER / "2-session.session").exists():
        session = gapgram.load(FOLDER / "2-documents.model").session()
        session.read(["w1 w2 new", "w3 new w1"])
        session.forget(0.5)
        session.read(["w5 other new"])
        session.save(FOLDER / "2-session.session")
    answers = {
        path.name: gapgram.load(path).score_many(ASKED).tolist()
        for path in sorted(FOLDER.iterdir())
        if path.suffix in (".model", ".mix")
    }
    answers["2-session.session"] = session_answers()
    (FOLDER / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
