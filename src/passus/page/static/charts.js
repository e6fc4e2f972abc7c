// Charts: the specification of a panel to Bokeh's canvas, with a crosshair, zoom, export and a table of the numbers.
// No text of a file goes into Bokeh, which would look for formulas in it: titles, names and readouts are HTML.

import { state } from "./state.js";
import { el, table, number, download, csv, fileName } from "./text.js";

const MARKERS = { o: "circle", s: "square", "^": "triangle", v: "inverted_triangle", D: "diamond", P: "plus", "*": "star", X: "x" };
const MARKED_POINTS = 60;
const REDRAW_MS = 100;
const TABLE_ROWS = 2000;
const MOST_MARKS = 60;
const TOLD_LINES = 12;
const finite = Number.isFinite;

export function isDark() {
  if (state.theme) return state.theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Colours are those of the paper figures. On a dark page, the darkest ones are lightened so that they can be seen.
export function shown(colour) {
  const channels = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
  const light = (0.3 * channels[0] + 0.59 * channels[1] + 0.11 * channels[2]) / 255;
  if (!isDark() || light > 0.38) return colour;
  const by = 0.5 - 0.6 * light;
  return "#" + channels.map(c => Math.round(c + (255 - c) * by).toString(16).padStart(2, "0")).join("");
}

// The outline of a marker, for swatches and pictures.
export function markerPath(marker, x, y, r = 4) {
  const corners = places => `M${places.map(([dx, dy]) => `${x + r * dx} ${y + r * dy}`).join("L")}Z`;
  const round = (n, radius) => Array.from({ length: n }, (_, i) => [
    radius(i) * Math.sin(2 * Math.PI * i / n), -radius(i) * Math.cos(2 * Math.PI * i / n)]);
  switch (MARKERS[marker]) {
    case "square": return corners([[-0.8, -0.8], [0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]]);
    case "triangle": return corners([[0, -1], [1, 0.8], [-1, 0.8]]);
    case "inverted_triangle": return corners([[0, 1], [1, -0.8], [-1, -0.8]]);
    case "diamond": return corners([[0, -1], [0.8, 0], [0, 1], [-0.8, 0]]);
    case "star": return corners(round(10, i => i % 2 ? 0.45 : 1.1));
    case "plus": return `M${x - r} ${y}H${x + r}M${x} ${y - r}V${y + r}`;
    case "x": return `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}`;
    default: return corners(round(24, () => 0.9));
  }
}

// Whether the lines of a figure are drawn with markers.
export function hasMarkers(figure) {
  return figure.kind === "curves" && figure.series.some(s => !s.faint && s.points.x.length <= MARKED_POINTS);
}

export function swatch(style, marked = false) {
  const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg");
  const line = document.createElementNS(space, "path"), marker = document.createElementNS(space, "path");
  svg.setAttribute("width", "26");
  svg.setAttribute("height", "10");
  svg.setAttribute("aria-hidden", "true");
  line.setAttribute("d", "M0 5H26");
  line.setAttribute("stroke", shown(style.colour));
  line.setAttribute("stroke-width", "2");
  if (style.dash.length) line.setAttribute("stroke-dasharray", style.dash.map(part => part * 2).join(" "));
  marker.setAttribute("d", markerPath(style.marker, 13, 5));
  marker.setAttribute("fill", shown(style.colour));
  marker.setAttribute("stroke", shown(style.colour));
  svg.append(line, ...marked ? [marker] : []);
  return svg;
}

// A log axis that is linear from 0 to the smallest positive value, as in the paper figures.
function symlog(values) {
  const positive = values.filter(x => x > 0);
  const first = positive.length ? positive.reduce((a, b) => Math.min(a, b)) : 1;
  return {
    first,
    to: x => x <= first ? x / first : 1 + Math.log10(x / first),
    back: t => t <= 1 ? t * first : first * 10 ** (t - 1),
  };
}

function ticks(axis, low, high) {
  const places = [[0, "0"]];
  for (let power = Math.floor(Math.log10(axis.first)); power < 20; power++) {
    const value = 10 ** power, at = axis.to(value);
    if (value >= axis.first * 0.999 && at <= high) places.push([at, number(value)]);
    if (at > high) break;
  }
  return places.filter(([at]) => at >= low);
}

const charts = new Set();
let crosshair = null, crossTimer = null, crossed = 0;

// Moves the crosshair of all charts, at most ten times a second.
export function setCrosshair(x) {
  crosshair = x;
  if (crossTimer) return;
  crossTimer = setTimeout(() => {
    crossTimer = null;
    crossed = performance.now();
    for (const chart of charts) chart.cross(crosshair);
  }, Math.max(0, crossed + REDRAW_MS - performance.now()));
}

export class Chart {
  constructor(panel, about) {
    this.panel = panel;
    this.about = about;
    this.hidden = new Set();
    this.series = [];
    this.marks = [];
    this.box = el("div", { class: "chart", tabindex: "0", role: "application", "aria-roledescription": "chart" });
    this.readout = el("p", { class: "readout", "aria-live": "off" });
    this.fewer = el("p", { class: "note", hidden: true });
    this.details = el("details", { ontoggle: () => this.fillTable() }, el("summary", {}, "Numbers"), el("div"));
    this.node = el("section", { class: "panel", "aria-label": panel },
      el("div", { class: "top" }, el("h3", {}, panel), el("span", { class: "export" },
        ...["SVG", "PNG", "CSV"].map(kind => el("button", {
          type: "button", title: `${panel} as ${kind}`, "aria-label": `${panel} as ${kind}`, onclick: () => this.export(kind),
        }, kind)))),
      el("div", { class: "plot" }, this.yTitle = el("p", { class: "axis y" }), this.box), this.xTitle = el("p", { class: "axis" }), this.readout, this.fewer, this.details);
    this.box.addEventListener("keydown", event => this.key(event));
    this.box.addEventListener("focus", () => this.readout.setAttribute("aria-live", "polite"));
    this.box.addEventListener("blur", () => this.readout.setAttribute("aria-live", "off"));
    this.box.addEventListener("dblclick", () => this.zoomTo(null));
    this.drawn = 0;
    charts.add(this);
  }

  remove() {
    charts.delete(this);
    clearTimeout(this.timer);
    this.removed = true;
    this.drop();
  }

  // Takes the figure out of Bokeh, which keeps a list of all documents that it has shown.
  drop() {
    const { documents } = window.Bokeh, shown = this.figure?.document;
    this.figure = this.view = this.cross_ = null;
    if (!shown) return;
    shown.clear();
    const at = documents.indexOf(shown);
    if (at >= 0) documents.splice(at, 1);
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
      await this.drawing; // a figure is built before the next one is begun
      this.timer = null;
      this.drawn = performance.now();
      this.drawing = this.draw().catch(error => console.error(error));
    }, wait);
  }

  visible() {
    return this.series.filter(s => !this.hidden.has(s.line ?? s.name));
  }

  async draw() {
    if (this.removed) return;
    const key = [state.logx, state.logy, isDark()].join();
    if (this.key_ !== key || !this.figure) {
      this.key_ = key;
      await this.build();
      if (this.removed) {
        this.drop();
        return;
      }
    }
    this.fill();
    this.fit();
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
    const { Bokeh } = window;
    const colours = { background_fill_color: ink("--paper"), border_fill_color: ink("--paper"), outline_line_color: ink("--line") };
    const touch = matchMedia("(pointer: coarse)").matches;
    this.figure = Bokeh.Plotting.figure({
      tools: touch ? "" : "box_zoom,xpan", toolbar_location: null, sizing_mode: "stretch_both", min_border: 4,
      x_range: new Bokeh.Range1d({ start: 0, end: 1 }), y_range: new Bokeh.Range1d({ start: 0, end: 1 }),
      y_axis_type: state.logy ? "log" : "linear", ...colours,
    });
    for (const axis of [...this.figure.xaxes ?? [this.figure.xaxis], ...this.figure.yaxes ?? [this.figure.yaxis]]) {
      Object.assign(axis, { axis_line_color: ink("--line"), major_tick_line_color: ink("--line"), minor_tick_line_color: null,
        major_label_text_color: ink("--soft"), axis_label_text_color: ink("--soft") });
    }
    for (const grid of [this.figure.xgrid, this.figure.ygrid].flat()) grid.grid_line_color = ink("--line");
    this.sources = {};
    const source = (name, columns) => this.sources[name] = new Bokeh.ColumnDataSource({
      data: Object.fromEntries(columns.map(column => [column, []])),
    });
    const field = name => ({ field: name });
    this.figure.patches(field("xs"), field("ys"), { source: source("bands", ["xs", "ys", "colour"]), fill_color: field("colour"),
      fill_alpha: 0.18, line_color: null });
    this.figure.multi_line(field("xs"), field("ys"), { source: source("lines", ["xs", "ys", "colour", "width", "alpha", "dash"]),
      line_color: field("colour"), line_width: field("width"), line_alpha: field("alpha"), line_dash: field("dash") });
    this.figure.scatter(field("x"), field("y"), { source: source("points", ["x", "y", "colour", "marker", "fill"]), size: 6,
      marker: field("marker"), line_color: field("colour"), fill_color: field("fill") });
    this.figure.vspan(field("x"), { source: source("marks", ["x", "colour", "dash"]), line_color: field("colour"),
      line_dash: field("dash"), line_width: 1.2 });
    if (this.about.zero && !state.logy) {
      this.figure.add_layout(new Bokeh.Span({ dimension: "width", location: 0, line_color: ink("--ink"), line_width: 1 }));
    }
    this.cross_ = new Bokeh.Span({ dimension: "height", line_color: ink("--soft"), line_dash: [4, 3], visible: false });
    this.figure.add_layout(this.cross_);
    this.figure.on_event("mousemove", event => this.point(event.x));
    this.figure.on_event("tap", event => this.point(event.x));
    this.figure.on_event("mouseleave", () => setCrosshair(null));
    this.figure.on_event("rangesupdate", event => this.zoomed(event));
    this.view = await Bokeh.Plotting.show(this.figure, this.box);
  }

  place(x) {
    return this.axis ? this.axis.to(x) : x;
  }

  fill() {
    const lines = { xs: [], ys: [], colour: [], width: [], alpha: [], dash: [] }, bands = { xs: [], ys: [], colour: [] };
    const points = { x: [], y: [], colour: [], marker: [], fill: [] };
    const all = this.visible();
    this.axis = state.logx ? symlog(all.flatMap(s => s.points.x)) : null;
    this.noPlace = 0;
    const height = y => {
      if (state.logy && y !== null && y <= 0) this.noPlace++;
      return y === null || (state.logy && y <= 0) ? NaN : y;
    };
    const add = (s, xs, ys, width, alpha, dash = s.style.dash) => {
      lines.xs.push(xs);
      lines.ys.push(ys);
      lines.colour.push(shown(s.style.colour));
      lines.width.push(width);
      lines.alpha.push(alpha);
      lines.dash.push(dash.map(part => part * width));
    };
    for (const s of [...all.filter(s => s.faint), ...all.filter(s => !s.faint)]) {
      const xs = s.points.x.map(x => this.place(x)), ys = s.points.y.map(height);
      if (s.bounds) for (const bound of ["low", "high"]) add(s, xs, s.points[bound].map(height), 1.3, 0.9, [3, 3]);
      else if (s.points.low && !s.faint) this.addBand(bands, s, xs, height);
      if (s.points.raw && !s.faint) add(s, xs, s.points.raw.map(height), 1, 0.22);
      add(s, xs, ys, s.faint ? 1 : 2, s.faint ? 0.4 : 1);
      this.addMarkers(points, s, xs, ys);
    }
    this.sources.bands.data = bands;
    this.sources.lines.data = lines;
    this.sources.points.data = points;
    this.drawnLines = lines;
    this.drawnBands = bands;
    this.fillMarks();
  }

  // Marks all points of a short line, and of a long one those between two gaps, through which no line goes.
  addMarkers(points, s, xs, ys) {
    const isMarked = !s.faint && this.about.marked && xs.length <= MARKED_POINTS;
    const colour = shown(s.style.colour), marker = MARKERS[s.style.marker] ?? "circle";
    xs.forEach((x, i) => {
      const isAlone = !finite(ys[i - 1]) && !finite(ys[i + 1]);
      if (!finite(ys[i]) || !(isMarked || isAlone)) return;
      points.x.push(x);
      points.y.push(ys[i]);
      points.colour.push(colour);
      points.fill.push(colour);
      points.marker.push(marker);
    });
  }

  // A band is a closed outline per stretch without a gap.
  addBand(bands, s, xs, height) {
    let run = [];
    const close = () => {
      if (run.length > 1) {
        bands.xs.push([...run.map(p => p[0]), ...run.map(p => p[0]).reverse()]);
        bands.ys.push([...run.map(p => p[1]), ...run.map(p => p[2]).reverse()]);
        bands.colour.push(shown(s.style.colour));
      }
      run = [];
    };
    xs.forEach((x, i) => {
      const low = height(s.points.low[i]), high = height(s.points.high[i]);
      if (finite(low) && finite(high)) run.push([x, low, high]);
      else close();
    });
    close();
  }

  // Draws the marks of the lines that are shown.
  fillMarks() {
    const byName = new Map(this.series.map(s => [s.name, s]));
    const isHidden = s => s && this.hidden.has(s.line ?? s.name);
    const own = this.marks.filter(mark => (!mark.panel || mark.panel === this.panel) && !isHidden(byName.get(mark.series)));
    const drawn = own.slice(0, MOST_MARKS);
    this.ownMarks = drawn;
    this.sources.marks.data = {
      x: drawn.map(mark => this.place(mark.x)),
      colour: drawn.map(mark => byName.has(mark.series) ? shown(byName.get(mark.series).style.colour) : ink("--soft")),
      dash: drawn.map(mark => mark.text.startsWith("alarm") ? [] : [1, 3]),
    };
    this.box.dataset.marks = String(drawn.length);
    this.fewer.hidden = drawn.length === own.length;
    this.fewer.textContent = this.fewer.hidden ? "" : `The first ${MOST_MARKS} of ${own.length} alarms and resumes are drawn.`;
  }

  // Fits the axes to the data, unless somebody has zoomed in.
  fit() {
    const bounds = values => values.reduce(([low, high], v) => finite(v) ? [Math.min(low, v), Math.max(high, v)] : [low, high],
      [Infinity, -Infinity]);
    const pad = (low, high, share) => {
      const room = (high - low || Math.abs(high) || 1) * share;
      return [low - room, high + room];
    };
    let x = bounds(this.drawnLines.xs.flat()), y = bounds([...this.drawnLines.ys.flat(), ...this.drawnBands.ys.flat()]);
    if (this.about.zero && !state.logy && finite(y[0])) y = [Math.min(0, y[0]), Math.max(0, y[1])];
    if (!finite(x[0])) x = [0, 1];
    if (!finite(y[0])) y = state.logy ? [0.1, 1] : [0, 1];
    this.full = { x: pad(...x, 0.02), y: state.logy ? [y[0] / 1.2, y[1] * 1.2] : pad(...y, 0.06) };
    const zoom = this.zoom;
    const low = state.low !== "" ? this.place(Number(state.low)) : null, high = state.high !== "" ? this.place(Number(state.high)) : null;
    this.setRange(low !== null || high !== null ? [low ?? this.full.x[0], high ?? this.full.x[1]] : this.full.x, zoom?.y ?? this.full.y);
  }

  setRange(x, y) {
    this.quiet = true;
    const same = (range, [start, end]) => range.start === start && range.end === end;
    if (!same(this.figure.x_range, x)) this.figure.x_range.setv({ start: x[0], end: x[1] });
    if (!same(this.figure.y_range, y)) this.figure.y_range.setv({ start: y[0], end: y[1] });
    this.quiet = false;
    if (this.axis) {
      const { Bokeh } = window, places = ticks(this.axis, x[0], x[1]);
      this.figure.xaxis.ticker = new Bokeh.FixedTicker({ ticks: places.map(([at]) => at) });
      this.figure.xaxis.major_label_overrides = new Map(places);
    }
  }

  zoomed(event) {
    if (this.quiet) return;
    const back = x => this.axis ? this.axis.back(x) : x;
    this.zoom = { y: [event.y0, event.y1] };
    this.about.onzoom?.(back(event.x0), back(event.x1));
  }

  zoomTo(range) {
    this.zoom = null;
    this.about.onzoom?.(...(range ?? [null, null]));
  }

  // Puts the crosshair at the place of the values that are nearest to a place of this chart.
  point(at) {
    const xs = this.visible().filter(s => !s.faint).flatMap(s => s.points.x), i = nearest(xs.map(x => this.place(x)), at);
    if (i >= 0) setCrosshair(xs[i]);
  }

  cross(x) {
    if (!this.cross_) return;
    this.cross_.visible = x !== null;
    if (x === null) {
      this.readout.textContent = "";
      return;
    }
    this.cross_.location = this.place(x);
    this.tell(x);
  }

  // Says the values of the lines that reach the crosshair, where they are of another place also that place, and the marks there.
  tell(x) {
    const parts = [], format = this.about.format ?? number;
    for (const s of this.visible().filter(s => !s.faint)) {
      const xs = s.points.x, i = nearest(xs, x);
      if (i < 0 || x < xs[0] || x > xs.at(-1)) continue;
      const at = number(xs[i]) === number(x) ? "" : ` (at ${this.about.x.toLowerCase()} ${number(xs[i])})`;
      const band = s.points.low && s.points.low[i] !== null ? ` [${format(s.points.low[i])}, ${format(s.points.high[i])}]` : "";
      const n = s.seeds ? `, n = ${s.seeds}` : "";
      parts.push([s.name, `${format(s.points.y[i]) || "no value"}${band}${n}${at}`]);
    }
    const span = this.figure.x_range.end - this.figure.x_range.start;
    const marks = (this.ownMarks ?? []).filter(mark => Math.abs(this.place(mark.x) - this.place(x)) < span / 80);
    this.readout.replaceChildren(el("b", {}, `${this.about.x} ${number(x)}: `),
      parts.slice(0, TOLD_LINES).map(([name, value]) => `${name} ${value}`).join(" · ") || "no values",
      parts.length > TOLD_LINES ? ` · and ${parts.length - TOLD_LINES} more lines` : "",
      marks.length ? el("i", {}, " — " + marks.map(mark => `${mark.series}: ${mark.text}`).join("; ")) : "");
  }

  key(event) {
    const xs = [...new Set(this.visible().flatMap(s => s.points.x))].sort((a, b) => a - b);
    if (!xs.length) return;
    const at = crosshair === null ? -1 : nearest(xs, crosshair);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: xs.length - 1 }[event.key];
    if (to !== undefined) setCrosshair(xs[Math.min(xs.length - 1, Math.max(0, to))]);
    else if ("+=-".includes(event.key)) this.zoomKey(event.key === "-" ? 2 : 0.5, crosshair ?? xs[Math.floor(xs.length / 2)]);
    else if (event.key === "0") this.zoomTo(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  zoomKey(factor, centre) {
    const back = x => this.axis ? this.axis.back(x) : x, { start, end } = this.figure.x_range, middle = this.place(centre);
    this.zoomTo([back(middle - (middle - start) * factor), back(middle + (end - middle) * factor)]);
  }

  describe() {
    const lines = this.visible().filter(s => !s.faint);
    const last = lines.slice(0, 8).map(s => `${s.name} ${(this.about.format ?? number)(s.points.y.at(-1))}`).join(", ");
    this.box.setAttribute("aria-label", `${this.panel} against ${this.about.x}: ${lines.length} lines. Last values: ${last}. ` +
      "Arrow keys move the crosshair. The table below has the numbers.");
  }

  rows() {
    const columns = ["x", "y", "low", "high", "raw"], rows = [];
    for (const s of this.visible()) {
      s.points.x.forEach((_, i) => rows.push([this.panel, s.name, ...columns.map(name => s.points[name]?.[i] ?? ""), s.seeds || 1]));
    }
    return rows;
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
    const name = fileName(`${this.panel}-${this.about.x}`);
    if (kind === "CSV") {
      download(`${name}.csv`, csv([["panel", "series", "x", "y", "low", "high", "y_raw", "n_seeds"], ...this.rows()]), "text/csv");
      return;
    }
    const lines = this.visible().filter(s => !s.faint), { width, height } = this.box.getBoundingClientRect();
    const blob = await this.view.export(kind.toLowerCase(), true).to_blob();
    const frame = { title: this.panel, x: this.about.x, y: this.about.y, lines, notes: wrapped(this.about.note ?? "", width),
      isMarked: this.about.marked && lines.some(s => s.points.x.length <= MARKED_POINTS) };
    const made = kind === "SVG" ? await framedSvg(blob, frame, width, height) : await framedPng(blob, frame);
    download(`${name}.${kind.toLowerCase()}`, made, made.type);
  }
}

