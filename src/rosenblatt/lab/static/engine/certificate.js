// Whether points are linearly separable, with a proof in exact arithmetic.
//
// The question has one form: is there a w with <z, w> > 0 for every row z? For two classes the rows are y·x, for several classes
// they are x in the block of the true class and -x in the block of a rival. Wolfe's algorithm finds the point of their convex hull
// nearest to the origin: first in floats, whose result is checked exactly; what they leave open is decided in whole numbers.

import {lowest, nullCombination, product, quotient, rootOf, wholeRows} from "./exact.js";
import {order} from "./text.js";

/** @typedef {import("./learners.js").Vector} Vector */
/** @typedef {{base: Vector[], targets: number[], blocks: number, width: number, rivals: [number, number][]}} Problem */
/** @typedef {{status: string, margin: [number, number], radius: number, bound: number | null, classes: any[], separator: number[][] | null, combination: [number, number][] | null, verified: boolean}} Certificate */

const UP = 1 + 4e-16, DOWN = 1 - 4e-16;
const STEPS = 2000, EXACT_STEPS = 400, EXACT_WORK = 3e7;

/** The sign that a text stands for, or null. @param {any} label */
export function signOf(label) {
  if (typeof label !== "string") return null;
  const plain = label.trim().replace(/[−–]/g, "-");
  if (["-", "-1", "-1.0"].includes(plain)) return -1;
  if (["0", "0.0"].includes(plain)) return 0;
  return ["1", "1.0", "+", "+1", "+1.0"].includes(plain) ? 1 : null;
}

/** Distinct labels, sorted; of two signs written as text the positive one last. @param {any[]} labels */
export function ordered(labels) {
  const sorted = [...new Set(labels)].sort(order), signs = sorted.map(signOf);
  const swap = sorted.length === 2 && signs[0] !== null && signs[1] !== null && signs[0] > signs[1];
  return swap ? sorted.reverse() : sorted;
}

/** @param {number[][]} X @param {any[]} y @param {boolean} bias @returns {[Problem, any[]]} */
function makeProblem(X, y, bias) {
  const classes = ordered(y), blocks = classes.length > 2 ? classes.length : 1;
  const base = X.map(x => Float64Array.from(bias ? [1, ...x] : x));
  const alone = classes.length === 1 ? ([-1, "-"].includes(classes[0]) ? 0 : 1) : -1;
  const targets = y.map(one => alone >= 0 ? alone : classes.indexOf(one));
  /** @type {[number, number][]} */
  const rivals = [];
  targets.forEach((own, i) => {
    if (blocks === 1) rivals.push([i, 0]);
    else for (let c = 0; c < blocks; c++) if (c !== own) rivals.push([i, c]);
  });
  return [{base, targets, blocks, width: base[0].length, rivals}, classes];
}

/** Row z as floats. @param {Problem} problem @param {number} number */
function rowOf({base, targets, blocks, width, rivals}, number) {
  const [i, c] = rivals[number], z = new Float64Array(blocks * width), own = targets[i];
  if (blocks === 1) base[i].forEach((value, j) => { z[j] = own === 1 ? value : -value; });
  else base[i].forEach((value, j) => { z[own * width + j] = value; z[c * width + j] = -value; });
  return z;
}

/** The row with the smallest <z, w>, and that product. @param {Problem} problem @param {Vector} w @returns {[number, number]} */
function smallest({base, targets, blocks, width, rivals}, w) {
  let best = -1, least = Infinity, last = -1;
  /** @type {number[]} */
  let scores = [];
  rivals.forEach(([i, c], number) => {
    if (i !== last) {
      scores = Array.from({length: blocks}, (_, k) => {
        let sum = 0;
        for (let j = 0; j < width; j++) sum += base[i][j] * w[k * width + j];
        return sum;
      });
      last = i;
    }
    const value = blocks === 1 ? (targets[i] === 1 ? scores[0] : -scores[0]) : scores[targets[i]] - scores[c];
    if (value < least) { least = value; best = number; }
  });
  return [best, least];
}

/** @param {Vector} a @param {Vector} b */
const inner = (a, b) => { let sum = 0; for (let j = 0; j < a.length; j++) sum += a[j] * b[j]; return sum; };

/** The affine combination of points with the smallest length, or null. @param {Vector[]} points */
function affine(points) {
  const n = points.length, lines = Array.from({length: n + 1}, (_, i) => Float64Array.from({length: n + 2}, (_, j) =>
    i === n ? (j < n ? 1 : j === n ? 0 : 1) : j < n ? inner(points[i], points[j]) : j === n ? 1 : 0));
  for (let c = 0; c <= n; c++) {
    let at = c;
    for (let k = c + 1; k <= n; k++) if (Math.abs(lines[k][c]) > Math.abs(lines[at][c])) at = k;
    if (Math.abs(lines[at][c]) < 1e-300) return null;
    [lines[c], lines[at]] = [lines[at], lines[c]];
    for (let k = 0; k <= n; k++) {
      const by = k === c ? 0 : lines[k][c] / lines[c][c];
      if (by) for (let j = c; j < n + 2; j++) lines[k][j] -= by * lines[c][j];
    }
  }
  const found = lines.slice(0, n).map((line, k) => line[n + 1] / line[k]);
  return found.every(Number.isFinite) ? found : null;
}

