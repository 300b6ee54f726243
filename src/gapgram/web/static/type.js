// Type: guesses while one writes, a list for each model.

import { Line, Mistake, onReturn, request } from "./api.js";
import { keep } from "./address.js";
import { Busy, byId, debounced, make, note } from "./dom.js";
import { percent, whole } from "./numbers.js";
import { beforeCaret, plain, written } from "./words.js";

const DEBOUNCE_MS = 60;
const DIGITS = "1234567890";
const MOSTLY = 0.5; // of a guess's probability that was learned, from which on it is marked

export function startType(shared) {
  const field = byId("type-text");
  const k = shared.models.length === 1 ? 8 : 5;
  const lines = shared.models.map(() => new Line());
  let lists = []; // of options, one list a model
  let active = null; // {list, place}
  let seed = 1;
  let forgotten = ""; // the beginning of the text that is not to be learned from
  const busy = new Busy(byId("type-lists"));

  const typed = () => beforeCaret(field.value.slice(0, field.selectionStart), shared.apart);

  // What the guesses learn from: the sentences before the one that is being written.
  function history() {
    if (!byId("type-learn").checked) return "";
    const text = field.value.slice(0, field.selectionStart);
    if (!text.startsWith(forgotten)) forgotten = "";
    return written(text.slice(forgotten.length), shared.apart, shared.limits.history_characters);
  }

  function forget() {
    const text = field.value.slice(0, field.selectionStart);
    forgotten = text.slice(0, text.length - (beforeCaret(text, shared.apart).prefix.length || 0));
    field.focus();
    refresh();
  }

  function showLearned(found) {
    const words = Math.max(0, ...found.map((answer) => answer.words_learned));
    byId("type-learned").textContent = !byId("type-learn").checked ? "The guesses learn nothing from your text."
      : words ? `${whole(words)} words of your text learned; guesses marked ● come mostly from it.`
      : "The guesses learn every sentence that you finish: begin a new line, or a new sentence.";
    byId("type-forget").hidden = words === 0;
  }

  const tell = () => { if (!byId("view-type").hidden) keep("type", { text: field.value }); };

  async function refresh() {
    tell();
    const asked = busy.asked();
    const { words, start, prefix } = typed();
    const question = { context: words.join(" "), start, prefix: prefix.slice(0, shared.limits.word_characters), k, history: history(), words_only: byId("type-words").checked };
    try {
      const found = await Promise.all(shared.models.map((m, i) => lines[i].ask("predict", { model: m.name, ...question })));
      if (found.includes(null)) return;
      showGuesses(found, prefix);
      showLearned(found);
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
    lists = found.map((answer, list) =>
      answer.predictions.map((p, place) => option(p, list, place, DIGITS[number++] ?? "", p.probability)));
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
      make("kbd", { "aria-hidden": "true" }, digit), make("div", {}, make("b", { dir: "auto" }, prediction.word), ...learned(prediction)), bar,
      make("span", {}, percent(prediction.probability)),
    );
    element.dataset.word = prediction.word;
    return element;
  }

  function learned(prediction) {
    if (prediction.learned < MOSTLY) return [];
    return [make("em", { class: "learned", title: `${percent(prediction.learned)} of it from your text` },
      make("span", { "aria-hidden": "true" }, "●"), make("span", { class: "unseen" }, " learned from your text"))];
  }

  function column(model, options, prefix) {
    const none = make("p", { class: "none" }, prefix ? `no word begins with “${prefix.slice(0, 40)}”` : "no guess");
    const why = make("button", { class: "link", type: "button", onclick: () => explain(model, options[0]) },
      `Why “${(options[0]?.dataset.word ?? "").slice(0, 30)}”?`);
    const on = make("button", { class: "link", type: "button", onclick: () => writeOn(model) }, "Continue");
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
      : event.key === "ArrowRight" && atEnd ? () => take(lists.flat()[0])
      : event.key === "Enter" && chosen ? () => take(chosen)
      : event.key === "Escape" ? putAway
      : digit ? () => take(digit)
      : null;
    if (!act) return;
    event.preventDefault();
    act();
  });
  byId("type-words").checked = shared.apart;
  for (const id of ["type-learn", "type-words"]) byId(id).addEventListener("change", () => refresh());
  byId("type-forget").addEventListener("click", forget);
  const soon = debounced(refresh, DEBOUNCE_MS);
  const changed = () => { busy.changed(); soon(); };
  field.addEventListener("input", changed);
  field.addEventListener("click", changed);
  onReturn(refresh);
  byId("view-type").addEventListener("shown", tell);
  field.value = shared.asked.type?.text ?? `${shared.examples.beginning} `;
  field.setSelectionRange(field.value.length, field.value.length);
  refresh();
}
