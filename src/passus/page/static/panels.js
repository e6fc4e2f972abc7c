// The tabs with curves: the figure that the stream sends, its controls, its legend and its panels.

import { state, FROZEN } from "./state.js";
import { el, select, share, isTyping } from "./text.js";
import { Chart, hasMarkers, swatch, label } from "./charts.js";

const AXES = [["step", "step"], ["tokens", "training tokens"], ["time", "time"], ["progress", "training progress"], ["updates", "optimizer updates"]];
const VALUES = [["accuracy", "accuracy"], ["length", "length"]];
const METRICS = ["train/reward", "train/entropy", "train/kl", "train/grad_norm", "train/completions/mean_length", "train/num_tokens"];

// Whether a figure with this x-axis can be shown: a frozen page has some.
export function hasAxis(x) {
  return !FROZEN || Object.keys(FROZEN.figures).some(key => key.split(" ")[1] === x);
}

export class Panels {
  constructor(onview) {
    this.onview = onview;
    this.figure = null;
    this.charts = new Map();
    this.off = new Set(state.off ? state.off.split("\n") : []);
    this.controls = el("div", { class: "controls", role: "group", "aria-label": "Axes and lines" });
    this.legend = el("ul", { class: "legend", "aria-label": "Lines" });
    this.grid = el("div", { class: "grid" });
    this.note = el("p", { class: "note" });
    this.problem = el("p", { class: "error", role: "alert" });
    this.fold = el("details", { class: "fold", open: !matchMedia("(max-width: 700px)").matches }, el("summary", {}, "Axes and lines"), this.controls);
    this.node = el("div", {}, this.fold, this.legend, this.problem, this.grid, this.note);
  }

  remove() {
    for (const chart of this.charts.values()) chart.remove();
    this.charts.clear();
  }

  // Brings the figure to what a message says: a whole one, or what has changed.
  receive(message) {
    if (message.figure) {
      this.figure = message.figure;
      this.legendKey = null;
    } else if (this.figure?.series) {
      for (const [names, rows] of Object.entries(message.splice)) {
        const columns = names.split(",");
        for (const [number, start, ...values] of rows) {
          const points = this.figure.series[number].points;
          columns.forEach((name, i) => points[name].splice(start, Infinity, ...values[i]));
        }
      }
      Object.assign(this.figure, message.about);
    }
    this.show();
  }

  show() {
    const figure = this.figure;
    this.problem.textContent = figure?.error ?? "";
    if (!figure?.series) {
      this.remove();
      this.grid.replaceChildren();
      this.note.textContent = figure?.error ? "" : "Waiting for the first numbers.";
      this.showControls();
      return;
    }
    const wanted = new Set(figure.panels);
    for (const [name, chart] of this.charts) {
      if (!wanted.has(name)) {
        chart.remove();
        chart.node.remove();
        this.charts.delete(name);
      }
    }
    const isShare = panel => (figure.kind === "curves" && state.y === "accuracy") || panel.includes("(share)");
    const about = panel => ({ x: figure.x.label, y: figure.y.label || panel, note: figure.note, marked: figure.kind === "curves",
      format: isShare(panel) ? share : undefined, onzoom: (low, high) => this.zoom(low, high) });
    figure.panels.forEach((name, i) => {
      if (!this.charts.has(name)) this.charts.set(name, new Chart(name, about(name)));
      const chart = this.charts.get(name);
      if (this.grid.children[i] !== chart.node) this.grid.insertBefore(chart.node, this.grid.children[i] ?? null);
      chart.hidden = this.off;
      chart.update(figure.series.filter(s => s.panel === name), figure.marks, about(name));
    });
    this.grid.classList.toggle("single", figure.panels.length === 1);
    const fewer = figure.reduced ? `${figure.reduced} points are not drawn one by one: of every stretch of steps the lowest and the ` +
      "highest stay, and all ends and gaps. Zoom in for the detail." : "";
    const y = figure.y.label ? `y: ${figure.y.label}. ` : "";
    const log = state.logy ? "A log axis has no place for values of 0 or below; lines have gaps there. " : "";
    const first = state.logx ? "x is linear from 0 to the smallest positive value, logarithmic beyond. " : "";
    this.note.textContent = [`${y}x: ${figure.x.label}. ${log}${first}`, figure.note, fewer].filter(Boolean).join("\n") +
      (figure.series.length ? "" : "\nNo line has numbers here yet.");
    this.showControls();
    this.showLegend();
  }

