// A run as frames: one for the prediction of each step and, if the weights changed, one for the update.

import {count, label, number, vector} from "./dom.js";
import {dot} from "./geometry.js";

// Learners that keep nothing but w from one example to the next.
const PLAIN = ["perceptron", "averaged", "voted", "margin", "passive-aggressive"];

// Numbers that differ from 0 only by rounding are 0.
const tidy = (value, beside) => Math.abs(value) < 1e-12 * Math.max(1, Math.abs(beside)) ? 0 : value;

// The size of the terms of a sum, beside which a rounding error is small.
const terms = (w, x) => w.reduce((sum, value, k) => sum + Math.abs(value * x[k]), 0);

// Null without a direction, and for vectors of different spaces.
function angle(a, b) {
  const size = Math.hypot(...a) * Math.hypot(...b);
  return size && a.length === b.length ? `${(Math.acos(Math.max(-1, Math.min(1, dot(a, b) / size))) * 180 / Math.PI).toFixed(1)}°` : null;
}

export class Run {
  // From the answer to the request "run".
  /** @type {string} */ algorithm;
  /** @type {string} */ kind;
  /** @type {(string | number)[]} */ classes;
  /** @type {string[]} */ features;
  /** @type {number} */ examples;
  /** @type {number} */ epochs;
  /** @type {number} */ total;
  /** @type {number} */ mistakes;
  /** @type {number} */ updates;
  /** @type {number[][]} */ start;
  /** @type {number[][]} */ weights;
  /** @type {string} */ note;
  /** @type {Record<string, any>} */ steps;
  /** @type {[number[][], number][] | null} */ survivors;
  /** @type {{weights: number[][] | null} | null} */ comparator;

  constructor(answer, data, parameters) {
    // Not by value: the table of a long run is made when it is first needed.
    Object.defineProperties(this, Object.getOwnPropertyDescriptors(answer));
    this.data = data;
    this.parameters = parameters;
    this.width = data.X.length ? data.X[0].length : 2;
    this.bias = this.kind !== "dual" && this.features.length === this.width + 1;
    this.codes = this.classes.map(one => data.classes.findIndex(other => other === one));
    this.frames = [{step: -1, phase: "start"}];
    this.length = this.steps.number.length;
    for (let k = 0; k < this.length; k++) {
      this.frames.push({step: k, phase: "look"});
      if (this.steps.moved[k]) this.frames.push({step: k, phase: "update"});
    }
    if (this.length) this.frames.push({step: this.length - 1, phase: "end"});
    this.last = this.frames.length - 1;
    this.prepareVotes();
    this.preparePocket();
  }

  // The current weights, [bias, ...] or without bias, one row for each weight vector.
  weightsAt(frame) {
    const {step, phase} = this.frames[frame];
    if (this.kind === "dual") return null;
    if (step < 0) return this.start;
    return this.steps.vectors[phase === "look" ? this.steps.before[step] : this.steps.after[step]];
  }

  // The same for the plane: [bias, w1, w2].
  plane(weights) {
    return weights.map(row => this.bias ? [row[0], row[1], row[2] ?? 0] : [0, row[0], row[1] ?? 0]);
  }

  // Number of the last completed step.
  done(frame) {
    const {step, phase} = this.frames[frame];
    if (step < 0) return 0;
    return this.steps.number[step] - (phase === "look" ? 1 : 0);
  }

  updatesAt(frame) {
    const {step, phase} = this.frames[frame];
    if (step < 0) return 0;
    return this.steps.updates[step] - (phase === "look" && this.steps.moved[step] ? 1 : 0);
  }

  nextMistake(frame) {
    for (let k = frame + 1; k <= this.last; k++) {
      const {step, phase} = this.frames[k];
      if (phase === "look" && !this.steps.correct[step]) return k;
    }
    return this.last;
  }

  // ---------------------------------------------------------------- average, vote and pocket

  prepareVotes() {
    if (!this.survivors) return;
    let total = 0, sum = null;
    this.voters = this.survivors.map(([weights, votes]) => {
      const voter = {weights: this.plane(weights), full: weights, votes, begin: total, sum};
      const previous = sum ?? weights.map(row => row.map(() => 0));
      sum = previous.map((row, k) => row.map((value, j) => value + votes * weights[k][j]));
      total += votes;
      return voter;
    });
  }

