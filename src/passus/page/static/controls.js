// The controls of the sections with curves: axes, smoothing, and which lines are drawn.

import { FROZEN, hasAxis } from "./answers.js";
import { checkbox, el, isTyping, replaceControls, select } from "./elements.js";
import { state } from "./view.js";

const AXES = [["step", "step"], ["tokens", "training tokens"], ["time", "time"], ["progress", "training progress"],
  ["updates", "optimizer updates"]];
const VALUES = [["accuracy", "accuracy"], ["length", "length"]];
const MOST_POINTS = 101, STEP_OF_KEYS = 4;

export class FigureControls {
  // `set` takes new values of the view, `whole` ends a zoom.
  constructor({ set, whole }) {
    this.set = values => {
      const field = document.activeElement;
      if (this.box.contains(field)) field.defaultValue = field.value; // what was typed is taken
      set(values);
    };
    this.whole = whole;
    this.box = el("div", { class: "controls", role: "group", "aria-label": "Axes and lines" });
    this.node = el("details", { class: "fold", open: !matchMedia("(max-width: 700px)").matches },
      el("summary", {}, "Axes and lines"), this.box);
  }

  // The controls are written again at the next figure, also where they have the same values: a field may hold another text.
  forget() {
    this.key = null;
  }

  show(figure, metrics) {
    const { tab, x, y, smooth, width, train, logx, logy, find, all, low, high } = state, isWhole = low === "" && high === "";
    const key = JSON.stringify([tab, x, y, smooth, width, train, logx, logy, find, all, isWhole, figure?.window, metrics]);
    if (key === this.key || isTyping(this.box)) return;
    this.key = key;
    replaceControls(this.box, [...this.axes(metrics), ...this.smoothing(figure), ...this.lines()].filter(Boolean));
    for (const field of FROZEN ? this.box.querySelectorAll("[type=text], [type=range], #all, #train") : []) field.disabled = true;
  }

  axes(metrics) {
    const { x, y } = state, isKnown = (options, value) => options.some(([name]) => name === value);
    const metric = (name, value, byDefault, placeholder) => this.field("or metric", `${name}-metric`, value,
      { size: "16", list: "metrics", placeholder }, text => this.set({ [name]: text.trim() || byDefault }));
    const check = (name, text) => checkbox(name, text, state[name] === "1", isOn => this.set({ [name]: isOn ? "1" : "" }));
    const ofCurves = state.tab === "signals" ? [] : [
      select("y", VALUES, y, value => this.set({ y: value })), metric("y", isKnown(VALUES, y) ? "" : y, "accuracy", "train/reward"),
      y === "accuracy" ? check("train", "training accuracy") : null];
    return [select("x", AXES.filter(([name]) => hasAxis(name)), x, value => this.set({ x: value })),
      metric("x", isKnown(AXES, x) ? "" : x, "step", "train/entropy"), ...ofCurves,
      el("datalist", { id: "metrics" }, ...metrics.map(name => el("option", { value: name }))),
      check("logx", "log x"), check("logy", "log y")];
  }

  smoothing(figure) {
    const text = points => state.width ? `over ${state.width} on x` : smoothText(points, figure?.window);
    const shown = el("output", {}, text(Number(state.smooth)));
    return [
      el("label", {}, "smoothing", el("input", { type: "range", id: "smooth", min: "0", max: String(MOST_POINTS), value: state.smooth,
        "aria-valuetext": text(Number(state.smooth)),
        oninput: event => { shown.textContent = smoothText(Number(smoothWindow(event.target.value)), figure?.window); },
        onchange: event => this.set({ smooth: smoothWindow(event.target.value), width: "" }) }), shown),
      this.field("or width on x", "width", state.width, { size: "7", inputmode: "decimal", placeholder: "50" },
        value => this.set({ width: value.trim(), smooth: "0" })),
    ];
  }

  lines() {
    const { find, all, low, high } = state;
    return [
      this.field("filter", "find", find, { role: "searchbox", size: "18", maxlength: "100", placeholder: "name or regex ( / )" },
        value => this.set({ find: value })),
      checkbox("all", "all lines", all === "1", isOn => this.set({ all: isOn ? "1" : "" })),
      low !== "" || high !== "" ? el("button", { type: "button", onclick: this.whole }, "Whole x-axis") : null,
      FROZEN ? el("span", { class: "note" }, "A frozen page has no other metrics, smoothing or lines.") : null,
    ];
  }

  field(text, id, value, attributes, onchange) {
    return el("label", {}, text, el("input", { type: "text", id, value, ...attributes,
      onchange: event => onchange(event.target.value) }));
  }
}

// An odd window: 0 leaves the choice to the figure, 1 is none.
function smoothWindow(text) {
  const value = Number(text);
  return String(value === 0 ? 0 : value % 2 ? value : value + 1);
}

function smoothText(points, automatic) {
  const words = window => window > 1 ? `${window} points` : "none";
  return points === 0 ? `automatic${automatic === undefined ? "" : ` (${words(automatic)})`}` : words(points);
}

// The next of the windows 0 (automatic), 5, 9, ... 101.
export function nextWindow(sign) {
  const now = Number(state.smooth), least = 1 + STEP_OF_KEYS;
  const next = sign > 0 ? Math.min(MOST_POINTS, Math.max(least, now + STEP_OF_KEYS)) : now <= least ? 0 : now - STEP_OF_KEYS;
  return { smooth: String(next), width: "" };
}

export function nextAxis() {
  const axes = AXES.map(([name]) => name).filter(hasAxis);
  return { x: axes[(axes.indexOf(state.x) + 1) % axes.length] };
}
