// Numbers as the page writes them.

export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return withMinus(value.toExponential(2));
  return withMinus(String(Number(value.toPrecision(5))));
}

const withMinus = text => text.replaceAll("-", "\u2212");
const fixed = (value, digits) => Number.isFinite(value) ? withMinus((Number(value.toFixed(digits)) || 0).toFixed(digits)) : "";

// A share with three decimals, and points with one.
export const share = value => fixed(value, 3);
export const points = value => fixed(value, 1);

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  return `${Math.floor(s / 86400)} days ${Math.floor(s % 86400 / 3600)} h`;
}

export function nearest(xs, x) {
  let best = -1;
  for (let i = 0; i < xs.length; i++) if (best < 0 || Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
  return best;
}
