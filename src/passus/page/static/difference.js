// The difference on one benchmark: the sentence, the chart over training, and the items that only one side solves.

import { Chart } from "./chart.js";
import { el } from "./elements.js";
import { points } from "./numbers.js";
import { state } from "./view.js";

const BAND = { colour: "#2474c8", marker: "o", dash: [] }, MEAN = { colour: "#e07b00", marker: "s", dash: [3.7, 1.6] };
const MAX_ITEMS = 200, MAX_OPEN = 40, MOST_POINTS = 100;

export class Difference {
  constructor(benchmark, onitem, onzoom) {
    Object.assign(this, { benchmark, onitem, onzoom, chart: null, key: "" });
    this.text = el("p");
    this.note = el("p", { class: "note" });
    this.drawn = el("div");
    this.items = el("div");
    this.node = el("section", { class: "compared" }, el("h3", {}, benchmark), this.text, this.drawn, this.items);
  }

  remove() {
    this.chart?.remove();
    this.chart = null;
    this.drawn.replaceChildren();
  }

  show(one, growing) {
    this.text.textContent = one.text;
    if (growing) this.draw(growing);
    else this.remove();
    const key = JSON.stringify([one.gained, one.lost, Boolean(growing)]);
    if (key === this.key) return;
    this.key = key;
    const open = new Map([...this.items.querySelectorAll("details")].map(details => [details.dataset.what, details.open]));
    this.items.replaceChildren(...growing ? [this.itemList("gained (A solves them, B does not)", one.gained, open),
      this.itemList("lost (B solves them, A does not)", one.lost, open)] : []);
  }

  draw({ planned, band, so_far: soFar }) {
    const note = `Difference: A minus B at each eval point, with the band that holds at all ${planned} together.\n` +
      "Mean so far: the mean difference up to each eval point; dashed: the bounds of its confidence sequence.";
    const about = { x: "Step", y: "A minus B, points", marked: true, zero: true, format: points, note,
      onzoom: (low, high) => this.zoom(low, high) };
    if (!this.chart) {
      this.chart = new Chart(`${this.benchmark}: A minus B, in points`, about);
      this.drawn.replaceChildren(this.chart.node, this.note);
    }
    this.note.textContent = `Blue: A minus B at each eval point, with the band that holds at all ${planned} together. ` +
      "Orange: the mean difference up to each eval point; dashed: the bounds of its confidence sequence.";
    this.chart.update([this.series("difference", band, BAND, false), this.series("mean so far", soFar, MEAN, true)], [], about);
  }

  series(name, rows, style, bounds) {
    const column = at => rows.map(row => row[at] === null ? null : clipped(100 * row[at]));
    return { name, line: name, panel: this.benchmark, seeds: 0, faint: false, style, bounds,
      points: { x: rows.map(row => row[0]), y: column(1), low: column(2), high: column(3) } };
  }

  zoom(low, high) {
    Object.assign(state, { low: low === null ? "" : String(low), high: high === null ? "" : String(high) });
    this.onzoom();
  }

  itemList(what, items, open) {
    if (!items?.length) return el("p", { class: "note" }, `No item ${what}.`);
    return el("details", { class: "items", "data-what": what, open: open.get(what) ?? items.length <= MAX_OPEN },
      el("summary", {}, `${items.length} ${items.length === 1 ? "item" : "items"} ${what}`),
      ...items.slice(0, MAX_ITEMS).map(item => el("button", { type: "button", onclick: () => this.onitem(item) }, String(item))),
      items.length > MAX_ITEMS ? el("span", {}, ` and ${items.length - MAX_ITEMS} more`) : "");
  }
}

// A difference of two shares lies between -100 and 100 points, and so do the bounds that are drawn.
function clipped(value) {
  return Math.max(-MOST_POINTS, Math.min(MOST_POINTS, value));
}
