// Bokeh's canvas of one chart. No text of a file goes into it, because Bokeh would look for formulas in it.

import { COLUMNS } from "./drawing.js";
import { ink } from "./styles.js";

const field = name => ({ field: name });

export class Canvas {
  // `on` has what is called for a place under the pointer (point), for the pointer leaving (leave), and for a zoom (zoom).
  constructor(on) {
    this.on = on;
    this.isSettingRange = false;
  }

  // Draws an empty figure into a box. `zero` asks for a line at 0.
  async build(box, { isLogY, zero }) {
    const { Bokeh } = window, touch = matchMedia("(pointer: coarse)").matches;
    this.figure = Bokeh.Plotting.figure({
      tools: touch ? "" : "box_zoom,xpan", toolbar_location: null, sizing_mode: "stretch_both", min_border: 4,
      x_range: new Bokeh.Range1d({ start: 0, end: 1 }), y_range: new Bokeh.Range1d({ start: 0, end: 1 }),
      y_axis_type: isLogY ? "log" : "linear",
      background_fill_color: ink("--paper"), border_fill_color: ink("--paper"), outline_line_color: ink("--line"),
    });
    this.styleAxes();
    this.sources = Object.fromEntries(Object.entries(COLUMNS).map(([name, columns]) => [name,
      new Bokeh.ColumnDataSource({ data: Object.fromEntries(columns.map(column => [column, []])) })]));
    this.addGlyphs();
    if (zero && !isLogY) {
      this.figure.add_layout(new Bokeh.Span({ dimension: "width", location: 0, line_color: ink("--ink"), line_width: 1 }));
    }
    this.cross = new Bokeh.Span({ dimension: "height", line_color: ink("--soft"), line_dash: [4, 3], visible: false });
    this.figure.add_layout(this.cross);
    this.figure.on_event("mousemove", event => this.on.point(event.x));
    this.figure.on_event("tap", event => this.on.point(event.x));
    this.figure.on_event("mouseleave", () => this.on.leave());
    this.figure.on_event("rangesupdate", event => { if (!this.isSettingRange) this.on.zoom(event); });
    this.view = await Bokeh.Plotting.show(this.figure, box);
  }

  styleAxes() {
    for (const axis of [...this.figure.xaxes, ...this.figure.yaxes]) {
      Object.assign(axis, { axis_line_color: ink("--line"), major_tick_line_color: ink("--line"), minor_tick_line_color: null,
        major_label_text_color: ink("--soft"), axis_label_text_color: ink("--soft") });
    }
    for (const grid of [this.figure.xgrid, this.figure.ygrid].flat()) grid.grid_line_color = ink("--line");
  }

  addGlyphs() {
    const { bands, lines, points, marks } = this.sources;
    this.figure.patches(field("xs"), field("ys"), { source: bands, fill_color: field("colour"), fill_alpha: 0.18,
      line_color: null });
    this.figure.multi_line(field("xs"), field("ys"), { source: lines, line_color: field("colour"), line_width: field("width"),
      line_alpha: field("alpha"), line_dash: field("dash") });
    this.figure.scatter(field("x"), field("y"), { source: points, size: 6, marker: field("marker"), line_color: field("colour"),
      fill_color: field("fill") });
    this.figure.vspan(field("x"), { source: marks, line_color: field("colour"), line_dash: field("dash"), line_width: 1.2 });
  }

  show(drawing, marks) {
    this.sources.bands.data = drawing.bands;
    this.sources.lines.data = drawing.lines;
    this.sources.points.data = drawing.points;
    this.sources.marks.data = marks;
  }

  get range() {
    return this.figure.x_range;
  }

  setRange(x, y) {
    this.isSettingRange = true;
    const same = (range, [start, end]) => range.start === start && range.end === end;
    if (!same(this.figure.x_range, x)) this.figure.x_range.setv({ start: x[0], end: x[1] });
    if (!same(this.figure.y_range, y)) this.figure.y_range.setv({ start: y[0], end: y[1] });
    this.isSettingRange = false;
  }

  setTicks(places) {
    this.figure.xaxis.ticker = new window.Bokeh.FixedTicker({ ticks: places.map(([at]) => at) });
    this.figure.xaxis.major_label_overrides = new Map(places);
  }

  // Puts the crosshair at a place; null hides it.
  showCross(at) {
    this.cross.visible = at !== null;
    if (at !== null) this.cross.location = at;
  }

  async picture(kind) {
    return this.view.export(kind, true).to_blob();
  }

  // Takes the figure out of Bokeh, which keeps a list of all documents that it has shown.
  remove() {
    const { documents } = window.Bokeh, shown = this.figure?.document;
    if (!shown) return;
    shown.clear();
    const at = documents.indexOf(shown);
    if (at >= 0) documents.splice(at, 1);
  }
}
