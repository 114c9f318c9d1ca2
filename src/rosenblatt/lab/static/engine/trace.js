// A run of a learner with all its steps, as `rosenblatt.trace`.

import {certify, ordered} from "./certificate.js";
import {wholeRows} from "./exact.js";
import {traceKernel} from "./kernel.js";
import {Model, dot, inRow} from "./learners.js";
import {visits} from "./random.js";
import {halfEven, python} from "./text.js";

/** @typedef {import("./learners.js").Vector} Vector */
/** @typedef {import("./learners.js").Parameters} Parameters */
/**
 * @typedef {object} Step
 * @property {number} number
 * @property {number} epoch
 * @property {number | null} example
 * @property {number} predicted
 * @property {number[] | null} scores
 * @property {boolean} correct
 * @property {boolean} moved
 * @property {number[][]} before
 * @property {number[][]} after
 * @property {number[] | null} moves
 * @property {number[]} [missed]
 * @property {number[] | null} squeeze
 * @property {number[][] | null} average
 * @property {number | null} survived
 * @property {number | null} pocket
 * @property {number} updates
 */
/**
 * @typedef {object} Trace
 * @property {string} algorithm
 * @property {any[]} classes
 * @property {string[]} features
 * @property {string} kind
 * @property {number[][]} X
 * @property {any[]} y
 * @property {boolean} bias
 * @property {number} examples
 * @property {number} epochs
 * @property {number} total
 * @property {number} mistakes
 * @property {number} updates
 * @property {number[][]} start
 * @property {number[][]} weights
 * @property {Step[]} steps
 * @property {string} formula
 * @property {number | null} bound
 * @property {{weights: number[][] | null, margin: number, radius: number} | null} comparator
 * @property {[number[][], number][]} survivors
 * @property {string} note
 * @property {number[][]} [gram]
 */

const MISTAKE_DRIVEN = ["perceptron", "averaged", "voted", "pocket", "margin"];
export const LARGEST_SEARCH = 200_000;
const FREE_ROWS = 100_000, FINEST = 1024, LARGEST_SET = 2000;

const STANDSTILL = "“a score of 0” must be another choice than “no mistake” for initial weights of 0, because then every score is 0 and nothing is ever learned. Choose “a mistake”, or give an initial w if the learner has one.";
/** @param {any} label */
const oneClass = label => `There must be points of at least 2 classes; got 1 class, ${python(label)}. Add points of another class.`;
/** @param {any} init */
const fixedStart = init => `“initial w” must be empty for this learner, whose initial weights are fixed; got ${python(init)}. Leave it empty.`;

// Keeps at most `limit` steps of a run of unknown length: the first, the last, and mistakes spread over those in between.
export class Sample {
  /** @param {number} limit */
  constructor(limit) {
    this.limit = limit;
    this.total = 0;
    this.ends = Math.max(1, Math.floor(limit / 4));
    this.room = Math.max(0, limit - 2 * this.ends);
    /** @type {Step[]} */ this.head = [];
    /** @type {Step[]} */ this.middle = [];
    /** @type {Step[]} */ this.tail = [];
    this.gone = 0; // steps at the front of the tail that were taken out
    this.stride = 1;
    this.passed = 0;
  }

  /** @param {Step} step */
  add(step) {
    this.total++;
    if (this.head.length < this.ends) { this.head.push(step); return; }
    this.tail.push(step);
    if (this.head.length + this.waiting > this.limit) this.retire();
  }

  get waiting() { return this.tail.length - this.gone; }

  retire() {
    const step = this.tail[this.gone++];
    if (this.gone > 4096) { this.tail = this.tail.slice(this.gone); this.gone = 0; }
    if (step.correct && !step.moved) return;
    if (this.passed % this.stride === 0 && this.room > 0) {
      if (this.middle.length === this.room) {
        this.middle = this.middle.filter((_, k) => k % 2 === 0);
        this.stride *= 2;
      }
      if (this.passed % this.stride === 0) this.middle.push(step);
    }
    this.passed++;
  }

