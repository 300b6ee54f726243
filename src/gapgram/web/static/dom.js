// Elements are made here, and text only ever enters them as text.

export const byId = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Call `act` once nothing has happened for a while.
export function debounced(act, milliseconds) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}

// Whether what an element shows is about to change; screen readers wait for that. An answer ends it only if
// nothing was changed since its question: `asked()` before, `answered(…)` with what it gave after.
export class Busy {
  constructor(element) {
    this.element = element;
    this.changes = 0;
  }

  changed() {
    this.changes += 1;
    this.element.setAttribute("aria-busy", true);
  }

  asked() {
    this.element.setAttribute("aria-busy", true);
    return this.changes;
  }

  answered(asked) {
    if (asked === this.changes) this.element.setAttribute("aria-busy", false);
  }
}

// A note under a field; a mistake is told apart from news.
export function note(element, sentence, mistake = false) {
  if (element.textContent !== sentence) element.textContent = sentence;
  element.classList.toggle("mistake", mistake);
}

// Give a text to the reader as a file.
export function save(name, content) {
  const place = URL.createObjectURL(new Blob([content], { type: "text/tab-separated-values" }));
  make("a", { href: place, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(place), 1000);
}

// Radio buttons for models, if there are several; `chosen` is called with a name.
export function modelChoice(fieldset, models, selected, chosen) {
  fieldset.hidden = models.length === 1;
  const group = make("div");
  for (const model of models) {
    const radio = make("input", { type: "radio", name: fieldset.id, value: model.name, onchange: () => chosen(model.name) });
    radio.checked = model.name === selected;
    group.append(make("label", {}, radio, model.label ?? model.name));
  }
  fieldset.append(group);
}
