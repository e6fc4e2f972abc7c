// Everything that is asked of the server. A frozen page answers from its own data.

import { MAX_TEXT } from "./view.js";

const found = document.getElementById("frozen");
export const FROZEN = found ? JSON.parse(found.textContent) : null;
const MOST_RECENT = 6;

// The time by which the page tells ages: a frozen page keeps the time at which it was frozen.
export function nowMs() {
  const at = typeof FROZEN?.now === "number" ? FROZEN.now * 1000 : Date.parse(FROZEN?.now);
  return Number.isNaN(at) ? Date.now() : at;
}

export function address(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

// The addresses of the last answers, which a frozen page takes along.
export const recent = new Map();

// Asks for an answer. Errors come as {error: text}, so that every part of the page can show its own.
export async function ask(path, query = {}) {
  const to = address(path, query);
  if (FROZEN) return FROZEN.answers[to] ?? { error: "This is not in the frozen page." };
  try {
    const reply = await fetch(to, { credentials: "same-origin" });
    if (!reply.headers.get("content-type")?.startsWith("application/json")) {
      return { error: `The server answers with status ${reply.status}: ${(await reply.text()).slice(0, MAX_TEXT)}` };
    }
    const answer = await reply.json();
    if (!answer.error && path !== "findings") remember(to);
    return answer;
  } catch {
    return { error: "The server does not answer." };
  }
}

function remember(to) {
  recent.delete(to);
  recent.set(to, true);
  if (recent.size > MOST_RECENT) recent.delete(recent.keys().next().value);
}

// The figure of a view in a frozen page: zoomed where it was frozen so, else whole.
export function frozenFigure({ kind, x, y, low, high }) {
  const key = `${kind} ${x}` + (kind === "curves" ? ` ${y}` : "");
  return FROZEN.figures[`${key} ${low} ${high}`] ?? FROZEN.figures[key] ?? { error: "This figure is not in the frozen page." };
}

// Whether a figure with this x-axis can be shown: a frozen page has some.
export function hasAxis(x) {
  return !FROZEN || Object.keys(FROZEN.figures).some(key => key.split(" ")[1] === x);
}
