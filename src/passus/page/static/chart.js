// One chart: title, canvas, readout of the crosshair, keys, files to export, and a table of the numbers.

import { symlog, ticks } from "./axis.js";
import { Canvas } from "./canvas.js";
import { crosshair, joinCrosshair, leaveCrosshair, REDRAW_MS, setCrosshair } from "./crosshair.js";
import { Drawing } from "./drawing.js";
import { el, table } from "./elements.js";
import { csv, download, fileName } from "./files.js";
import { nearest, number } from "./numbers.js";
import { framedPicture } from "./picture.js";
import { ink, isDark, MARKED_POINTS, shown } from "./styles.js";
import { state } from "./view.js";

const EXPORTS = ["SVG", "PNG", "CSV"];
const TABLE_ROWS = 2000;
const MOST_MARKS = 60;
const TOLD_LINES = 12;
const DESCRIBED_LINES = 8;

export class Chart {
  // `about` has the titles of the axes (x, y), the note, how values are written (format), whether short lines have markers
  // (marked), whether there is a line at 0 (zero), and what is called for a zoom (onzoom).
  constructor(panel, about) {
    this.panel = panel;
    this.about = about;
    this.hidden = new Set();
    this.series = [];
    this.marks = [];
    this.canvas = null;
    this.drawn = 0;
    this.box = el("div", { class: "chart", tabindex: "0", role: "application", "aria-roledescription": "chart" });
    this.readout = el("p", { class: "readout", "aria-live": "off" });
    this.fewer = el("p", { class: "note", hidden: true });
    this.details = el("details", { ontoggle: () => this.fillTable() }, el("summary", {}, "Numbers"), el("div"));
    this.xTitle = el("p", { class: "axis" });
    this.yTitle = el("p", { class: "axis y" });
    this.node = el("section", { class: "panel", "aria-label": panel },
      el("div", { class: "top" }, el("h3", {}, panel), el("span", { class: "export" }, ...EXPORTS.map(kind => this.exportButton(kind)))),
      el("div", { class: "plot" }, this.yTitle, this.box), this.xTitle, this.readout, this.fewer, this.details);
    this.box.addEventListener("keydown", event => this.key(event));
    this.box.addEventListener("focus", () => this.readout.setAttribute("aria-live", "polite"));
    this.box.addEventListener("blur", () => this.readout.setAttribute("aria-live", "off"));
    this.box.addEventListener("dblclick", () => this.zoomTo(null));
    joinCrosshair(this);
  }

  exportButton(kind) {
    const name = `${this.panel} as ${kind}`;
    return el("button", { type: "button", title: name, "aria-label": name, onclick: () => this.export(kind) }, kind);
  }

  remove() {
    leaveCrosshair(this);
    clearTimeout(this.timer);
    this.removed = true;
    this.drop();
  }

  drop() {
    this.canvas?.remove();
    this.canvas = null;
  }

  // Takes new data and draws it, at most ten times a second.
  update(series, marks, about) {
    this.series = series;
    this.marks = marks;
    this.about = about;
    this.schedule();
  }

  schedule() {
    if (this.timer) return;
    const wait = Math.max(0, this.drawn + REDRAW_MS - performance.now());
    this.timer = setTimeout(async () => {
      await this.drawing; // a canvas is built before the next one is begun
      this.timer = null;
      this.drawn = performance.now();
      this.drawing = this.draw().catch(error => console.error(error));
    }, wait);
  }

  visible() {
    return this.series.filter(s => !this.hidden.has(s.line ?? s.name));
  }

  // The lines that are read off: means and runs, not the single seeds behind a mean.
  lines() {
    return this.visible().filter(s => !s.faint);
  }

  async draw() {
    if (this.removed) return;
    const look = [state.logx, state.logy, isDark()].join();
    if (this.look !== look || !this.canvas) {
      this.look = look;
      await this.build();
      if (this.removed) {
        this.drop();
        return;
      }
    }
    this.fill();
    this.xTitle.textContent = this.about.x;
    this.yTitle.textContent = this.about.y;
    this.describe();
    if (this.details.open) this.fillTable();
    this.box.dataset.points = String(this.visible().reduce((n, s) => n + s.points.x.length, 0));
    this.box.dataset.draws = String(Number(this.box.dataset.draws ?? 0) + 1);
  }

