// The section of texts: a slider over steps, the prompts of a step, the completions of one; eval items first against last.

import { ask } from "./answers.js";
import { cards, itemTexts } from "./cards.js";
import { checkbox, el, isTyping, replaceControls, select } from "./elements.js";
import { number } from "./numbers.js";
import { state } from "./view.js";

const VERDICTS = ["correct", "wrong", "unparseable", "truncated", "error"];
const KINDS = [["samples", "training samples"], ["items", "eval items"]];
const SLIDE_MS = 120;

export class Samples {
  constructor(page) {
    this.page = page;
    this.steps = [];
    this.asked = this.turn = this.opened = 0; // answers to earlier questions are dropped
    this.controls = el("div", { class: "controls", role: "group", "aria-label": "Which samples" });
    this.slider = el("input", { type: "range", id: "step", min: "0", oninput: event => this.slide(Number(event.target.value)) });
    this.stepShown = el("output", { id: "step-shown" });
    this.list = el("ul", { class: "list", "aria-label": "Prompts" });
    this.detail = el("div", { "aria-live": "polite" });
    this.count = el("p", { class: "note" });
    this.node = el("div", {}, this.controls, this.count, el("div", { class: "samples" }, this.list, this.detail));
    this.changed();
  }

  get keys() {
    return { "[": () => this.move(-1), "]": () => this.move(1) };
  }

  get isTraining() {
    return state.what !== "items";
  }

  // Looks for new steps of the run that is shown. Somebody who looks at the last step goes on to the new one.
  async changed() {
    const arms = Object.values(this.page.arms);
    if (!state.run && arms.length) state.run = arms[0].id;
    if (!state.run) {
      this.clear("No runs yet.");
      return;
    }
    const asked = this.asked += 1;
    const answer = await ask("texts", { what: "steps", run: state.run });
    if (asked !== this.asked) return;
    if (!this.node.isConnected && this.started) return;
    this.started = true;
    if (answer.error) {
      this.clear(answer.error);
      return;
    }
    await this.takeSteps(answer[this.isTraining ? "samples" : "items"]);
  }

  async takeSteps(steps) {
    const atEnd = !state.step || Number(state.step) === this.steps.at(-1);
    const isNew = JSON.stringify(steps) !== JSON.stringify(this.steps), isStep = steps.includes(Number(state.step));
    this.steps = steps;
    if (!isStep || (atEnd && isNew)) {
      const step = steps.findLast(step => !state.step || atEnd || step <= Number(state.step)) ?? steps[0];
      state.step = step === undefined ? "" : String(step);
    } else if (!isNew && this.drawn) return;
    if (!this.drawn) this.showControls();
    this.showStep();
    await this.load();
  }

  // Writes the names of runs that have come in since, unless a list of names is open.
  showArms() {
    const isChoosing = this.controls.contains(document.activeElement) && document.activeElement.matches("select");
    if (this.drawn && this.names !== this.armNames() && !isChoosing) this.showControls();
  }

  armNames() {
    return Object.values(this.page.arms).map(arm => arm.name).join("\n");
  }

  showControls() {
    if (isTyping(this.controls)) return;
    this.names = this.armNames();
    this.drawn = true;
    replaceControls(this.controls, [
      select("run", Object.values(this.page.arms).map(arm => [arm.id, arm.name]), state.run, run => this.set({ run, item: "" })),
      select("show", KINDS, state.what, what => this.set({ what, item: "", step: "" })),
      el("label", {}, "step", this.slider, this.stepShown),
      ...(this.isTraining ? [
        select("verdict", [["", "any"], ...VERDICTS.map(name => [name, name])], state.verdict, verdict => this.set({ verdict })),
        el("label", {}, "search", el("input", { type: "text", role: "searchbox", id: "search", value: state.search, maxlength: "200",
          onchange: event => {
            event.target.defaultValue = event.target.value;
            this.set({ search: event.target.value });
          } }))] : [])]);
    this.showStep();
  }

