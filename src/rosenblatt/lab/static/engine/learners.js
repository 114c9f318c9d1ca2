// The learning rules on dense points: the arithmetic of `rosenblatt.engine`, in the same order, so that results agree bit for bit.

import {RandomState} from "./random.js";

/** @typedef {Float64Array} Vector */
/** @typedef {{X: Vector[], codes: number[], classes: number, bias: boolean}} Examples */
/** @typedef {Record<string, any>} Parameters */
/** @typedef {{moved: boolean, mistake: boolean, scores: number[], moves: number[] | null, reached: boolean}} Outcome */

export const NOT_FINITE = "The numbers of the run must be finite; they became too large. Use smaller points or smaller steps.";

const TINY = 5e-324, SMALL = 1e-10, LARGE = 1e4;

// ---------------------------------------------------------------- sums in a fixed order

/** @param {Vector} lanes */
const total = ([a, b, c, d, e, f, g, h]) => ((a + e) + (c + g)) + ((b + f) + (d + h));

/** <w, x> in eight lanes. @param {Vector} w @param {Vector} x */
export function dot(w, x) {
  const lanes = new Float64Array(8);
  for (let j = 0; j < x.length; j++) lanes[j & 7] += w[j] * x[j];
  return total(lanes);
}

/** <w, x> from the first feature to the last, as for several weight vectors. @param {ArrayLike<number>} w @param {ArrayLike<number>} x */
export function inRow(w, x) {
  let sum = 0;
  for (let j = 0; j < x.length; j++) sum += w[j] * x[j];
  return sum;
}

/** Σ sigma_j x_j² in eight lanes. @param {Vector} sigma @param {Vector} x */
function weighted(sigma, x) {
  const lanes = new Float64Array(8);
  for (let j = 0; j < x.length; j++) lanes[j & 7] += (sigma[j] * x[j]) * x[j];
  return total(lanes);
}

/** @param {number} margin @param {boolean} first @param {string} onZero */
const settle = (margin, first, onZero) =>
  margin === 0 && (onZero === "keep" || (onZero === "positive" && first)) ? TINY : margin;

/** The other class with the highest score; the first of them in a tie. @param {number[]} scores @param {number} truth */
export function topRival(scores, truth) {
  let rival = truth === 0 ? 1 : 0;
  for (let k = rival + 1; k < scores.length; k++) if (k !== truth && scores[k] > scores[rival]) rival = k;
  return rival;
}

// The classes to update and their shares of a step: 1 for the true class, -1 in total for its rivals ("all": -1 each).
/** @param {string} scheme @param {number[]} scores @param {number} truth @param {number} rival @returns {[number, number][]} */
function share(scheme, scores, truth, rival) {
  /** @type {[number, number][]} */
  const shares = [[truth, 1], [rival, -1]];
  if (scheme === "max") return shares;
  let excess = Math.max(scores[rival] - scores[truth], 0);
  for (let k = 0; k < scores.length; k++) {
    if (k !== truth && k !== rival && (scheme === "all" || scores[k] >= scores[truth])) {
      shares.push([k, -1]);
      excess += scores[k] - scores[truth];
    }
  }
  for (let c = 1; c < shares.length; c++) {
    if (scheme === "uniform" || (scheme === "proportional" && !(excess > 0))) shares[c][1] = -1 / (shares.length - 1);
    else if (scheme === "proportional") shares[c][1] = -(scores[shares[c][0]] - scores[truth]) / excess;
  }
  return shares;
}

// ---------------------------------------------------------------- the rules