  async build() {
    this.drop();
    this.box.replaceChildren();
    const canvas = new Canvas({ point: at => this.point(at), leave: () => setCrosshair(null), zoom: event => this.zoomed(event) });
    this.canvas = canvas;
    await canvas.build(this.box, { isLogY: Boolean(state.logy), zero: this.about.zero });
  }

  // The place of a value on the x-axis, and the value at a place.
  place(x) {
    return this.axis ? this.axis.to(x) : x;
  }

  value(at) {
    return this.axis ? this.axis.back(at) : at;
  }

  fill() {
    const all = this.visible();
    this.axis = state.logx ? symlog(all.flatMap(s => s.points.x)) : null;
    const drawing = new Drawing(all, x => this.place(x), y => y === null || (state.logy && y <= 0) ? NaN : y, this.about.marked);
    this.canvas.show(drawing, this.markColumns());
    this.fit(drawing.bounds);
  }

  // Returns the columns of the marks of the lines that are shown.
  markColumns() {
    const byName = new Map(this.series.map(s => [s.name, s]));
    const isHidden = s => s && this.hidden.has(s.line ?? s.name);
    const own = this.marks.filter(mark => (!mark.panel || mark.panel === this.panel) && !isHidden(byName.get(mark.series)));
    const drawn = this.drawnMarks = own.slice(0, MOST_MARKS);
    this.box.dataset.marks = String(drawn.length);
    this.fewer.hidden = drawn.length === own.length;
    this.fewer.textContent = this.fewer.hidden ? "" : `The first ${MOST_MARKS} of ${own.length} alarms and resumes are drawn.`;
    return {
      x: drawn.map(mark => this.place(mark.x)),
      colour: drawn.map(mark => byName.has(mark.series) ? shown(byName.get(mark.series).style.colour) : ink("--soft")),
      dash: drawn.map(mark => mark.text.startsWith("alarm") ? [] : [1, 3]),
    };
  }

  // Fits the axes to the data, unless somebody has zoomed in.
  fit(bounds) {
    const pad = ([low, high], share) => {
      const room = (high - low || Math.abs(high) || 1) * share;
      return [low - room, high + room];
    };
    let { x, y } = bounds ?? { x: [0, 1], y: state.logy ? [0.1, 1] : [0, 1] };
    if (this.about.zero && !state.logy && bounds) y = [Math.min(0, y[0]), Math.max(0, y[1])];
    x = pad(x, 0.02);
    y = state.logy ? [y[0] / 1.2, y[1] * 1.2] : pad(y, 0.06);
    if (state.low !== "") x = [this.place(Number(state.low)), x[1]];
    if (state.high !== "") x = [x[0], this.place(Number(state.high))];
    this.canvas.setRange(x, this.zoomY ?? y);
    if (this.axis) this.canvas.setTicks(ticks(this.axis, x[0], x[1]));
  }

  zoomed(event) {
    this.zoomY = [event.y0, event.y1];
    this.about.onzoom?.(this.value(event.x0), this.value(event.x1));
  }

  zoomTo(range) {
    this.zoomY = null;
    this.about.onzoom?.(...(range ?? [null, null]));
  }

  // The values at which the crosshair stops. Training curves, which have one per step, are read at those of the other lines.
  stops() {
    const lines = this.lines(), own = lines.filter(s => !s.train);
    return [...new Set((own.length ? own : lines).flatMap(s => s.points.x))].sort((a, b) => a - b);
  }

  // Puts the crosshair at the stop that is nearest to a place of this chart.
  point(at) {
    const xs = this.stops(), i = nearest(xs.map(x => this.place(x)), at);
    if (i >= 0) setCrosshair(xs[i]);
  }

  cross(x) {
    if (!this.canvas?.cross) return;
    this.canvas.showCross(x === null ? null : this.place(x));
    if (x === null) this.readout.textContent = "";
    else this.tell(x);
  }