function nearest(xs, x) {
  let best = -1;
  for (let i = 0; i < xs.length; i++) if (best < 0 || Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
  return best;
}

const ROW = 16, TOP = 22, LEFT = 18;

// The lines of a note, short enough for a picture of this width.
function wrapped(text, width) {
  const most = Math.max(30, Math.floor(width / 6)), rows = [];
  for (const line of text.split("\n").filter(Boolean)) {
    let row = "";
    for (const word of line.split(" ")) {
      if (row && row.length + word.length + 1 > most) {
        rows.push(row);
        row = word;
      } else row = row ? `${row} ${word}` : word;
    }
    rows.push(row);
  }
  return rows;
}

// The parts of a frame around a picture of this size: title and axis titles, the names of the lines with n, and the note on bands.
function frameOf({ title, x, y, lines, notes, isMarked }, width, height) {
  const below = TOP + height + 30, ground = below + ROW * (lines.length + notes.length);
  return { width: width + LEFT, height: ground, texts: [
    { text: title, x: 8, y: 16, size: 14, ink: "--ink" },
    { text: x, x: LEFT + width / 2, y: TOP + height + 12, size: 12, ink: "--soft", middle: true },
    { text: y, x: 13, y: TOP + height / 2, size: 12, ink: "--soft", middle: true, turned: true },
    ...lines.map((s, i) => ({ text: label(s), x: 38, y: below + ROW * i, size: 12, ink: "--ink" })),
    ...notes.map((text, i) => ({ text, x: 8, y: below + ROW * (lines.length + i), size: 11, ink: "--soft" })),
  ], keys: lines.map((s, i) => ({ y: below - 4 + ROW * i, colour: shown(s.style.colour), dash: s.style.dash.map(part => 2 * part),
    marker: isMarked ? markerPath(s.style.marker, 20, below - 4 + ROW * i) : "" })) };
}

async function framedSvg(blob, about, width, height) {
  const inner = new DOMParser().parseFromString(await blob.text(), "image/svg+xml").documentElement;
  const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), frame = frameOf(about, width, height);
  const make = (name, attributes, text = "") => {
    const node = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    svg.append(node);
  };
  for (const [key, value] of Object.entries({ width: frame.width, height: frame.height, viewBox: `0 0 ${frame.width} ${frame.height}` })) {
    svg.setAttribute(key, value);
  }
  make("rect", { width: frame.width, height: frame.height, fill: ink("--paper") });
  inner.setAttribute("x", String(LEFT));
  inner.setAttribute("y", String(TOP));
  svg.append(inner);
  for (const { text, x, y, size, ink: colour, middle, turned } of frame.texts) {
    make("text", { x, y, "font-family": "sans-serif", "font-size": size, fill: ink(colour), ...(middle ? { "text-anchor": "middle" } : {}),
      ...(turned ? { transform: `rotate(-90 ${x} ${y})` } : {}) }, text);
  }
  for (const { y, colour, dash, marker } of frame.keys) {
    make("path", { d: `M8 ${y}H32`, stroke: colour, "stroke-width": 2, ...(dash.length ? { "stroke-dasharray": dash.join(" ") } : {}) });
    if (marker) make("path", { d: marker, fill: colour, stroke: colour });
  }
  return new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
}