/** Size of a step from the margin and ‖x‖². @type {Record<string, (p: Parameters) => (margin: number, square: number) => number>} */
const ADDITIVE = {
  perceptron: p => margin => margin <= 0 ? p.eta0 : 0,
  margin: p => margin => margin <= p.b ? p.eta0 : 0,
  winnow: p => margin => margin <= 0 ? p.eta : 0,
  batch: () => margin => margin <= 0 ? 1 : 0,
  "passive-aggressive": p => {
    const ceiling = p.variant === "PA-I" ? p.C : Infinity, softening = p.variant === "PA-II" ? 1 / (2 * p.C) : 0;
    return (margin, square) => Math.min(ceiling, Math.max(0, 1 - margin) / (square + softening));
  },
};
ADDITIVE.averaged = ADDITIVE.voted = ADDITIVE.pocket = ADDITIVE.perceptron;

/** The factor of w and that of y·x. @type {Record<string, (p: Parameters) => (margin: number, square: number, length: number, steps: number) => [number, number]>} */
const SCALED = {
  alma: p => {
    const B = p.B ?? Math.sqrt(8) / p.alpha;
    return (margin, square, length, steps) => {
      const size = Math.sqrt(square), k = steps + 1;
      if (margin > (1 - p.alpha) * B / Math.sqrt(k) * size) return [1, 0];
      const tau = 1 * p.C / Math.sqrt(k) / size;
      const shrink = 1 / Math.sqrt(Math.max(1, length + 2 * tau * margin + tau * tau * square));
      return [shrink, shrink * tau];
    };
  },
  romma: p => (margin, square, length) => {
    if (margin > 0 && (p.variant !== "aggressive" || margin >= 1)) return [1, 0];
    const both = square * length, rest = both - margin * margin;
    let [shrink, tau] = [0, 1 / square];
    if (margin < both && rest > 1e-8 * both) [shrink, tau] = [(both - margin) / rest, length * (1 - margin) / rest];
    const longer = shrink * shrink * length + 2 * shrink * tau * margin + tau * tau * square;
    const held = Math.sqrt(1e100 / Math.max(1e100, longer));
    return [shrink * held, tau * held];
  },
};

/** The step along Σx and the decrease of the variances. @type {Record<string, (p: Parameters) => (margin: number, variance: number) => [number, number]>} */
const SECOND_ORDER = {
  arow: p => (margin, variance) => {
    if (margin >= 1) return [0, 0];
    const beta = 1 / (variance + p.r);
    return [(1 - margin) * beta, beta];
  },
  nherd: p => (margin, variance) => {
    if (margin >= 1) return [0, 0];
    const c = 1 / (variance + 1 / p.C);
    return [(1 - margin) * c, c * (2 - c * variance)];
  },
  "second-order": () => (margin, variance) => {
    if (margin > 0) return [0, 0];
    const beta = 1 / (variance + 1);
    return [(1 - margin) * beta, beta];
  },
  cw: p => (m, v) => {
    if (m >= p.phi * v) return [0, 0];
    const q = 1 / p.phi, side = Math.abs(q - 2 * m), other = Math.sqrt(8 * v), part = q + 2 * m;
    const longer = Math.max(side, other), ratio = Math.min(side, other) / longer;
    const root = longer * Math.sqrt(1 + ratio * ratio);
    let alpha = (root - part) / (4 * v);
    if (part > 0) alpha = Math.max(0, v / (root + part) - m * (q / (root + part))) * 2 / v;
    return [alpha, alpha / (0.5 * q + alpha * v)];
  },
  "soft-confidence-weighted": p => (m, v) => {
    const {C, phi} = p, q = 1 / phi / phi;
    if (m >= phi * Math.sqrt(v)) return [0, 0];
    let alpha;
    if (p.variant === "SCW-II") {
      const n = v + 0.5 / C;
      alpha = (Math.sqrt(m * m * v * v + 4 * n * v * (n * q + v)) - m * (2 * n * q + v)) / (2 * n * (n * q + v));
    } else alpha = Math.min(C, (Math.sqrt(0.25 * m * m + v * (1 + q)) - m * (q + 0.5)) / (v * (1 + q)));
    if (!(alpha > 0)) return [0, 0];
    const along = alpha * v * phi, deviation = 2 * v / (along + Math.sqrt(along * along + 4 * v));
    return [alpha, alpha / (deviation / phi + alpha * v)];
  },
};

