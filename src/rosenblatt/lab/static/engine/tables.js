// A run as a table, as CSV and as a Python script, in the words of `rosenblatt.trace`.

import {number, python, repr} from "./text.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Step} Step */

const WIDEST = 12;
/** @type {Record<string, string>} */
const HEADINGS = {step: "step", weights: "weights", score: "score", correct: "correct?", update: "update", average: "average", survived: "survived", pocket: "mistakes of the pocket"};

/** The columns of the blackboard: those of lecture notes, and what the learner keeps besides its weights. @param {string} algorithm */
export const columnsOf = algorithm => ["step", "weights", "score", "correct", "update",
  .../** @type {Record<string, string[]>} */ ({voted: ["survived"], averaged: ["average"], pocket: ["pocket"]})[algorithm] ?? []];

/** @param {ArrayLike<number>} values @param {ArrayLike<number>} [sizes] */
function vector(values, sizes) {
  const shown = (/** @type {number} */ k) => number(values[k], 6, sizes ? sizes[k] : 0), {length} = values;
  if (length <= WIDEST) return `[${Array.from(values, (_, k) => shown(k)).join(", ")}]`;
  return `[${Array.from({length: WIDEST - 2}, (_, k) => shown(k)).join(", ")}, … ${length - WIDEST + 1} more …, ${shown(length - 1)}]`;
}

/** The largest value of each weight: a sum of updates that is far smaller is 0 up to rounding. @param {Trace} run @returns {number[][]} */
function sizesOf(run) {
  const sizes = run.start.map(row => Array.from(row, Math.abs));
  let last = run.start;
  for (const step of run.steps) {
    if (step.after === last) continue;
    last = step.after;
    const change = changeOf(run, step);
    sizes.forEach((row, k) => row.forEach((value, j) => { row[j] = Math.max(value, Math.abs(step.after[k][j]), Math.abs(change[k][j])); }));
  }
  return sizes;
}

/** The update of a step as vectors. @param {Trace} run @param {Step} step */
function changeOf(run, step) {
  if (run.kind === "dual" || !step.moves || step.example === null) return updateOf(step);
  const x = exampleOf(run, step);
  return step.moves.map(move => Array.from(x, value => move * value + 0));
}

/** The example of a step, the bias feature first; for a kernel run its kernel values. @param {Trace} run @param {Step} step */
function exampleOf(run, step) {
  const i = /** @type {number} */ (step.example);
  return run.gram ? run.gram[i] : run.bias ? [1, ...run.X[i]] : run.X[i];
}

/** @param {Trace} run */
const namesOf = run => run.kind === "committee" ? run.start.map((_, k) => `w${k + 1}`) : run.classes.map(String);

/** @param {Trace} run @param {string[]} lines */
const named = (run, lines) => run.start.length > 1 ? lines.map((line, k) => `${namesOf(run)[k]}: ${line}`) : lines;

/** @param {Trace} run @param {number[][]} weights @param {number[][]} sizes */
const matrix = (run, weights, sizes) => named(run, weights.map((row, k) => vector(row, sizes[k])));

/** @param {Trace} run @param {number[]} weights @param {number[]} x @param {number[]} sizes */
function products(run, weights, x, sizes) {
  const used = weights.map((w, j) => [w, x[j], sizes[j]]).filter(([w]) => run.kind !== "dual" || w !== 0);
  const factors = used.length ? used.map(([w, v, size]) => [number(w, 6, size), number(v)]) : [["0", "0"]];
  return factors.map(([w, v]) => v.startsWith("-") ? `${w}·(${v})` : `${w}·${v}`).join(" + ");
}

/** @param {Trace} run @param {Step} step @param {number[][]} sizes */
function score(run, step, sizes) {
  if (step.example === null) {
    const missed = (step.missed ?? []).map(k => k + 1);
    return [`wrong: ${missed.slice(0, WIDEST).join(", ") || "none"}${missed.length > WIDEST ? `, … ${missed.length - WIDEST} more` : ""}`];
  }
  const x = exampleOf(run, step);
  return named(run, /** @type {number[]} */ (step.scores).map((value, k) => {
    const result = number(value, 6, sizes[k].reduce((sum, size, j) => sum + size * Math.abs(x[j]), 0));
    return x.length <= WIDEST ? `${products(run, step.before[k], x, sizes[k])} = ${result}` : result;
  }));
}

/** @param {Trace} run @param {number} move @param {Step} step */
function moveText(run, move, step) {
  if (move === 0) return "";
  const size = number(Math.abs(move)), along = run.kind === "dual" ? `φ(x${Number(step.example) + 1})` : vector(exampleOf(run, step));
  const text = `${move < 0 ? "-" : "+"} ${size === "1" ? "" : `${size}·`}${along}`;
  return run.kind === "logarithms" ? `× exp(${text})` : text;
}

/** @param {Step} step */
const updateOf = step => step.after.map((row, k) => Array.from(row, (value, j) => value - step.before[k][j] + 0));

