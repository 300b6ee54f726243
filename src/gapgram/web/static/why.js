// Why: a word, the words before it, and the lattice behind its probability.

import { keep } from "./address.js";
import { Line, Mistake, onReturn } from "./api.js";
import { Busy, byId, debounced, make, modelChoice, note } from "./dom.js";
import { LatticeView } from "./lattice.js";
import { percent } from "./numbers.js";
import { plain } from "./words.js";

const DEBOUNCE_MS = 80;
const LIKELY = 8;
const BOTH = "*"; // no name of a file

// The lattice of a word: asks, shows, and says what the model does not know.
export class Explainer {
  #line = new Line();

  constructor(shared, container, told) {
    this.shared = shared;
    this.told = told;
    this.view = new LatticeView(container);
  }

  // `written`: the words before as they are in the text, of which a model sees the last.
  async explain(question, written) {
    const order = this.shared.models.find((model) => model.name === question.model).order;
    try {
      const answer = await this.#line.ask("explain", question);
      if (answer === null) return;
      this.view.show({ ...answer, order, written });
      const unknown = answer.unknown.concat(answer.known ? [] : [answer.word]);
      note(this.told, unknown.length ? `Not known to ${question.model}: ${unknown.join(" ").slice(0, 200)}` : "");
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      note(this.told, error.message, true);
    }
  }
}

export function startWhy(shared, show) {
  const before = byId("why-context");
  const word = byId("why-word");
  const place = byId("why-lattice");
  const explainers = new Map(); // by model, of those that are shown
  const likely = new Line();
  const busy = new Busy(place);
  const shown = shared.asked.why ?? {};
  const pair = [...new Set([shared.models.find((m) => m.name !== shared.favourite)?.name, shared.favourite])].filter(Boolean);
  const choices = [...shared.models, ...(pair.length > 1 ? [{ name: BOTH, label: "side by side" }] : [])];
  let model = choices.find((m) => m.name === shown.model)?.name ?? shared.favourite;
  let start = true;

  function question() {
    const words = plain(before.value, shared.apart);
    return { model: model === BOTH ? shared.favourite : model, context: words.slice(-20).join(" "), start: start && words.length <= 20 };
  }

  async function refresh() {
    const changes = busy.asked();
    const asked = question();
    if (!byId("view-why").hidden) keep("why", { after: before.value, word: word.value, model });
    const chosen = plain(word.value, false)[0];
    if (!chosen) note(byId("why-note"), "Write a word, or take one of these.");
    const one = { ...asked, word: (chosen ?? "").slice(0, shared.limits.word_characters) };
    const written = plain(before.value, shared.apart);
    await Promise.all([suggest(asked), ...(chosen ? stand().map(([name, explainer]) => explainer.explain({ ...one, model: name }, written)) : [])]);
    busy.answered(changes);
  }

  // A lattice for each model that is asked for; those that are there stay.
  function stand() {
    const names = model === BOTH ? pair : [model];
    if ([...explainers.keys()].join() !== names.join()) {
      explainers.clear();
      place.className = names.length > 1 ? "columns pair" : "";
      place.replaceChildren(...names.map((name) => {
        const own = make("div");
        explainers.set(name, new Explainer(shared, own, byId("why-note")));
        return make("div", {}, ...(names.length > 1 ? [make("h2", {}, name)] : []), own);
      }));
    }
    return [...explainers];
  }

  async function suggest(asked) {
    const answer = await likely.ask("predict", { ...asked, k: LIKELY }).catch(() => null);
    if (answer === null) return;
    byId("why-words").replaceChildren(...answer.predictions.map((p) =>
      make("button", { type: "button", "aria-pressed": String(p.word === word.value.trim()), title: percent(p.probability),
        onclick: () => { word.value = p.word; refresh(); } }, p.word)));
  }

  const soon = debounced(refresh, DEBOUNCE_MS);
  const changed = () => { busy.changed(); soon(); };
  before.addEventListener("input", () => { start = true; changed(); });
  word.addEventListener("input", changed);
  byId("view-why").addEventListener("shown", refresh);
  onReturn(refresh);
  modelChoice(byId("why-models"), choices, model, (name) => { model = name; refresh(); });
  before.value = shown.after ?? shared.examples.beginning;
  word.value = shown.word ?? shared.examples.next_word;

  return {
    open(wanted) {
      before.value = wanted.context;
      word.value = wanted.word;
      ({ model, start } = wanted);
      for (const radio of byId("why-models").querySelectorAll("input")) radio.checked = radio.value === model;
      show();
    },
  };
}