/** Whether this engine has the rule of a learner. @param {string} name */
export const knows = name => [ADDITIVE, SCALED, SECOND_ORDER].some(rules => Object.hasOwn(rules, name)) || ["parallel", "kernel"].includes(name);

/** @param {string} name @param {Parameters} p */
function targetOf(name, p) {
  if (name === "margin") return p.b;
  if (["passive-aggressive", "arow", "nherd"].includes(name)) return 1;
  return name in SCALED || ["cw", "soft-confidence-weighted", "parallel"].includes(name) ? Infinity : 0;
}

// ---------------------------------------------------------------- a model that learns one example at a time

export class Model {
  /** @param {string} name @param {Parameters} parameters @param {Examples} examples @param {number[][] | null} init */
  constructor(name, parameters, examples, init) {
    const {X, classes, bias} = examples;
    this.name = name;
    this.examples = examples;
    this.width = X[0].length;
    this.feature = bias ? 1 : 0;
    this.onZero = parameters.on_zero;
    this.scheme = parameters.multiclass;
    this.target = targetOf(name, parameters);
    this.committee = name === "parallel";
    this.count = this.committee ? parameters.n_perceptrons : classes > 2 ? classes : 1;
    this.link = name === "winnow" ? (parameters.balanced ? "balanced" : "exp") : "identity";
    this.divisor = 1;
    /** The additive sums; the weights themselves unless there is a link. @type {Vector[]} */
    this.v = this.blank();
    this.vBias = new Float64Array(this.count);
    this.w = this.link === "identity" ? this.v : this.blank();
    this.wBias = this.link === "identity" ? this.vBias : new Float64Array(this.count);
    this.shift = 0;
    /** Where steps are added; the batch perceptron collects them. */
    this.into = this.v;
    this.intoBias = this.vBias;
    this.averaging = name === "averaged";
    this.u = this.blank();
    this.uBias = new Float64Array(this.count);
    this.age = this.run = this.mistakes = this.updates = 0;
    this.goal = -1;
    this.kind = name in SCALED || this.committee ? "scaled" : name in SECOND_ORDER ? (parameters.covariance === "full" ? "full" : "diagonal") : "additive";
    // One of these is the rule of this learner; a committee has its own.
    this.rule = ADDITIVE[name]?.(parameters);
    this.pair = SCALED[name]?.(parameters);
    this.second = SECOND_ORDER[name]?.(parameters);
    this.scale = new Float64Array(this.count).fill(1);
    this.square = new Float64Array(this.count);
    this.steps = new Float64Array(this.count);
    const initial = name === "second-order" ? 1 / parameters.a : 1;
    this.sigma = this.blank(initial);
    this.sigmaBias = new Float64Array(this.count).fill(initial);
    /** @type {Vector[][]} */
    this.sigmas = this.kind === "full" ? Array.from({length: this.count}, () => Array.from({length: this.width + 1}, (_, i) => Float64Array.from({length: this.width + 1}, (_, j) => i === j ? initial : 0))) : [];
    this.along = Array.from({length: this.count}, () => new Float64Array(this.width + 1));
    this.parameters = parameters;
    if (this.committee) this.draw();
    if (init) this.startFrom(init);
    this.relink();
    if (this.kind === "scaled") this.measure();
  }

  blank(value = 0) {
    return Array.from({length: this.count}, () => new Float64Array(this.width).fill(value));
  }

  draw() {
    const rng = new RandomState(this.parameters.random_state ?? 0), root = Math.sqrt(this.width + 1);
    for (let j = 0; j <= this.width; j++) for (let k = 0; k < this.count; k++) {
      const value = rng.normal() / root;
      if (j > 0) this.v[k][j - 1] = value; else if (this.feature) this.vBias[k] = value;
    }
  }

