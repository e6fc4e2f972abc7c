// Files that the page writes: views, pictures and tables.

import { el } from "./elements.js";

export function download(name, content, type) {
  const href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  follow(href, name);
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

// Saves what an address answers.
export function follow(href, name) {
  const link = el("a", { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

// A cell that a spreadsheet would run as a formula gets an apostrophe before it.
export function csv(rows) {
  const quoted = value => {
    if (typeof value === "number") return String(value);
    let text = String(value ?? "");
    if (/^\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r]/.test(text) && !/^[-+]?[\d.]+(e[-+]?\d+)?$/i.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map(row => row.map(quoted).join(",")).join("\n") + "\n";
}

export function fileName(text) {
  return text.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "figure";
}
