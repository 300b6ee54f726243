// gapgram for browsers and Node: models and sessions on the library compiled to WebAssembly.
//
//     const model = await Model.open(bytes, wasm);       // an ArrayBuffer; the module's bytes, or a compiled module
//     model.score("the cat sat"), model.predict("the", { k: 5, prefix: "c" })
//
// A module has memory of its own, in which the file of the model lies, as long as anybody holds the model.

const PAGE = 1 << 16;
const ERROR_BYTES = 512;
const GUESS_BYTES = 16;
const SHARE_BYTES = 64;
const utf8 = new TextEncoder();
const text = new TextDecoder();

export class GapgramError extends Error {}

// A module with one model in it.
class Module {
  constructor(exports) {
    this.f = exports;
    exports._initialize?.();
    this.error = exports.malloc(ERROR_BYTES);
  }

  get view() { return new DataView(this.f.memory.buffer); }
  get bytes() { return new Uint8Array(this.f.memory.buffer); }

  take(n) {
    const at = this.f.malloc(Math.max(n, 8));
    if (!at) throw new GapgramError("not enough memory");
    return at;
  }

  // Memory that is never given back, and no more of it than is needed.
  grown(n) {
    try {
      return this.f.memory.grow(Math.ceil(n / PAGE)) * PAGE;
    } catch {
      throw new GapgramError(`not enough memory for a model of ${n} bytes`);
    }
  }

  // Run with memory that is given back afterwards; each number is how many bytes are wanted, each text its bytes.
  with(wanted, act) {
    const held = wanted.map((one) => (typeof one === "number" ? this.take(one) : this.put(one)));
    try {
      return act(...held);
    } finally {
      held.forEach((at) => this.f.free(at));
    }
  }

  put(array) {
    const at = this.take(array.byteLength);
    this.bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
    return at;
  }

  call(name, ...given) {
    if (this.f[`gapgram_${name}`](...given, this.error)) throw new GapgramError(this.sentence());
  }

  sentence() {
    const from = this.error + 4;
    const bytes = this.bytes;
    return text.decode(bytes.slice(from, bytes.indexOf(0, from)));
  }

  guesses(at, n) {
    const view = this.view;
    return Array.from({ length: n }, (_, i) => [view.getInt32(at + i * GUESS_BYTES, true), view.getFloat64(at + i * GUESS_BYTES + 8, true)]);
  }
}

// What models and sessions are both asked.
class Asked {
  word(id) {
    return this.module.with([4], (n) => {
      const at = this.module.f[`${this.name}word`](this.handle, id, n);
      return text.decode(this.module.bytes.slice(at, at + this.module.view.getUint32(n, true)));
    });
  }

  // All words, by their ids.
  words() {
    return this.module.with([4], (n) => {
      const { bytes, view } = this.module;
      return Array.from({ length: this.size }, (_, id) => {
        const at = this.module.f[`${this.name}word`](this.handle, id, n);
        return text.decode(bytes.subarray(at, at + view.getUint32(n, true)));
      });
    });
  }

  find(word) {
    const bytes = utf8.encode(word);
    return this.module.with([bytes], (at) => this.module.f[`${this.name}find`](this.handle, at, bytes.length));
  }

  // The probability of every word after some, by its id.
  distribution(context = "", { start = true } = {}) {
    const ids = this.ids(context, start);
    return this.module.with([ids, 8 * this.size], (before, out) => {
      this.module.call(`${this.name.slice(8)}distribution`, this.handle, before, ids.length, out);
      return new Float64Array(this.module.f.memory.buffer, out, this.size).slice();
    });
  }

  get size() { return this.module.f[`${this.name}n_words`](this.handle); }

  // The ids of the words before: a text, which begins a sentence unless `start` is false, or a list of words.
  ids(context, start = true) {
    const words = typeof context === "string" ? context.split(/[ \t\n\v\f\r]+/).filter(Boolean) : context;
    const ids = words.map((word) => this.find(word));
    return Int32Array.from(start && ids[0] !== 1 ? [1, ...ids] : ids);
  }

  predict(context = "", { k = 5, prefix = "", letters = "", start = true } = {}) {
    const [ids, begin, allowed] = [this.ids(context, start), utf8.encode(prefix), utf8.encode(letters)];
    return this.module.with([ids, begin, allowed, 20, k * GUESS_BYTES, 4], (before, prefix_at, letters_at, wanted, guesses, n) => {
      const view = this.module.view;
      [prefix_at, begin.length, allowed.length && letters_at, allowed.length, 0].forEach((x, i) => view.setUint32(wanted + 4 * i, x, true));
      this.module.call(`${this.name.slice(8)}predict`, this.handle, before, ids.length, k, wanted, guesses, n);
      return this.module.guesses(guesses, this.module.view.getUint32(n, true)).map(([id, probability]) => ({ word: this.word(id), probability }));
    });
  }
}

export class Model extends Asked {
  static async open(file, wasm) {
    const made = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
    const module = new Module((await WebAssembly.instantiate(made, imports(made))).exports);
    const data = module.grown(file.byteLength);
    module.bytes.set(ArrayBuffer.isView(file) ? file : new Uint8Array(file), data);
    const handle = module.with([4], (out) => {
      module.call("open_memory", data, file.byteLength, out);
      return module.view.getUint32(out, true);
    });
    return new Model(module, handle);
  }

