// The view: everything of the page that its address, and a view file, bring back.

export const DEFAULTS = {
  tab: "curves", theme: "",
  x: "step", y: "accuracy", logx: "", logy: "", smooth: "0", width: "", train: "", find: "", all: "", off: "", low: "", high: "",
  a: "", b: "", benchmark: "",
  run: "", step: "", item: "", what: "samples", verdict: "", search: "", tokens: "",
  sort: "",
};
export const state = { ...DEFAULTS };
export const MAX_TEXT = 200;

// Takes the known keys of a view, as short texts.
export function take(values) {
  for (const key of Object.keys(DEFAULTS)) {
    state[key] = typeof values[key] === "string" && values[key].length <= MAX_TEXT ? values[key] : DEFAULTS[key];
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

// What the server draws: the rest of the view is the page's own.
export function figureQuery() {
  const { x, y, smooth, width, train, find, all, low, high } = state;
  return { kind: state.tab === "signals" ? "signals" : "curves", x, y, smooth, width, train, find, all, low, high };
}