async function framedPng(blob, about) {
  const image = await createImageBitmap(blob), scale = window.devicePixelRatio || 1, canvas = document.createElement("canvas");
  const frame = frameOf(about, image.width / scale, image.height / scale), context = canvas.getContext("2d");
  canvas.width = frame.width * scale;
  canvas.height = frame.height * scale;
  context.fillStyle = ink("--paper");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, LEFT * scale, TOP * scale);
  context.scale(scale, scale);
  for (const { text, x, y, size, ink: colour, middle, turned } of frame.texts) {
    context.save();
    context.translate(x, y);
    if (turned) context.rotate(-Math.PI / 2);
    context.font = `${size}px sans-serif`;
    context.textAlign = middle ? "center" : "left";
    context.fillStyle = ink(colour);
    context.fillText(text, 0, 0);
    context.restore();
  }
  for (const { y, colour, dash, marker } of frame.keys) {
    Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 2 });
    context.setLineDash(dash);
    context.stroke(new Path2D(`M8 ${y}H32`));
    context.setLineDash([]);
    context.lineWidth = 1;
    context.stroke(new Path2D(marker));
    context.fill(new Path2D(marker));
  }
  return new Promise(done => canvas.toBlob(done, "image/png"));
}

export function label(s) {
  return s.name + (s.seeds ? ` (mean, n = ${s.seeds})` : "");
}