  name = "gapgram_";

  constructor(module, handle) {
    super();
    this.module = module;
    this.handle = handle;
    this.order = module.f.gapgram_order(handle);
  }

  get about() {
    return this.module.with([4], (n) => {
      const at = this.module.f.gapgram_about(this.handle, n);
      return JSON.parse(text.decode(this.module.bytes.slice(at, at + this.module.view.getUint32(n, true))));
    });
  }

  score(line, { bos = true, eos = true } = {}) {
    const bytes = utf8.encode(line);
    return this.module.with([bytes, 8], (at, out) => {
      this.module.call("score", this.handle, at, bytes.length, +bos, +eos, out);
      return this.module.view.getFloat64(out, true);
    });
  }

  // log10 of the probability of each word of a sentence, and of its end.
  scores(line) {
    const ids = Int32Array.from([...this.ids(line), 2]);
    return this.module.with([ids, 8 * ids.length], (at, out) => {
      this.module.call("score_words", this.handle, at, ids.length, out);
      return new Float64Array(this.module.f.memory.buffer.slice(out + 8, out + 8 * ids.length));
    });
  }

  nextCharacters(context, typed, { start = true } = {}) {
    const [ids, bytes, room] = [this.ids(context, start), utf8.encode(typed), 256];
    return this.module.with([ids, bytes, room * GUESS_BYTES, 4], (before, at, found, n) => {
      this.module.call("next_characters", this.handle, before, ids.length, at, bytes.length, room, found, n);
      return this.module.guesses(found, this.module.view.getUint32(n, true))
        .map(([point, probability]) => ({ character: point ? String.fromCodePoint(point) : "", probability }));
    });
  }

  // The words of a word's class in a clustering, numbered from 1: how many there are, and at most so many of them.
  classOf(clustering, word, most = 8) {
    return this.module.with([4 * most, 4], (out, n) => {
      this.module.call("class", this.handle, clustering, this.find(word), out, most, n);
      const size = this.module.view.getUint32(n, true);
      const ids = new Int32Array(this.module.f.memory.buffer, out, Math.min(size, most));
      return { size, words: Array.from(ids).map((id) => this.word(id)) };
    });
  }

  // What each pattern of the lattice says of a word, and what every word gets alike.
  explain(word, context = "", { start = true } = {}) {
    const ids = this.ids(context, start);
    return this.module.with([ids, 4, 8], (before, n, rest) => {
      const ask = (shares, room) => this.module.call("explain", this.handle, before, ids.length, this.find(word), shares, room, n, rest);
      ask(0, 0);
      const count = this.module.view.getUint32(n, true);
      return this.module.with([count * SHARE_BYTES], (shares) => {
        ask(shares, count);
        const view = this.module.view;
        const names = ["discounted", "backoff", "share", "given_class", "contribution"];
        const patterns = Array.from({ length: count }, (_, i) => {
          const at = shares + i * SHARE_BYTES;
          const numbers = names.map((name, j) => [name, view.getFloat64(at + 24 + 8 * j, true)]);
          return { mask: view.getUint32(at, true), classes: view.getInt32(at + 4, true), total: Number(view.getBigInt64(at + 8, true)),
            count: Number(view.getBigInt64(at + 16, true)), ...Object.fromEntries(numbers) };
        });
        return { patterns, uniform: view.getFloat64(rest, true) };
      });
    });
  }

  session(mostWords = 0) {
    return this.module.with([4], (out) => {
      this.module.call("session_open", this.handle, mostWords, out);
      return new Session(this.module, this.module.view.getUint32(out, true));
    });
  }

  close() { this.module.f.gapgram_close(this.handle); }
}

export class Session extends Asked {
  name = "gapgram_session_";

  constructor(module, handle) {
    super();
    this.module = module;
    this.handle = handle;
  }

  score(line, { learn = false } = {}) {
    const bytes = utf8.encode(line);
    return this.module.with([bytes, 8], (at, out) => {
      this.module.call("session_score", this.handle, at, bytes.length, +learn, out);
      return this.module.view.getFloat64(out, true);
    });
  }

  // Which part of the model's probability of a word after a context is in the session's; what was learned gives the rest.
  trust(context = "", { start = true } = {}) {
    const ids = this.ids(context, start);
    return this.module.with([ids, 8], (before, out) => {
      this.module.call("session_trust", this.handle, before, ids.length, out);
      return this.module.view.getFloat64(out, true);
    });
  }

  learn(line) { this.score(line, { learn: true }); }
  forget(share = 1) { this.module.call("session_forget", this.handle, share); }

  save() {
    return this.module.with([4], (n) => {
      this.module.call("session_save", this.handle, 0, 0, n);
      const bytes = this.module.view.getUint32(n, true);
      return this.module.with([bytes], (at) => {
        this.module.call("session_save", this.handle, at, bytes, n);
        return this.module.bytes.slice(at, at + bytes);
      });
    });
  }

  restore(bytes) { this.module.with([bytes], (at) => this.module.call("session_restore", this.handle, at, bytes.length)); }
  close() { this.module.f.gapgram_session_close(this.handle); }
}

// The C library may ask the system to write or to end; nothing does either.
function imports(module) {
  const found = {};
  for (const { module: of, name } of WebAssembly.Module.imports(module)) (found[of] ??= {})[name] = () => 52;
  return found;
}