  // Brings the slider to the step. It stays the same element, so that somebody who drags it does not lose it at a new step.
  showStep() {
    this.slider.max = String(Math.max(0, this.steps.length - 1));
    this.slider.value = String(Math.max(0, this.steps.indexOf(Number(state.step))));
    this.slider.disabled = this.steps.length < 2;
    this.slider.setAttribute("aria-valuetext", `step ${state.step}`);
    this.stepShown.textContent = state.step || "none";
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
    this.showStep();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.page.onview({ local: true });
      this.load();
    }, SLIDE_MS);
  }

  move(by) {
    const at = this.steps.indexOf(Number(state.step)) + by;
    if (at >= 0 && at < this.steps.length) this.slide(at);
  }

  // Shows a text in the place of samples.
  clear(text) {
    this.count.textContent = text;
    this.list.replaceChildren();
    this.detail.replaceChildren();
  }

  async load() {
    const { run, step, verdict, search } = state, turn = this.turn += 1;
    if (!step) {
      const { name = "This run", state: runState } = this.page.arms[run] ?? {}, what = this.isTraining ? "training samples" : "eval items";
      this.clear(`${name} has recorded no ${what}${runState === "running" ? " yet" : ""}.`);
      return;
    }
    const answer = await ask("texts", this.isTraining ? { what: "groups", run, step, verdict, search } : { what: "items", run, step });
    if (turn !== this.turn) return;
    if (answer.error) this.clear(answer.error);
    else if (this.isTraining) this.showGroups(answer);
    else this.showItems(answer);
  }

  entry(id, title, small, open) {
    return el("li", {}, el("button", { type: "button", "aria-current": String(state.item === id), onclick: event => {
      for (const other of this.list.querySelectorAll("button")) other.setAttribute("aria-current", "false");
      event.currentTarget.setAttribute("aria-current", "true");
      open();
    } }, title, el("small", {}, small)));
  }

  showGroups({ groups, found, of, step }) {
    const shown = groups.length < found ? `, the first ${groups.length} are listed` : "";
    this.count.textContent = `${found} of ${of} prompts of step ${step}${shown}.`;
    const first = groups.find(group => String(group.item) === state.item) ?? groups[0];
    if (first) state.item = String(first.item);
    this.list.replaceChildren(...groups.map(group => this.entry(String(group.item), `item ${group.item}: ${verdictCounts(group)}` +
      (group.reward === null ? "" : `, reward ${number(group.reward)}`), group.prompt, () => this.openGroup(group.item))));
    if (first) this.openGroup(first.item);
    else {
      this.opened += 1;
      this.detail.replaceChildren(el("p", { class: "note" }, "No completion is like this."));
    }
  }

  async openGroup(item) {
    state.item = String(item);
    this.page.onview({ local: true });
    const turn = this.opened += 1;
    const group = await ask("texts", { what: "group", run: state.run, step: state.step, item: String(item) });
    if (turn !== this.opened) return;
    if (group.error) {
      this.detail.replaceChildren(el("p", { class: "error" }, group.error));
      return;
    }
    const few = group.samples.length < group.n ? ` The first ${group.samples.length} of ${group.n}.` : "";
    const chosen = state.verdict ? group.samples.filter(sample => sample.verdict === state.verdict) : group.samples;
    this.detail.replaceChildren(el("h3", {}, `Step ${group.step}, item ${group.item}: ${group.n} completions of one prompt.${few}`),
      el("pre", {}, group.prompt ?? ""), el("p", {}, `Correct answer: ${group.gold ?? "unknown"}`), this.tokenSwitch(group),
      cards(chosen));
  }

  tokenSwitch(group) {
    if (!group.samples.some(sample => sample.pieces)) return "";
    return el("p", {}, checkbox("tokens", " colour tokens by log-prob: the darker, the less likely", state.tokens === "1", isOn => {
      state.tokens = isOn ? "1" : "";
      this.page.onview({ local: true });
      this.openGroup(group.item);
    }));
  }

  showItems({ items, of, step }) {
    this.count.textContent = `${of} items of the eval point at step ${step}. An item is shown at the first eval point and at this one.`;
    const [first] = items.filter(([benchmark, item]) => `${benchmark} ${item}` === state.item).concat(items);
    if (first) state.item = `${first[0]} ${first[1]}`;
    this.list.replaceChildren(...items.map(([benchmark, item, correct, n]) => this.entry(`${benchmark} ${item}`,
      `${benchmark}, item ${item}`, `${correct} of ${n} correct`, () => this.openItem(benchmark, item))));
    if (first) this.openItem(first[0], first[1]);
  }

  async openItem(benchmark, item) {
    state.item = `${benchmark} ${item}`;
    this.page.onview({ local: true });
    const turn = this.opened += 1;
    const [first] = this.steps;
    const answer = await ask("texts", { what: "item", run: state.run, step: String(first), to: state.step, benchmark, item: String(item) });
    if (turn !== this.opened) return;
    this.detail.replaceChildren(answer.error ? el("p", { class: "error" }, answer.error) : itemTexts([answer], [""]));
  }
}

function verdictCounts({ verdicts }) {
  const names = [...new Set([...VERDICTS, ...Object.keys(verdicts)])].filter(name => verdicts[name]);
  return names.map(name => `${verdicts[name]} ${name}`).join(", ");
}