  /** @returns {[Step[], string]} */
  steps() {
    if (this.total > this.limit) while (this.waiting > Math.min(this.ends, this.limit - this.head.length)) this.retire();
    const tail = this.tail.slice(this.gone), kept = [...this.head, ...this.middle, ...tail];
    if (kept.length === this.total) return [kept, ""];
    const count = (/** @type {number} */ value) => value.toLocaleString("en");
    return [kept, `${count(kept.length)} of ${count(this.total)} steps are shown: the first ${count(this.head.length)}, the last ${count(tail.length)}, and `
      + `${count(this.middle.length)} of the ${count(this.passed)} mistakes and updates in between. Raise limit to see more.`];
  }
}

/** One certificate is kept, because the run and the certificate of the page ask for the same. @type {{X: any, y: any, bias: boolean, certificate: import("./certificate.js").Certificate} | null} */
let kept = null;

/** @param {number[][]} X @param {any[]} y @param {boolean} bias */
export function certificateOf(X, y, bias) {
  const again = kept && kept.bias === bias && kept.y.length === y.length && y.every((one, k) => one === kept?.y[k]) && same(X, kept.X);
  if (!kept || !again) kept = {X, y, bias, certificate: certify(X, y, bias)};
  return kept.certificate;
}

/** @param {number[][]} a @param {number[][]} b */
const inner = (a, b) => { let sum = 0; a.forEach((row, k) => row.forEach((value, j) => { sum += value * b[k][j]; })); return sum; };
/** @param {number[][]} a @param {number[][]} b */
const same = (a, b) => a.every((row, k) => row.length === b[k].length && row.every((value, j) => value === b[k][j]));

/** @param {number[][]} X @param {any[]} y @param {string} algorithm @param {Parameters} parameters @param {any[] | null} known @param {number} limit @returns {Trace} */
export function trace(X, y, algorithm, parameters, known, limit) {
  const present = ordered(y);
  if (algorithm === "kernel") {
    if (known) throw new Error("A kernel run takes the classes from the points, so that each class must have a point. Add points of the missing class, or choose another learner.");
    if (X.length > LARGEST_SET) throw new Error(`A kernel run may have at most ${LARGEST_SET.toLocaleString("en")} points, because every step shows the coefficient of each; got ${X.length.toLocaleString("en")}. Use fewer points.`);
    if (present.length < 2) throw new Error(oneClass(present[0]));
    if (parameters.init) throw new Error(fixedStart(parameters.init));
    if (parameters.on_zero === "keep") throw new Error(STANDSTILL);
    return traceKernel(X, y, present, parameters, new Sample(limit));
  }
  const missing = known ? known.some(one => !present.includes(one)) : false;
  let classes = known ? ordered([...known, ...y]) : present;
  if (classes.length === 1 && (classes[0] === 1 || classes[0] === -1)) classes = [-1, 1];
  if (classes.length < 2) throw new Error(oneClass(classes[0]));
  if (algorithm === "parallel" && classes.length > 2) throw new Error(`A committee of perceptrons learns 2 classes; got ${classes.length}. Choose another learner, or remove the points of the other classes.`);
  const bias = parameters.fit_intercept, count = classes.length > 2 ? classes.length : 1;
  const rows = X.map(x => Float64Array.from(x)), codes = y.map(one => classes.indexOf(one));
  const init = checkedInit(parameters.init, X[0].length, count, bias, algorithm, parameters);
  const model = new Model(algorithm, parameters, {X: rows, codes, classes: classes.length, bias}, init);
  if (parameters.on_zero === "keep" && model.target <= 0 && !model.weights().some(row => row.some(Boolean))) {
    throw new Error(STANDSTILL);
  }
  const proved = MISTAKE_DRIVEN.includes(algorithm) && !missing && (count === 1 || ["max", "uniform", "proportional"].includes(parameters.multiclass))
    && X.length * X[0].length <= LARGEST_SEARCH ? certificateOf(X, y, bias) : null;
  const start = model.weights();
  const proof = proved?.status === "separable" && proved.margin[0] > 0 ? makeProof(proved, start, parameters, bias, count) : null;
  const sample = new Sample(limit), state = {model, sample, proof, epochs: 0, updates: 0, start, weights: start, survived: 0, survivors: /** @type {[number[][], number][]} */ ([])};
  const final = algorithm === "batch" ? runBatch(state) : runOnline(state, algorithm, parameters);
  const [steps, note] = sample.steps();
  return {
    algorithm, classes, X, y, bias, note, steps, start: state.start,
    features: [...(bias ? ["1"] : []), ...X[0].map((_, j) => `x${j + 1}`)],
    kind: algorithm === "winnow" ? "logarithms" : algorithm === "parallel" ? "committee" : "weights",
    examples: X.length, epochs: state.epochs, total: sample.total, mistakes: model.mistakes, updates: algorithm === "batch" ? state.updates : model.updates,
    weights: final ?? model.readout(), formula: proof ? proof.formula : "", bound: proof ? proof.bound : null,
    comparator: proof ? {weights: proof.u, margin: proof.margin, radius: proof.radius} : null, survivors: state.survivors,
  };
}