  /** @param {number[][]} init */
  startFrom(init) {
    init.forEach((row, k) => {
      const own = this.feature ? row.slice(1) : row;
      /** @type {(value: number) => number} */
      const as = this.link === "exp" ? Math.log : this.link === "balanced" ? value => Math.asinh(value / 2) : value => value;
      own.forEach((value, j) => { this.v[k][j] = as(value); });
      if (this.feature) this.vBias[k] = as(row[0]);
    });
  }

  measure() {
    for (let k = 0; k < this.count; k++) {
      let sum = 0;
      for (const value of this.v[k]) sum += value * value;
      this.square[k] = sum + this.vBias[k] * this.vBias[k];
    }
  }

  /** @param {number} log */
  linked(log) {
    return this.link === "exp" ? Math.exp(log - this.shift) : Math.exp(log - this.shift) - Math.exp(-log - this.shift);
  }

  relink() {
    if (this.link === "identity") return;
    for (let k = 0; k < this.count; k++) {
      for (let j = 0; j < this.width; j++) this.w[k][j] = this.linked(this.v[k][j]);
      this.wBias[k] = this.feature ? this.linked(this.vBias[k]) : 0;
    }
  }

  // The current weights, one row for each weight vector, the bias first.
  weights() {
    return this.w.map((row, k) => {
      const by = this.kind === "scaled" ? this.scale[k] : 1;
      const own = Array.from(row, value => this.divisor === 1 ? value * by : value / this.divisor);
      const bias = this.divisor === 1 ? this.wBias[k] * by : this.wBias[k] / this.divisor;
      return this.feature ? [bias, ...own] : own;
    });
  }

  // The weights that predict: the average for the averaged perceptron.
  readout() {
    if (!this.averaging) return this.weights();
    const {age} = this;
    return this.w.map((row, k) => {
      const own = Array.from(row, (value, j) => value - (age ? this.u[k][j] / age : 0));
      return this.feature ? [this.wBias[k] - (age ? this.uBias[k] / age : 0), ...own] : own;
    });
  }

  /** Scores without scales. @param {Vector} x */
  raw(x) {
    return this.count === 1 ? [dot(this.w[0], x) + this.wBias[0]] : this.w.map((row, k) => inRow(row, x) + this.wBias[k]);
  }

  /** Whether scores are a mistake. @param {number[]} scores @param {number} truth */
  wrong(scores, truth) {
    const rival = scores.length === 1 ? -1 : topRival(scores, truth);
    const margin = rival < 0 ? (truth === 1 ? scores[0] : -scores[0]) : scores[truth] - scores[rival];
    const first = rival < 0 ? truth === 1 : truth < rival;
    return settle(margin, first, this.onZero) <= 0;
  }

  // Learn one example. @returns the outcome; `reached` says that `goal` examples in a row needed no update.
  /** @param {number} i @returns {Outcome} */
  learn(i) {
    const {X, codes} = this.examples, x = X[i], truth = codes[i];
    const outcome = this.committee ? this.learnCommittee(x, truth) : this.count === 1 ? this.learnTwo(x, truth) : this.learnMany(x, truth);
    if (!outcome.scores.every(Number.isFinite)) throw new Error(NOT_FINITE);
    if (outcome.mistake) this.mistakes++;
    this.age++;
    if (outcome.moved) { this.updates++; this.run = 0; } else outcome.reached = ++this.run === this.goal;
    return outcome;
  }

  /** @param {Vector} x */
  norm(x) { return dot(x, x) + this.feature; }

