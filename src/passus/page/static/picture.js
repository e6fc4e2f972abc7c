// The picture of a chart as a file: the canvas, and around it what stands beside the canvas on the page.

import { ink, label, markerPath, shown, svgElement } from "./styles.js";

const ROW = 16, TOP = 22, LEFT = 18, LETTER = 6;

// `about` has title, axis titles (x, y), lines, note, and whether the lines have markers.
export async function framedPicture(kind, blob, about, { width, height }) {
  return kind === "SVG" ? framedSvg(blob, about, width, height) : framedPng(blob, about);
}

// The lines of a note, short enough for a picture of this width.
function wrapped(text, width) {
  const most = Math.max(30, Math.floor(width / LETTER)), rows = [];
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
function frameOf({ title, x, y, lines, note, isMarked }, width, height) {
  const notes = wrapped(note, width), below = TOP + height + 30;
  return { width: width + LEFT, height: below + ROW * (lines.length + notes.length), texts: [
    { text: title, x: 8, y: 16, size: 14, ink: "--ink" },
    { text: x, x: LEFT + width / 2, y: TOP + height + 12, size: 12, ink: "--soft", middle: true },
    { text: y, x: 13, y: TOP + height / 2, size: 12, ink: "--soft", middle: true, turned: true },
    ...lines.map((s, i) => ({ text: label(s), x: 38, y: below + ROW * i, size: 12, ink: "--ink" })),
    ...notes.map((text, i) => ({ text, x: 8, y: below + ROW * (lines.length + i), size: 11, ink: "--soft" })),
  ], keys: lines.map((s, i) => ({ y: below - 4 + ROW * i, colour: shown(s.style.colour), dash: s.style.dash.map(part => 2 * part),
    marker: isMarked && !s.train ? markerPath(s.style.marker, 20, below - 4 + ROW * i) : "" })) };
}

async function framedSvg(blob, about, width, height) {
  const inner = new DOMParser().parseFromString(await blob.text(), "image/svg+xml").documentElement;
  const frame = frameOf(about, width, height);
  const svg = svgElement("svg", { width: frame.width, height: frame.height, viewBox: `0 0 ${frame.width} ${frame.height}` });
  svg.append(svgElement("rect", { width: frame.width, height: frame.height, fill: ink("--paper") }));
  inner.setAttribute("x", String(LEFT));
  inner.setAttribute("y", String(TOP));
  svg.append(inner);
  for (const { text, x, y, size, ink: colour, middle, turned } of frame.texts) {
    svg.append(svgElement("text", { x, y, "font-family": "sans-serif", "font-size": size, fill: ink(colour),
      ...(middle ? { "text-anchor": "middle" } : {}), ...(turned ? { transform: `rotate(-90 ${x} ${y})` } : {}) }, text));
  }
  for (const { y, colour, dash, marker } of frame.keys) {
    const dashes = dash.length ? { "stroke-dasharray": dash.join(" ") } : {};
    svg.append(svgElement("path", { d: `M8 ${y}H32`, stroke: colour, "stroke-width": 2, ...dashes }));
    if (marker) svg.append(svgElement("path", { d: marker, fill: colour, stroke: colour }));
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
  for (const text of frame.texts) drawText(context, text);
  for (const key of frame.keys) drawKey(context, key);
  return new Promise(done => canvas.toBlob(done, "image/png"));
}

function drawText(context, { text, x, y, size, ink: colour, middle, turned }) {
  context.save();
  context.translate(x, y);
  if (turned) context.rotate(-Math.PI / 2);
  context.font = `${size}px sans-serif`;
  context.textAlign = middle ? "center" : "left";
  context.fillStyle = ink(colour);
  context.fillText(text, 0, 0);
  context.restore();
}

function drawKey(context, { y, colour, dash, marker }) {
  Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 2 });
  context.setLineDash(dash);
  context.stroke(new Path2D(`M8 ${y}H32`));
  context.setLineDash([]);
  context.lineWidth = 1;
  context.stroke(new Path2D(marker));
  context.fill(new Path2D(marker));
}