// Wolfe's algorithm in floats: rows and weights of a convex combination that is nearly the shortest.
/** @param {Problem} problem @returns {{rows: number[], shares: number[], point: Vector}} */
function nearest(problem) {
  let rows = [smallest(problem, rowOf(problem, 0))[0]], shares = [1], points = [rowOf(problem, rows[0])];
  const combine = () => {
    const sum = new Float64Array(points[0].length);
    points.forEach((z, k) => { for (let j = 0; j < sum.length; j++) sum[j] += shares[k] * z[j]; });
    return sum;
  };
  let point = combine(), longest = inner(point, point);
  for (let step = 0; step < STEPS; step++) {
    const [next, value] = smallest(problem, point), square = inner(point, point);
    const z = rowOf(problem, next);
    longest = Math.max(longest, inner(z, z));
    if (square <= 1e-24 * longest || value >= square - 1e-13 * longest || value > 0.999999 * square || rows.includes(next)) break;
    rows.push(next);
    shares.push(0);
    points.push(z);
    for (;;) {
      const wanted = affine(points);
      if (!wanted) { rows.pop(); shares.pop(); points.pop(); return {rows, shares, point: combine()}; }
      if (wanted.every(value => value > 1e-12)) { shares = wanted; break; }
      let part = 1;
      wanted.forEach((value, k) => { if (value <= 1e-12) part = Math.min(part, shares[k] / (shares[k] - value)); });
      shares = shares.map((value, k) => value + part * (wanted[k] - value));
      const kept = shares.map((value, k) => !(wanted[k] <= 1e-12 && value <= 1e-12));
      if (kept.every(Boolean)) kept[shares.indexOf(Math.min(...shares))] = false;
      [rows, shares, points] = [rows.filter((_, k) => kept[k]), shares.filter((_, k) => kept[k]), points.filter((_, k) => kept[k])];
    }
    point = combine();
  }
  return {rows, shares, point};
}

// ---------------------------------------------------------------- in whole numbers

/** The problem with whole numbers: a common power of two is left out. @param {Problem} problem */
function exactly(problem) {
  const {base, targets, blocks, width, rivals} = problem, {whole, exponent} = wholeRows(base);
  const row = (/** @type {number} */ number) => {
    const [i, c] = rivals[number], z = Array(blocks * width).fill(0n), own = targets[i];
    whole[i].forEach((value, j) => {
      if (blocks === 1) z[j] = own === 1 ? value : -value;
      else { z[own * width + j] = value; z[c * width + j] = -value; }
    });
    return z;
  };
  /** @param {bigint[]} w @returns {[number, bigint]} */
  const least = w => {
    let best = -1, smallestYet = 0n, last = -1;
    /** @type {bigint[]} */
    let scores = [];
    const parts = Array.from({length: blocks}, (_, k) => w.slice(k * width, (k + 1) * width));
    rivals.forEach(([i, c], number) => {
      if (i !== last) { scores = parts.map(part => product(whole[i], part)); last = i; }
      const value = blocks === 1 ? (targets[i] === 1 ? scores[0] : -scores[0]) : scores[targets[i]] - scores[c];
      if (best < 0 || value < smallestYet) { smallestYet = value; best = number; }
    });
    return [best, smallestYet];
  };
  const longest = whole.reduce((top, x) => { const square = product(x, x); return square > top ? square : top; }, 0n);
  return {row, least, longest, unit: 2 ** exponent};
}

/** Shares as whole numbers. @param {number[]} shares */
const wholeShares = shares => wholeRows([shares]).whole[0];

/** @param {bigint[][]} points @param {bigint[]} shares */
const combined = (points, shares) => points[0].map((_, j) => points.reduce((sum, z, k) => sum + shares[k] * z[j], 0n));