  /** @param {Vector} x @param {number} truth @returns {Outcome} */
  learnTwo(x, truth) {
    const score = this.kind === "scaled" ? this.raw(x)[0] * this.scale[0] : this.raw(x)[0];
    const sign = truth === 1 ? 1 : -1, margin = settle(sign * score, truth === 1, this.onZero);
    /** @type {Outcome} */
    const outcome = {moved: false, mistake: margin <= 0, scores: [score], moves: this.kind === "additive" ? [0] : null, reached: false};
    if (!(margin <= this.target)) return outcome;
    const step = this.decide(0, x, margin, sign * score);
    if (!step) return outcome;
    const [first, second] = step;
    outcome.moved = true;
    if (this.kind === "additive") {
      this.addAll(0, sign * first, x);
      outcome.moves = [sign * first];
      this.refresh([0], x);
    } else if (this.kind === "scaled") {
      const norm = this.norm(x);
      this.rescale(0, second, this.grown(this.square[0], second, first, sign * score, norm));
      const amount = sign * first / this.scale[0];
      for (let j = 0; j < x.length; j++) this.v[0][j] += amount * x[j];
      this.vBias[0] += amount * this.feature;
    } else this.nudge(0, sign * first, second, x);
    return outcome;
  }

  // The two numbers of a step for weight vector k, or null if there is none.
  /** @param {number} k @param {Vector} x @param {number} margin @param {number} product @returns {[number, number] | null} */
  decide(k, x, margin, product) {
    if (this.kind === "additive") {
      const norm = this.norm(x), tau = this.rule(margin, norm);
      return tau === 0 || norm === 0 ? null : [tau, 0];
    }
    if (this.kind === "scaled") {
      const norm = this.norm(x);
      if (norm === 0) return null;
      const [shrink, tau] = this.pair(margin, norm, this.square[k], this.steps[k]);
      return shrink === 1 && tau === 0 ? null : [tau, shrink];
    }
    const variance = this.variance(k, x);
    if (!(variance > 0)) return null;
    const [alpha, beta] = this.second(margin, variance);
    return alpha === 0 && beta === 0 ? null : [alpha, beta];
  }

  /** @param {Vector} x @param {number} truth @returns {Outcome} */
  learnMany(x, truth) {
    const scores = this.raw(x).map((value, k) => this.kind === "scaled" ? value * this.scale[k] : value);
    const rival = topRival(scores, truth), margin = settle(scores[truth] - scores[rival], truth < rival, this.onZero);
    /** @type {Outcome} */
    const outcome = {moved: false, mistake: margin <= 0, scores, moves: this.kind === "additive" ? scores.map(() => 0) : null, reached: false};
    /** @type {{k: number, amount: number, second: number}[]} */
    let steps = [];
    if (this.scheme === "ovr") {
      scores.forEach((score, k) => {
        const sign = k === truth ? 1 : -1, own = settle(sign * score, k === truth, this.onZero);
        const step = own <= this.target ? this.decide(k, x, own, sign * score) : null;
        if (step) steps.push({k, amount: sign * step[0], second: step[1]});
      });
    } else if (margin <= this.target) steps = this.together(x, truth, rival, margin, scores);
    if (!steps.length) return outcome;
    outcome.moved = true;
    if (this.kind === "additive") {
      for (const {k, amount} of steps) {
        this.addAll(k, amount, x);
        /** @type {number[]} */ (outcome.moves)[k] = amount;
      }
      this.refresh(steps.map(one => one.k), x);
    } else if (this.kind === "scaled") this.moveScaled(steps, scores, x);
    else for (const {k, amount, second} of steps) this.nudge(k, amount, second, x);
    return outcome;
  }

