// Questions answered on the page itself, by the library compiled to WebAssembly, as `gapgram serve` answers them.

import { byId } from "./dom.js";
import { Model } from "./gapgram.mjs";
import { Splitter, TypedWords } from "./typing.mjs";

const START = "<s>";
const END = "</s>";
const UNKNOWN = "<unk>";
const READER_WORDS = 6000; // that a session remembers
const page = JSON.parse(byId("page").textContent);

// Thrown with a sentence for the reader.
export class Mistake extends Error {}

export const onReturn = () => {}; // nothing is ever away

export class Line {
  ask(path, body) { return request(path, body); }
}

// The answer; null where the page could not be opened, which it then says.
export async function request(path, body) {
  const models = await opened;
  if (models === null) return null;
  if (path === "models") return page;
  try {
    return { model: body.model, ...models.get(body.model)[path](body) };
  } catch (error) {
    throw new Mistake(error.message);
  }
}

const opened = openAll().catch((error) => {
  const old = error instanceof ReferenceError || error instanceof WebAssembly.CompileError;
  byId("away").textContent = `This page cannot show its model: ${old ? "the browser is too old for it; those since 2023 can" : error.message}.`;
  byId("away").hidden = false;
  return null;
});

async function openAll() {
  const [wasm, ...files] = await Promise.all(["gapgram.wasm", ...page.models.map((about) => about.file)].map(bytes));
  const module = await WebAssembly.compile(wasm);
  return new Map(await Promise.all(page.models.map(async (about, i) =>
    [about.name, new Served(await Model.open(files[i], module), about, page.lattices[i])])));
}

// What lies in the page, compressed, or beside it.
async function bytes(name) {
  const held = document.getElementById(name)?.textContent;
  const response = await fetch(held ? `data:application/gzip;base64,${held}` : name);
  if (!response.ok) throw new Error(`${name} is not beside it`);
  return (held ? new Response(response.body.pipeThrough(new DecompressionStream("gzip"))) : response).arrayBuffer();
}

const LOG10_LEAST = Math.log10(Number.MIN_VALUE);
const perplexity = (log10, n) => (n ? 10 ** (-log10 / n) : null);
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

// A model, asked as the service asks it.
class Served {
  #splitter;
  #typed = null;
  #reader = null; // a session, and the text that it has read

  constructor(model, about, lattice) {
    Object.assign(this, { model, signature: about.signature, lattice });
    this.#splitter = about.splits ? new Splitter(model) : null;
  }

