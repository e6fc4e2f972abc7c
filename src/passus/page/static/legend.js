// The names of the lines that are drawn. A click hides a line, with shift all others.

import { el, place } from "./elements.js";
import { hasMarkers, isDark, label, swatch } from "./styles.js";
import { state } from "./view.js";

const MAX_OFF = 200;

export class Legend {
  constructor(onchange) {
    this.onchange = onchange;
    this.off = new Set(state.off ? state.off.split("\n") : []);
    this.items = new Map();
    this.node = el("ul", { class: "legend", "aria-label": "Lines" });
  }

  show(figure) {
    const lines = figure.lines.filter(line => line.shown), isMarked = hasMarkers(figure);
    this.names = lines.map(line => line.name);
    for (const name of this.items.keys()) if (!this.names.includes(name)) this.items.delete(name);
    for (const line of lines) this.showLine(line, isMarked);
    place(this.node, this.names.map(name => this.items.get(name).node));
  }

  // Buttons stay as long as their line, so that neither a click nor the focus is lost when numbers come in.
  showLine(line, isMarked) {
    const { name } = line;
    if (!this.items.has(name)) {
      const title = `${name}\nClick: show or hide. Shift and click: this one only`;
      const button = el("button", { type: "button", class: "toggle", title, onclick: event => this.toggle(name, event.shiftKey) });
      this.items.set(name, { node: el("li", {}, button), button, look: "" });
    }
    const item = this.items.get(name), look = JSON.stringify([line, isMarked, isDark()]);
    if (item.look !== look) {
      item.look = look;
      item.button.replaceChildren(swatch(line.style, isMarked), el("span", {}, label(line)));
    }
    item.button.setAttribute("aria-pressed", String(!this.off.has(name)));
  }

  toggle(name, isAlone) {
    if (isAlone) this.off = new Set(this.isAlone(name) ? [] : this.names.filter(other => other !== name));
    else if (!this.off.delete(name)) this.off.add(name);
    const text = [...this.off].join("\n");
    state.off = text.length <= MAX_OFF ? text : "";
    this.onchange();
  }

  isAlone(name) {
    return !this.off.has(name) && this.names.every(other => other === name || this.off.has(other));
  }
}