/** @param {any} init @param {number} width @param {number} count @param {boolean} bias @param {string} algorithm @param {Parameters} parameters @returns {number[][] | null} */
function checkedInit(init, width, count, bias, algorithm, parameters) {
  if (init === null || init === undefined) return null;
  if (algorithm === "parallel") throw new Error(fixedStart(init));
  const rows = Array.isArray(init) && Array.isArray(init[0]) ? init : [init], size = width + Number(bias);
  const fine = rows.length === count && rows.every(row => Array.isArray(row) && row.length === size && row.every(Number.isFinite));
  if (!fine) {
    const shape = count === 1 ? `${size} numbers` : `${count} rows of ${size} numbers, one for each class`;
    throw new Error(`“initial w” must have ${shape}${bias ? ", the bias first" : ""}; got ${python(init)}. Leave it empty for the usual start.`);
  }
  const least = Math.min(...rows.flat());
  if (algorithm === "winnow" && !parameters.balanced && least <= 0) {
    throw new Error(`“initial w” of Winnow must have numbers greater than 0; got ${python(least)}. Leave it empty to start from 1, or switch “balanced” on.`);
  }
  return rows;
}

/** @param {import("./certificate.js").Certificate} proved @param {number[][]} start @param {Parameters} parameters @param {boolean} bias @param {number} count */
function makeProof(proved, start, parameters, bias, count) {
  const u = /** @type {number[][]} */ (proved.separator).map(row => bias ? row : row.slice(1));
  const [margin] = proved.margin, radius = proved.radius * (count > 1 ? Math.sqrt(2) : 1);
  const eta = parameters.eta0 ?? 1, b = parameters.b ?? 0, moved = start.some(row => row.some(Boolean));
  const first = inner(start, u), square = inner(start, start), growth = (eta * radius) ** 2 + 2 * eta * b;
  const [one, two] = eta === 1 ? ["", ""] : ["η", "η²"], high = b ? `k(${two}R² + 2${one}b)` : `k${two}R²`;
  const formula = moved ? `⟨w₀,u⟩ + k${one}γ ≤ ⟨w,u⟩ ≤ ‖w‖ ≤ √(‖w₀‖² + ${high})`
    : eta !== 1 || b ? `k${one}γ ≤ ⟨w,u⟩ ≤ ‖w‖ ≤ √(${high})` : "kγ ≤ ⟨w,u⟩ ≤ ‖w‖ ≤ √k·R";
  const plain = (radius ** 2 + 2 * b / eta) / margin ** 2;
  const bound = !moved ? plain : b ? null : (radius / margin) ** 2 + 2 * Math.sqrt(square) / (eta * margin);
  return {
    u, margin, radius, formula, bound,
    squeeze: (/** @type {number} */ k, /** @type {number[][]} */ w) =>
      [first + k * eta * margin, inner(w, u), Math.sqrt(inner(w, w)), Math.sqrt(square + k * growth)],
  };
}

/** @typedef {{model: Model, sample: Sample, proof: ReturnType<typeof makeProof> | null, epochs: number, updates: number, start: number[][], weights: number[][], survived: number, survivors: [number[][], number][]}} State */

