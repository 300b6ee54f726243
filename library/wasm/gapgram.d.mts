/** A word and its probability. */
export interface Guess { word: string; probability: number }
export interface Wanted { k?: number; prefix?: string; letters?: string; start?: boolean }
/** What one pattern says of a word; bit k - 1 of the mask: the word k before is kept. */
export interface Share {
  mask: number; classes: number; total: number; count: number;
  discounted: number; backoff: number; share: number; given_class: number; contribution: number;
}
export class GapgramError extends Error {}

declare class Asked {
  /** How many words it knows. */
  readonly size: number;
  word(id: number): string;
  /** All words, by their ids. */
  words(): string[];
  /** The id of a word; 0 where it is not known. */
  find(word: string): number;
  ids(context: string | string[], start?: boolean): Int32Array;
  /** The probability of every word after a text, by its id. */
  distribution(context?: string | string[], how?: { start?: boolean }): Float64Array;
  /** The most probable next words after a text, which begins a sentence unless `start` is false. */
  predict(context?: string | string[], wanted?: Wanted): Guess[];
  close(): void;
}

export class Model extends Asked {
  /** A model from the bytes of its file, and the module: its bytes, or compiled once for several models. */
  static open(file: ArrayBuffer | Uint8Array, wasm: BufferSource | WebAssembly.Module): Promise<Model>;
  readonly order: number;
  /** What the file says beside its tables. */
  readonly about: Record<string, unknown>;
  /** log10 of the probability of a line. */
  score(line: string, how?: { bos?: boolean; eos?: boolean }): number;
  /** log10 of the probability of each word of a sentence, and of its end. */
  scores(line: string): Float64Array;
  nextCharacters(context: string | string[], typed: string, how?: { start?: boolean }): { character: string; probability: number }[];
  explain(word: string, context?: string | string[], how?: { start?: boolean }): { patterns: Share[]; uniform: number };
  /** The words of a word's class in a clustering, numbered from 1: how many, and the most frequent ones. */
  classOf(clustering: number, word: string, most?: number): { size: number; words: string[] };
  session(mostWords?: number): Session;
}

/** A reader of a model, which learns what it reads; open while the model is. */
export class Session extends Asked {
  score(line: string, how?: { learn?: boolean }): number;
  /** Which part of the model's probability of a word after a context is in the session's. */
  trust(context?: string | string[], how?: { start?: boolean }): number;
  learn(line: string): void;
  forget(share?: number): void;
  save(): Uint8Array;
  restore(bytes: Uint8Array): void;
}
