// What a canvas draws of the series of a panel: lines, bands and markers, in columns.

import { MARKERS, MARKED_POINTS, shown } from "./styles.js";

const finite = Number.isFinite;
const columns = names => Object.fromEntries(names.map(name => [name, []]));
export const COLUMNS = { bands: ["xs", "ys", "colour"], lines: ["xs", "ys", "colour", "width", "alpha", "dash"],
  points: ["x", "y", "colour", "marker", "fill"], marks: ["x", "colour", "dash"] };

export class Drawing {
  // `toX` and `toY` give the place of a value on the axes; NaN where it has none.
  constructor(series, toX, toY, isMarked) {
    this.lines = columns(COLUMNS.lines);
    this.bands = columns(COLUMNS.bands);
    this.points = columns(COLUMNS.points);
    for (const s of [...series].sort((a, b) => layer(a) - layer(b))) {
      const xs = s.points.x.map(toX), place = name => s.points[name].map(toY), ys = place("y");
      if (s.bounds) for (const bound of ["low", "high"]) this.addLine(s, xs, place(bound), 1.3, 0.9, [3, 3]);
      else if (s.points.low && !s.faint) this.addBand(s, xs, place("low"), place("high"));
      if (s.points.raw && !s.faint) this.addLine(s, xs, place("raw"), 1, 0.22);
      if (s.train) this.addLine(s, xs, ys, 1.4, 0.8);
      else this.addLine(s, xs, ys, s.faint ? 1 : 2, s.faint ? 0.4 : 1);
      if (!s.train) this.addMarkers(s, xs, ys, isMarked);
    }
  }

  addLine(s, xs, ys, width, alpha, dash = s.style.dash) {
    this.lines.xs.push(xs);
    this.lines.ys.push(ys);
    this.lines.colour.push(shown(s.style.colour));
    this.lines.width.push(width);
    this.lines.alpha.push(alpha);
    this.lines.dash.push(dash.map(part => part * width));
  }

  // Marks all points of a short line, and of a long one those between two gaps, through which no line goes.
  addMarkers(s, xs, ys, isMarked) {
    const isShort = !s.faint && isMarked && xs.length <= MARKED_POINTS;
    const colour = shown(s.style.colour), marker = MARKERS[s.style.marker] ?? "circle";
    xs.forEach((x, i) => {
      const isAlone = !finite(ys[i - 1]) && !finite(ys[i + 1]);
      if (!finite(ys[i]) || !(isShort || isAlone)) return;
      for (const [name, value] of Object.entries({ x, y: ys[i], colour, marker, fill: colour })) this.points[name].push(value);
    });
  }

  // A band is a closed outline per stretch without a gap.
  addBand(s, xs, lows, highs) {
    let run = [];
    const close = () => {
      if (run.length > 1) {
        this.bands.xs.push([...run.map(p => p[0]), ...run.map(p => p[0]).reverse()]);
        this.bands.ys.push([...run.map(p => p[1]), ...run.map(p => p[2]).reverse()]);
        this.bands.colour.push(shown(s.style.colour));
      }
      run = [];
    };
    xs.forEach((x, i) => {
      if (finite(lows[i]) && finite(highs[i])) run.push([x, lows[i], highs[i]]);
      else close();
    });
    close();
  }

  // The lowest and the highest place that has a value, on both axes; null where there is none.
  get bounds() {
    const x = [Infinity, -Infinity], y = [Infinity, -Infinity];
    const grow = (of, value) => { of[0] = Math.min(of[0], value); of[1] = Math.max(of[1], value); };
    for (const { xs, ys } of [this.lines, this.bands]) {
      ys.forEach((values, line) => values.forEach((value, i) => {
        if (!finite(value)) return;
        grow(x, xs[line][i]);
        grow(y, value);
      }));
    }
    return finite(x[0]) ? { x, y } : null;
  }
}

// Single seeds are drawn below training curves, and these below means.
function layer(s) {
  return s.faint ? 0 : s.train ? 1 : 2;
}
