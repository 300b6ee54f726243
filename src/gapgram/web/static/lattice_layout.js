// Where the discs of a lattice stand, for a given width: levels by the number of kept words, the most on top.

import { said } from "./numbers.js";

const CELL = 140; // the least width of a disc and its words
const ROW = 112;
const CLASSES = 210; // the width of the column of classes, where there is room beside the words
const TOP = 40;
const MOST = 48; // discs drawn; of larger lattices the chain and what gives most
const NARROW = { width: 560, most: 9, row: 80, least: 0.01 }; // as a phone: fewer discs, classes among the words, until all are asked for

export const RADIUS = { least: 4, most: 25 };
export const LINE = 14;
const LABEL = 33; // the height of the words under a disc; edges begin below them
export const UNIFORM = "uniform";

const mask = (p) => parseInt(p.pattern.replaceAll(/[2-9]/g, "1"), 2) + (p.classes ? 0.5 : 0);
// The clustering whose classes a pattern is of, by the digit that it is printed with; 0 for words.
export const clustering = (p) => Number(p.pattern.at(-1)) - 1;
const size = (p) => p.kept.filter((word) => word !== null).length;

export const isNarrow = (width) => width < NARROW.width;

export function drawn(patterns, width, all) {
  const most = isNarrow(width) && !all ? NARROW.most : MOST;
  if (patterns.length <= most) return patterns;
  const rest = patterns.filter((p) => !p.chain && (most === MOST || p.part >= NARROW.least)).sort((a, b) => b.part - a.part);
  const kept = new Set([...patterns.filter((p) => p.chain), ...rest].slice(0, most));
  return patterns.filter((p) => kept.has(p));
}

// Rows of about equal length, so that a level that is too wide takes several.
function rows(level, most) {
  const n = Math.ceil(level.length / most);
  const length = Math.ceil(level.length / n);
  return Array.from({ length: n }, (_, i) => level.slice(i * length, (i + 1) * length));
}

export function layout(explanation, width, whole = false) {
  const patterns = drawn(explanation.patterns, width, whole);
  const mixed = isNarrow(width) && !whole;
  const ofWords = patterns.filter((p) => mixed || !p.classes);
  const ofClasses = patterns.filter((p) => !mixed && p.classes).sort((a, b) => size(b) - size(a));
  const several = new Set(ofClasses.map(clustering)).size > 1; // clusterings: side by side, level by level
  const beside = ofClasses.length > 0 && !several && width >= 3 * CLASSES;
  const room = beside ? width - CLASSES : width;
  const most = Math.max(2, Math.floor(room / CELL));
  const sizes = [...new Set(ofWords.map(size))].sort((a, b) => b - a);
  const all = sizes.flatMap((n) => rows(ofWords.filter((p) => size(p) === n).sort((a, b) => mask(a) - mask(b)), most));
  const column = Math.min(room / Math.min(most, Math.max(...all.map((row) => row.length), 1)), 190);
  const nodes = all.flatMap((row, y) => row.map((p, i) =>
    ({ ...p, id: p.pattern, x: room / 2 + (i - (row.length - 1) / 2) * column, row: y, room: row.length > 1 ? column : room })));
  const first = beside ? 0 : all.length;
  const levels = [...new Set(ofClasses.map(size))].map((n) => ofClasses.filter((p) => size(p) === n));
  const classRows = several ? levels.flatMap((level) => rows(level, most)) : ofClasses.map((p) => [p]);
  nodes.push(...classRows.flatMap((row, y) => row.map((p, i) =>
    ({ ...p, id: p.pattern, x: beside ? width - CLASSES / 2 : width / 2 + (i - (row.length - 1) / 2) * column, row: first + y,
      room: beside ? CLASSES : row.length > 1 ? column : width }))));
  const last = Math.max(...nodes.map((node) => node.row), -1) + 1;
  nodes.push({ id: UNIFORM, pattern: UNIFORM, part: explanation.uniform_contribution / explanation.probability, below: [], x: room / 2, row: last, room });
  for (const node of nodes) {
    node.y = TOP + node.row * (mixed ? NARROW.row : ROW);
    node.lines = label(node, explanation.context);
  }
  return { nodes, edges: edges(nodes), height: TOP + (last + 1) * (mixed ? NARROW.row : ROW) - 36 };
}

function edges(nodes) {
  const byName = new Map(nodes.map((node) => [node.id, node]));
  const found = nodes.flatMap((from) =>
    from.below.filter((name) => byName.has(name)).map((name) => ({ from, to: byName.get(name), chain: from.chain && byName.get(name).chain })));
  const empty = nodes.find((node) => node.id === "1");
  if (empty) found.push({ from: empty, to: byName.get(UNIFORM), rest: true });
  return found.sort((a, b) => Number(a.chain ?? 0) - Number(b.chain ?? 0));
}

export const radius = (part) => RADIUS.least + (RADIUS.most - RADIUS.least) * Math.sqrt(part);

// What stands under a disc, in one line or two of so many characters; only if these do not do are the longest words shortened.
function label(node, before) {
  if (node.id === UNIFORM) return ["all words alike"];
  if (node.kept.length === 0) return [node.classes ? "class of the word alone" : "no context •"];
  const words = node.classes ? ["classes of", ...quoted(before.slice(-node.kept.length))] : [...node.kept.map((word) => word ?? "_"), "•"];
  const shown = words.map((word) => shortened(said(word), 40));
  const room = Math.max(8, Math.floor(node.room / 6.9));
  for (let lines = broken(shown, room); ; lines = broken(shown, room)) {
    const longest = shown.reduce((best, word, i) => (word.length > shown[best].length ? i : best), 0);
    if ((lines.length <= 2 && lines.every((line) => line.length <= room)) || shown[longest].length <= 2) return lines;
    shown[longest] = shortened(shown[longest], shown[longest].length - 1);
  }
}

const quoted = (words) => words.map((word, i) => `${i ? "" : "“"}${word}${i === words.length - 1 ? "”" : ""}`);
const shortened = (word, most) => (word.length > most ? `${[...word].slice(0, Math.max(1, most - 1)).join("").replace(/…$/, "")}…` : word);

function broken(words, room) {
  const lines = [];
  for (const word of words) {
    if (lines.length && `${lines.at(-1)} ${word}`.length <= room) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
}

export const under = (node) => LABEL + (node.lines.length - 1) * LINE;
