"""The same search for a batch of utterances side by side, where their logits lie: in tensors of PyTorch, on a card.

What a beam holds is a row of tensors; a frame is a few operations on all beams of all utterances, and nothing goes to
the CPU until the last one. Before candidates of the same text are merged all but the best are dropped, `_MERGED` times
the width (64 at least).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gapgram.ctc.hypotheses import DecodedWord, Hypothesis, shares_at, words_of_path
from gapgram.ctc.logits import LEAST, check_shape
from gapgram.ctc.options import DecoderOptions
from gapgram.ctc.search import shares_of
from gapgram.ctc.tensor_states import CardStates, RowStates
from gapgram.errors import DeviceError, UsageError, to_install
from gapgram.kernels.ctc.prefixes import BLANK, BREAKS, KNOWN_WORD, USUAL_LENGTH
from gapgram.kernels.text.special_words import END_ID

if TYPE_CHECKING:
    from gapgram.ctc.decoder import Decoder, HotWordList

Tensor = Any  # torch.Tensor
_MERGED = 4
_MOST_CANDIDATES = 1 << 23  # of all utterances that are decoded side by side
_MOST_LOGITS = 1 << 27
_OF_LETTERS, _OF_WORDS = 0x5851F42D4C957F2D, 0x2545F4914F6CDD1D  # factors of the hashes of words and texts
_NONE = -np.inf


class Trie(NamedTuple):
    """A trie for tensors: [node, letter] what it leads to, the last node for nothing; and what is said of each node."""

    children: Tensor
    said: list[Tensor]


class Beams(NamedTuple):
    """[utterance, beam]: log of the probability, the scores of model and hot words, and what `Prefixes` holds of each.

    text, part: hashes of the words that have ended, and of the one that has not. words: of those that are told apart.
    state: the model's; ended, after: what it says of the word that the beam ends in, if `is_asked`.
    """

    log_prob: Tensor
    of_model: Tensor
    of_hot: Tensor
    text: Tensor
    part: Tensor
    node: Tensor
    hot_node: Tensor
    length: Tensor
    last: Tensor
    closed: Tensor
    words: Tensor
    state: Tensor
    ended: Tensor
    after: Tensor
    is_asked: Tensor


class BatchedDecoder:
    """A decoder for batches, on a device: `Decoder.on`. It gives what the decoder itself does."""

    def __init__(self, decoder: Decoder, device: str) -> None:
        try:
            import torch
        except ImportError:
            raise DeviceError(f"device {device}: batches need PyTorch: {to_install('nemo')}") from None
        try:
            self.device = torch.device(device)
        except RuntimeError:
            raise UsageError(f"device {device!r}: expected cpu or cuda") from None
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise DeviceError(f"device {device}: this PyTorch sees no card that works with CUDA; use on('cpu')")
        if decoder.by_label or decoder.session is not None:
            kind = "a model of labels" if decoder.by_label else "a session"
            raise UsageError(f"device {device}: {kind} is asked by the CPU; decode_many of the decoder itself takes it")
        self._torch, self.decoder = torch, decoder
        self._model: Any = decoder.model
        if self._model is not None and self.device.type == "cuda":
            self._model = self._model.on("cuda")
            if not hasattr(self._model, "step"):
                raise UsageError(f"device {device}: this kind of model stays on the CPU; expected one of gapgram")
        lexicon = decoder.lexicon
        self._lexicon = self._trie(lexicon.slots, [lexicon.words, lexicon.known, lexicon.ahead], [-1, 0, _NONE])
        letters, alphabet = decoder.letters.of_labels, decoder.alphabet
        longest = max(map(len, letters), default=0)
        self._letters = self._held([own + [-1] * (longest - len(own)) for own in letters]).reshape(-1, max(longest, 1))
        self._kinds, self._closes = self._held(alphabet.kinds), self._held(alphabet.ends_word)

    def _held(self, array: Any) -> Tensor:
        return self._torch.as_tensor(np.asarray(array), device=self.device)

    def _trie(self, slots: Any, said: Sequence[Any], nothing: Sequence[float]) -> Trie:
        """A trie as kernels have it, for tensors."""
        pairs = slots[slots[:, 0] >= 0]
        n = len(said[0])
        children = np.full((n + 1, self.decoder.letters.codes.size), n, np.int32)
        children[pairs[:, 0] >> 32, pairs[:, 0] & 0xFFFFFFFF] = pairs[:, 1]
        rows = [self._held(np.append(own, np.array(last, own.dtype))) for own, last in zip(said, nothing, strict=True)]
        return Trie(self._held(children), rows)

    def decode_many(
        self, logits: Any, hot_words: HotWordList = None, *, lengths: Sequence[int] | None = None, **options: Any
    ) -> list[str]:
        """The best texts: of a list of [frame, label], or of a padded batch [utterance, frame, label] with lengths."""
        lists = self._lists(logits, hot_words, lengths, options, 1, distinct=True)
        return [found[0].text if found else "" for found in lists]

    def decode_beams_many(
        self,
        logits: Any,
        hot_words: HotWordList = None,
        *,
        lengths: Sequence[int] | None = None,
        distinct: bool = False,
        **options: Any,
    ) -> list[list[Hypothesis]]:
        """The hypotheses for each utterance, best first; without the model's states."""
        return self._lists(logits, hot_words, lengths, options, None, distinct=distinct)

    def _lists(
        self, logits: Any, hot_words: Any, lengths: Any, options: dict[str, Any], first: int | None, *, distinct: bool
    ) -> list[list[Hypothesis]]:
        torch, chosen = self._torch, self.decoder.options.changed(options)
        if chosen.empty_word:
            raise UsageError("empty_word: batches score no word that is not there; leave it out")
        each = [torch.as_tensor(one, device=self.device) for one in logits]
        known = [len(one) for one in each] if lengths is None else [int(length) for length in lengths]
        if len(known) != len(each):
            raise UsageError(f"{len(each)} utterances and {len(known)} lengths: expected a length for each")
        for one in each:
            check_shape(one, len(self.decoder.alphabet.texts))
        out: list[list[Hypothesis]] = [[] for _ in each]
        search = _Search(self, chosen, self.decoder.hot_words(hot_words, chosen), distinct=distinct)
        order = sorted(range(len(each)), key=known.__getitem__)  # those of about one length side by side
        while order:
            longest = max(known[order[-1]], 1)
            some = [order.pop() for _ in range(min(len(order), 1 + _MOST_LOGITS // (longest * len(self._kinds))))]
            padded = torch.nn.utils.rnn.pad_sequence([each[i][: known[i]] for i in some], batch_first=True)
            labels, log_probs = self._frames(padded, [known[i] for i in some], chosen)
            n = 1 + _MOST_CANDIDATES // (chosen.beam_width * labels.shape[2])
            for at in range(0, len(some), n):
                own = some[at : at + n]
                found = search.run(labels[at : at + n], log_probs[at : at + n], [known[i] for i in own], first)
                for i, hypotheses in zip(own, found, strict=True):
                    out[i] = hypotheses
        return out

    def _frames(self, logits: Tensor, lengths: list[int], options: DecoderOptions) -> tuple[Tensor, Tensor]:
        """(labels, log of their probabilities), [utterance, frame, label]: what may be there, others have none."""
        torch, least = self._torch, float(np.log(LEAST))
        scores = logits if logits.dtype == torch.float64 else logits.float()
        n_frames = torch.tensor(lengths, device=self.device)
        inside = torch.arange(scores.shape[1], device=self.device) < n_frames[:, None]
        if not scores.shape[1]:
            return scores.long(), scores
        if not bool((torch.isfinite(scores.amax(2)) | ~inside).all()):
            raise UsageError("logits: the highest of a frame is no finite number; expected finite numbers")
        sums = torch.where(inside, scores.sum(2), 0.0).sum(1) / n_frames.clamp(min=1)
        are_probs = torch.isclose(sums, torch.ones_like(sums), rtol=1e-6)[:, None, None]
        as_probs = torch.where(are_probs, scores, 1.0).clamp(LEAST, 1).log()
        scores = torch.where(are_probs, as_probs, torch.log_softmax(scores, 2).clamp(least, 0))
        there = scores >= options.token_prune
        there.scatter_(2, scores.argmax(2, keepdim=True), True)
        if options.unknown is None:
            there[:, :, self.decoder.alphabet.blank] = True
        found = torch.where(there, scores, _NONE).topk(int(there.sum(2).max()), dim=2)
        return found.indices, found.values.double()


class _Search:
    """One search of a batch."""

    def __init__(self, batched: BatchedDecoder, options: DecoderOptions, hot: Any, *, distinct: bool) -> None:
        self._of, self._torch, self._options = batched, batched._torch, options
        self._rules = batched.decoder.rules(options, distinct=distinct)
        self._hot = batched._trie(hot.slots, [hot.weights[:, 0], hot.weights[:, 1]], [0.0, 0.0])
        self._has_hot = len(hot.weights) > 1

    def run(self, labels: Tensor, log_probs: Tensor, lengths: list[int], first: int | None) -> list[list[Hypothesis]]:
        """The first hypotheses of some utterances; labels and their probabilities, [utterance, frame, label]."""
        torch = self._torch
        self._states: Any = self._begun()
        beams, trace = self._beginning(len(labels)), []
        n_frames = torch.tensor(lengths, device=self._of.device)[:, None]
        for t in range(labels.shape[1]):
            made, source, label = self._advanced(self._asked(beams), labels[:, t], log_probs[:, t])
            if t >= min(lengths):  # some are done
                going, width = t < n_frames, source.shape[1]
                old = [self._widened(own, width) for own in beams]
                pairs = zip(made, old, strict=True)
                made = Beams(*(torch.where(_spread(going, new), new, kept) for new, kept in pairs))
                source = torch.where(going, source, torch.arange(width, device=self._of.device))
                label = torch.where(going, label, -1)
            beams = made
            trace.append((source, label))
        return self._ended(beams, trace, first)

    def _begun(self) -> Any:
        decoder, device = self._of.decoder, self._of.device
        if decoder.model is None:
            return None
        if device.type == "cuda":
            return CardStates(self._of._model, device, bos=self._options.boundary)
        return RowStates(decoder.model._stepper.rows(), decoder._key(None, self._options))

    def _beginning(self, n: int) -> Beams:
        torch, device = self._torch, self._of.device
        zero = torch.zeros((n, 1), dtype=torch.int64, device=device)
        none, no = zero.double(), zero.bool()
        state = (zero if self._states is None else self._states.beginning(n)).reshape(n, 1, -1)
        words = zero[:, :, None].expand(n, 1, max(self._rules.history, 1))
        return Beams(none, none, none, zero, zero, zero, zero, zero, zero - 1, no, words, state, none, state, no)

    def _widened(self, own: Tensor, width: int) -> Tensor:
        """As many beams as others have; those that are none have no probability."""
        if own.shape[1] == width:
            return own
        more = own[:, :1].expand(-1, width - own.shape[1], *own.shape[2:]).clone()
        return self._torch.cat([own, more.fill_(_NONE) if own.is_floating_point() else more], 1)

    def _is_word(self, beams: Beams) -> Tensor:
        """Whether what a beam ends in may be a whole word, or is none."""
        if not self._rules.only_known:
            return self._torch.ones_like(beams.is_asked)
        known = (self._of._lexicon.said[1][beams.node] & KNOWN_WORD) != 0
        return known | (self._hot.said[0][beams.hot_node] != 0.0) | (beams.length == 0)

    def _asked(self, beams: Beams) -> Beams:
        """Ask the model for the word that each beam ends in."""
        if self._states is None:
            return beams
        rules = self._rules
        wanted = ~beams.is_asked & (beams.length > 0) & self._is_word(beams) & (beams.log_prob > _NONE)
        at = wanted.nonzero(as_tuple=True)
        node = beams.node[at]
        word, known = self._of._lexicon.said[0][node], (self._of._lexicon.said[1][node] & KNOWN_WORD) != 0
        scores, after = self._states.step(beams.state[at], word.clamp(min=0))
        scores = rules.alpha * self._torch.where(known, scores, scores + rules.unknown) + rules.beta
        ended, states = beams.ended.clone(), beams.after.clone()
        ended[at], states[at] = scores.to(ended.dtype), after.to(states.dtype)
        return beams._replace(ended=ended, after=states, is_asked=beams.is_asked | wanted)

    def _score_of_parts(self, node: Tensor, hot_node: Tensor, length: Tensor) -> Tensor:
        """What words that are not finished add (`kernels.ctc.prefixes`)."""
        torch, rules, of = self._torch, self._rules, self._of
        out = torch.zeros(node.shape, dtype=torch.float64, device=of.device)
        if rules.has_model:
            known = of._lexicon.said[1][node] > 0
            ahead = of._lexicon.said[2]
            if len(ahead) > 1:
                out = torch.where(known, rules.alpha * ahead[node], out)
            unknown = rules.unknown * (length / USUAL_LENGTH).clamp(min=1.0) if not rules.only_known else _NONE
            out = torch.where(known | (length == 0), out, unknown)
        if self._has_hot:
            is_hot = (hot_node < len(self._hot.said[0]) - 1) & (length > 0)
            out = torch.where(is_hot, length * self._hot.said[1][hot_node], out)
        return torch.where(length > 0, out, 0.0)

    def _advanced(self, beams: Beams, labels: Tensor, log_probs: Tensor) -> tuple[Beams, Tensor, Tensor]:
        """(the best of what beams become, the beam that each comes from, its label)."""
        torch, of, rules = self._torch, self._of, self._rules
        label = labels[:, None, :]
        kind = of._kinds[label]
        stays = (kind == BLANK) | (beams.last[:, :, None] == label)
        breaks = ~stays & ((kind == BREAKS) | beams.closed[:, :, None])
        ends = breaks & (beams.length > 0)[:, :, None]
        node, hot_node, length, part = (
            torch.where(breaks, 0, own[:, :, None]) for own in (beams.node, beams.hot_node, beams.length, beams.part)
        )
        text = torch.where(ends, (beams.text * _OF_WORDS + beams.part)[:, :, None], beams.text[:, :, None])
        for letters in of._letters.T:
            letter = letters[label]
            goes = ~stays & (letter >= 0)
            at = letter.clamp(min=0).expand(goes.shape)
            node = torch.where(goes, of._lexicon.children[node, at].long(), node)
            if self._has_hot:
                hot_node = torch.where(goes, self._hot.children[hot_node, at].long(), hot_node)
            length, part = length + goes, torch.where(goes, part * _OF_LETTERS + letter + 1, part)
        log_prob = beams.log_prob[:, :, None] + log_probs[:, None, :]
        of_model = beams.of_model[:, :, None] + torch.where(ends, beams.ended[:, :, None], 0.0)
        gained = self._hot.said[0][beams.hot_node][:, :, None]
        of_hot = beams.of_hot[:, :, None] + torch.where(ends, gained, 0.0)
        rest = of_model + of_hot + self._score_of_parts(node, hot_node, length)
        if rules.only_known:
            rest = torch.where(ends & ~self._is_word(beams)[:, :, None], _NONE, rest)
        # The best of them, those of the same text and last label side by side.
        n, width = len(labels), label.shape[2]
        total = (log_prob + rest).reshape(n, -1)
        best, place = total.topk(min(_MERGED * max(rules.width, 64), total.shape[1]), dim=1)
        label = label.expand(ends.shape)
        key = (self._at(text, place) * _OF_WORDS + self._at(part, place)) * _OF_WORDS + self._at(label, place)
        place, log_prob, best = self._merged(key, place, self._at(log_prob, place), best)
        best, chosen = best.topk(min(rules.width, best.shape[1]), dim=1)
        place, log_prob = place.gather(1, chosen), log_prob.gather(1, chosen)
        log_prob = torch.where((best >= best[:, :1] + rules.prune) & (best > _NONE), log_prob, _NONE)
        source, last = place // width, self._at(label, place)
        ended, stayed = self._at(ends, place), self._at(stays, place)
        old = Beams(*(own.gather(1, _spread(source, own).expand(-1, -1, *own.shape[2:])) for own in beams))
        words = torch.cat([old.part[:, :, None], old.words[:, :, :-1]], 2)
        made = Beams(
            log_prob, self._at(of_model, place), self._at(of_hot, place), self._at(text, place), self._at(part, place),
            self._at(node, place), self._at(hot_node, place), self._at(length, place), last,
            torch.where(stayed, old.closed, of._closes[last]), torch.where(ended[:, :, None], words, old.words),
            torch.where(ended[:, :, None], old.after, old.state), old.ended, old.after, old.is_asked & stayed,
        )  # fmt: skip
        return (self._distinct(made) if rules.history else made), source, last

    def _distinct(self, beams: Beams) -> Beams:
        """Of beams with the same last words, part and label the first alone keeps its probability."""
        torch, key = self._torch, beams.part * _OF_WORDS + beams.last
        for k in range(self._rules.history):
            key = key * _OF_WORDS + beams.words[:, :, k]
        there = beams.log_prob > _NONE
        same = (key[:, :, None] == key[:, None, :]) & there[:, None, :]
        is_second = same.tril(-1).any(2)
        return beams._replace(log_prob=torch.where(is_second, _NONE, beams.log_prob))

    def _at(self, candidates: Tensor, place: Tensor) -> Tensor:
        """Of [utterance, beam, label] what lies at places."""
        return candidates.reshape(len(place), -1).gather(1, place)

    def _merged(self, key: Tensor, place: Tensor, log_prob: Tensor, total: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of candidates with the same key the first, with the probability of all; the others have none."""
        torch = self._torch
        key, order = key.sort(dim=1, stable=True)
        place, log_prob, total = (own.gather(1, order) for own in (place, log_prob, total))
        begins = torch.ones_like(key, dtype=torch.bool)
        begins[:, 1:] = key[:, 1:] != key[:, :-1]
        group = begins.cumsum(1) - 1
        highest = torch.full_like(log_prob, _NONE).scatter_reduce(1, group, log_prob, "amax").gather(1, group)
        share = torch.where(log_prob > _NONE, (log_prob - highest).exp(), 0.0)
        summed = torch.zeros_like(share).scatter_add(1, group, share).gather(1, group)
        merged = highest + summed.log()
        total = torch.where(begins & (log_prob > _NONE), total - log_prob + merged, _NONE)
        return place, merged, total

    def _ended(self, beams: Beams, trace: list[tuple[Tensor, Tensor]], first: int | None) -> list[list[Hypothesis]]:
        """The hypotheses that beams end in."""
        torch, rules = self._torch, self._rules
        beams = self._asked(beams)
        there = beams.log_prob > _NONE
        fits = self._is_word(beams) & there
        left_out = ~fits.any(1, keepdim=True)  # no beam ends in a whole word: what is not whole is left out
        has_part = (beams.length > 0) & ~left_out
        log_prob = torch.where(fits | left_out, beams.log_prob, _NONE)
        of_model = beams.of_model + torch.where(has_part, beams.ended, 0.0)
        of_hot = beams.of_hot + torch.where(has_part, self._hot.said[0][beams.hot_node], 0.0)
        text = torch.where(has_part, beams.text * _OF_WORDS + beams.part, beams.text)
        if self._states is not None and rules.ends_count:
            state = torch.where(has_part[:, :, None], beams.after, beams.state)
            words = torch.full(state.shape[:2], END_ID, dtype=torch.int64, device=text.device)
            of_end = self._states.step(state.flatten(0, 1), words.flatten())[0].reshape(text.shape)
            of_model = of_model + rules.alpha * of_end
        total, place = (log_prob + of_model + of_hot).sort(dim=1, descending=True, stable=True)
        place, log_prob, total = self._merged(text.gather(1, place), place, log_prob.gather(1, place), total)
        total, chosen = total.sort(dim=1, descending=True, stable=True)
        total = torch.where(total >= total[:, :1] + rules.prune, total, _NONE)[:, :first]
        place, log_prob = place.gather(1, chosen)[:, :first], log_prob.gather(1, chosen)[:, :first]
        path, at = [], place
        for source, label in reversed(trace):
            path.append(label.gather(1, at))
            at = source.gather(1, at)
        labels = torch.stack(path[::-1], 2).cpu().numpy() if path else np.zeros((*place.shape, 0), np.int64)
        scores = (log_prob, of_model.gather(1, place), of_hot.gather(1, place), total, has_part.gather(1, place))
        rows = zip(labels, *(own.cpu().numpy() for own in scores), strict=True)
        return [self._hypotheses(*row) for row in rows]

    def _hypotheses(
        self, labels: Any, log_prob: Any, of_model: Any, of_hot: Any, total: Any, has_part: Any
    ) -> list[Hypothesis]:
        """Those of an utterance, best first, from the labels of their frames."""
        n = int(np.count_nonzero(total > _NONE))
        if not n:
            return []
        shares, alphabet = shares_of(total[:n]).tolist(), self._of.decoder.alphabet
        spelled = [
            words_of_path(own.tolist(), alphabet, last=bool(last))
            for own, last in zip(labels[:n], has_part[:n], strict=True)
        ]
        at = shares_at(spelled, shares, spelled)
        return [
            Hypothesis(
                " ".join(word for word, _, _ in words), tuple(DecodedWord(*word, at[word]) for word in words),
                float(log_prob[i]), float(of_model[i]), float(of_hot[i]), shares[i], None,
            )
            for i, words in enumerate(spelled)
        ]  # fmt: skip


def _spread(rows: Tensor, like: Tensor) -> Tensor:
    """[utterance, beam], with as many dimensions as another."""
    return rows.reshape(*rows.shape, *[1] * (like.dim() - 2))
