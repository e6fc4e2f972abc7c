// The tab of texts: a slider over steps, the groups of a step, one group side by side; eval items first against last.

import { state, ask } from "./state.js";
import { el, select, number, isTyping } from "./text.js";
import { cards, itemTexts } from "./compare.js";

const VERDICTS = ["correct", "wrong", "unparseable", "truncated", "error"];

export class Samples {
  constructor(page) {
    this.page = page;
    this.steps = [];
    this.controls = el("div", { class: "controls", role: "group", "aria-label": "Which samples" });
    this.list = el("ul", { class: "list", "aria-label": "Prompts" });
    this.detail = el("div", { "aria-live": "polite" });
    this.count = el("p", { class: "note" });
    this.node = el("div", {}, this.controls, this.count, el("div", { class: "samples" }, this.list, this.detail));
    this.changed();
  }

  remove() {}

  get isTraining() {
    return state.what !== "items";
  }

  // Looks for new steps of the run that is shown. Somebody who looks at the last step goes on to the new one.
  async changed() {
    const arms = Object.values(this.page.arms);
    if (!state.run && arms.length) state.run = arms[0].id;
    if (!state.run) return;
    const asked = this.asked = (this.asked ?? 0) + 1;
    const answer = await ask("texts", { what: "steps", run: state.run });
    if (asked !== this.asked) return; // another run was asked for meanwhile
    if (!this.node.isConnected && this.started) return;
    this.started = true;
    if (answer.error) {
      this.count.textContent = answer.error;
      return;
    }
    const steps = answer[this.isTraining ? "samples" : "items"], atEnd = !state.step || Number(state.step) === this.steps.at(-1);
    const isNew = JSON.stringify(steps) !== JSON.stringify(this.steps);
    this.steps = steps;
    if (!steps.includes(Number(state.step)) || (atEnd && isNew)) {
      const step = steps.findLast(step => !state.step || atEnd || step <= Number(state.step)) ?? steps[0];
      state.step = step === undefined ? "" : String(step);
      this.showControls();
      await this.load();
    } else if (isNew || !this.drawn) {
      this.showControls();
      await this.load();
    }
  }

  // Writes the names of runs that have come in since.
  nameRuns() {
    const names = Object.values(this.page.arms).map(arm => arm.name).join("\n");
    if (this.drawn && names !== this.names) this.showControls();
  }

  showControls() {
    if (isTyping(this.controls)) return;
    const arms = Object.values(this.page.arms), at = Math.max(0, this.steps.indexOf(Number(state.step)));
    this.names = arms.map(arm => arm.name).join("\n");
    const focused = document.activeElement?.id;
    this.controls.replaceChildren(
      select("run", arms.map(arm => [arm.id, arm.name]), state.run, run => this.set({ run, item: "" })),
      select("of", [["samples", "training samples"], ["items", "eval items"]], state.what, what => this.set({ what, item: "", step: "" })),
      el("label", {}, "step", el("input", { type: "range", id: "step", min: "0", max: String(Math.max(0, this.steps.length - 1)), value: String(at),
        "aria-valuetext": `step ${state.step}`, disabled: this.steps.length < 2, oninput: event => this.slide(Number(event.target.value)) }),
      el("output", { id: "step-shown" }, state.step || "none")),
      ...(this.isTraining ? [
        select("verdict", [["", "any"], ...VERDICTS.map(name => [name, name])], state.verdict, verdict => this.set({ verdict })),
        el("label", {}, "search", el("input", { type: "text", role: "searchbox", id: "search", value: state.search, maxlength: "200",
          onchange: event => {
            event.target.defaultValue = event.target.value;
            this.set({ search: event.target.value });
          } }))] : []));
    if (focused) document.getElementById(focused)?.focus();
    this.drawn = true;
  }

  async set(values) {
    Object.assign(state, values);
    this.page.onview({ local: true });
    if ("run" in values || "what" in values) {
      this.steps = [];
      this.drawn = false;
      await this.changed();
    } else {
      this.showControls();
      await this.load();
    }
  }