  showControls() {
    const key = JSON.stringify([state.tab, state.x, state.y, state.smooth, state.logx, state.logy, state.find, state.all]);
    if (key === this.controlKey || isTyping(this.controls)) return;
    this.controlKey = key;
    const focused = document.activeElement?.id;
    const check = (name, text) => el("label", {}, el("input", { type: "checkbox", id: name, checked: state[name] === "1",
      onchange: event => this.set({ [name]: event.target.checked ? "1" : "" }) }), text);
    const metric = (key, value) => el("label", {}, "or metric", el("input", { type: "text", id: `${key}-metric`, size: "16",
      list: "metrics", value, placeholder: "train/entropy", onchange: event => this.set({ [key]: event.target.value.trim() || "step" }) }));
    const own = (options, value) => options.some(([name]) => name === value);
    const window = Number(state.smooth);
    this.controls.replaceChildren(...[
      select("x", AXES.filter(([x]) => hasAxis(x)), state.x, x => this.set({ x })), metric("x", own(AXES, state.x) ? "" : state.x),
      ...(state.tab === "signals" ? [] : [select("y", VALUES, state.y, y => this.set({ y })),
        el("label", {}, "or metric", el("input", { type: "text", id: "y-metric", size: "16", list: "metrics",
          value: own(VALUES, state.y) ? "" : state.y, placeholder: "train/reward",
          onchange: event => this.set({ y: event.target.value.trim() || "accuracy" }) }))]),
      el("datalist", { id: "metrics" }, ...METRICS.map(name => el("option", { value: name }))),
      check("logx", "log x"), check("logy", "log y"),
      el("label", {}, "smoothing", el("input", { type: "range", id: "smooth", min: "0", max: "101", value: String(window),
        "aria-valuetext": this.smoothText(window), onchange: event => this.set({ smooth: smoothWindow(event.target.value) }) }),
        el("output", {}, this.smoothText(window))),
      el("label", {}, "filter", el("input", { type: "text", role: "searchbox", id: "find", size: "18", value: state.find, maxlength: "100",
        placeholder: "name or regex ( / )", onchange: event => this.set({ find: event.target.value }) })),
      check("all", "all lines"),
      state.low !== "" || state.high !== "" ? el("button", { type: "button", onclick: () => this.zoom(null, null) }, "Whole x-axis") : null,
      FROZEN ? el("span", { class: "note" }, "A frozen page has no other metrics, smoothing or lines.") : null,
    ].filter(Boolean));
    for (const field of FROZEN ? this.controls.querySelectorAll("[type=text], [type=range], #all") : []) field.disabled = true;
    if (focused) document.getElementById(focused)?.focus();
  }

  smoothText(window) {
    return window === 0 ? "default" : window === 1 ? "none" : `${window} points`;
  }

  set(values) {
    Object.assign(state, values);
    const field = document.activeElement;
    if (this.controls.contains(field)) field.defaultValue = field.value; // what was typed is taken
    if ("x" in values) Object.assign(state, { low: "", high: "" });
    this.controlKey = null;
    this.onview();
  }

  showLegend() {
    const lines = this.figure.lines.filter(line => line.shown);
    const key = JSON.stringify([lines, [...this.off], state.theme]);
    if (key === this.legendKey) return;
    this.legendKey = key;
    const isMarked = hasMarkers(this.figure);
    this.legend.replaceChildren(...lines.map(line => el("li", {}, el("button", {
      type: "button", class: "toggle", "aria-pressed": String(!this.off.has(line.name)), title: "Click: show or hide. Shift: this one only",
      onclick: event => this.toggle(line.name, event.shiftKey),
    }, swatch(line.style, isMarked), el("span", {}, label(line))))));
  }

  toggle(name, alone) {
    const names = this.figure.lines.filter(line => line.shown).map(line => line.name);
    if (alone) this.off = new Set(this.off.size === names.length - 1 && !this.off.has(name) ? [] : names.filter(other => other !== name));
    else if (!this.off.delete(name)) this.off.add(name);
    const text = [...this.off].join("\n");
    state.off = text.length <= 200 ? text : "";
    this.onview({ local: true });
    this.show();
  }

  zoom(low, high) {
    if (FROZEN) {
      Object.assign(state, { low: low === null ? "" : String(low), high: high === null ? "" : String(high) });
      this.controlKey = null;
      this.onview();
      return;
    }
    const text = value => value === null ? "" : String(Number(value.toPrecision(6)));
    Object.assign(state, { low: text(low), high: text(high) });
    this.controlKey = null;
    clearTimeout(this.zoomTimer);
    this.show();
    this.zoomTimer = setTimeout(() => this.onview(), 250);
  }
}

// An odd window: 0 leaves the choice to the figure, 1 is none.
export function smoothWindow(text) {
  const value = Number(text);
  return String(value === 0 ? 0 : value % 2 ? value : value + 1);
}
