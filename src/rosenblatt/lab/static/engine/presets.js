// Generated data sets. `presets.py` has the same lines: only sums, products and square roots, which every machine rounds alike.

import {RandomState} from "./random.js";
import {halfEven} from "./text.js";

/** @typedef {{X: number[][], y: (number | string)[], features?: string[]}} Data */
/** @typedef {Record<string, number>} Options */

// Points are multiples of 1/8, so that sums of them have no rounding errors.
const onGrid = (/** @type {number} */ value) => halfEven(value * 8) / 8;

// A sum of twelve uniform numbers: nearly normal, and without a logarithm.
/** @param {RandomState} rng */
function bell(rng) {
  let sum = 0;
  for (let k = 0; k < 12; k++) sum += rng.uniform();
  return sum - 6;
}

// A vector of length 1 in a random direction.
/** @param {RandomState} rng */
function direction(rng) {
  for (;;) {
    const a = 2 * rng.uniform() - 1, b = 2 * rng.uniform() - 1, square = a * a + b * b;
    if (square > 0.01 && square <= 1) {
      const length = Math.sqrt(square);
      return [a / length, b / length];
    }
  }
}

/** @param {Options} options @returns {Data} */
function separable({points, margin, seed}) {
  const rng = new RandomState(seed), [u, v] = direction(rng), offset = 4 * rng.uniform() - 2, X = [];
  while (X.length < points) {
    const a = onGrid(8 * rng.uniform() - 4), b = onGrid(8 * rng.uniform() - 4);
    const side = X.length % 2 ? 1 : -1;
    if (side * (a * u + b * v - offset) >= margin) X.push([a, b]);
  }
  return {X, y: X.map((_, k) => k % 2 ? 1 : -1)};
}

/** @param {Options} options @returns {Data} */
function noisy({points, noise, seed}) {
  const rng = new RandomState(seed), X = [], y = [];
  for (let k = 0; k < points; k++) {
    const side = k % 2 ? 1 : -1;
    X.push([onGrid(bell(rng) * 0.9 + side * 1.3), onGrid(bell(rng) * 0.9 + side)]);
    y.push(rng.uniform() < noise ? -side : side);
  }
  return {X, y};
}

const CORNERS = [[2, 2], [2, -2], [-2, 2], [-2, -2]];

/** @param {Options} options @returns {Data} */
function xor({points, seed}) {
  const rng = new RandomState(seed), X = [], y = [];
  for (let k = 0; k < points; k++) {
    const [a, b] = CORNERS[k % 4];
    X.push([onGrid(a + bell(rng) * 0.6), onGrid(b + bell(rng) * 0.6)]);
    y.push(a === b ? 1 : -1);
  }
  return {X, y};
}

/** @param {Options} options @returns {Data} */
function circles({points, seed}) {
  const rng = new RandomState(seed), X = [], y = [];
  for (let k = 0; k < points; k++) {
    const inner = k % 2 === 0, radius = inner ? 1.3 * rng.uniform() : 2.2 + rng.uniform(), [a, b] = direction(rng);
    X.push([onGrid(radius * a), onGrid(radius * b)]);
    y.push(inner ? 1 : -1);
  }
  return {X, y};
}

const CENTRES = {
  3: [[2.1, 1.15], [-2.05, 1.25], [-0.05, -2.4]],
  4: [[2.1, 1.15], [-1.15, 2.1], [-2.1, -1.15], [1.15, -2.1]],
};

/** @param {Options} options @returns {Data} */
function clouds({points, classes, seed}) {
  const rng = new RandomState(seed), X = [], y = [];
  for (let k = 0; k < points; k++) {
    const [a, b] = CENTRES[/** @type {3 | 4} */ (classes)][k % classes];
    X.push([onGrid(a + bell(rng) * 0.6), onGrid(b + bell(rng) * 0.6)]);
    y.push("abcd"[k % classes]);
  }
  return {X, y};
}

/** @param {Options} options @returns {Data} */
function committee({experts, panel, rounds, seed}) {
  const rng = new RandomState(seed), size = panel % 2 ? panel : panel - 1;
  const members = rng.permutation(experts).slice(0, size), X = [], y = [];
  for (let round = 0; round < rounds; round++) {
    const votes = Array.from({length: experts}, () => rng.uniform() < 0.5 ? -1 : 1);
    X.push(votes);
    y.push(members.reduce((sum, k) => sum + votes[k], 0) > 0 ? 1 : -1);
  }
  return {X, y, features: Array.from({length: experts}, (_, k) => `expert ${k + 1}${members.includes(k) ? " (panel)" : ""}`)};
}

/** @type {Record<string, (options: Options) => Data>} */
export const GENERATORS = {separable, noisy, xor, circles, clouds, committee};