/** @param {State} state @param {string} algorithm @param {Parameters} parameters @returns {number[][] | null} */
function runOnline(state, algorithm, parameters) {
  const {model, sample} = state, {codes, X} = model.examples, {max_iter: passes, shuffle} = parameters;
  const order = visits(shuffle, parameters.random_state ?? 0, X.length), pocket = algorithm === "pocket" ? new Pocket(model) : null;
  const watch = model.kind === "additive" && model.link === "identity" && !pocket ? new CycleWatch(model) : null;
  for (let pass = 1; pass <= passes; pass++) {
    state.epochs = pass;
    pocket?.begin();
    const before = [model.mistakes, model.updates];
    for (const i of order()) {
      const outcome = model.learn(i);
      if (outcome.reached) pocket?.check();
      record(state, pass, i, outcome, pocket, algorithm);
      if (outcome.moved) watch?.note(i, outcome.moves ?? []);
    }
    if (model.mistakes === before[0] && model.updates === before[1]) {
      if (shuffle !== "replacement" || !X.some((_, i) => wouldLearn(model, i))) break;
    }
    if (watch?.returned(codes)) break;
  }
  if (state.survived > 0) state.survivors.push([state.weights, state.survived]);
  return pocket ? pocket.end() : null;
}

/** Whether an example would be a mistake or change the weights; the model stays as it is. @param {Model} model @param {number} i */
function wouldLearn(model, i) {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(model)), model);
  for (const name of ["v", "u", "sigma", "along"]) copy[name] = model[/** @type {"v"} */ (name)].map(row => row.slice());
  for (const name of ["vBias", "uBias", "wBias", "scale", "square", "steps", "sigmaBias"]) copy[name] = model[/** @type {"vBias"} */ (name)].slice();
  copy.sigmas = model.sigmas.map(rows => rows.map(row => row.slice()));
  copy.w = model.link === "identity" ? copy.v : model.w.map(row => row.slice());
  if (model.link === "identity") copy.wBias = copy.vBias;
  copy.into = copy.v;
  copy.intoBias = copy.vBias;
  const outcome = copy.learn(i);
  return outcome.moved || outcome.mistake;
}

/** @param {State} state @param {number} epoch @param {number} i @param {import("./learners.js").Outcome} outcome @param {Pocket | null} pocket @param {string} algorithm */
function record(state, epoch, i, outcome, pocket, algorithm) {
  const {model, sample} = state, before = state.weights, {scores} = outcome;
  if (outcome.moved) {
    state.updates++;
    state.weights = model.weights();
    if (state.survived > 0) state.survivors.push([before, state.survived]);
    state.survived = 0;
  }
  state.survived++;
  const moves = outcome.moved ? outcome.moves : state.weights.map(() => 0), top = scores.length === 1 ? Number(scores[0] >= 0) : model.committee ? Number(scores.reduce((sum, score) => sum + (score >= 0 ? 1 : -1), 0) > 0)
    : scores.indexOf(Math.max(...scores));
  sample.add({
    number: sample.total + 1, epoch, example: i, predicted: top, scores, correct: !outcome.mistake,
    moved: outcome.moved && (outcome.moves !== null || !same(before, state.weights)), before, after: state.weights, moves,
    squeeze: state.proof ? state.proof.squeeze(state.updates, state.weights) : null, average: model.averaging ? model.readout() : null,
    survived: algorithm === "voted" ? state.survived : null, pocket: pocket ? pocket.fewestSeen : null, updates: state.updates,
  });
}

