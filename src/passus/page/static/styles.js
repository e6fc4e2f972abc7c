// How lines look: the colours, markers and dashes of the paper figures, and the colours of the page.

import { state } from "./view.js";

const SVG = "http://www.w3.org/2000/svg";
export const MARKERS = { o: "circle", s: "square", "^": "triangle", v: "inverted_triangle", D: "diamond", P: "plus", "*": "star", X: "x" };
export const MARKED_POINTS = 60;

export function isDark() {
  if (state.theme) return state.theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// A colour of page.css.
export function ink(name) {
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

export function svgElement(name, attributes, text = "") {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
}

export function swatch(style, marked = false) {
  const svg = svgElement("svg", { width: 26, height: 10, "aria-hidden": "true" }), colour = shown(style.colour);
  const dash = style.dash.length ? { "stroke-dasharray": style.dash.map(part => part * 2).join(" ") } : {};
  svg.append(svgElement("path", { d: "M0 5H26", stroke: colour, "stroke-width": 2, ...dash }));
  if (marked) svg.append(svgElement("path", { d: markerPath(style.marker, 13, 5), fill: colour, stroke: colour }));
  return svg;
}

// The name of a line in legends, with n where it is a mean.
export function label(s) {
  return s.name + (s.seeds ? ` (mean, n = ${s.seeds})` : "");
}
