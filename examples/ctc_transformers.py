"""transformers' processor of wav2vec 2.0 with a gapgram model: decoded, saved, loaded again; no pyctcdecode, no KenLM.

One line puts gapgram's decoder in the place of pyctcdecode; the rest is as in transformers' own documentation. The
logits are made up; a recogniser gives them as `Wav2Vec2ForCTC(...)(audio).logits`.

    pip install 'gapgram[transformers]';  python examples/ctc_transformers.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from transformers import Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor

import gapgram
import gapgram.adapters.pyctcdecode
from ctc import LABELS, MISHEARD, SAID, heard  # type: ignore[import-not-found, unused-ignore]
from gapgram.experiments.demo import reference_sentences

gapgram.adapters.pyctcdecode.stand_in()  # this line


def main() -> None:
    """Decode a batch, then again with what was saved."""
    from pyctcdecode import build_ctcdecoder
    from transformers import Wav2Vec2ProcessorWithLM

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = gapgram.train(sentences=[line.lower() for line in reference_sentences()], order=4)
        model.save(folder / "glm.model")
        (folder / "vocab.json").write_text(json.dumps({label: i for i, label in enumerate(LABELS)}))
        tokenizer = Wav2Vec2CTCTokenizer(
            str(folder / "vocab.json"), pad_token="<pad>", unk_token=None, bos_token=None, eos_token=None
        )
        decoder = build_ctcdecoder(LABELS, str(folder / "glm.model"))
        processor = Wav2Vec2ProcessorWithLM(Wav2Vec2FeatureExtractor(), tokenizer, decoder)
        logits = np.stack([heard(SAID, MISHEARD), heard(SAID, {})])
        print(*processor.batch_decode(logits).text, sep="\n")
        processor.save_pretrained(folder / "saved")
        again = Wav2Vec2ProcessorWithLM.from_pretrained(folder / "saved")
        print(*again.batch_decode(logits, hotwords=["zorblax"], num_processes=2).text, sep="\n")


if __name__ == "__main__":
    main()