  // Number of weight vectors in the first `examples` examples, and number of examples that the last of them survived.
  voted(examples) {
    let low = 0, high = this.voters.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.voters[middle].begin < examples) low = middle + 1; else high = middle;
    }
    const last = this.voters[low - 1];
    return {count: low, partial: last ? Math.min(last.votes, examples - last.begin) : 0};
  }

  // What can be drawn as the answer of the learner: each with its weights at a frame, or with votes.
  get answers() {
    const last = {key: "last", title: "last w", at: frame => this.weightsAt(frame)};
    if (this.kind === "dual") return [];
    if (this.kind === "committee") return [{key: "committee", title: "majority"}];
    if (this.pocketed || this.steps.pocket) return [last, {key: "pocket", title: "pocket", at: frame => this.pocketAt(frame)}];
    if (!this.voters) return [last];
    return [last, {key: "average", title: "average", at: frame => this.averageAt(frame)}, {key: "vote", title: "vote"}];
  }

  // The weights that an answer draws at a frame, with their name: those of the answer, else the last ones.
  drawn(answer, frame) {
    return answer?.at && answer.key !== "last" ? {weights: answer.at(frame), name: `the ${answer.title}`} : {weights: this.weightsAt(frame), name: answer?.at ? "w" : "the last w"};
  }

  // An example as the weights see it, with the 1 of the bias.
  point(x) { return this.bias ? [1, ...x] : x; }

  // The answer of the learner itself.
  get own() { return {averaged: "average", voted: "vote", pocket: "pocket", parallel: "committee"}[this.algorithm] ?? "last"; }

  averageAt(frame) {
    const {count, partial} = this.voted(this.done(frame));
    if (!count) return this.start;
    const {full, sum} = this.voters[count - 1];
    return full.map((row, k) => row.map((value, j) => ((sum ? sum[k][j] : 0) + partial * value)));
  }

  preparePocket() {
    if (!this.steps.pocket || this.note) return;
    let fewest = Infinity, held = 0;
    this.pocketed = this.steps.pocket.map((mistakes, k) => {
      if (mistakes < fewest && k > 0) held = this.steps.before[k];
      fewest = Math.min(fewest, mistakes);
      return held;
    });
  }

  pocketAt(frame) {
    const {step, phase} = this.frames[frame];
    if (phase === "end") return this.weights;
    if (!this.pocketed || step < 0) return this.start;
    return this.steps.vectors[this.pocketed[step]];
  }

  pocketChanged(step) {
    return Boolean(this.pocketed) && step > 0 && this.steps.pocket[step] < this.steps.pocket[step - 1];
  }

  // ---------------------------------------------------------------- kernel

  // Coefficients of the examples at a frame, computed from those of the previous call.
  dualAt(frame) {
    const {step, phase} = this.frames[frame];
    const rows = this.start.length;
    if (!this.walked) this.walked = {at: 0, dual: Array.from({length: rows}, () => new Float64Array(this.examples))};
    const target = 2 * Math.max(0, step) + (step >= 0 ? 1 : 0) + (step >= 0 && phase !== "look" ? 1 : 0);
    // Even positions are after the update of a step, odd ones before it: gap, update, gap, update, …
    const turn = (place, sign) => {
      const k = (place - 1) >> 1;
      if (place % 2) for (const [row, at, by] of this.steps.gaps[k]) this.walked.dual[row][at] += sign * by;
      else this.steps.moves[k].forEach((by, row) => { this.walked.dual[row][this.steps.example[k]] += sign * by; });
    };
    while (this.walked.at < target) turn(++this.walked.at, 1);
    while (this.walked.at > target) turn(this.walked.at--, -1);
    return this.walked.dual;
  }

  // ---------------------------------------------------------------- numbers

  // Numbers about the current step, each as [name, value]. `answer` is what the plane draws; `separator` is that of the
  // certificate, with a bias, or null.
  facts(frame, separator, answer) {
    const {step, phase} = this.frames[frame], found = [];
    if (this.kind === "dual" || this.kind === "committee") return found;
    const {weights: rows, name} = this.drawn(answer, frame), u = this.comparator?.weights ?? separator?.map(row => this.bias ? row : row.slice(1));
    if (rows.length > 1) return u ? [[`angle of ${name} and u, all classes together`, angle(rows.flat(), u.flat())]].filter(([, value]) => value) : found;
    const [w] = rows, example = step >= 0 && phase !== "end" ? this.steps.example[step] : null;
    const x = example === null || example === undefined ? null : this.point(this.data.X[example]);
    const size = Math.hypot(...(this.bias ? w.slice(1) : w));
    if (phase === "start" && size && this.examples <= 8) {
      // The margins of all points with the starting weights: how far they are from the line, and negative on the wrong side.
      const margins = this.data.X.map((point, k) => (this.data.y[k] === this.classes[1] ? 1 : -1) * dot(w, this.point(point)) / size);
      found.push(["y·score/‖w‖ of the points", margins.map(value => number(value)).join(", ")]);
    }
    if (x && phase === "look") {
      if (size) found.push([name === "the last w" ? "distance to the line of the last w" : "distance to the line", number(Math.abs(tidy(dot(w, x), terms(w, x))) / size)]);
      found.push([`angle of ${name} and x`, angle(w, x)]);
    } else if (x) {
      const [last] = this.weightsAt(frame), [old] = this.steps.vectors[this.steps.before[step]];
      const before = tidy(this.steps.scores[step][0], terms(old, x)), after = tidy(dot(last, x), Math.max(Math.abs(before), terms(last, x)));
      found.push([name === "w" ? "score of this example" : "score with the last w", `${number(before)} → ${number(after)}`], ["‖x‖²", number(dot(x, x))]);
    }
    if (u) found.push([`angle of ${name} and u`, angle(w, u[0])]);
    return found.filter(([, value]) => value !== null);
  }

  // ---------------------------------------------------------------- sentences

  sentence(frame) {
    const {step, phase} = this.frames[frame], {steps} = this;
    if (phase === "start") {
      const weights = this.kind === "dual" || this.start.length > 1 ? "" : ` w = ${vector(this.start[0])}.`;
      return `Before the first example.${weights} Press Play, or step through with the arrow keys.`;
    }
    if (phase === "end") return this.ending();
    const place = `Step ${steps.number[step]}${this.epochs > 1 ? `, pass ${steps.epoch[step]}` : ""}: `;
    if (steps.example[step] === null) {
      const wrong = steps.missed[step].length;
      return phase === "look"
        ? `${place}${wrong ? `${wrong} of ${count(this.examples, "example")} ${wrong === 1 ? "is" : "are"} wrong` : "no example is wrong"}.`
        : `${place}w changes along ${wrong === 1 ? "the only mistake" : `the sum of all ${wrong} mistakes`}.`;
    }
    const example = steps.example[step], truth = this.data.y[example];
    if (phase === "look") {
      const answer = label(this.classes[steps.predicted[step]]);
      const scores = steps.scores[step];
      const score = scores.length === 1 ? `score ${this.score(step)}` : `scores ${vector(scores)}`;
      if (this.kind === "committee") {
        const ayes = scores.filter(score => score >= 0).length;
        return `${place}example ${example + 1} is ${label(truth)}; ${ayes} of ${scores.length} perceptrons vote for ${label(this.classes[1])}, so the prediction is ${answer}: ${steps.correct[step] ? "right" : "a mistake"}.`;
      }
      const verdict = !steps.correct[step] ? "a mistake"
        : steps.moved[step] ? "right, but with too small a margin" : "right";
      const own = this.classes.indexOf(truth), tied = scores.length > 1 && scores.some((score, k) => k !== own && score === scores[own]);
      const tie = steps.correct[step] ? "" : scores.length === 1 && scores[0] === 0 ? " (a score of 0 counts as one)" : tied ? " (a tie counts as one)" : "";
      return `${place}example ${example + 1} is ${label(truth)}; ${score}, so the prediction is ${answer}: ${verdict}${tie}.`;
    }
    return `${place}${this.movement(step)}`;
  }

  // The score of a step; of one that differs from 0 only by rounding, the sign alone has a meaning.
  score(step) {
    const {steps} = this, [score] = steps.scores[step], beside = this.kind === "dual" ? 1 : terms(steps.vectors[steps.before[step]][0], this.point(this.data.X[steps.example[step]]));
    return score && !tidy(score, beside) ? `about 0, ${score < 0 ? "negative" : "positive"} by rounding` : number(score);
  }

  movement(step) {
    const {steps} = this, moves = steps.moves[step], example = steps.example[step];
    if (this.kind === "committee") {
      const before = this.steps.vectors[steps.before[step]], after = this.steps.vectors[steps.after[step]];
      const changed = after.map((row, k) => row.some((value, j) => value !== before[k][j]) ? `w${k + 1}` : null).filter(Boolean);
      return `${changed.join(", ")} ${changed.length === 1 ? "changes" : "change"}.`;
    }
    if (!moves) {
      const [before, after] = [this.steps.vectors[steps.before[step]], this.steps.vectors[steps.after[step]]];
      if (after.length > 1) return "the weights of the classes change.";
      return `w + ${vector(after[0].map((value, k) => Number((value - before[0][k]).toPrecision(12))))} = ${vector(after[0])}.`;
    }
    if (this.kind === "dual") return `example ${example + 1} becomes a support vector: w changes by ${this.signed(moves)} φ(x${example + 1}).`;
    const x = this.point(this.data.X[example]);
    if (this.kind === "logarithms") return `the weights are multiplied by exp(${this.signed(moves)} · ${vector(x)}).`;
    if (moves.length === 1) {
      const size = Math.abs(moves[0]);
      return `w ${moves[0] > 0 ? "+" : "−"} ${size === 1 ? "" : `${number(size)} · `}${vector(x)} = ${vector(this.steps.vectors[steps.after[step]][0])}.`;
    }
    const parts = moves.map((by, k) => by ? `w of ${label(this.classes[k])} ${by > 0 ? "+" : "−"} ${Math.abs(by) === 1 ? "" : number(Math.abs(by))}x` : null);
    return `${parts.filter(Boolean).join(", ")}.`;
  }

  signed(moves) {
    return moves.length === 1 ? `${moves[0] < 0 ? "−" : "+"}${Math.abs(moves[0]) === 1 ? "" : number(Math.abs(moves[0]))}` : vector(moves);
  }

  ending() {
    const passes = this.epochs === 1 ? "one pass" : `${this.epochs} passes`;
    const clean = this.length && this.cleanPass();
    const mistakes = this.mistakes === 1 ? "1 mistake" : `${this.mistakes.toLocaleString("en")} mistakes`;
    const again = clean ? null : this.repeats();
    return `The end, after ${passes}: ${mistakes}${clean ? ", and none in the last pass: the run has converged" : ""}.${again ? ` The weights are again those of ${again}, so the same mistakes would come back forever.` : ""}`;
  }

  // From where on the run would repeat itself: the visits have the same order in each pass and depend on nothing but w.
  repeats() {
    const {steps, parameters} = this;
    if (!PLAIN.includes(this.algorithm) || parameters.shuffle || this.note || !this.updates) return null;
    const same = other => this.lastWeights().every((row, k) => row.every((value, j) => value === other[k][j]));
    if (same(this.start)) return "the start";
    const pass = steps.epoch.findIndex((epoch, k) => k && epoch !== steps.epoch[k - 1] && same(steps.vectors[steps.before[k]]));
    return pass < 0 ? null : `the start of pass ${steps.epoch[pass]}`;
  }

  lastWeights() { return this.steps.vectors[this.steps.after.at(-1)]; }

  cleanPass() {
    const {steps} = this, pass = steps.epoch[this.length - 1];
    for (let k = this.length - 1; k >= 0 && steps.epoch[k] === pass; k--) if (steps.moved[k] || !steps.correct[k]) return false;
    return true;
  }
}