// The pocket algorithm with ratchet.
class Pocket {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.run = 0;
    this.fewest = this.fewestSeen = Infinity;
    this.checked = -1;
    this.failed = 0;
    this.kept = model.weights();
    this.ratchet();
    this.fewestSeen = this.fewest;
  }

  wrong() {
    const {X, codes} = this.model.examples;
    return X.reduce((sum, x, i) => sum + Number(this.model.wrong(this.model.raw(x), codes[i])), 0);
  }

  begin() {
    this.failed = 0;
    if (this.model.run > this.run) this.ratchet();
    this.model.goal = this.run + 1;
  }

  check() {
    this.fewestSeen = Math.min(this.fewestSeen, this.wrong());
    this.ratchet();
  }

  ratchet() {
    const {model} = this;
    if (this.checked === model.updates) return;
    this.checked = model.updates;
    const mistakes = this.wrong();
    if (mistakes < this.fewest) {
      this.fewest = mistakes;
      this.run = model.run;
      this.kept = model.weights();
      model.goal = this.run + 1;
    } else if (++this.failed * model.examples.X.length > FREE_ROWS) model.goal = 2 * Math.max(1, model.run);
  }

  end() {
    this.ratchet();
    return this.kept;
  }
}

// Notices when the weights return to those of an earlier pass, and proves that they will do so for ever: it remembers passes 1, 2, 4, 8 …
class CycleWatch {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.epoch = this.remembered = 0;
    this.power = 1;
    this.over = false;
    this.w = model.weights();
    /** @type {{i: number, moves: number[]}[]} */
    this.log = [];
  }

  remember() {
    this.w = this.model.weights();
    this.log = [];
    this.remembered = this.epoch;
  }

  /** @param {number} i @param {number[]} moves */
  note(i, moves) { if (!this.over) this.log.push({i, moves}); }

  /** @param {number[]} codes */
  returned(codes) {
    if (this.over) return false;
    this.epoch++;
    if (this.log.length && same(this.model.weights(), this.w)) {
      this.over = true;
      return this.proved(codes);
    }
    if (this.epoch - this.remembered === this.power) {
      this.power *= 2;
      this.remember();
    }
    return false;
  }

  // Rounding can make weights return by chance, so the sum of the updates must be exactly 0.
  /** @param {number[]} codes */
  proved(codes) {
    const {log, model} = this, {X, classes, bias} = model.examples;
    const sizes = log.map(({moves}) => Math.max(...moves.map(Math.abs)));
    if (sizes.some(size => size !== sizes[0])) return false;
    if (classes > 2 && (model.scheme !== "max" || X.length * classes > 20_000_000)) return false;
    const {whole} = wholeRows(X.map(x => bias ? Float64Array.from([1, ...x]) : x));
    const sums = Array.from({length: model.count}, () => whole[0].map(() => 0n));
    for (const {i, moves} of log) {
      if (classes === 2) { whole[i].forEach((value, j) => { sums[0][j] += codes[i] === 1 ? value : -value; }); continue; }
      const rival = moves.indexOf(Math.min(...moves));
      whole[i].forEach((value, j) => { sums[codes[i]][j] += value; sums[rival][j] -= value; });
    }
    return !sums.some(row => row.some(Boolean));
  }
}

// ---------------------------------------------------------------- the batch perceptron