  // Writes the values of the lines that reach the crosshair, where they are of another place also that place, and the marks there.
  tell(x) {
    const parts = [], format = this.about.format ?? number;
    for (const s of this.lines()) {
      const xs = s.points.x, i = nearest(xs, x);
      if (i < 0 || x < xs[0] || x > xs.at(-1)) continue;
      const at = number(xs[i]) === number(x) ? "" : ` (at ${this.about.x.toLowerCase()} ${number(xs[i])})`;
      const band = s.points.low && s.points.low[i] !== null ? ` [${format(s.points.low[i])}, ${format(s.points.high[i])}]` : "";
      const n = s.seeds ? `, n = ${s.seeds}` : "";
      parts.push(`${s.name} ${format(s.points.y[i]) || "no value"}${band}${n}${at}`);
    }
    const { start, end } = this.canvas.range;
    const marks = (this.drawnMarks ?? []).filter(mark => Math.abs(this.place(mark.x) - this.place(x)) < (end - start) / 80);
    this.readout.replaceChildren(el("b", {}, `${this.about.x} ${number(x)}: `), parts.slice(0, TOLD_LINES).join(" · ") || "no values",
      parts.length > TOLD_LINES ? ` · and ${parts.length - TOLD_LINES} more lines` : "",
      marks.length ? el("i", {}, " — " + marks.map(mark => `${mark.series}: ${mark.text}`).join("; ")) : "");
  }

  key(event) {
    const xs = this.stops();
    if (!xs.length) return;
    const at = crosshair() === null ? -1 : nearest(xs, crosshair());
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: xs.length - 1 }[event.key];
    if (to !== undefined) setCrosshair(xs[Math.min(xs.length - 1, Math.max(0, to))]);
    else if ("+=-".includes(event.key)) this.zoomKey(event.key === "-" ? 2 : 0.5, crosshair() ?? xs[Math.floor(xs.length / 2)]);
    else if (event.key === "0") this.zoomTo(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  zoomKey(factor, centre) {
    const { start, end } = this.canvas.range, middle = this.place(centre);
    this.zoomTo([this.value(middle - (middle - start) * factor), this.value(middle + (end - middle) * factor)]);
  }

  describe() {
    const lines = this.lines(), { format = number } = this.about;
    const last = lines.slice(0, DESCRIBED_LINES).map(s => `${s.name} ${format(s.points.y.at(-1))}`).join(", ");
    this.box.setAttribute("aria-label", `${this.panel} against ${this.about.x}: ${lines.length} lines. Last values: ${last}. ` +
      "Arrow keys move the crosshair. The table below has the numbers.");
  }

  rows() {
    const columns = ["x", "y", "low", "high", "raw"];
    return this.visible().flatMap(s => s.points.x.map((_, i) => [this.panel, s.name,
      ...columns.map(name => s.points[name]?.[i] ?? ""), s.seeds || 1]));
  }

  fillTable() {
    if (!this.details.open) return;
    const { format = number } = this.about;
    const rows = this.rows().map(([, name, x, ...values]) => [name, number(x),
      ...values.map((value, i) => typeof value !== "number" ? value : i < 4 ? format(value) : String(value))]);
    const few = rows.length > TABLE_ROWS ? `The first ${TABLE_ROWS} of ${rows.length} points; the CSV has all.` : "";
    this.details.lastChild.replaceChildren(table(["line", this.about.x, "y", "low", "high", "before smoothing", "n"],
      rows.slice(0, TABLE_ROWS), few || this.panel));
  }

  async export(kind) {
    const name = `${fileName(`${this.panel}-${this.about.x}`)}.${kind.toLowerCase()}`;
    if (kind === "CSV") {
      download(name, csv([["panel", "series", "x", "y", "low", "high", "y_raw", "n_seeds"], ...this.rows()]), "text/csv");
      return;
    }
    const lines = this.lines(), { x, y, note = "", marked } = this.about, size = this.box.getBoundingClientRect();
    const about = { title: this.panel, x, y, lines, note, isMarked: marked && lines.some(s => s.points.x.length <= MARKED_POINTS) };
    const picture = await framedPicture(kind, await this.canvas.picture(kind.toLowerCase()), about, size);
    download(name, picture, picture.type);
  }
}
