// Text to the words a model sees. White space is what the service splits at, and nothing else.

const ASIDE = /(?:\p{L}\.){2,}|[\p{L}\p{M}\p{N}_]+(?:['’.\-][\p{L}\p{M}\p{N}_]+)*|[^\s\p{L}\p{M}\p{N}_]/gu;
const WORD = /[^ \t\n\v\f\r]+/g;

// The words of a text with their places. Where the models were trained on text with punctuation marks as words of
// their own, marks are set apart here too.
export function pieces(text, apart) {
  return Array.from(text.matchAll(apart ? ASIDE : WORD), (m) => ({ word: m[0], begin: m.index, end: m.index + m[0].length }));
}

export const plain = (text, apart) => pieces(text, apart).map((piece) => piece.word);

// What is typed: the words before, and the letters of a word that is not finished.
export function beforeCaret(text, apart) {
  const line = text.slice(text.lastIndexOf("\n") + 1).slice(-4000);
  const begins = text.length === line.length || line.length < 4000;
  const found = pieces(line, apart);
  const prefix = found.at(-1)?.end === line.length ? found.pop().word : "";
  const words = found.map((piece) => piece.word);
  return { words: words.slice(-20), start: begins && words.length <= 20, prefix };
}

// What was written before the sentence at the caret, one sentence a line, its last characters where there are many. What
// falls off the beginning does so in large steps, so that the rest stays as it was for a while.
export function written(text, apart, most) {
  const all = sentences(text, apart).map((found) => found.map((piece) => piece.word).join(" "));
  if (!text.endsWith("\n")) all.pop();
  let lines = all.join("\n");
  if (lines.length > most) {
    const from = Math.ceil((lines.length - most) / (most / 2)) * (most / 2);
    lines = lines.slice(lines.indexOf("\n", from) + 1 || lines.length);
  }
  return lines && `${lines}\n`;
}

// Sentences: lines, and, where marks stand apart, also what a full stop ends before a capital letter.
export function sentences(text, apart) {
  const found = [];
  let current = [];
  const all = pieces(text, apart);
  all.forEach((piece, i) => {
    current.push(piece);
    const between = i + 1 < all.length ? text.slice(piece.end, all[i + 1].begin) : "\n";
    const stops = apart && /^[.!?]$/.test(piece.word) && between !== "" && /^\p{Lu}/u.test(all[i + 1]?.word ?? "");
    if (between.includes("\n") || stops) {
      found.push(current);
      current = [];
    }
  });
  return found;
}
