// A kernel run: coefficients of examples instead of weights of features.

import {NOT_FINITE, dot, topRival} from "./learners.js";
import {visits} from "./random.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Step} Step */

/** The scale of a kernel as a number. @param {import("./learners.js").Parameters} parameters @param {number} width */
export const gammaOf = (parameters, width) => parameters.gamma ?? (["rbf", "sigmoid"].includes(parameters.kernel) ? 1 / width : 1);

/** @param {import("./learners.js").Parameters} parameters @param {number} width @returns {(a: Float64Array, b: Float64Array) => number} */
function kernelOf(parameters, width) {
  const gamma = gammaOf(parameters, width), {kernel, degree, coef0} = parameters;
  if (kernel === "rbf") return (a, b) => Math.exp(-gamma * Math.max(0, -2 * dot(a, b) + dot(a, a) + dot(b, b)));
  if (kernel === "sigmoid") return (a, b) => Math.tanh(dot(a, b) * gamma + coef0);
  if (kernel === "linear") return dot;
  return (a, b) => {
    const base = gamma * dot(a, b) + coef0;
    let value = base;
    for (let k = 1; k < degree; k++) value *= base;
    return value;
  };
}

// The step of each class, and the number of mistakes.
/** @param {number[]} scores @param {number} truth @param {string} scheme @param {string} onZero @returns {[number[], number]} */
function correction(scores, truth, scheme, onZero) {
  const tau = scores.map(() => 0);
  const wrongSign = (/** @type {number} */ score, /** @type {number} */ sign) => onZero === "update" ? sign * score <= 0 : onZero === "keep" ? sign * score < 0 : (score >= 0) !== (sign > 0);
  if (scores.length === 1 || scheme === "ovr") {
    let mistakes = 0;
    scores.forEach((score, k) => {
      const sign = (scores.length > 1 ? k === truth : truth === 1) ? 1 : -1;
      if (wrongSign(score, sign)) { tau[k] = sign; mistakes++; }
    });
    return [tau, mistakes];
  }
  const rival = topRival(scores, truth);
  const mistaken = scores[rival] === scores[truth] ? onZero === "update" || (onZero === "positive" && rival < truth) : scores[rival] > scores[truth];
  if (!mistaken) return [tau, 0];
  if (scheme === "all") tau.fill(-1);
  else if (scheme === "max") tau[rival] = -1;
  else {
    let rivals = 0, excess = 0;
    scores.forEach((score, k) => { if (k !== truth && score >= scores[truth]) { rivals++; excess += score - scores[truth]; } });
    scores.forEach((score, k) => {
      if (k !== truth && score >= scores[truth]) tau[k] = scheme === "uniform" || excess === 0 ? -1 / rivals : -(score - scores[truth]) / excess;
    });
  }
  tau[truth] = 1;
  return [tau, 1];
}

/** @param {number[][]} points @param {any[]} y @param {any[]} classes @param {import("./learners.js").Parameters} parameters @param {import("./trace.js").Sample} sample @returns {Trace} */
export function traceKernel(points, y, classes, parameters, sample) {
  const n = points.length, {multiclass, on_zero: onZero} = parameters;
  const X = points.map(x => Float64Array.from(x)), codes = y.map(one => classes.indexOf(one)), kernel = kernelOf(parameters, X[0].length);
  const gram = X.map(a => X.map(b => kernel(a, b)));
  if (!gram.every(row => row.every(Number.isFinite))) throw new Error(NOT_FINITE);
  const columns = classes.length > 2 ? classes.length : 1;
  const dual = Array.from({length: columns}, () => Array(n).fill(0)), scores = dual.map(row => [...row]);
  const order = visits(parameters.shuffle, parameters.random_state ?? 0, n);
  let epochs = 0, mistakes = 0, updates = 0, updated = 0;
  /** @type {{i: number, moves: number[], number: number}[]} */
  const log = [];
  for (; epochs < parameters.max_iter;) {
    epochs++;
    const before = updates;
    for (const i of order()) {
      const own = scores.map(row => row[i]), [moves, wrong] = correction(own, codes[i], multiclass, onZero);
      const rival = columns > 1 ? topRival(own, codes[i]) : -1, lead = columns > 1 ? own[codes[i]] - own[rival] : codes[i] === 1 ? own[0] : -own[0];
      const best = columns > 1 ? own.indexOf(Math.max(...own)) : Number(own[0] >= 0);
      const mistake = moves.some(Boolean) && (onZero === "update" ? lead <= 0 : lead < 0 || (onZero === "positive" && lead === 0 && best !== codes[i]));
      if (wrong) {
        updates += wrong;
        updated++;
        log.push({i, moves, number: sample.total + 1});
        moves.forEach((by, k) => {
          if (!by) return;
          dual[k][i] += by;
          for (let j = 0; j < n; j++) scores[k][j] += by * gram[i][j];
        });
      }
      mistakes += Number(mistake);
      sample.add({
        number: sample.total + 1, epoch: epochs, example: i, predicted: best, scores: own, correct: !mistake, moved: wrong > 0, before: [], after: [],
        moves, squeeze: null, average: null, survived: null, pocket: null, updates: updated,
      });
    }
    if (updates === before) break;
  }
  const [steps, note] = sample.steps(), comparator = lastWeights(dual, scores, gram, codes, multiclass);
  if (comparator) squeezed(steps, log, comparator, gram);
  fillDual(steps, log, columns, n);
  return {
    algorithm: "kernel", classes, X: points, y, bias: false, note, steps, gram, kind: "dual", features: points.map((_, k) => `φ(x${k + 1})`),
    examples: n, epochs, total: sample.total, mistakes, updates, start: dual.map(row => row.map(() => 0)), weights: dual,
    formula: comparator ? "kγ ≤ ⟨w,u⟩ ≤ ‖w‖ ≤ √k·R" : "", bound: comparator ? (comparator.radius / comparator.margin) ** 2 : null,
    comparator: comparator ? {weights: null, margin: comparator.margin, radius: comparator.radius} : null, survivors: [],
  };
}

