// Plane geometry: half planes, cells, hulls, ticks, principal direction.

// The part of a polygon where a + b·x + c·y >= 0.
/** @param {number[][]} polygon @param {number[]} half */
export function clip(polygon, [a, b, c]) {
  const kept = [];
  polygon.forEach((p, k) => {
    const q = polygon[(k + 1) % polygon.length];
    const sp = a + b * p[0] + c * p[1], sq = a + b * q[0] + c * q[1];
    if (sp >= 0) kept.push(p);
    if ((sp >= 0) !== (sq >= 0)) {
      const t = sp / (sp - sq);
      kept.push([p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])]);
    }
  });
  return kept;
}

// One polygon per class: where its weights [bias, w1, w2] have the highest score. A single vector is for the second of two classes.
export function cells(weights, box) {
  const [x0, y0, x1, y1] = box, whole = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
  const rows = weights.length === 1 ? [weights[0].map(v => -v), weights[0]] : weights;
  if (rows.every(row => row.every((v, j) => v === rows[0][j]))) return rows.map(() => []);
  return rows.map((row, k) => rows.reduce((polygon, rival, j) =>
    j === k || !polygon.length ? polygon : clip(polygon, row.map((v, i) => v - rival[i])), whole));
}

// The parts of the plane with the same first and second class: the winner k, the runner-up j, and the lead of k over j as weights.
// The score of a single vector leads over that of its negative, with twice its value.
export function leads(weights, box) {
  const rows = weights.length === 1 ? [weights[0].map(v => -v), weights[0]] : weights, parts = [];
  cells(weights, box).forEach((cell, k) => rows.forEach((runner, j) => {
    const lead = rows[k].map((v, i) => v - runner[i]);
    if (j === k || !(lead[1] || lead[2])) return;
    const polygon = rows.reduce((part, rival, i) => i === j || i === k || !part.length ? part : clip(part, runner.map((v, n) => v - rival[n])), cell);
    if (polygon.length > 2) parts.push({k, j, lead, polygon});
  }));
  return parts;
}

// The ends of the line a + b·x + c·y = 0 inside a box; null if it does not cross the box.
/** @param {number[]} weights @param {number[]} box */
export function line([a, b, c], [x0, y0, x1, y1]) {
  const ends = [];
  const add = (x, y) => {
    if (!ends.some(([u, v]) => Math.hypot(u - x, v - y) < 1e-9 * (x1 - x0))) ends.push([x, y]);
  };
  if (c) for (const x of [x0, x1]) { const y = -(a + b * x) / c; if (y >= y0 && y <= y1) add(x, y); }
  if (b) for (const y of [y0, y1]) { const x = -(a + c * y) / b; if (x >= x0 && x <= x1) add(x, y); }
  return ends.length > 1 ? ends.slice(0, 2) : null;
}

export function hull(points) {
  const sorted = [...points].sort((p, q) => p[0] - q[0] || p[1] - q[1]);
  const half = list => {
    const chain = [];
    for (const p of list) {
      while (chain.length > 1) {
        const [o, a] = chain.slice(-2);
        if ((a[0] - o[0]) * (p[1] - o[1]) - (a[1] - o[1]) * (p[0] - o[0]) > 0) break;
        chain.pop();
      }
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half([...sorted].reverse())];
}

export function ticks(low, high, wanted = 6) {
  const raw = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(k => k * power).find(k => k >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// The direction of largest variance, by a few power iterations from a fixed start.
export function principal(points) {
  const d = points[0].length, n = points.length;
  const mean = Array.from({length: d}, (_, j) => points.reduce((sum, p) => sum + p[j], 0) / n);
  let v = Array.from({length: d}, (_, j) => 1 + 0.1 * Math.sin(j + 1));
  for (let round = 0; round < 12; round++) {
    const next = new Array(d).fill(0);
    for (const p of points) {
      let s = 0;
      for (let j = 0; j < d; j++) s += (p[j] - mean[j]) * v[j];
      for (let j = 0; j < d; j++) next[j] += s * (p[j] - mean[j]);
    }
    const size = Math.hypot(...next);
    if (!size) break;
    v = next.map(value => value / size);
  }
  return points.map(p => p.reduce((sum, value, j) => sum + (value - mean[j]) * v[j], 0));
}

export const dot = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);