/** @param {Trace} run @param {Step} step @param {number[][]} sizes */
function update(run, step, sizes) {
  if (!step.moved) return ["none"];
  const lines = step.moves ? step.moves.map(move => moveText(run, move, step)) : updateOf(step).map(row => row.some(Boolean) ? row : null).map((row, k) => row ? `+ ${vector(row, sizes[k])}` : "");
  return named(run, lines).filter((_, k) => lines[k]);
}

/** @param {Trace} run @param {string[]} columns @returns {{headings: string[], rows: string[][][]}} */
export function grid(run, columns) {
  const sizes = sizesOf(run);
  /** @type {Record<string, (step: Step) => string[]>} */
  const cells = {
    step: step => [String(step.number)], weights: step => matrix(run, step.before, sizes), score: step => score(run, step, sizes),
    correct: step => [step.correct ? "yes" : "no"], update: step => update(run, step, sizes),
    average: step => step.average ? matrix(run, step.average, sizes) : [""],
    survived: step => [step.survived === null ? "" : number(step.survived)], pocket: step => [step.pocket === null ? "" : number(step.pocket)],
  };
  const rows = run.steps.map(step => columns.map(column => cells[column](step))), last = run.steps.at(-1);
  if (last) rows.push(columns.map(column => column === "step" ? [String(last.number + 1)] : column === "weights" ? matrix(run, last.after, sizes) : [""]));
  return {headings: columns.map(column => HEADINGS[column]), rows};
}

/** @param {string} cell */
const escapeMarkdown = cell => cell.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\n", " ").replace(/[\\|*_`]/g, mark => `\\${mark}`);

/** @param {Trace} run @param {string[]} columns */
export function markdown(run, columns) {
  const {headings, rows} = grid(run, columns), line = (/** @type {string[]} */ cells) => `| ${cells.join(" | ")} |`;
  return [line(headings), line(headings.map(() => "---")), ...rows.map(row => line(row.map(cell => cell.map(escapeMarkdown).join("<br>"))))].join("\n");
}

/** @param {any} value */
function csvCell(value) {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {Trace} run */
export function csv(run) {
  const vectors = run.start.length === 1 ? [""] : namesOf(run).map(name => `${name}:`);
  const records = run.steps.map(step => {
    /** @type {[string, any][]} */
    const record = [["step", step.number], ["epoch", step.epoch]];
    const numbers = (/** @type {string[]} */ names, /** @type {number[]} */ values) => names.forEach((name, k) => record.push([name, repr(values[k])]));
    if (step.example !== null) {
      record.push(["example", step.example + 1], ["label", run.y[step.example]], ["predicted", run.classes[step.predicted]]);
      numbers(vectors.map(name => `${name}score`), /** @type {number[]} */ (step.scores));
      numbers(run.features.map(name => `x:${name}`), exampleOf(run, step));
    } else record.push(["mistakes", (step.missed ?? []).length]);
    record.push(["correct", step.correct ? "True" : "False"]);
    const change = changeOf(run, step);
    for (const [part, weights] of /** @type {[string, number[][] | null][]} */ ([["before", step.before], ["after", step.after], ["update", change], ["average", step.average]])) {
      if (weights) numbers(vectors.flatMap(name => run.features.map(feature => `${part}:${name}${feature}`)), weights.flatMap(row => Array.from(row)));
    }
    if (step.survived !== null) numbers(["survived"], [step.survived]);
    if (step.pocket !== null) numbers(["pocket"], [step.pocket]);
    if (step.squeeze) numbers(["floor", "along_comparator", "length", "ceiling"], step.squeeze);
    return record;
  });
  const lines = [records.length ? records[0].map(([name]) => name) : ["step"], ...records.map(record => record.map(([, value]) => value))];
  return `${lines.map(line => line.map(csvCell).join(",")).join("\n")}\n`;
}

/** @type {Record<string, any>} */
const DEFAULTS = {algorithm: "perceptron", max_iter: 1, init: null, fit_intercept: true, on_zero: "update", multiclass: "max", shuffle: false, classes: null};

/** A script that makes the same run. @param {number[][]} X @param {any[]} y @param {Record<string, any>} given */
export function script(X, y, given) {
  const different = Object.entries(given).filter(([key, value]) => !(key in DEFAULTS) || DEFAULTS[key] !== value);
  const words = [...different.filter(([key]) => key === "algorithm").map(([, value]) => python(value)),
    ...different.filter(([key]) => key !== "algorithm").map(([key, value]) => `${key}=${python(value)}`)];
  return [
    "from rosenblatt import certify, trace", "", `X = ${python(X)}`, `y = ${python(y)}`, "", `run = trace(${["X", "y", ...words].join(", ")})`,
    "print(run)", `print(certify(X, y${given.fit_intercept === false ? ", fit_intercept=False" : ""}))`, "",
  ].join("\n");
}
