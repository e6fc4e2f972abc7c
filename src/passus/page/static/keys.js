// The keys of the page, and the dialog that lists them.

import { el } from "./elements.js";
import { isDark } from "./styles.js";

const KEYS = [["1 to 6", "the sections"], ["/", "filter lines, search samples"], ["x", "next x-axis"], ["l, shift l", "log x, log y"],
  ["a", "all lines"], ["t", "training accuracy behind the eval accuracy"], ["s, shift s", "more, less smoothing"],
  ["[ ]", "previous, next step of samples"], ["d", "dark or light"], ["c", "to the first chart"],
  ["arrows, Home, End", "in a chart: move the crosshair"], ["+ - 0", "in a chart: zoom in, out, whole"],
  ["Esc", "close, leave a field"], ["?", "these keys"]];
const byId = id => document.getElementById(id);

export function listKeys() {
  byId("keys").append(el("h2", {}, "Keys"), el("dl", {}, ...KEYS.flatMap(([key, text]) => [el("dt", {}, key), el("dd", {}, text)])),
    el("form", { method: "dialog" }, el("button", {}, "Close")));
}

export function toggleKeys() {
  if (byId("keys").open) byId("keys").close();
  else byId("keys").showModal();
}

// Does what a key means: in the section that is shown, else on the whole page.
export function onKey(page, sections, event) {
  const isTyping = event.target.matches("input:not([type=checkbox]):not([type=range]), select, textarea");
  if (event.key === "Escape" && isTyping) event.target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = page.tab.keys?.[event.key] ?? actions(page, sections)[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function actions(page, sections) {
  return {
    ...Object.fromEntries(sections.map((name, i) => [String(i + 1), () => page.openTab(name)])),
    "/": focusSearch,
    "?": toggleKeys,
    d: () => page.setTheme(isDark() ? "light" : "dark"),
    c: () => document.querySelector(".chart")?.focus(),
  };
}

function focusSearch() {
  const field = byId("find") ?? byId("search"), fold = field?.closest("details");
  if (fold) fold.open = true;
  field?.focus();
}
