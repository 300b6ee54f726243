// The page as a whole: the views, and what they share.

import { keep, read } from "./address.js";
import { onReturn, request } from "./api.js";
import { byId } from "./dom.js";
import { whole } from "./numbers.js";
import { startSurprise } from "./surprise.js";
import { startType } from "./type.js";
import { startWhy } from "./why.js";

const VIEWS = ["type", "why", "surprise", "correct"].filter((view) => byId(`tab-${view}`));

function show(name, focus = false) {
  for (const view of VIEWS) {
    const selected = view === name;
    const tab = byId(`tab-${view}`);
    tab.setAttribute("aria-selected", selected);
    tab.tabIndex = selected ? 0 : -1;
    if (selected && focus) tab.focus();
    byId(`view-${view}`).hidden = !selected;
  }
  keep(name);
  byId(`view-${name}`).dispatchEvent(new Event("shown"));
}

function listenToTabs() {
  VIEWS.forEach((view, i) => {
    byId(`tab-${view}`).addEventListener("click", () => show(view));
    byId(`tab-${view}`).addEventListener("keydown", (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i + VIEWS.length - 1, Home: 0, End: VIEWS.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      show(VIEWS[to % VIEWS.length], true);
    });
  });
}

export const about = (model) =>
  `${{ mkn: "modified Kneser-Ney", glm: "may skip words", kenlm: "a file of KenLM", backoff: "an ARPA file" }[model.estimator] ?? model.estimator}, looks ${model.order - 1} words back`;

let started = false;

async function start() {
  if (started) return;
  const overview = await request("models");
  if (overview === null || started) return;
  started = true;
  const shared = {
    models: overview.models.map((model) => ({ ...model, about: about(model) })),
    examples: overview.examples,
    limits: overview.limits,
    apart: overview.models.every((model) => model.punctuation_apart),
    favourite: (overview.models.find((model) => model.estimator === "glm") ?? overview.models[0]).name,
  };
  const { view, values } = read();
  shared.asked = { [view]: values };
  shared.why = startWhy(shared, () => show("why", true));
  startType(shared);
  startSurprise(shared);
  if (VIEWS.includes("correct")) (await import("./correct.js")).startCorrect(shared); // which a page without a service has not
  byId("models-line").textContent = shared.models
    .map((m) => `${m.name}: ${m.estimator}, order ${m.order}, ${m.trained_words === null ? "" : `${whole(m.trained_words)} words of text, `}${whole(m.vocabulary)} in the vocabulary`)
    .join(" · ");
  show(VIEWS.includes(view) ? view : "type");
  byId("told").textContent = overview.examples.told;
  if (!byId("view-type").hidden && window === window.top) byId("type-text").focus();
}

// A link that is pasted into an open page is a new question; what the page writes itself is no such event.
window.addEventListener("hashchange", () => location.reload());
listenToTabs();
onReturn(start);
start();