// The last weights as a separator in feature space, if they separate the examples.
/** @param {number[][]} dual @param {number[][]} scores @param {number[][]} gram @param {number[]} codes @param {string} scheme */
function lastWeights(dual, scores, gram, codes, scheme) {
  if (dual.length > 1 && !["max", "uniform", "proportional"].includes(scheme)) return null;
  let reached = Infinity, square = 0, longest = 0;
  codes.forEach((truth, i) => {
    const own = scores.map(row => row[i]);
    reached = Math.min(reached, own.length === 1 ? (truth === 1 ? own[0] : -own[0]) : own[truth] - Math.max(...own.filter((_, k) => k !== truth)));
    dual.forEach((row, k) => { square += row[i] * scores[k][i]; });
    longest = Math.max(longest, gram[i][i]);
  });
  const length = Math.sqrt(Math.max(0, square));
  if (reached <= 0 || length === 0) return null;
  return {weights: dual.map(row => row.map(value => value / length)), margin: reached / length, radius: Math.sqrt(longest * (dual.length > 1 ? 2 : 1))};
}

/** @param {Step[]} steps @param {{i: number, moves: number[], number: number}[]} log @param {{weights: number[][], margin: number, radius: number}} known @param {number[][]} gram */
function squeezed(steps, log, {weights, margin, radius}, gram) {
  const n = gram.length, raised = weights.map(() => new Float64Array(n));
  // <w, u> and ‖w‖² change by terms of one example, so a step costs one row of kernel values.
  const u = weights.map(row => { const sum = new Float64Array(n); row.forEach((by, i) => { if (by) for (let j = 0; j < n; j++) sum[j] += by * gram[i][j]; }); return sum; });
  let at = 0, along = 0, square = 0;
  for (const step of steps) {
    for (; at < log.length && log[at].number <= step.number; at++) {
      const {i, moves} = log[at];
      moves.forEach((by, k) => {
        if (!by) return;
        along += by * u[k][i];
        square += 2 * by * raised[k][i] + by * by * gram[i][i];
        for (let j = 0; j < n; j++) raised[k][j] += by * gram[i][j];
      });
    }
    step.squeeze = [step.updates * margin, along, Math.sqrt(Math.max(0, square)), Math.sqrt(step.updates) * radius];
  }
}

// Coefficients before and after each step; a step without an update shares those of the step before it.
/** @param {Step[]} steps @param {{i: number, moves: number[], number: number}[]} log @param {number} columns @param {number} n */
function fillDual(steps, log, columns, n) {
  let dual = Array.from({length: columns}, () => Array(n).fill(0)), at = 0;
  const turn = (/** @type {number} */ until) => {
    if (!(at < log.length && log[at].number <= until)) return;
    dual = dual.map(row => row.slice());
    for (; at < log.length && log[at].number <= until; at++) log[at].moves.forEach((by, k) => { dual[k][log[at].i] += by; });
  };
  for (const step of steps) {
    turn(step.number - 1);
    step.before = dual;
    turn(step.number);
    step.after = dual;
  }
}
