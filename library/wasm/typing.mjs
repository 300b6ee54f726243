// What people type, for models of words: text cut as a model has it, and words found from plain small letters.
//
//     const line = new Splitter(model).words("He didn't (1914–18).")
//     new TypedWords(model).predict(session, "in", { k: 3, prefix: "lodn" })       // London
//
// As `gapgram.text.splitting` and `gapgram.queries.typing_words` in Python, whose answers they give.

const SPECIAL = ["<unk>", "<s>", "</s>"];
const BLANKS = /[ \t\n\v\f\r]+/;
const ALNUM = /^[\p{L}\p{N}]+$/u;
const MARK = /^\p{P}$/u;
const DOTTED = /^(?:[\p{L}\p{Nl}\p{No}]\.){2,}$/u;
const JOINTS = /([–—/…]|(?<=\p{Nd})-(?=\p{Nd}))/u;
const APOSTROPHE = /['’]/;
const PLAIN = { ...of("‘’‚‛", "'"), ...of("“”„‟«»", '"'), ...of("–—", "-"), "…": "..." };
const REMEMBERED = 1 << 16;

function of(characters, plain) {
  return Object.fromEntries([...characters].map((one) => [one, plain]));
}

const plain = (text) => text.replace(/[‘’‚‛“”„‟«»–—…]/g, (one) => PLAIN[one]);

// Cuts marks off words, as the text of a model has them apart; what the model knows stays whole.
export class Splitter {
  #cuts = new Map();

  constructor(model) { this.model = model; }

  words(text) { return text.split(BLANKS).filter(Boolean).flatMap((word) => this.cut(word)); }

  cut(word) {
    if (ALNUM.test(word)) return [word];
    let cut = this.#cuts.get(word);
    if (!cut) {
      if (this.#cuts.size >= REMEMBERED) this.#cuts.clear();
      this.#cuts.set(word, cut = this.#parts(word));
    }
    return cut;
  }

  #knows(word) { return this.model.find(word) > 0; }

  #parts(word) {
    if (SPECIAL.includes(word) || this.#knows(word)) return [word];
    const letters = [...word];
    let [begin, end] = this.#core(letters);
    if (begin === end) return this.#marks(letters);
    [begin, end] = this.#knownCore(letters, begin, end);
    return [...this.#marks(letters.slice(0, begin)), ...this.#inside(letters.slice(begin, end).join("")), ...this.#marks(letters.slice(end))];
  }

  // Where a word begins and ends without the marks around it; signs such as $ go with them where the model knows them so.
  #core(letters) {
    const bare = (goes, begin, end) => {
      while (begin < end && goes(letters[begin])) begin++;
      while (end > begin && goes(letters[end - 1])) end--;
      return [begin, end];
    };
    const [begin, end] = bare((letter) => MARK.test(letter), 0, letters.length);
    if (begin === end || (ALNUM.test(letters[begin]) && ALNUM.test(letters[end - 1]))) return [begin, end];
    return bare((letter) => !ALNUM.test(letter) && (MARK.test(letter) || this.#knows(letter)), begin, end);
  }

  // The longest part that is known of a word with some of the marks around it.
  #knownCore(letters, begin, end) {
    const after = letters.length - end;
    for (let n = 0; n < begin + after; n++) {
      for (let before = Math.max(0, n - after); before <= Math.min(n, begin); before++) {
        const part = letters.slice(before, letters.length - (n - before)).join("");
        if (this.#knows(part) || DOTTED.test(part)) return [before, letters.length - (n - before)];
      }
    }
    return [begin, end];
  }

  #marks(marks) {
    if (!marks.length) return [];
    const apart = marks.map((mark) => this.#plain(mark));
    const whole = marks.join("");
    const alike = marks.length > 1 && new Set(marks).size === 1 && !this.#knows(apart[0]);
    return this.#knows(whole) || alike ? [whole] : apart;
  }

  #inside(word) {
    if (this.#knows(word) || ALNUM.test(word)) return [word];
    const simple = plain(word);
    if (simple !== word && this.#knows(simple)) return [simple];
    const pieces = word.split(JOINTS).filter(Boolean).map((piece) => this.#plain(piece));
    if (pieces.length > 1 && pieces.every((piece) => this.#knows(piece))) return pieces;
    return this.#clitic(word) ?? this.#clitic(simple) ?? [word];
  }

  // A word cut into two that are known, one with an apostrophe: that with the most frequent of such parts.
  #clitic(word) {
    if (!APOSTROPHE.test(word)) return null;
    let best = null;
    const letters = [...word];
    for (let at = 1; at < letters.length; at++) {
      const parts = [letters.slice(0, at).join(""), letters.slice(at).join("")];
      const ids = parts.map((part) => this.model.find(part));
      const id = ids[APOSTROPHE.test(parts[0]) ? 0 : 1];
      if (ids.every(Boolean) && (!best || id < best.id)) best = { id, parts };
    }
    return best?.parts ?? null;
  }

  #plain(mark) {
    const simple = plain(mark);
    return simple !== mark && !this.#knows(mark) && this.#knows(simple) ? simple : mark;
  }
}

const LEAST_LETTERS = 3;
const TYPO = 0.02; // how often a beginning that was typed has an error, about
const WORD = /^[\p{L}\p{Nl}\p{No}]+(?:['’-][\p{L}\p{Nl}\p{No}]+)*$/u;

const LATIN = /^[A-Za-z]+$/;
const isWord = (word) => LATIN.test(word) || WORD.test(word);
const folded = (word) => LATIN.test(word) ? word.toLowerCase() : word.toUpperCase().toLowerCase().replace(/ς/g, "σ").normalize("NFD").replace(/\p{Mn}/gu, "");

// Words alone, found by their beginning without regard to case and accents, with one letter wrong.
export class TypedWords {
  constructor(model) {
    const words = model.words().map((word, id) => [word, id]).slice(SPECIAL.length).filter(([word]) => isWord(word));
    this.words = words.map(([word, id]) => [folded(word), id]);
    this.words.sort(([a, i], [b, j]) => (a < b ? -1 : a > b ? 1 : i - j));
    this.letters = [...new Set(this.words.map(([word]) => word).join(""))];
    this.size = model.size;
    this.weights = new Float64Array(this.size); // of words, all 0 between questions
  }

  // `asked`: the model, or a session of it.
  predict(asked, context = "", { k = 5, prefix = "", start = true } = {}) {
    const chances = asked.distribution(context, { start });
    const best = [];
    for (const [id, weight] of this.#weighed(asked, folded(prefix))) {
      const probability = chances[id] * weight;
      if (best.length === k && probability < best[k - 1].probability) continue;
      let at = best.length;
      while (at && (best[at - 1].probability < probability || (best[at - 1].probability === probability && best[at - 1].id > id))) at--;
      best.splice(at, 0, { id, probability });
      if (best.length > k) best.pop();
    }
    return best.map(({ id, probability }) => ({ word: asked.word(id), probability }));
  }

  // The words that may be meant, and what the probability of each is multiplied with.
  #weighed(asked, typed) {
    const { weights } = this;
    const errors = new Set([...typed].length >= LEAST_LETTERS ? this.#beginningsWithAnError([...typed]) : []);
    const ids = [];
    for (const [begin, weight] of [...[...errors].map((other) => [other, TYPO]), [typed, 1]]) {
      for (let at = this.#first(begin); at < this.words.length && this.words[at][0].startsWith(begin); at++) {
        const id = this.words[at][1];
        if (!weights[id]) ids.push(id);
        weights[id] = weight;
      }
    }
    const found = ids.map((id) => [id, weights[id]]);
    for (const id of ids) weights[id] = 0;
    for (let id = this.size; id < asked.size; id++) { // a session's own words
      const word = asked.word(id);
      const letters = [...folded(word)];
      const almost = [-1, 0, 1].some((more) => errors.has(letters.slice(0, [...typed].length + more).join("")));
      if (isWord(word) && (almost || letters.join("").startsWith(typed))) found.push([id, letters.join("").startsWith(typed) ? 1 : TYPO]);
    }
    return found;
  }

  #first(begin) {
    let [low, high] = [0, this.words.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.words[middle][0] < begin) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // What may have been meant: the first letter is right.
  * #beginningsWithAnError(typed) {
    for (let i = 1; i < typed.length; i++) {
      const [before, after] = [typed.slice(0, i).join(""), typed.slice(i + 1).join("")];
      yield before + after;
      yield before + typed.slice(i + 1, i + 2).join("") + typed[i] + typed.slice(i + 2).join("");
      for (const letter of this.letters) {
        yield before + letter + after;
        yield before + letter + typed[i] + after;
      }
    }
  }
}
