"""Write one small file of each kind, and what it must answer: `python tests/models/stored/make.py`.

Run it only when a new format is added; files that are there stay, since later versions must go on reading them.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import gapgram
from gapgram.models.backoff_file import write_backoff
from gapgram.models.to_backoff import to_backoff

FOLDER = Path(__file__).parent
SENTENCES = ["the cat sat", "the dog sat on the cat", "a cat ran", "the old dog ran on", "a dog sat on a cat"] * 4
ASKED = ["the cat sat on a dog", "zzz cat", ""]


def main() -> None:
    """Write the files that are not there yet."""
    warnings.simplefilter("ignore", gapgram.DiscountWarning)
    mkn = gapgram.train(sentences=SENTENCES, order=3, model="mkn")
    glm = gapgram.train(sentences=SENTENCES, order=3, weights="counts")
    learned = gapgram.train(sentences=SENTENCES, order=3, classes=2, about={"language": "en"})
    models = {
        "mkn-fast": mkn,
        "mkn-compact": mkn.with_layout("compact"),
        "glm-fast": glm,
        "glm-pruned": glm.pruned(counts="0,0,1"),
        "glm-quantised": glm.quantised(2),
        "classes-fast": learned,
        "classes-compact": learned.with_layout("compact"),
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
    answers = {
        path.name: gapgram.load(path).score_many(ASKED).tolist()
        for path in sorted(FOLDER.iterdir())
        if path.suffix in (".model", ".mix")
    }
    (FOLDER / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
