// The sections with curves: the figure that the stream sends, with its controls, its legend and its panels.

import { FROZEN } from "./answers.js";
import { Chart } from "./chart.js";
import { FigureControls, nextAxis, nextWindow } from "./controls.js";
import { el, place } from "./elements.js";
import { Legend } from "./legend.js";
import { share } from "./numbers.js";
import { state } from "./view.js";

const ZOOM_MS = 250;
const ZOOM_DIGITS = 6;

export class Panels {
  constructor(page) {
    this.page = page;
    this.figure = null;
    this.charts = new Map();
    this.controls = new FigureControls({ set: values => this.set(values), whole: () => this.zoom(null, null) });
    this.legend = new Legend(() => {
      page.onview({ local: true });
      this.show();
    });
    this.grid = el("div", { class: "grid" });
    this.note = el("p", { class: "note", id: "figure-note" });
    this.problem = el("p", { class: "error", role: "alert" });
    this.node = el("div", {}, this.controls.node, this.legend.node, this.problem, this.grid, this.note);
  }

  get keys() {
    const toggle = name => () => this.set({ [name]: state[name] ? "" : "1" }), smooth = sign => () => this.set(nextWindow(sign));
    const ofServer = FROZEN ? {} : { a: toggle("all"), t: toggle("train"), s: smooth(1), S: smooth(-1) };
    return { x: () => this.set(nextAxis()), l: toggle("logx"), L: toggle("logy"), ...ofServer };
  }

  remove() {
    clearTimeout(this.zoomTimer);
    for (const chart of this.charts.values()) chart.remove();
    this.charts.clear();
  }

  // Brings the figure to what a message says: a whole one, or what has changed.
  receive(message) {
    if (message.figure) this.figure = message.figure;
    else if (this.figure?.series) splice(this.figure, message);
    this.show();
  }

  show() {
    const { figure } = this;
    this.problem.textContent = figure?.error ?? "";
    if (figure?.series) {
      this.showCharts();
      this.note.textContent = noteOf(figure);
      this.legend.show(figure);
    } else {
      this.remove();
      this.grid.replaceChildren();
      this.note.textContent = figure?.error ? "" : "Waiting for the first numbers.";
    }
    this.controls.show(figure, this.page.about.metrics ?? []);
  }

  showCharts() {
    const { figure } = this;
    for (const [name, chart] of this.charts) {
      if (figure.panels.includes(name)) continue;
      chart.remove();
      this.charts.delete(name);
    }
    for (const name of figure.panels) {
      if (!this.charts.has(name)) this.charts.set(name, new Chart(name, this.about(name)));
      const chart = this.charts.get(name);
      chart.hidden = this.legend.off;
      chart.update(figure.series.filter(s => s.panel === name), figure.marks, this.about(name));
    }
    place(this.grid, figure.panels.map(name => this.charts.get(name).node));
    this.grid.classList.toggle("single", figure.panels.length === 1);
  }

  about(panel) {
    const { figure } = this, isShare = (figure.kind === "curves" && state.y === "accuracy") || panel.includes("(share)");
    return { x: figure.x.label, y: figure.y.label === panel ? "" : figure.y.label, note: figure.note,
      marked: figure.kind === "curves", format: isShare ? share : undefined, onzoom: (low, high) => this.zoom(low, high) };
  }

  // Draws the same figure in other colours, or on other axes.
  redraw() {
    this.show();
  }

  set(values) {
    this.controls.forget();
    Object.assign(state, values);
    if ("x" in values) Object.assign(state, { low: "", high: "" });
    this.page.onview();
  }

  // Shows a part of the x-axis, and asks for its detail when the zoom has come to rest. A frozen page has no detail.
  zoom(low, high) {
    const text = value => value === null ? "" : String(FROZEN ? value : Number(value.toPrecision(ZOOM_DIGITS)));
    Object.assign(state, { low: text(low), high: text(high) });
    clearTimeout(this.zoomTimer);
    if (FROZEN) this.page.onview();
    else {
      this.show();
      this.zoomTimer = setTimeout(() => this.page.onview(), ZOOM_MS);
    }
  }
}

// Replaces the end of each series that has changed, from its first point that changed on.
function splice(figure, { splice: byColumns, about }) {
  for (const [names, rows] of Object.entries(byColumns)) {
    const columns = names.split(",");
    for (const [number, start, ...values] of rows) {
      const { points } = figure.series[number];
      columns.forEach((name, i) => points[name].splice(start, Infinity, ...values[i]));
    }
  }
  Object.assign(figure, about);
}

function noteOf(figure) {
  return [
    state.logx ? "x: linear from 0 to the smallest positive value, logarithmic beyond" : "",
    state.logy ? "y: a log axis has no place for values of 0 or below; lines have gaps there" : "",
    figure.note,
    figure.marks.length ? "vertical lines: solid for alarms, dotted for resumes; the crosshair says what happened there" : "",
    figure.reduced ? `${figure.reduced} points are not drawn one by one: of every stretch of steps the lowest and the highest stay, ` +
      "and all ends and gaps. Zoom in for the detail." : "",
    figure.series.length || figure.note ? "" : "No line has numbers here.",
  ].filter(Boolean).join("\n");
}