  // The steps of all classes from the lead of the true class over its rivals.
  /** @param {Vector} x @param {number} truth @param {number} rival @param {number} margin @param {number[]} scores */
  together(x, truth, rival, margin, scores) {
    const shares = share(this.scheme, scores, truth, rival);
    if (this.kind === "additive") {
      const norm = this.norm(x), tau = this.rule(margin, this.name === "passive-aggressive" ? (1 - shares[1][1]) * norm : 0);
      return tau === 0 || norm === 0 ? [] : shares.map(([k, part]) => ({k, amount: part * tau, second: 0}));
    }
    if (this.kind === "scaled") {
      const norm = this.norm(x);
      if (norm === 0) return [];
      let product = 0, size = 0, length = 0;
      for (const [k, part] of shares) { product += part * scores[k]; size += part * part; }
      for (const value of this.square) length += value;
      const asked = this.scheme === "all" ? margin : settle(product, truth < rival, this.onZero);
      const [shrink, tau] = this.pair(asked, size * norm, length, this.steps[0]);
      return shrink === 1 && tau === 0 ? [] : shares.map(([k, part]) => ({k, amount: part * tau, second: shrink}));
    }
    let variance = 0;
    for (const [k, part] of shares) variance += part * part * this.variance(k, x);
    if (!(variance > 0)) return [];
    const [alpha, beta] = this.second(margin, variance);
    return alpha === 0 && beta === 0 ? [] : shares.map(([k, part]) => ({k, amount: part * alpha, second: part * part * beta}));
  }

  /** @param {number} k @param {number} amount @param {Vector} x */
  addAll(k, amount, x) {
    const v = this.into[k];
    for (let j = 0; j < x.length; j++) v[j] += amount * x[j];
    this.intoBias[k] += amount * this.feature;
    if (!this.averaging) return;
    const lagged = this.age * amount, u = this.u[k];
    for (let j = 0; j < x.length; j++) u[j] += lagged * x[j];
    this.uBias[k] += lagged * this.feature;
  }

  /** @param {number[]} rows @param {Vector} x */
  refresh(rows, x) {
    if (this.link === "identity") return;
    let top = 0;
    for (const k of rows) {
      for (let j = 0; j < x.length; j++) {
        if (x[j] === 0) continue;
        this.w[k][j] = this.linked(this.v[k][j]);
        top = Math.max(top, Math.abs(this.w[k][j]));
      }
      if (this.feature) {
        this.wBias[k] = this.linked(this.vBias[k]);
        top = Math.max(top, Math.abs(this.wBias[k]));
      }
    }
    if (top > 1e200 || (top < 1e-200 && (this.link === "exp" || this.shift !== 0))) {
      const logs = [...this.v.flatMap(row => [...row]), ...this.vBias];
      this.shift = Math.max(...logs, ...(this.link === "balanced" ? logs.map(value => -value) : []));
      this.relink();
    }
  }

  // ---- weights stored as scale · v

  /** @param {number} square @param {number} shrink @param {number} tau @param {number} product @param {number} norm */
  grown(square, shrink, tau, product, norm) {
    const result = shrink * shrink * square + 2 * shrink * tau * product + tau * tau * norm;
    return result < 0 ? 0 : result;
  }

  /** @param {number} k @param {number} shrink @param {number} square */
  rescale(k, shrink, square) {
    let drift = 0;
    if (shrink === 0) {
      this.v[k].fill(0);
      this.vBias[k] = 0;
      this.square[k] = 0;
      this.scale[k] = 1;
    } else {
      this.scale[k] *= shrink;
      if (!(SMALL < this.scale[k] && this.scale[k] < LARGE)) {
        drift = shrink * shrink * this.square[k];
        const by = this.scale[k];
        this.vBias[k] *= by;
        let sum = 0;
        for (let j = 0; j < this.width; j++) { this.v[k][j] *= by; sum += this.v[k][j] * this.v[k][j]; }
        this.square[k] = sum + this.vBias[k] * this.vBias[k];
        this.scale[k] = 1;
        drift -= this.square[k];
      }
    }
    this.square[k] = Math.max(0, square - drift);
    this.steps[k] += 1;
  }

