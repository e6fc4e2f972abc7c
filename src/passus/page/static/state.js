// The view in the address, and everything that is asked of the server. A frozen page answers from its own data.

const found = document.getElementById("frozen");
export const FROZEN = found ? JSON.parse(found.textContent) : null;

// The time by which the page tells ages: a frozen page keeps the time at which it was frozen.
export function nowMs() {
  const at = typeof FROZEN?.now === "number" ? FROZEN.now * 1000 : Date.parse(FROZEN?.now);
  return Number.isNaN(at) ? Date.now() : at;
}

export const DEFAULTS = {
  tab: "curves", x: "step", y: "accuracy", logx: "", logy: "", smooth: "0", find: "", all: "", off: "", theme: "",
  a: "", b: "", benchmark: "", run: "", step: "", item: "", what: "samples", verdict: "", search: "", tokens: "", sort: "", low: "", high: "",
};
export const state = { ...DEFAULTS };
const MAX = 200;

// Takes the known keys of a view, as short texts.
export function take(values) {
  for (const key of Object.keys(DEFAULTS)) {
    state[key] = typeof values[key] === "string" && values[key].length <= MAX ? values[key] : DEFAULTS[key];
  }
}

export function readAddress() {
  take(Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
}

export function changed() {
  return Object.fromEntries(Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key]));
}

export function writeAddress() {
  const text = new URLSearchParams(changed()).toString();
  history.replaceState(null, "", text ? `#${text}` : "#");
}

export function address(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

// What the server draws: the rest of the view is the page's own.
export function figureQuery() {
  const { x, y, smooth, find, all, low, high } = state;
  return { kind: state.tab === "signals" ? "signals" : "curves", x, y, smooth, find, all, low, high };
}

export const recent = new Map();

// Asks for an answer. Errors come as {error: text}, so that every part of the page can show its own.
export async function ask(path, query = {}) {
  const to = address(path, query);
  if (FROZEN) return FROZEN.answers[to] ?? { error: "This is not in the frozen page." };
  try {
    const reply = await fetch(to, { credentials: "same-origin" });
    if (!reply.headers.get("content-type")?.startsWith("application/json")) {
      return { error: `The server answers with status ${reply.status}: ${(await reply.text()).slice(0, MAX)}` };
    }
    const answer = await reply.json();
    if (!answer.error && path !== "findings") {
      recent.delete(to);
      recent.set(to, true);
      if (recent.size > 6) recent.delete(recent.keys().next().value);
    }
    return answer;
  } catch {
    return { error: "The server does not answer." };
  }
}
