// Completions side by side, each with its verdict, reward, advantage and log-prob.

import { el } from "./elements.js";
import { number } from "./numbers.js";
import { state } from "./view.js";

const DARKEST = 5;
const NO_QUESTION = "The question is not known: the benchmark is not on this machine, or no correct answer of this run shows that it is " +
  "the same.";
const FACTS = { reward: "reward", advantage: "advantage", tokens: "tokens", logp: "log-prob" };

export function cards(samples) {
  return el("div", { class: "cards" }, ...samples.map(card));
}

function card(sample) {
  const known = Object.entries(FACTS).filter(([key]) => sample[key] !== undefined);
  const facts = known.map(([key, name]) => `${name} ${number(sample[key])}`);
  const about = [sample.extracted === null ? "no answer" : `answer ${sample.extracted}`, ...facts,
    sample.used === false ? "not in an update" : ""].filter(Boolean).join(" · ");
  return el("article", { class: `card ${verdictClass(sample.verdict)}` },
    el("h4", {}, `sample ${sample.sample} · `, el("b", {}, sample.verdict ?? ""), ` · ${about}`),
    sample.pieces && state.tokens ? coloured(sample.pieces) : el("pre", { tabindex: "0" }, sample.completion ?? ""));
}

// The verdict `error` is not the class of errors of the page.
export function verdictClass(verdict) {
  return verdict === "error" ? "error-verdict" : verdict ?? "";
}

// Tokens on a ground that is the darker the less likely they were: 0 is certain, 5 is below e^-4.5.
function coloured(pieces) {
  const shade = logp => logp === null ? "x" : Math.min(DARKEST, Math.floor(-logp + 0.5));
  return el("pre", { tabindex: "0", class: "pieces" }, ...pieces.map(([text, logp]) =>
    el("span", { class: `p${shade(logp)}`, title: logp === null ? "no log-prob" : `log-prob ${logp}` }, text)));
}

// The question of an eval item, and its samples of each answer of the server, side by side.
export function itemTexts(answers, names) {
  const known = answers.find(answer => answer.question) ?? answers[0];
  const title = (side, i) => `${names[i] ?? ""} ${side.run}, step ${side.step}`.trim();
  const sides = answers.flatMap((answer, i) => answer.error ? [el("p", { class: "error" }, answer.error)]
    : answer.sides.map(side => el("div", {}, el("h4", {}, title(side, i)), cards(side.samples))));
  return el("section", { class: "texts" }, el("h3", {}, `${known.benchmark ?? ""}, item ${known.item ?? ""}`),
    known.question ? el("pre", {}, known.question) : el("p", { class: "note" }, NO_QUESTION),
    known.gold ? el("p", {}, `Correct answer: ${known.gold}`) : "", el("div", { class: "pair" }, ...sides));
}
