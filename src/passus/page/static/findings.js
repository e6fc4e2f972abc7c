// The section with the findings of the report, and the stamp that they rest on.

import { verdictClass } from "./cards.js";
import { el, table } from "./elements.js";

const MAX_ANSWER = 500;

// The first sentences of the report; nothing where there are none. The section has all of them.
export function answerOf({ sections }) {
  const first = sections?.[0], text = first && !first.title ? first.blocks.find(part => part.kind === "text")?.text ?? "" : "";
  const end = text.lastIndexOf(". ", MAX_ANSWER) + 1 || MAX_ANSWER;
  return text.length > MAX_ANSWER ? `${text.slice(0, end)} …` : text;
}

// The eval points that findings rest on, in words.
export function stampText(stamp) {
  const all = Object.values(stamp ?? {}), steps = all.map(([step]) => step).filter(step => step !== null);
  if (!all.length) return "computed while the runs changed: it belongs to no single eval point";
  if (!steps.length) return `${all.length} runs without eval points`;
  const low = Math.min(...steps), high = Math.max(...steps), runs = steps.length === 1 ? "1 run" : `${steps.length} runs`;
  return low === high ? `${runs}, last eval point at step ${low}` : `${runs}, last eval points at steps ${low} to ${high}`;
}

export class Findings {
  constructor(page) {
    this.page = page;
    this.node = el("div", { class: "findings" });
    this.show();
  }

  show() {
    const { sections, error, stamp } = this.page.findings, open = this.opened();
    if (error) this.node.replaceChildren(el("p", { class: "error", role: "alert" }, error));
    else if (!sections) this.node.replaceChildren(el("p", { class: "note" }, "No findings yet: they are computed after an eval point."));
    else {
      this.node.replaceChildren(el("p", { class: "note", id: "findings-stamp" }, `The text of passus report (${stampText(stamp)}).`),
        ...sections.flatMap(section => [section.title ? el("h3", {}, section.title) : "", ...section.blocks.map(block)]));
      for (const details of this.node.querySelectorAll("details")) details.open = open.has(summaryOf(details));
    }
  }

  // What somebody has opened stays open when the findings are computed again.
  opened() {
    return new Set([...this.node.querySelectorAll("details[open]")].map(summaryOf));
  }
}

function summaryOf(details) {
  return details.firstChild.textContent;
}

function block(part) {
  switch (part.kind) {
    case "text": return el("p", {}, part.text);
    case "note": return el("p", { class: "note" }, part.text);
    case "table": return table(part.head, part.rows.map(cells => cells.map(value => value.length > 1 ? value : value[0])));
    case "listing": return el("div", {}, part.name ? el("h4", {}, part.name) : "", el("pre", {}, part.text));
    case "details": return el("details", {}, el("summary", {}, part.summary), ...part.blocks.map(block));
    case "pair": return el("section", {}, el("h4", {}, part.heading), el("p", { class: "note" }, part.note),
      el("div", { class: "pair" }, ...part.sides.map(side)));
    default: return "";
  }
}

function side({ step, verdict, answer, completion }) {
  return el("article", { class: `card ${verdictClass(verdict)}` },
    el("h4", {}, `step ${step} · ${verdict}${answer ? ` · answer ${answer}` : ""}`), el("pre", { tabindex: "0" }, completion));
}
