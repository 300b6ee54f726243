// Correct: a text corrected by two models side by side, and a table of what each word costs them.

import { Line, Mistake, onReturn } from "./api.js";
import { Busy, byId, debounced, make, note, save } from "./dom.js";
import { bits, whole } from "./numbers.js";
import { sentences } from "./words.js";

const DEBOUNCE_MS = 400;
const AGAIN_MS = 2000;
const MOST_ROWS = 1000; // shown; all are in the download

export function startCorrect(shared) {
  const field = byId("correct-text");
  const names = [shared.models[0].name, (shared.models[1] ?? shared.models[0]).name].slice(0, shared.models.length);
  const lines = names.map(() => [new Line(), new Line()]);
  const busy = new Busy(byId("correct-sides"));
  let sides = []; // of each model its scores and its corrections
  let parts = []; // sentences as pieces of the text
  let text = "";
  let asked = false;
  let waits = 20; // for an index that is made when it is first asked for

  async function refresh() {
    if (!asked) return;
    const changes = busy.asked();
    const written = field.value;
    const cut = sentences(written, shared.apart);
    const question = { text: cut.map((sentence) => sentence.map((piece) => piece.word).join(" ")).join("\n") };
    try {
      const found = await Promise.all(names.map((model, i) => Promise.all([
        lines[i][0].ask("score", { model, ...question }),
        lines[i][1].ask("correct", { model, ...question }),
      ])));
      if (found.flat().includes(null)) return;
      [sides, parts, text] = [found, cut, written];
      note(byId("correct-note"), "");
      show();
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      if (error.message.includes("took too long") && waits > 0) { // a large vocabulary is being indexed
        waits -= 1;
        note(byId("correct-note"), "The words of the models are being looked up for the first time; one moment …");
        setTimeout(refresh, AGAIN_MS);
        return;
      }
      note(byId("correct-note"), error.message, true);
    }
    busy.answered(changes);
  }

  // Of each piece of a sentence what a model makes of it; empty where it was joined to the piece before.
  function made(side, i) {
    const out = parts[i].map(() => null);
    for (const change of side[1].sentences[i].changes) {
      out[change.token] = change.after;
      for (let k = 1; k < change.before.split(" ").length; k += 1) out[change.token + k] = "";
    }
    return out;
  }

  function show() {
    byId("correct-sides").replaceChildren(...names.map((name, s) => column(name, s)));
    const rows = table();
    const isChanged = (row) => row.sides.some((side) => side.after !== null);
    const shown = [...rows.filter(isChanged), ...rows.filter((row) => !isChanged(row))].slice(0, MOST_ROWS);
    const heads = ["word", ...names.flatMap((name) => [`${name}: bits`, `${name}: corrected`])];
    byId("correct-table").replaceChildren(
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...shown.map((row) => make("tr", {}, make("td", {}, row.word),
        ...row.sides.flatMap((side) => [
          make("td", { class: side.known ? "" : "unknown" }, side.bits.toFixed(2)),
          make("td", { class: side.after === null ? "" : "changed" }, side.after ?? ""),
        ])))));
    if (rows.length > MOST_ROWS) note(byId("correct-note"), `The table shows ${whole(MOST_ROWS)} of ${whole(rows.length)} words; the download has all.`);
  }

  function column(name, s) {
    const model = shared.models.find((m) => m.name === name);
    const total = sides[s][0].sentences.reduce((sum, one) => sum + one.log10_probs.reduce((a, b) => a + bits(b), 0), 0);
    const changed = sides[s][1].sentences.reduce((sum, one) => sum + one.changes.length, 0);
    return make("div", { class: "side" }, title(name, s),
      make("p", { class: "about" }, `${model.about}; ${whole(changed)} ${changed === 1 ? "place" : "places"} changed, ${whole(Math.round(total))} bits in all`),
      make("p", { class: "corrected", dir: "auto" }, ...corrected(s)));
  }

  function title(name, s) {
    if (shared.models.length < 3) return make("h2", {}, name);
    const choice = make("select", { "aria-label": s ? "second model" : "first model" },
      ...shared.models.map((m) => make("option", { value: m.name }, m.name)));
    choice.value = name;
    choice.addEventListener("change", () => { names[s] = choice.value; busy.changed(); refresh(); });
    return make("h2", {}, choice);
  }

  function corrected(s) {
    const content = [];
    let at = 0;
    let written = ""; // what comes after the last of several pieces that became one
    for (const [i, sentence] of parts.entries()) {
      const after = made(sides[s], i);
      for (const [j, piece] of sentence.entries()) {
        const was = text.slice(piece.begin, piece.end);
        content.push(text.slice(at, piece.begin));
        content.push(after[j] === null ? was : make("del", {}, was));
        if (after[j]) written = after[j];
        if (written && after[j + 1] !== "") {
          content.push(make("ins", {}, written));
          written = "";
        }
        at = piece.end;
      }
    }
    return [...content, text.slice(at)];
  }

  function table() {
    return parts.flatMap((sentence, i) => {
      const after = sides.map((side) => made(side, i));
      return sentence.map((piece, j) => ({
        sentence: i + 1, position: j + 1, word: piece.word,
        sides: sides.map((side, s) => ({
          bits: bits(side[0].sentences[i].log10_probs[j]), known: side[0].sentences[i].known[j], after: after[s][j],
        })),
      }));
    });
  }

  function download() {
    if (!sides.length) return;
    const about = sides.map((side) => `# ${side[0].model}: ${side[0].signature}`);
    const heads = ["sentence", "position", "word", ...names.flatMap((n, s) => [`surprisal_${s + 1}`, `known_${s + 1}`, `corrected_${s + 1}`])];
    const rows = table().map((row) => [row.sentence, row.position, row.word,
      ...row.sides.flatMap((side) => [side.bits.toFixed(6), Number(side.known), side.after ?? row.word])]);
    save("surprisal.tsv", [...about, heads.join("\t"), ...rows.map((row) => row.join("\t")), ""].join("\n"));
  }

  const soon = debounced(refresh, DEBOUNCE_MS);
  field.addEventListener("input", () => { busy.changed(); soon(); });
  byId("correct-download").addEventListener("click", download);
  byId("view-correct").addEventListener("shown", () => { if (!asked) { asked = true; refresh(); } });
  onReturn(refresh);
  field.maxLength = shared.limits.corrected_characters;
  field.value = misspelt(shared.examples.text);
}

// The example with a letter of its longest word swapped, so that there is something to correct.
function misspelt(example) {
  const longest = (example.match(/(?<![\p{L}\p{N}_.])\p{Ll}{4,}(?![\p{L}\p{N}_.])/gu) ?? []).reduce((a, b) => (b.length > a.length ? b : a), "");
  if (!longest) return example;
  const k = Math.floor(longest.length / 2);
  return example.replace(longest, longest.slice(0, k - 1) + longest[k] + longest[k - 1] + longest.slice(k + 1));
}