  predict({ context, start, prefix, k, history, words_only }) {
    const words = this.#context(context, start);
    const session = this.#after(history ?? "");
    const asked = session ?? this.model;
    const found = words_only ? (this.#typed ??= new TypedWords(this.model)).predict(asked, words, { k, prefix, start: false })
      : asked.predict(words, { k, prefix, start: false });
    return { predictions: session ? this.#learned(session, words, found) : found.map((one) => ({ ...one, learned: 0 })), unknown: this.#unknown(words, asked),
      words_learned: session ? this.#reader.learned : 0, signature: this.signature };
  }

  // Which part of each probability comes from the text before.
  #learned(session, words, found) {
    const given = this.model.distribution(words, { start: false });
    const trust = session.trust(words, { start: false });
    return found.map((one) => {
      const id = session.find(one.word);
      const ofModel = id < given.length ? trust * given[id] : 0;
      return { ...one, learned: Math.min(Math.max(1 - ofModel / one.probability, 0), 1) };
    });
  }

  // A session that has read a text: the one before where that has read its beginning.
  #after(history) {
    const lines = history.split("\n").map((line) => this.#words(line)).filter((words) => words.length);
    const text = lines.map((words) => `${words.join(" ")}\n`).join("");
    if (!text) return null;
    if (!this.#reader || !text.startsWith(this.#reader.text)) {
      this.#reader?.session.close();
      this.#reader = { session: this.model.session(READER_WORDS), text: "", learned: 0 };
    }
    for (const line of text.slice(this.#reader.text.length).split("\n").slice(0, -1)) this.#reader.session.learn(line);
    Object.assign(this.#reader, { text, learned: sum(lines.map((words) => words.length + 1)) });
    return this.#reader.session;
  }

  explain({ context, start, word }) {
    const words = this.#context(context, start);
    const { patterns, uniform } = this.model.explain(word, words, { start: false });
    const seen = this.lattice.filter((of) => of.pattern.length - 1 <= words.length);
    const probability = sum(patterns.map((p) => p.contribution)) + uniform;
    const read = words.map((one) => (this.#knows(one, this.model) ? one : UNKNOWN));
    return {
      word, known: this.#knows(word, this.model), context: words, unknown: this.#unknown(words, this.model), probability,
      log10_prob: Math.max(Math.log10(probability), LOG10_LEAST), signature: this.signature, classes: this.#classes([...read, word]),
      uniform_contribution: uniform, uniform_share: uniform * (this.model.size - 1),
      patterns: patterns.map((found, i) => this.#pattern(found, seen[i], read, probability)),
    };
  }

  #pattern(found, { pattern, chain, below, discounts }, words, probability) {
    const reach = pattern.length - 1;
    const left = Math.max(found.count - discounts[Math.min(found.count, 3)], 0);
    return { ...found, pattern, chain, below, classes: found.classes > 0, part: found.contribution / probability,
      kept: words.slice(words.length - reach).map((word, i) => (pattern[i] === "0" ? null : word)),
      discount: found.count - left, discounts: discounts.slice(1) };
  }

  #classes(words) {
    const clusterings = new Set(this.lattice.map((of) => Number(of.pattern.at(-1)) - 1).filter(Boolean));
    return [...new Set(words)].flatMap((word) => [...clusterings].sort().map((clustering) => {
      const { size, words: members } = this.model.classOf(clustering, word);
      return { word, clustering, words: size, members };
    }));
  }

  score({ text }) {
    const { text_characters: most } = page.limits;
    if (text.length > most) throw new Error(`A text of ${text.length} characters: at most ${most} characters are shown`);
    const sentences = text.split("\n").map((line) => spaced(line)).filter((words) => words.length).map((words) => this.#scored(words));
    const scores = sentences.flatMap((one) => one.scores);
    const known = sentences.flatMap((one) => one.ids);
    const ofKnown = scores.filter((_, i) => known[i]);
    const log10_prob = sum(scores);
    return { sentences, words: scores.length - sentences.length, unknown_words: scores.length - ofKnown.length, log10_prob,
      perplexity: perplexity(log10_prob, scores.length), perplexity_known: perplexity(sum(ofKnown), ofKnown.length), signature: this.signature };
  }

  // A line; where the model cuts a word further, it has the sum of its parts.
  #scored(words) {
    const parts = words.map((word) => this.#splitter?.cut(word) ?? [word]);
    const all = parts.flat();
    const [scores, ids] = [Array.from(this.model.scores(all)), all.map((word) => this.model.find(word) > 0)];
    ids.push(true);
    let at = 0;
    const spans = [...parts, [END]].map((part) => [at, at += part.length]);
    return { words: [...words, END], scores, ids, log10_probs: spans.map(([i, j]) => sum(scores.slice(i, j))),
      known: spans.map(([i, j]) => ids.slice(i, j).every(Boolean)) };
  }

  // A sentence that the model writes.
  generate({ begin, max_words, temperature, seed }) {
    const [words, draw] = [this.#words(begin), drawing(seed)];
    while (words.length < max_words) {
      const all = this.model.distribution([START, ...words].slice(1 - this.model.order || Infinity), { start: false });
      const chances = all.map((p, id) => (id < 2 ? 0 : p ** (1 / temperature)));
      let left = draw() * sum(chances);
      const id = chances.findIndex((chance) => (left -= chance) < 0);
      if (id <= 2) break;
      words.push(this.model.word(id));
    }
    return { sentences: [words.join(" ")], signature: this.signature };
  }

  #words(text) { return spaced(text).flatMap((word) => this.#splitter?.cut(word) ?? [word]); }

  #context(text, start) {
    const words = [...(start ? [START] : []), ...this.#words(text)];
    return words.slice(Math.max(0, words.length - this.model.order + 1));
  }

  #knows(word, asked) { return word === UNKNOWN || asked.find(word) > 0; }
  #unknown(words, asked) { return words.filter((word) => !this.#knows(word, asked)); }
}

// The words of a text; the model's own are no words of a text.
const spaced = (text) => text.split(/[ \t\n\v\f\r]+/).filter(Boolean).map((word) => (word === START || word === END ? UNKNOWN : word));

// Numbers from 0 to 1, the same for the same seed (mulberry32).
function drawing(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
