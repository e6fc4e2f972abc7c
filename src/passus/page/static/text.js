// Elements of the page. Texts of models and files become text nodes, never markup.

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

export function table(head, rows, caption = "") {
  const cell = value => Array.isArray(value)
    ? el("td", {}, value[0] ?? "", value[1] ? el("small", {}, value[1]) : null)
    : el("td", {}, value instanceof Node ? value : String(value ?? ""));
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption || "Table" }, el("table", {},
    caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, ...head.map(name => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...rows.map(row => el("tr", {}, ...row.map(cell))))));
}

export function select(label, options, value, onchange) {
  const known = options.some(([key]) => key === value);
  const box = el("select", { "aria-label": label, onchange: event => onchange(event.target.value) },
    ...(known ? [] : [el("option", { value, selected: true }, value || "choose")]),
    ...options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));
  return el("label", {}, label, box);
}

export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return withMinus(value.toExponential(2));
  return withMinus(String(Number(value.toPrecision(5))));
}

const withMinus = text => text.replaceAll("-", "\u2212");
const fixed = (value, digits) => Number.isFinite(value) ? withMinus((Number(value.toFixed(digits)) || 0).toFixed(digits)) : "";

// A share with three decimals, and points with one.
export const share = value => fixed(value, 3);
export const points = value => fixed(value, 1);

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  return `${Math.floor(s / 86400)} days ${Math.floor(s % 86400 / 3600)} h`;
}

export function download(name, content, type) {
  const href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

// A cell that a spreadsheet would run as a formula gets an apostrophe before it.
export function csv(rows) {
  const cell = value => {
    if (typeof value === "number") return String(value);
    let text = String(value ?? "");
    if (/^\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r]/.test(text) && !/^[-+]?[\d.]+(e[-+]?\d+)?$/i.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map(row => row.map(cell).join(",")).join("\n") + "\n";
}

export function fileName(text) {
  return text.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "figure";
}

// Whether somebody is typing in a field of these controls, which must then stay as they are.
export function isTyping(controls) {
  const field = document.activeElement;
  return controls.contains(field) && field.matches("input[type=text]") && field.value !== field.defaultValue;
}