  slide(index) {
    state.step = String(this.steps[index]);
    document.getElementById("step-shown").textContent = state.step;
    document.getElementById("step").setAttribute("aria-valuetext", `step ${state.step}`);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.page.onview({ local: true });
      this.load();
    }, 120);
  }

  move(by) {
    const at = this.steps.indexOf(Number(state.step)) + by;
    if (at < 0 || at >= this.steps.length) return;
    document.getElementById("step").value = String(at);
    this.slide(at);
  }

  async load() {
    if (!state.step) {
      this.count.textContent = this.isTraining ? "No training samples are recorded yet." : "No eval items are recorded yet.";
      this.list.replaceChildren();
      this.detail.replaceChildren();
      return;
    }
    const what = this.isTraining ? "groups" : "items", turn = this.turn = (this.turn ?? 0) + 1;
    const query = { what, run: state.run, step: state.step, ...(this.isTraining ? { verdict: state.verdict, search: state.search } : {}) };
    const answer = await ask("texts", query);
    if (turn !== this.turn) return; // something else was asked for meanwhile
    if (answer.error) {
      this.count.textContent = answer.error;
      return;
    }
    if (this.isTraining) this.showGroups(answer);
    else this.showItems(answer);
  }

  entry(id, title, small, open) {
    return el("li", {}, el("button", { type: "button", "aria-current": String(state.item === id), onclick: event => {
      for (const other of this.list.querySelectorAll("button")) other.setAttribute("aria-current", "false");
      event.currentTarget.setAttribute("aria-current", "true");
      open();
    } }, title, el("small", {}, small)));
  }

  showGroups(answer) {
    const shown = answer.groups.length < answer.found ? `, the first ${answer.groups.length} are listed` : "";
    this.count.textContent = `${answer.found} of ${answer.of} prompts of step ${answer.step}${shown}.`;
    const text = ({ verdicts }) => [...new Set([...VERDICTS, ...Object.keys(verdicts)])].filter(name => verdicts[name])
      .map(name => `${verdicts[name]} ${name}`).join(", ");
    const first = answer.groups.find(group => String(group.item) === state.item) ?? answer.groups[0];
    if (first) state.item = String(first.item);
    this.list.replaceChildren(...answer.groups.map(group => this.entry(String(group.item),
      `item ${group.item}: ${text(group)}${group.reward === null ? "" : `, reward ${number(group.reward)}`}`, group.prompt,
      () => this.openGroup(group.item))));
    if (first) this.openGroup(first.item);
    else {
      this.opened = (this.opened ?? 0) + 1;
      this.detail.replaceChildren(el("p", { class: "note" }, "No completion is like this."));
    }
  }

  async openGroup(item) {
    state.item = String(item);
    this.page.onview({ local: true });
    const turn = this.opened = (this.opened ?? 0) + 1;
    const group = await ask("texts", { what: "group", run: state.run, step: state.step, item: String(item) });
    if (turn !== this.opened) return;
    if (group.error) {
      this.detail.replaceChildren(el("p", { class: "error" }, group.error));
      return;
    }
    const few = group.samples.length < group.n ? ` The first ${group.samples.length} of ${group.n}.` : "";
    const hasTokens = group.samples.some(sample => sample.pieces);
    const colour = hasTokens ? el("label", { class: "controls" }, el("input", { type: "checkbox", id: "tokens", checked: state.tokens === "1",
      onchange: event => {
        state.tokens = event.target.checked ? "1" : "";
        this.page.onview({ local: true });
        this.openGroup(item);
      } }), "colour tokens by log-prob: the darker, the less likely") : "";
    const chosen = state.verdict ? group.samples.filter(sample => sample.verdict === state.verdict) : group.samples;
    this.detail.replaceChildren(el("h3", {}, `Step ${group.step}, item ${group.item}: ${group.n} completions of one prompt.${few}`),
      el("pre", {}, group.prompt ?? ""), el("p", {}, `Correct answer: ${group.gold ?? "unknown"}`), colour, cards(chosen));
  }

  showItems(answer) {
    this.count.textContent = `${answer.of} items of the eval point at step ${answer.step}. An item is shown at the first eval point and at this one.`;
    const [first] = answer.items.filter(([benchmark, item]) => `${benchmark} ${item}` === state.item).concat(answer.items);
    if (first) state.item = `${first[0]} ${first[1]}`;
    this.list.replaceChildren(...answer.items.map(([benchmark, item, correct, n]) => this.entry(`${benchmark} ${item}`,
      `${benchmark}, item ${item}`, `${correct} of ${n} correct`, () => this.openItem(benchmark, item))));
    if (first) this.openItem(first[0], first[1]);
  }

  async openItem(benchmark, item) {
    state.item = `${benchmark} ${item}`;
    this.page.onview({ local: true });
    const turn = this.opened = (this.opened ?? 0) + 1;
    const answer = await ask("texts", { what: "item", run: state.run, step: String(this.steps[0]), to: state.step, benchmark, item: String(item) });
    if (turn !== this.opened) return;
    this.detail.replaceChildren(answer.error ? el("p", { class: "error" }, answer.error) : itemTexts([answer], [""]));
  }
}
