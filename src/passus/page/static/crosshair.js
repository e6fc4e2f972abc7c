// The crosshair that all charts share. It is moved at most ten times a second.

export const REDRAW_MS = 100;
const charts = new Set();
let at = null, timer = null, moved = 0;

export function crosshair() {
  return at;
}

export function setCrosshair(x) {
  at = x;
  if (timer) return;
  timer = setTimeout(() => {
    timer = null;
    moved = performance.now();
    for (const chart of charts) chart.cross(at);
  }, Math.max(0, moved + REDRAW_MS - performance.now()));
}

export const joinCrosshair = chart => charts.add(chart);
export const leaveCrosshair = chart => charts.delete(chart);