  /** @param {{k: number, amount: number, second: number}[]} steps @param {number[]} scores @param {Vector} x */
  moveScaled(steps, scores, x) {
    const norm = this.norm(x);
    if (this.scheme === "ovr") {
      for (const step of steps) {
        this.rescale(step.k, step.second, this.grown(this.square[step.k], step.second, step.amount, scores[step.k], norm));
        step.amount /= this.scale[step.k];
      }
    } else {
      const shrink = steps[0].second;
      for (let k = 0; k < this.count; k++) this.rescale(k, shrink, shrink * shrink * this.square[k]);
      for (const step of steps) {
        const own = step.amount, before = scores[step.k] * shrink;
        this.square[step.k] = Math.max(0, this.square[step.k] + 2 * own * before + own * own * norm);
        step.amount = own / this.scale[step.k];
      }
    }
    for (const {k, amount} of steps) {
      for (let j = 0; j < x.length; j++) this.v[k][j] += amount * x[j];
      this.vBias[k] += amount * this.feature;
    }
  }

  // ---- variances

  /** @param {number} k @param {Vector} x */
  variance(k, x) {
    if (this.kind === "diagonal") {
      if (this.count === 1) return weighted(this.sigma[0], x) + this.sigmaBias[0] * this.feature;
      let sum = 0;
      for (let j = 0; j < x.length; j++) sum += this.sigma[k][j] * x[j] * x[j];
      return sum + this.sigmaBias[k] * this.feature;
    }
    const z = [this.feature, ...x], along = this.along[k].fill(0), sigma = this.sigmas[k];
    z.forEach((value, j) => { if (value !== 0) for (let i = 0; i < z.length; i++) along[i] += value * sigma[j][i]; });
    let result = 0;
    for (let j = 0; j < z.length; j++) result += along[j] * z[j];
    return result;
  }

  /** @param {number} k @param {number} amount @param {number} shrink @param {Vector} x */
  nudge(k, amount, shrink, x) {
    if (this.kind === "full") {
      const along = this.along[k], sigma = this.sigmas[k];
      this.vBias[k] += amount * along[0];
      for (let j = 0; j < x.length; j++) this.v[k][j] += amount * along[j + 1];
      along.forEach((value, i) => {
        if (value !== 0) for (let j = 0; j < along.length; j++) sigma[i][j] -= shrink * (value * along[j]);
      });
      return;
    }
    for (let j = 0; j < x.length; j++) {
      const along = this.sigma[k][j] * x[j];
      this.v[k][j] += amount * along;
      this.sigma[k][j] = Math.max(0, this.sigma[k][j] - shrink * (along * along));
    }
    const along = this.sigmaBias[k] * this.feature;
    this.vBias[k] += amount * along;
    this.sigmaBias[k] = Math.max(0, this.sigmaBias[k] - shrink * (along * along));
  }

  // ---- a committee that predicts by majority

  /** @param {Vector} x @param {number} truth @returns {Outcome} */
  learnCommittee(x, truth) {
    const {eta, gamma, mu} = this.parameters, own = this.raw(x).map((value, k) => value * this.scale[k]);
    const votes = own.reduce((sum, score) => sum + (score >= 0 ? 1 : -1), 0);
    const norm = this.norm(x), sign = truth === 1 ? 1 : -1, margin = sign * votes;
    /** @type {Outcome} */
    const outcome = {moved: false, mistake: margin <= 0, scores: own, moves: null, reached: false};
    if (norm === 0) return outcome;
    const steps = own.map((score, k) => {
      const mine = sign * score;
      const tau = mine > 0 ? (mine < gamma ? mu : 0) : margin <= 0 ? 1 : mine > -gamma ? -mu : 0;
      return {k, shrink: 1 / Math.max(0.5, 1 + eta * (this.square[k] - 1)), step: sign * (eta * tau)};
    }).filter(one => one.step !== 0);
    for (const {k, shrink, step} of steps) {
      this.rescale(k, shrink, this.grown(this.square[k], shrink, step, own[k], norm));
      const amount = step / this.scale[k];
      this.vBias[k] += amount * this.feature;
      for (let j = 0; j < x.length; j++) this.v[k][j] += amount * x[j];
    }
    outcome.moved = steps.length > 0;
    return outcome;
  }
}