/** The affine combination with the smallest length, in whole numbers; null if the points are dependent. @param {bigint[][]} points */
function affineExactly(points) {
  const n = points.length;
  const lines = Array.from({length: n + 1}, (_, i) => Array.from({length: n + 2}, (_, j) =>
    i === n ? (j < n ? 1n : j === n ? 0n : 1n) : j < n ? product(points[i], points[j]) : j === n ? 1n : 0n));
  let previous = 1n;
  for (let c = 0; c <= n; c++) {
    const at = lines.findIndex((line, k) => k >= c && line[c] !== 0n);
    if (at < 0) return null;
    [lines[c], lines[at]] = [lines[at], lines[c]];
    const pivot = lines[c];
    for (let k = 0; k <= n; k++) {
      if (k === c) continue;
      const by = lines[k][c];
      lines[k] = lines[k].map((value, j) => (pivot[c] * value - by * pivot[j]) / previous);
    }
    previous = pivot[c];
  }
  const found = lines.slice(0, n).map(line => line[n + 1]);
  return previous < 0n ? found.map(value => -value) : found;
}

// Wolfe's algorithm without rounding. Weights are whole numbers, whose sum is their common denominator.
/** @param {Problem} problem @param {ReturnType<typeof exactly>} exact */
function nearestExactly(problem, exact) {
  let rows = [0], shares = [1n], points = [exact.row(0)];
  const most = Math.min(EXACT_STEPS, EXACT_WORK / (problem.base.length * problem.width * problem.blocks));
  for (let step = 0; step < most; step++) {
    const point = combined(points, shares), total = shares.reduce((a, b) => a + b);
    if (!point.some(Boolean)) return {rows, shares};
    const [next, value] = exact.least(point);
    if (value > 0n && value * total * 100n >= product(point, point) * 99n) return {rows, shares};
    if (rows.includes(next)) return {rows, shares};
    rows.push(next);
    shares.push(0n);
    points.push(exact.row(next));
    for (;;) {
      const wanted = affineExactly(points);
      if (!wanted) return null;
      if (wanted.every(one => one > 0n)) { shares = lowest(wanted); break; }
      // Go from `shares` to `wanted` until the first weight is 0; all on the common denominator a·b.
      const a = shares.reduce((x, y) => x + y), b = wanted.reduce((x, y) => x + y);
      let top = 1n, bottom = 1n;
      wanted.forEach((one, k) => {
        if (one > 0n) return;
        const from = shares[k] * b, way = from - one * a;
        if (way > 0n && from * bottom < top * way) [top, bottom] = [from, way];
      });
      const moved = shares.map((one, k) => one * b * bottom + top * (wanted[k] * a - one * b));
      const kept = moved.map(one => one > 0n);
      [rows, points] = [rows.filter((_, k) => kept[k]), points.filter((_, k) => kept[k])];
      shares = lowest(moved.filter(one => one > 0n));
    }
  }
  return null;
}

/** @param {number[][]} X @param {any[]} y @param {boolean} bias @returns {Certificate} */
export function certify(X, y, bias) {
  const [problem, classes] = makeProblem(X, y, bias), exact = exactly(problem), {unit} = exact;
  const radius = rootOf(exact.longest, 1n) * unit * UP;
  /** @type {Certificate} */
  const answer = {status: "undecided", margin: [0, radius], radius, bound: null, classes, separator: null, combination: null, verified: false};
  /** @param {number[]} rows @param {bigint[]} shares */
  const conclude = (rows, shares) => {
    const points = rows.map(exact.row), point = combined(points, shares), total = shares.reduce((a, b) => a + b);
    if (!point.some(Boolean)) {
      /** @type {Map<number, number>} */
      const used = new Map();
      rows.forEach((number, k) => {
        const [i] = problem.rivals[number];
        if (shares[k]) used.set(i, (used.get(i) ?? 0) + quotient(shares[k], total));
      });
      Object.assign(answer, {status: "inseparable", margin: [-radius, 0], combination: [...used].sort((a, b) => a[0] - b[0]), verified: true});
      return true;
    }
    const [, least] = exact.least(point);
    if (least <= 0n) return false;
    const square = product(point, point), low = quotient(least, 1n) / rootOf(square, 1n) * unit * DOWN;
    const separator = Array.from({length: problem.blocks}, (_, k) => point.slice(k * problem.width, (k + 1) * problem.width).map(value => quotient(value, 1n)));
    const length = Math.hypot(...separator.flat());
    Object.assign(answer, {
      status: "separable", margin: [low, Math.max(low, rootOf(square, total * total) * unit * UP)],
      bound: (problem.blocks > 1 ? 2 : 1) * (radius / low) ** 2 * UP,
      separator: separator.map(row => (bias ? row : [0, ...row]).map(value => value / length)), verified: true,
    });
    return true;
  };
  const found = nearest(problem), near = Math.hypot(...found.point) < 1e-6 * radius || radius === 0;
  if (near) {
    const shares = nullCombination(found.rows.map(exact.row));
    if (shares && conclude(found.rows, shares)) return answer;
  }
  if (!near && conclude(found.rows, wholeShares(found.shares.map(value => Math.max(0, value))))) return answer;
  const sure = nearestExactly(problem, exact);
  if (sure) conclude(sure.rows, sure.shares);
  return answer;
}
