// The lattice of one prediction: a drawing whose discs can be walked through, the numbers of one disc, a table of all.

import { draw, make } from "./dom.js";
import { clustering, drawn, isNarrow, layout, LINE, radius, under, UNIFORM } from "./lattice_layout.js";
import { bits, oneIn, percent, probability, said, whole } from "./numbers.js";

const context = (p) => (p.classes && p.kept.length ? `the classes of ${p.kept.length} word${p.kept.length === 1 ? "" : "s"}` : p.kept.length ? `“${p.kept.map((word) => said(word ?? "_")).join(" ")}”` : p.classes ? "no context, the class of the word" : "no context");

const counts = (n) => (n === null ? "–" : whole(n));

// What stands under a disc beside its part: the counts, where there are any.
const counted_of = (p) => (p.count ? ` · ${whole(p.count)} of ${whole(p.total)}` : "");

// The words before, those grey that the model does not look at.
function reach(explanation) {
  const words = explanation.written ?? explanation.context;
  const seen = Math.min(words.length, explanation.order - 1);
  const far = words.slice(0, words.length - seen);
  return [" after ", ...(far.length ? [make("span", { class: "beyond", title: "beyond the words that this model looks at" }, `${far.slice(-12).map(said).join(" ")} `)] : []),
    make("span", {}, words.slice(words.length - seen).map(said).join(" ") || "nothing")];
}

function told(p, word, order) {
  const unknown = p.kept?.includes("<unk>") ? " <unk> stands for a word that the model does not know." : "";
  return counted(p, said(word), order) + unknown;
}

function counted(p, word, order) {
  if (p.id === UNIFORM) return "What is left over is shared evenly between all words of the vocabulary, unknown ones included.";
  if (p.total === null) {
    return p.contribution ? "This is the longest n-gram that the file holds: all of the probability is its own, times the backoff weights of the contexts above."
      : p.share ? "The file holds no such n-gram: its backoff weight is passed on to the next." : "A longer n-gram was found, so that this one is not asked.";
  }
  if (p.total === 0) return "This was never seen, so that all of its weight is passed on to patterns with fewer words.";
  if (p.classes) {
    return `A class holds words with the same neighbours in the training text. The class of “${word}” is ${whole(p.count)} of ${whole(p.total)} that follow, and the word is ${percent(p.given_class)} of its class.`;
  }
  if (p.kept.length === order - 1 && p.chain) {
    return `These words were followed by ${whole(p.total)} word${p.total === 1 ? "" : "s"} in the training text, ${whole(p.count)} of them “${word}”.`;
  }
  return `“${word}” is ${whole(p.count)} of ${whole(p.total)} continuations: Kneser-Ney counts different surroundings, not occurrences.`;
}

function figures(p, explanation) {
  if (p.id === UNIFORM) {
    return [["weight received", percent(explanation.uniform_share)], ["adds to the probability", probability(explanation.uniform_contribution)],
      ["share of the total", percent(p.part)]];
  }
  return [
    ...(p.total === null ? [] : [
      ["count, of", `${whole(p.count)} of ${whole(p.total)}`],
      ["its discount D", p.count ? p.discount.toFixed(3) : "none"],
      ["D of counts 1, 2, 3+", p.discounts.map((d) => d.toFixed(2)).join(", ")],
    ]),
    ["frequency, discounted", probability(p.discounted)],
    ["backoff weight", p.backoff.toFixed(3)],
    ["weight received", percent(p.share)],
    ...(p.classes ? [["the word in its class", percent(p.given_class)]] : []),
    ["adds to the probability", probability(p.contribution)],
    ["share of the total", percent(p.part)],
  ];
}

