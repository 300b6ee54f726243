import type { Guess, Model, Session } from "./gapgram.mjs";

/** Cuts marks off words, as the text of a model has them apart; what the model knows stays whole. */
export class Splitter {
  constructor(model: Model);
  words(text: string): string[];
  /** The words that a piece of text without white space is made of. */
  cut(word: string): string[];
}

/** Words alone, found by their beginning without regard to case and accents, with one letter wrong. */
export class TypedWords {
  constructor(model: Model);
  predict(asked: Model | Session, context?: string | string[], wanted?: { k?: number; prefix?: string; start?: boolean }): Guess[];
}
