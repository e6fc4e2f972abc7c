// Elements of the page. Texts of models and files become text nodes, never markup.

const LONG_CELL = 40;

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

// A cell breaks its text only where the text is long: a table that is wide can be scrolled.
export function cell(...children) {
  const text = children.map(child => child instanceof Node ? child.textContent : String(child ?? "")).join("");
  return el("td", text.length > LONG_CELL ? { class: "long" } : {}, ...children);
}

// A table that scrolls by itself. A value may be a pair: the value, and a note below it.
export function table(head, rows, caption = "") {
  const filled = value => Array.isArray(value)
    ? cell(value[0] ?? "", value[1] ? el("small", {}, value[1]) : null)
    : cell(value instanceof Node ? value : String(value ?? ""));
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption || "Table" }, el("table", {},
    caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, ...head.map(name => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...rows.map(row => el("tr", {}, ...row.map(filled))))));
}

export function select(label, options, value, onchange) {
  const known = options.some(([key]) => key === value);
  const box = el("select", { "aria-label": label, onchange: event => onchange(event.target.value) },
    ...(known ? [] : [el("option", { value, selected: true }, value || "choose")]),
    ...options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));
  return el("label", {}, label, box);
}

export function checkbox(id, text, isChecked, onchange) {
  return el("label", {}, el("input", { type: "checkbox", id, checked: isChecked,
    onchange: event => onchange(event.target.checked) }), text);
}

// Whether somebody is typing in a field of these controls, which must then stay as they are.
export function isTyping(controls) {
  const field = document.activeElement;
  return controls.contains(field) && field.matches("input[type=text]") && field.value !== field.defaultValue;
}

// Puts these nodes into a parent, in this order. Nodes that are in their place are not moved, so that a click on them, the focus
// and a selection stay.
export function place(parent, nodes) {
  const wanted = new Set(nodes);
  for (const node of [...parent.children]) if (!wanted.has(node)) node.remove();
  nodes.forEach((node, i) => {
    if (parent.children[i] !== node) parent.insertBefore(node, parent.children[i] ?? null);
  });
}

// Writes new controls, and gives the focus to the one with the id that had it.
export function replaceControls(parent, nodes) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.id : "";
  parent.replaceChildren(...nodes);
  if (focused) document.getElementById(focused)?.focus();
}
