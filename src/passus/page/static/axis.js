// A log axis that is linear from 0 to the smallest positive value, as in the paper figures.

import { number } from "./numbers.js";

const HIGHEST_POWER = 20;

export function symlog(values) {
  const positive = values.filter(x => x > 0);
  const first = positive.length ? positive.reduce((a, b) => Math.min(a, b)) : 1;
  return {
    first,
    to: x => x <= first ? x / first : 1 + Math.log10(x / first),
    back: t => t <= 1 ? t * first : first * 10 ** (t - 1),
  };
}

// The places and texts of the ticks between two places: 0 and the powers of ten.
export function ticks(axis, low, high) {
  const places = [[0, "0"]];
  for (let power = Math.floor(Math.log10(axis.first)); power < HIGHEST_POWER; power++) {
    const value = 10 ** power, at = axis.to(value);
    if (value >= axis.first * 0.999 && at <= high) places.push([at, number(value)]);
    if (at > high) break;
  }
  return places.filter(([at]) => at >= low);
}
