// Type: guesses while one writes, a list for each model.

import { Line, Mistake, onReturn, request } from "./api.js";
import { Busy, byId, debounced, make, note } from "./dom.js";
import { percent } from "./numbers.js";
import { beforeCaret, plain } from "./words.js";

const DEBOUNCE_MS = 60;
const DIGITS = "1234567890";

export function startType(shared) {
  const field = byId("type-text");
  const k = shared.models.length === 1 ? 8 : 5;
  const lines = shared.models.map(() => new Line());
  let lists = []; // of options, one list a model
  let active = null; // {list, place}
  let seed = 1;
  const busy = new Busy(byId("type-lists"));

  const typed = () => beforeCaret(field.value.slice(0, field.selectionStart), shared.apart);

  async function refresh() {
    const asked = busy.asked();
    const { words, start, prefix } = typed();
    const question = { context: words.join(" "), start, prefix: prefix.slice(0, shared.limits.word_characters), k };
    try {
      const found = await Promise.all(shared.models.map((m, i) => lines[i].ask("predict", { model: m.name, ...question })));
      if (found.includes(null)) return;
      showGuesses(found, prefix);
      const unknown = [...new Set(found.flatMap((answer) => answer.unknown))];
      note(byId("type-note"), unknown.length ? `Not known to every model: ${unknown.join(" ").slice(0, 200)}` : "");
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      note(byId("type-note"), error.message, true);
    }
    busy.answered(asked);
  }

  function showGuesses(found, prefix) {
    active = null;
    let number = 0;
    const largest = Math.max(...found.flatMap((answer) => answer.predictions.map((p) => p.probability)));
    lists = found.map((answer, list) =>
      answer.predictions.map((p, place) => option(p, list, place, DIGITS[number++] ?? "", p.probability / largest)));
    byId("type-lists").replaceChildren(...shared.models.map((model, i) => column(model, lists[i], prefix)));
    field.removeAttribute("aria-activedescendant");
    byId("type-count").textContent = lists
      .map((list, i) => `${shared.models[i].name}: ${list.map((o) => o.dataset.word).slice(0, 3).join(", ") || "no guess"}`)
      .join("; ");
  }

  function option(prediction, list, place, digit, length) {
    const bar = make("i", { "aria-hidden": "true" });
    bar.style.setProperty("--p", `${(100 * length).toFixed(1)}%`);
    const element = make(
      "div",
      { role: "option", class: "guess", id: `guess-${list}-${place}`, "aria-selected": "false", "data-digit": digit,
        onmousedown: (event) => event.preventDefault(), onclick: () => take(element) },
      make("kbd", { "aria-hidden": "true" }, digit), make("b", { dir: "auto" }, prediction.word), bar,
      make("span", {}, percent(prediction.probability)),
    );
    element.dataset.word = prediction.word;
    return element;
  }

  function column(model, options, prefix) {
    const none = make("p", { class: "none" }, prefix ? `no word begins with “${prefix.slice(0, 40)}”` : "no guess");
    const why = make("button", { class: "link", type: "button", onclick: () => explain(model, options[0]) },
      `Why “${(options[0]?.dataset.word ?? "").slice(0, 30)}”?`);
    const on = make("button", { class: "link", type: "button", onclick: () => writeOn(model) }, "Let it write on");
    return make("div", { class: "guesses" },
      make("h2", {}, model.name), make("p", { class: "about" }, model.about),
      options.length ? make("div", { role: "listbox", "aria-label": `Guesses of ${model.name}` }, ...options) : none,
      make("div", { class: "actions" }, ...(options.length ? [why] : []), on));
  }

  function explain(model, first) {
    const { words, start } = typed();
    const chosen = active && shared.models[active.list] === model ? lists[active.list][active.place] : first;
    shared.why.open({ context: words.join(" "), start, word: chosen.dataset.word, model: model.name });
  }

  function insert(text) {
    const caret = field.selectionStart;
    const { prefix } = typed();
    field.setRangeText(text, caret - prefix.length, field.selectionEnd, "end");
    field.focus();
    refresh();
  }

  const take = (element) => insert(`${element.dataset.word} `);

  async function writeOn(model) {
    const line = field.value.slice(0, field.selectionStart).split("\n").at(-1);
    const begin = plain(line, shared.apart);
    const max_words = Math.min(begin.length + 20, shared.limits.sentence_words);
    const question = { model: model.name, begin: begin.join(" "), max_words, temperature: 0.8, seed: seed++ };
    try {
      const answer = await request("generate", question);
      if (answer === null) return;
      const more = answer.sentences[0].split(" ").slice(begin.length).join(" ");
      const gap = line === "" || line.endsWith(" ") ? "" : " ";
      field.setRangeText(`${gap}${more} `, field.selectionStart, field.selectionEnd, "end");
      field.focus();
      refresh();
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      note(byId("type-note"), error.message, true);
    }
  }

  function activate(list, place) {
    if (active) lists[active.list][active.place].setAttribute("aria-selected", "false");
    active = list === null ? null : { list, place };
    if (!active) return field.removeAttribute("aria-activedescendant");
    const chosen = lists[list][place];
    chosen.setAttribute("aria-selected", "true");
    chosen.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", chosen.id);
  }

  function step(down) {
    const list = active?.list ?? lists.findIndex((options) => options.length > 0);
    if (list < 0) return;
    const place = (active?.place ?? (down > 0 ? -1 : 0)) + down;
    if (place < 0) activate(null);
    else activate(list, Math.min(place, lists[list].length - 1));
  }

  function sideways(right) {
    for (let list = active.list + right; list >= 0 && list < lists.length; list += right) {
      if (lists[list].length) return activate(list, Math.min(active.place, lists[list].length - 1));
    }
  }

  function putAway() {
    lists = [];
    active = null;
    field.removeAttribute("aria-activedescendant");
    for (const list of document.querySelectorAll("[role=listbox]")) list.remove();
  }

  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || !lists.flat().length) return;
    const atEnd = field.selectionStart === field.value.length;
    const chosen = active && lists[active.list][active.place];
    const digit = byId("type-digits").checked && DIGITS.includes(event.key) && !/\d$/.test(typed().prefix)
      && lists.flat().find((element) => element.dataset.digit === event.key);
    const act =
      event.key === "ArrowDown" && (atEnd || active) ? () => step(1)
      : event.key === "ArrowUp" && active ? () => step(-1)
      : event.key === "ArrowRight" && active ? () => sideways(1)
      : event.key === "ArrowLeft" && active ? () => sideways(-1)
      : event.key === "Tab" && !event.shiftKey ? () => take(chosen ?? lists.flat()[0])
      : event.key === "Enter" && chosen ? () => take(chosen)
      : event.key === "Escape" ? putAway
      : digit ? () => take(digit)
      : null;
    if (!act) return;
    event.preventDefault();
    act();
  });
  const soon = debounced(refresh, DEBOUNCE_MS);
  const changed = () => { busy.changed(); soon(); };
  field.addEventListener("input", changed);
  field.addEventListener("click", changed);
  onReturn(refresh);
  field.value = `${shared.examples.beginning} `;
  field.setSelectionRange(field.value.length, field.value.length);
  refresh();
}
