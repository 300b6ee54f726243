// Surprise: a text whose words are the darker the less a model saw them coming.

import { keep } from "./address.js";
import { Line, Mistake, onReturn } from "./api.js";
import { Busy, byId, debounced, make, modelChoice, note, save } from "./dom.js";
import { bits, oneIn, whole } from "./numbers.js";
import { Explainer } from "./why.js";
import { sentences } from "./words.js";

const DEBOUNCE_MS = 250;
const DARK_BITS = 18; // at and above which a word is as dark as words get
const DARKEST = 0.62;
const MOST_WORDS = 20000; // shown; all are scored

const figure = (x) => (x === null ? "–" : x.toLocaleString("en", { maximumFractionDigits: 1 }));

export function startSurprise(shared) {
  const field = byId("surprise-text");
  const shaded = byId("surprise-shaded");
  const explainer = new Explainer(shared, byId("surprise-lattice"), byId("surprise-note"));
  const lines = shared.models.map(() => new Line());
  let model = shared.favourite;
  let answers = [];
  let parts = []; // sentences as pieces of the text
  let text = "";
  let spans = [];
  let current = 0;

  const busy = new Busy(shaded);

  const tell = () => { if (!byId("view-surprise").hidden) keep("surprise", { text: field.value }); };

  async function refresh() {
    tell();
    const changes = busy.asked();
    const asked = field.value;
    const cut = sentences(asked, shared.apart);
    const question = { text: cut.map((sentence) => sentence.map((piece) => piece.word).join(" ")).join("\n") };
    try {
      const found = await Promise.all(shared.models.map((m, i) => lines[i].ask("score", { model: m.name, ...question })));
      if (found.includes(null)) return;
      [answers, parts, text, current] = [found, cut, asked, 0];
      note(byId("surprise-note"), "");
      shade();
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      note(byId("surprise-note"), error.message, true);
    }
    busy.answered(changes);
  }

  function shade() {
    const scored = answers[shared.models.findIndex((m) => m.name === model)].sentences;
    const content = [];
    let at = 0;
    spans = [];
    for (const [i, sentence] of parts.entries()) {
      for (const [j, piece] of sentence.entries()) {
        content.push(text.slice(at, piece.begin), mark(text.slice(piece.begin, piece.end), scored[i], i, j));
        at = piece.end;
      }
      content.push(mark("¶", scored[i], i, sentence.length));
      if (spans.length > MOST_WORDS) break;
    }
    const rest = text.slice(at);
    if (spans.length > MOST_WORDS) note(byId("surprise-note"), `Shaded are the first ${whole(spans.length)} words; the figures are of all.`);
    shaded.replaceChildren(...content, rest);
    if (spans.length) spans[Math.min(current, spans.length - 1)].tabIndex = 0;
    figures();
  }

  function mark(shown, scores, i, j) {
    const log10 = scores.log10_probs[j];
    const end = j === scores.words.length - 1;
    const said = `${end ? "end of the sentence" : shown}: ${bits(log10).toFixed(1)} bits, ${oneIn(10 ** log10)}${scores.known[j] ? "" : ", unknown word"}`;
    const span = make("span", { class: `word${scores.known[j] ? "" : " unknown"}${end ? " end" : ""}`, role: "button", tabindex: "-1",
      "data-bits": bits(log10).toFixed(3), title: said.slice(0, 300), "aria-label": said.slice(0, 300) }, shown);
    span.style.backgroundColor = `rgba(var(--warm), ${(DARKEST * Math.min(1, bits(log10) / DARK_BITS) ** 1.4).toFixed(3)})`;
    span.place = { i, j, n: spans.length };
    spans.push(span);
    return span;
  }

  function figures() {
    const cells = (tag, values) => values.map((value, i) => make(tag, tag === "th" || i === 0 ? { scope: tag === "th" ? "col" : "row" } : {}, value));
    byId("surprise-figures").replaceChildren(
      make("thead", {}, make("tr", {}, ...cells("th", ["perplexity", "with unknown words", "without them", "words", "unknown"]))),
      make("tbody", {}, ...answers.map((answer) =>
        make("tr", { class: answer.model === model ? "chosen" : "" },
          ...cells("td", [answer.model, figure(answer.perplexity), figure(answer.perplexity_known), whole(answer.words), whole(answer.unknown_words)])))));
  }

  // What each word costs each model, in bits, a row a word.
  function download() {
    const about = answers.map((answer) => `# ${answer.model}: ${answer.signature}`);
    const heads = ["sentence", "position", "word", ...answers.flatMap((answer) => [`bits_${answer.model}`, `known_${answer.model}`])];
    const rows = parts.flatMap((sentence, i) => answers[0].sentences[i].words.map((word, j) => [i + 1, j + 1, sentence[j]?.word ?? word,
      ...answers.flatMap(({ sentences: of }) => [bits(of[i].log10_probs[j]).toFixed(6), Number(of[i].known[j])])]));
    save("surprise.tsv", [...about, ...[heads, ...rows].map((row) => row.join("\t")), ""].join("\n"));
  }

  function open(span) {
    const { i, j } = span.place;
    const words = parts[i].map((piece) => piece.word);
    for (const other of shaded.querySelectorAll(".chosen")) other.classList.remove("chosen");
    span.classList.add("chosen");
    focusOn(span.place.n);
    const before = words.slice(Math.max(0, j - 20), j);
    const word = (words[j] ?? "</s>").slice(0, shared.limits.word_characters);
    explainer.explain({ model, context: before.join(" "), start: j <= 20, word }, before);
  }

  function focusOn(n) {
    spans[current]?.setAttribute("tabindex", "-1");
    current = Math.max(0, Math.min(n, spans.length - 1));
    spans[current].tabIndex = 0;
    spans[current].focus({ preventScroll: false });
  }

  shaded.addEventListener("click", (event) => event.target.place && open(event.target));
  shaded.addEventListener("keydown", (event) => {
    if (!event.target.place) return;
    const to = { ArrowRight: current + 1, ArrowDown: current + 1, ArrowLeft: current - 1, ArrowUp: current - 1, Home: 0, End: spans.length - 1 }[event.key];
    if (to !== undefined) focusOn(to);
    else if (event.key === "Enter" || event.key === " ") open(event.target);
    else return;
    event.preventDefault();
  });
  const soon = debounced(refresh, DEBOUNCE_MS);
  field.addEventListener("input", () => { busy.changed(); soon(); });
  onReturn(refresh);
  modelChoice(byId("surprise-models"), shared.models, model, (name) => {
    model = name;
    const chosen = shaded.querySelector(".chosen")?.place.n;
    shade();
    if (chosen !== undefined) open(spans[chosen]);
  });
  byId("view-surprise").addEventListener("shown", tell);
  byId("surprise-download").addEventListener("click", download);
  field.value = shared.asked.surprise?.text ?? shared.examples.text;
  refresh();
}