/** @param {State} state @returns {null} */
function runBatch(state) {
  const {model, sample} = state, {X, codes} = model.examples, {variant, alpha, epsilon, max_iter: passes, multiclass} = model.parameters;
  const count = X.length, search = variant === "line-search";
  model.divisor = {average: count / alpha, "fixed-increment": 1 / alpha, "line-search": 1}[/** @type {"average"} */ (variant)];
  for (let k = 0; k < model.count; k++) {
    for (let j = 0; j < model.width; j++) model.v[k][j] *= model.divisor;
    model.vBias[k] *= model.divisor;
  }
  state.weights = state.start = model.weights(); // divided again, and so rounded
  const change = model.blank(), changeBias = new Float64Array(model.count);
  const length = (/** @type {Vector[]} */ w, /** @type {Vector} */ bias) => {
    let sum = 0, more = 0;
    for (const row of w) for (const value of row) sum += value * value;
    for (const value of bias) more += value * value;
    return Math.sqrt(sum + more);
  };
  const begin = length(model.v, model.vBias);
  let most = 0;
  for (let pass = 1; pass <= passes; pass++) {
    state.epochs = pass;
    change.forEach(row => row.fill(0));
    changeBias.fill(0);
    model.into = change;
    model.intoBias = changeBias;
    const before = [model.mistakes, model.updates];
    /** @type {number[]} */
    const missed = [];
    X.forEach((_, i) => { if (model.learn(i).mistake) missed.push(i); });
    const size = length(change, changeBias);
    most = most || count * Math.max(1, size ? begin / size : 1);
    let step = 1;
    if (search && (model.v.some(row => row.some(Boolean)) || model.vBias.some(Boolean))) {
      const slope = (/** @type {Vector} */ x) => change.map((row, k) => (model.count === 1 ? dot(row, x) : inRow(row, x)) + changeBias[k]);
      const best = bestStep(X.map(x => model.raw(x)), X.map(slope), codes, multiclass === "ovr");
      step = Math.min(halfEven(best * FINEST) / FINEST || 1, most);
    }
    for (let k = 0; k < model.count; k++) {
      for (let j = 0; j < model.width; j++) model.v[k][j] += step * change[k][j];
      model.vBias[k] += step * changeBias[k];
    }
    const last = state.weights;
    state.weights = model.weights();
    state.updates += Number(!same(last, state.weights));
    sample.add({
      number: sample.total + 1, epoch: sample.total + 1, example: null, predicted: -1, scores: null, correct: !missed.length, missed,
      moved: !same(last, state.weights), before: last, after: state.weights, moves: null, squeeze: null, average: null, survived: null, pocket: null,
      updates: state.updates,
    });
    if (model.mistakes === before[0] && model.updates === before[1]) break;
    if (size < epsilon * (variant === "fixed-increment" ? 1 : count)) break;
  }
  return null;
}

/** The middle of the steps a >= 0 that minimize the criterion for the scores `scores + a * slopes`. @param {number[][]} scores @param {number[][]} slopes @param {number[]} codes @param {boolean} separate */
function bestStep(scores, slopes, codes, separate) {
  /** @type {[number[], number[]][]} */
  const lines = [];
  scores.forEach((own, i) => {
    if (own.length === 1 || separate) {
      own.forEach((score, k) => {
        const sign = own.length === 1 ? (codes[i] === 1 ? 1 : -1) : k === codes[i] ? 1 : -1;
        lines.push([[0, -sign * score], [0, -sign * slopes[i][k]]]);
      });
    } else lines.push([own.map(score => score - own[codes[i]]), slopes[i].map(slope => slope - slopes[i][codes[i]])]);
  });
  const steepest = (/** @type {number[]} */ rises, /** @type {(k: number) => boolean} */ at) => {
    let best = -1;
    rises.forEach((rise, k) => { if (at(k) && (best < 0 || rise > rises[best])) best = k; });
    return best;
  };
  const now = lines.map(([heights, rises]) => { const top = Math.max(...heights); return steepest(rises, k => heights[k] === top); });
  let slope = 0;
  lines.forEach(([, rises], i) => { slope += rises[now[i]]; });
  const places = [0], jumps = [0];
  for (;;) {
    let live = false;
    lines.forEach(([heights, rises], i) => {
      const at = now[i];
      if (at < 0) return;
      const crossings = heights.map((height, k) => rises[k] > rises[at] ? (heights[at] - height) / (rises[k] - rises[at]) : Infinity);
      const place = Math.min(...crossings);
      if (!Number.isFinite(place)) { now[i] = -1; return; }
      live = true;
      const next = steepest(rises, k => crossings[k] === place);
      places.push(place);
      jumps.push(rises[next] - rises[at]);
      now[i] = next;
    });
    if (!live) break;
  }
  const sorted = places.map((_, k) => k).sort((a, b) => places[a] - places[b] || a - b);
  let sum = slope;
  const totals = sorted.map((k, n) => { sum = n ? sum + jumps[k] : slope + jumps[k]; return sum; });
  const zero = 1e-12 * jumps.reduce((total, jump) => total + Math.abs(jump), 0);
  const first = totals.findIndex(total => total >= -zero), end = totals.findIndex(total => total > zero);
  if (first < 0) return 0;
  return end < 0 ? 2 * places[sorted[first]] : (places[sorted[first]] + places[sorted[end]]) / 2;
}
