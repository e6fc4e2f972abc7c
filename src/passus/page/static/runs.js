// The section with all runs in a table that is sorted by any column.

import { nowMs } from "./answers.js";
import { cell, el, place } from "./elements.js";
import { duration, share } from "./numbers.js";
import { state } from "./view.js";

const SECOND = 1000;
// Title, value to sort by, and whether the column has nothing for a run. A column that is empty for all runs is left out.
const COLUMNS = {
  name: { title: "run" },
  line: { title: "line" },
  state: { title: "state" },
  step: { title: "progress" },
  heartbeat: { title: "heartbeat", value: arm => age(arm) ?? -1, isEmpty: arm => age(arm) === null },
  left: { title: "expected end", isEmpty: arm => arm.left === null },
  last: { title: "last accuracy", value: arm => arm.last[0]?.[1] ?? -1, isEmpty: arm => !arm.last.length },
  resumes: { title: "resumes", isEmpty: arm => !arm.resumes },
  seed: { title: "seed", isEmpty: arm => arm.seed === null },
  error: { title: "error", isEmpty: arm => !arm.error },
};

export class Runs {
  constructor(page) {
    this.page = page;
    this.rows = new Map();
    this.heads = new Map(Object.entries(COLUMNS).map(([id, { title }]) => {
      const button = el("button", { type: "button", onclick: () => this.sortBy(id) }, title);
      return [id, { button, node: el("th", { scope: "col" }, button) }];
    }));
    this.body = el("tbody");
    this.head = el("tr");
    this.node = el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Runs" },
      el("table", { id: "runs" }, el("thead", {}, this.head), this.body));
    this.timer = setInterval(() => this.show(), SECOND);
    this.show();
  }

  remove() {
    clearInterval(this.timer);
  }

  get order() {
    const [key, order] = (state.sort || "name up").split(" ");
    return { key: key in COLUMNS ? key : "name", sign: order === "down" ? -1 : 1 };
  }

  sortBy(id) {
    const { key, sign } = this.order;
    state.sort = `${id} ${id === key && sign > 0 ? "down" : "up"}`;
    this.page.onview({ local: true });
    this.show();
  }

  show() {
    const arms = Object.values(this.page.arms);
    const shown = Object.keys(COLUMNS).filter(id => !COLUMNS[id].isEmpty || arms.some(arm => !COLUMNS[id].isEmpty(arm)));
    this.showHeads(shown);
    const rows = this.sorted(arms).map(arm => this.row(arm, shown));
    for (const id of this.rows.keys()) if (!(id in this.page.arms)) this.rows.delete(id);
    place(this.body, rows.map(({ node }) => node));
    for (const { arm, ageCell } of rows) {
      const text = age(arm) === null ? "" : `${duration(age(arm))} ago`;
      if (ageCell && ageCell.textContent !== text) ageCell.textContent = text;
    }
  }

  showHeads(shown) {
    const { key, sign } = this.order;
    for (const [id, { button, node }] of this.heads) {
      const text = COLUMNS[id].title + (id !== key ? "" : sign > 0 ? " ▲" : " ▼");
      if (button.textContent !== text) button.textContent = text;
      node.setAttribute("aria-sort", id !== key ? "none" : sign > 0 ? "ascending" : "descending");
    }
    place(this.head, shown.map(id => this.heads.get(id).node));
  }

  sorted(arms) {
    const { key, sign } = this.order, value = COLUMNS[key].value ?? (arm => arm[key] ?? "");
    return arms.sort((a, b) => {
      const [x, y] = [value(a), value(b)], areNumbers = typeof x === "number" && typeof y === "number";
      return sign * (areNumbers ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true }));
    });
  }

  // The row of a run, written again only where the run has changed.
  row(arm, shown) {
    const text = JSON.stringify([arm, shown]), known = this.rows.get(arm.id);
    if (known?.text === text) return known;
    const cells = Object.fromEntries(shown.map(id => [id, this.cell(arm, id)]));
    const made = { text, arm, ageCell: cells.heartbeat, node: el("tr", { "data-run": arm.id }, ...Object.values(cells)) };
    this.rows.set(arm.id, made);
    return made;
  }

  cell(arm, id) {
    switch (id) {
      case "name": return cell(el("button", { type: "button", class: "link", title: "Samples of this run",
        onclick: () => this.page.openTab("samples", { run: arm.id, step: "", item: "" }) }, arm.name));
      case "state": return cell(el("span", { class: `state-${arm.state}` }, arm.state));
      case "step": return cell(...progress(arm));
      case "heartbeat": return cell();
      case "left": return cell(arm.left === null ? "" : `in ${duration(arm.left)}`);
      case "last": return el("td", {}, ...arm.last.map(accuracy));
      default: return cell(String(arm[id] || (id === "seed" ? arm[id] ?? "" : "")));
    }
  }
}

function progress({ name, step, steps }) {
  const most = steps || 1;
  return [el("progress", { max: String(most), value: String(Math.min(step, most)), "aria-label": `${name} progress` }),
    ` ${step}${steps ? ` of ${steps}` : ""}`];
}

function accuracy([name, value, low, high]) {
  return el("div", {}, `${name} ${share(value)}` + (low === null ? "" : ` [${share(low)}, ${share(high)}]`));
}

// Seconds since the last heartbeat of a run that trains.
function age(arm) {
  if (!arm.heartbeat || arm.state !== "running") return null;
  const at = Date.parse(arm.heartbeat);
  return Number.isNaN(at) ? null : Math.max(0, (nowMs() - at) / SECOND);
}
