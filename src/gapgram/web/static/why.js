// Why: a word, the words before it, and the lattice behind its probability.

import { keep } from "./address.js";
import { Line, Mistake, onReturn } from "./api.js";
import { Busy, byId, debounced, make, modelChoice, note } from "./dom.js";
import { LatticeView } from "./lattice.js";
import { percent } from "./numbers.js";
import { plain } from "./words.js";

const DEBOUNCE_MS = 80;
const LIKELY = 8;

// The lattice of a word: asks, shows, and says what the model does not know.
export class Explainer {
  #line = new Line();

  constructor(shared, container, told) {
    this.shared = shared;
    this.told = told;
    this.view = new LatticeView(container);
  }

  async explain(question) {
    const order = this.shared.models.find((model) => model.name === question.model).order;
    try {
      const answer = await this.#line.ask("explain", question);
      if (answer === null) return;
      this.view.show({ ...answer, order });
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
  const explainer = new Explainer(shared, byId("why-lattice"), byId("why-note"));
  const likely = new Line();
  const busy = new Busy(byId("why-lattice"));
  const shown = shared.asked.why ?? {};
  let model = shared.models.find((m) => m.name === shown.model)?.name ?? shared.favourite;
  let start = true;

  function question() {
    const words = plain(before.value, shared.apart);
    return { model, context: words.slice(-20).join(" "), start: start && words.length <= 20 };
  }

  async function refresh() {
    const changes = busy.asked();
    const asked = question();
    if (!byId("view-why").hidden) keep("why", { after: before.value, word: word.value, model });
    const chosen = plain(word.value, false)[0];
    await Promise.all([
      chosen
        ? explainer.explain({ ...asked, word: chosen.slice(0, shared.limits.word_characters) })
        : note(byId("why-note"), "Write a word, or take one of these."),
      suggest(asked),
    ]);
    busy.answered(changes);
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
  modelChoice(byId("why-models"), shared.models, model, (name) => { model = name; refresh(); });
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
