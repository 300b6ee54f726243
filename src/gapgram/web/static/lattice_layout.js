// Where the discs of a lattice stand, for a given width: levels by the number of kept words, the most on top.

import { said } from "./numbers.js";

const CELL = 112; // the least width of a disc and its words
const ROW = 100;
const TOP = 40;
const MOST = 48; // discs drawn; of larger lattices the chain and what gives most

export const RADIUS = { least: 4, most: 25 };
export const LABEL = 33; // the height of the words under a disc; edges begin below them
export const UNIFORM = "uniform";

const mask = (p) => parseInt(p.pattern.replaceAll("2", "1"), 2) + (p.classes ? 0.5 : 0);
const size = (p) => p.kept.filter((word) => word !== null).length;

export function drawn(patterns) {
  if (patterns.length <= MOST) return patterns;
  const rest = patterns.filter((p) => !p.chain).sort((a, b) => b.part - a.part);
  const kept = new Set([...patterns.filter((p) => p.chain), ...rest].slice(0, MOST));
  return patterns.filter((p) => kept.has(p));
}

// Rows of about equal length, so that a level that is too wide takes several.
function rows(level, most) {
  const n = Math.ceil(level.length / most);
  const length = Math.ceil(level.length / n);
  return Array.from({ length: n }, (_, i) => level.slice(i * length, (i + 1) * length));
}

export function layout(explanation, width) {
  const patterns = drawn(explanation.patterns);
  const most = Math.max(2, Math.floor(width / CELL));
  const sizes = [...new Set(patterns.map(size))].sort((a, b) => b - a);
  const all = sizes.flatMap((n) => rows(patterns.filter((p) => size(p) === n).sort((a, b) => mask(a) - mask(b)), most));
  const column = width / Math.min(most, Math.max(...all.map((row) => row.length), 1));
  const cell = Math.min(column, 190);
  const nodes = all.flatMap((row, y) =>
    row.map((p, i) => ({ ...p, id: p.pattern, x: width / 2 + (i - (row.length - 1) / 2) * cell, y: TOP + y * ROW, row: y })));
  nodes.push({
    id: UNIFORM, pattern: UNIFORM, part: explanation.uniform_contribution / explanation.probability, below: [],
    x: width / 2, y: TOP + all.length * ROW, row: all.length,
  });
  return { nodes, edges: edges(nodes), cell: all.some((row) => row.length > 1) ? cell : width, height: TOP + (all.length + 1) * ROW - 36 };
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

// The kept words and gaps in so many pixels; the longest words are shortened first.
export function label(node, pixels) {
  if (node.id === UNIFORM) return "all words alike";
  if (node.kept.length === 0) return node.classes ? "no context {•}" : "no context •";
  const words = [...node.kept.map((word) => word ?? "_"), node.classes ? "{•}" : "•"].map(said);
  const room = Math.floor(pixels / 6.9);
  while (words.join(" ").length > room) {
    const longest = words.reduce((best, word, i) => (word.length > words[best].length ? i : best), 0);
    if (words[longest].length <= 3) break;
    words[longest] = `${[...words[longest]].slice(0, -2).join("").replace(/…$/, "")}…`;
    if (words[longest].length > 60) words[longest] = `${[...words[longest]].slice(0, 40).join("")}…`;
  }
  return words.join(" ");
}