function table(explanation) {
  const head = ["pattern", "count", "of", "D", "backoff weight", "weight", "adds", "part"];
  const rows = [...explanation.patterns].sort((a, b) => b.part - a.part).slice(0, 200).map((p) =>
    [context(p), counts(p.count), counts(p.total), p.discount.toFixed(3), p.backoff.toFixed(3), percent(p.share), probability(p.contribution), percent(p.part)]);
  return make("details", {}, make("summary", {}, "All numbers as a table"),
    make("p", { class: "note" }, "Weights are passed on to smaller patterns, so that they add up to more than 100 %; parts add up to 100 %, with that of all words alike."),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All numbers" },
      make("table", {},
        make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
        make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", { dir: "auto" }, cell))))))));
}

// A disc for words, a square of the same height for classes.
function shape(node, r, attributes) {
  if (!node.classes) return draw("circle", { cx: node.x, cy: node.y, r, ...attributes });
  return draw("rect", { x: node.x - r, y: node.y - r, width: 2 * r, height: 2 * r, ...attributes });
}

// The classes that a square looks at, each with its members.
function members(node, explanation) {
  if (!node.classes) return [];
  const looked = [...(node.kept.length ? explanation.context.slice(-node.kept.length) : []), explanation.word];
  const found = looked.map((word) => explanation.classes.find((of) => of.word === word && of.clustering === clustering(node))).filter(Boolean);
  return [make("ul", { class: "members" }, ...found.map((of) => make("li", { dir: "auto" }, "class of ", make("b", {}, said(of.word)),
    `: ${of.members.map(said).join(", ")}${of.words > of.members.length ? ` … (${whole(of.words)} words)` : ""}`)))];
}

// A ground for the words of a disc, so that edges do not run through them.
function fitPlate(plate) {
  const box = plate.nextElementSibling.getBBox();
  for (const [name, value] of Object.entries({ x: box.x - 3, y: box.y, width: box.width + 6, height: box.height + 13 })) {
    plate.setAttribute(name, value);
  }
}

export class LatticeView {
  #answer = make("p", { class: "answer", role: "status" });
  #picture = make("div", { class: "picture" });
  #details = make("div", { class: "details", "aria-live": "polite" });
  #table = make("div");
  #explanation = null;
  #chosen = null;
  #width = 0;
  #shape = null;
  #all = false; // whether a narrow picture has all patterns

  constructor(container) {
    container.append(this.#answer, make("div", { class: "lattice" }, this.#picture, this.#details), this.#table);
    container.hidden = true;
    this.container = container;
    new ResizeObserver(() => this.#resized()).observe(this.#picture);
  }

  show(explanation) {
    this.container.hidden = false;
    this.#explanation = explanation;
    this.#answer.replaceChildren(`“${said(explanation.word)}” has a probability of `, make("strong", {}, percent(explanation.probability)), ...reach(explanation),
      make("small", {}, `  ${oneIn(explanation.probability)}, ${bits(explanation.log10_prob).toFixed(1)} bits${explanation.known ? "" : "; the model does not know the word"}`));
    this.#draw();
    const open = this.#table.querySelector("details")?.open ?? false;
    this.#table.replaceChildren(table(explanation));
    this.#table.querySelector("details").open = open;
  }

  #resized() {
    if (this.#explanation && this.#picture.clientWidth && Math.abs(this.#picture.clientWidth - this.#width) > 1) this.#draw();
  }

  #draw() {
    this.#width = this.#picture.clientWidth;
    if (!this.#width) return;
    const focused = this.#picture.contains(document.activeElement);
    const shape = (this.#shape = layout(this.#explanation, this.#width, this.#all));
    if (!shape.nodes.some((node) => node.id === this.#chosen)) this.#chosen = null;
    const first = shape.nodes.reduce((best, node) => (node.part > best.part ? node : best));
    const svg = draw("svg", { viewBox: `0 0 ${this.#width} ${shape.height}`, role: "group", "data-patterns": this.#explanation.patterns.length,
      "aria-label": `The lattice: ${this.#explanation.patterns.length} patterns; arrow keys walk through them` });
    svg.append(...shape.edges.map((edge) => this.#edge(edge)), ...shape.nodes.map((node) => this.#node(node)));
    this.#picture.replaceChildren(svg);
    for (const plate of svg.querySelectorAll(".plate")) fitPlate(plate);
    this.#choose(this.#chosen ?? first.id, focused, this.#chosen !== null);
    const of = this.#explanation.patterns;
    if (drawn(of, this.#width, this.#all).length < of.length) {
      const more = make("button", { class: "link", type: "button", onclick: () => { this.#all = true; this.#draw(); } }, "Draw all");
      this.#picture.append(make("p", { class: "note" }, `The chain and what gives most, of ${whole(of.length)} patterns. `, ...(isNarrow(this.#width) && !this.#all ? [more] : [])));
    }
  }

  #edge({ from, to, chain, rest }) {
    const aside = from.row === to.row ? Math.sign(to.x - from.x) : 0; // beside each other: from side to side
    const [y1, y2] = aside ? [from.y, to.y] : [from.y + radius(from.part) + under(from), to.y - radius(to.part)];
    return draw("line", { x1: from.x + aside * radius(from.part), y1, x2: to.x - aside * radius(to.part), y2, class: `edge${chain ? " chain" : ""}${rest ? " rest" : ""}`,
      "data-from": from.id, "data-to": to.id });
  }

  #node(node) {
    const r = radius(node.part);
    const words = node.id === UNIFORM ? "all words alike" : context(node);
    const group = draw("g", { class: `node${node.part < 0.005 ? " idle" : ""}${node.classes ? " of-classes" : ""}`, "data-pattern": node.id, "data-part": node.part, role: "button",
      tabindex: "-1", "aria-label": `${words}: ${percent(node.part)} of the probability`,
      onmouseenter: () => this.#choose(node.id), onfocus: () => this.#choose(node.id), onclick: () => this.#choose(node.id, true),
      onkeydown: (event) => this.#walk(event, node) });
    group.append(
      draw("circle", { class: "ring", cx: node.x, cy: node.y, r: r + 4 }),
      shape(node, r, { class: "paper" }),
      shape(node, r, { class: "disc", "fill-opacity": (0.08 + 0.92 * Math.sqrt(node.part)).toFixed(3) }),
      draw("rect", { class: "plate", rx: 3 }),
      draw("text", { class: "kept", x: node.x, y: node.y + r + 15 },
        ...node.lines.map((line, i) => draw("tspan", { x: node.x, dy: i ? LINE : 0 }, i ? ` ${line}` : line))),
      draw("text", { class: "part", x: node.x, y: node.y + r + under(node) - 4 }, percent(node.part) + (this.#width > 560 || node.part >= 0.005 ? counted_of(node) : "")));
    return group;
  }

  #choose(id, focus = false, chosen = true) {
    if (chosen) this.#chosen = id;
    for (const group of this.#picture.querySelectorAll(".node")) {
      const selected = group.dataset.pattern === id;
      group.classList.toggle("chosen", selected && chosen);
      group.setAttribute("tabindex", selected ? "0" : "-1");
      if (selected && focus && document.activeElement !== group) group.focus({ preventScroll: true });
    }
    for (const line of this.#picture.querySelectorAll(".edge")) {
      line.classList.toggle("near", chosen && (line.dataset.from === id || line.dataset.to === id));
    }
    this.#tell(this.#shape.nodes.find((node) => node.id === id));
  }

  #tell(node) {
    const { word, order } = this.#explanation;
    const heading = node.id === UNIFORM ? "All words alike" : `After ${context(node)}`;
    if (this.#details.dataset.told === node.id + heading + node.part + word) return;
    this.#details.dataset.told = node.id + heading + node.part + word;
    this.#details.replaceChildren(
      make("h3", { dir: "auto" }, heading), make("p", { dir: "auto" }, told(node, word, order)), ...members(node, this.#explanation),
      make("dl", {}, ...figures(node, this.#explanation).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))));
  }

  #walk(event, node) {
    const nodes = this.#shape.nodes;
    const at = nodes.indexOf(node);
    const beside = { ArrowRight: nodes[at + 1], ArrowLeft: nodes[at - 1] }[event.key];
    const row = { ArrowDown: node.row + 1, ArrowUp: node.row - 1 }[event.key];
    const near = nodes.filter((other) => other.row === row).sort((a, b) => Math.abs(a.x - node.x) - Math.abs(b.x - node.x))[0];
    const to = beside ?? near;
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (to) this.#choose(to.id, true);
  }
}
