"""From the logits of a recogniser to text: alone, with a model, with hot words, and with a session that learns a name.

The logits are made up: each letter is heard, and now and then another one as clearly. With those of a real recogniser
(`model(audio).logits[0]` of transformers, say) and its labels the rest stays as it is.

    python examples/ctc.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import gapgram
from gapgram.ctc import Decoder
from gapgram.experiments.demo import reference_sentences

LABELS = ["<pad>", "|", *"abcdefghijklmnopqrstuvwxyz"]  # one for each column
SAID = "the method of the zorblax class is called"
MISHEARD = {2: "a", 5: "a", 18: "a", 20: "p", 27: "r", 36: "o"}  # place in the text: a letter that is as clear


def heard(text: str, misheard: dict[int, str]) -> npt.NDArray[np.float64]:
    """Logits: a frame for each letter, and one without any after it."""
    out = np.full((2 * len(text), len(LABELS)), -8.0)
    out[1::2, 0] = 0.0
    for place, letter in enumerate(text.replace(" ", "|")):
        out[2 * place, LABELS.index(letter)] = 0.0
        if place in misheard:
            out[2 * place, LABELS.index(misheard[place])] = 0.1
    return out


def main() -> None:
    """Decode the same logits in each way."""
    model = gapgram.train(sentences=[line.lower() for line in reference_sentences()], order=4)
    logits = heard(SAID, MISHEARD)
    print("labels alone:  ", Decoder(LABELS).decode(logits))
    session = model.session()
    decoder = Decoder(LABELS, session=session)
    print("with the model:", decoder.decode(logits))
    print("with a hot word:", decoder.decode(logits, ["zorblax"]))
    session.read(["the class zorblax has a method"])
    print("once it was read:", decoder.decode(logits))
    for word in decoder.decode_beams(logits)[0].words:
        print(f"  frames {word.first:2} to {word.after:2}  {word.word:8} {word.confidence:.2f}")


if __name__ == "__main__":
    main()
