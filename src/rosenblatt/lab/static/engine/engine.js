// Answers to the requests of the page without a server: `rosenblatt.lab.requests` in JavaScript.

import {LARGEST_SEARCH, certificateOf, trace} from "./trace.js";
import {columnsOf, csv, grid, markdown, script} from "./tables.js";
import {gammaOf} from "./kernel.js";
import {knows} from "./learners.js";
import {readCsv} from "./csv_text.js";
import {GENERATORS} from "./presets.js";
import {python} from "./text.js";
import {winnowBound} from "./simplex.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {Record<string, any>} Body */

const COMPARED = ["perceptron", "averaged", "voted"];

/** @param {Body} described the description of learners and presets that Python made; learners without a rule here are left out */
export function makeEngine(described) {
  /** @type {Body} */
  const catalogue = {...described, learners: described.learners.filter((/** @type {Body} */ one) => knows(one.name))};
  const {limits} = catalogue;

  /** @param {Body} body @returns {{X: number[][], y: any[], algorithm: string, parameters: Body, given: Body, known: any[] | null}} */
  function problem(body) {
    const {X, y, algorithm = "perceptron", parameters = {}} = body;
    if (!Array.isArray(X) || !Array.isArray(y) || !X.length) throw new Error("There must be at least one point with a label; got none. Click into the plane to add points.");
    const say = (/** @type {number} */ value) => value.toLocaleString("en");
    if (X.length > limits.points) throw new Error(`There may be at most ${say(limits.points)} points; got ${say(X.length)}. Use \`rosenblatt train\` for more.`);
    if (X.length !== y.length) throw new Error(`Each point must have one label; got ${say(X.length)} points and ${say(y.length)} labels.`);
    const width = Array.isArray(X[0]) ? X[0].length : 0;
    if (!(width >= 1 && width <= limits.features)) throw new Error(`A point must have 1 to ${limits.features} numbers; got ${width}. Choose fewer columns.`);
    const isNumber = (/** @type {any} */ value) => typeof value === "number" && Math.abs(value) < 1e100;
    if (!X.every(row => Array.isArray(row) && row.length === width && row.every(isNumber))) throw new Error(`Every point must be a list of ${width} finite numbers; got something else. Reload the page.`);
    if (!y.every(one => typeof one === "string" || Number.isInteger(one))) throw new Error("Every label must be a word or a whole number; got something else. Choose another label column.");
    if (new Set(y.map(one => typeof one)).size > 1) throw new Error("All labels must be words, or all whole numbers; got both. Choose another label column.");
    if (new Set(y).size > limits.classes) throw new Error(`There may be at most ${limits.classes} classes; got ${new Set(y).size}. Choose another label column.`);
    const learner = catalogue.learners.find((/** @type {Body} */ one) => one.name === algorithm);
    if (!learner) throw new Error(`The learner must be one of the list; got ${python(algorithm)}. Choose another one.`);
    const given = Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined)), full = check(learner, given);
    const passes = full.max_iter;
    if (passes * X.length > limits.visits) {
      throw new Error(`A run may visit at most ${say(limits.visits)} examples; ${say(passes)} passes over ${say(X.length)} points are ${say(passes * X.length)}. Lower the number of passes to ${say(Math.floor(limits.visits / X.length))}.`);
    }
    return {X, y, algorithm, parameters: full, given, known: body.classes?.length ? body.classes : null};
  }

  /** All parameters of a learner, with its defaults. @param {Body} learner @param {Body} given */
  function check(learner, given) {
    const known = new Map(learner.parameters.map((/** @type {Body} */ one) => [one.name, one]));
    const unknown = Object.keys(given).filter(key => key !== "init" && !known.has(key)).sort()[0];
    if (unknown) throw new Error(`The parameters of ${learner.name} must be among ${[...known.keys(), "init"].sort().join(", ")}; got ${python(unknown)}. Leave it out.`);
    /** @type {Body} */
    const full = {init: given.init ?? null, on_zero: "update", multiclass: "max", shuffle: false, fit_intercept: true, max_iter: 1};
    for (const one of learner.parameters) {
      const value = one.name in given ? given[one.name] : one.default;
      if (one.name in given && !allows(one, value)) throw new Error(`${one.must[0]}${python(value)}${one.must[1]}`);
      full[one.name] = value;
    }
    return full;
  }

  /** @param {Body} one @param {any} value */
  function allows(one, value) {
    if (one.kind === "switch") return typeof value === "boolean";
    if (one.kind === "choice") return one.choices.includes(value);
    if (value === null) return one.optional;
    const {above, least, most, odd} = one.limits;
    return typeof value === "number" && Number.isFinite(value) && (one.kind !== "whole" || Number.isInteger(value))
      && (above === null || value > above) && (least === null || value >= least) && (most === null || value <= most) && !(odd && value % 2 === 0);
  }

  /** @param {Body} body @returns {[Trace, ReturnType<typeof problem>]} */
  function traced(body) {
    const asked = problem(body);
    return [trace(asked.X, asked.y, asked.algorithm, asked.parameters, asked.known, limits.steps), asked];
  }

  /** @type {Record<string, (body: Body) => Body>} */
  const requests = {
    catalogue: () => catalogue,
    preset: ({name, options}) => {
      const preset = catalogue.presets.find((/** @type {Body} */ one) => one.name === name);
      if (!preset) throw new Error(`A preset must be one of ${catalogue.presets.map((/** @type {Body} */ one) => one.name).join(", ")}; got ${python(name)}. Choose one from the list.`);
      /** @type {Record<string, number>} */
      const chosen = {};
      for (const {name: key, low, high, default: usual} of preset.options) {
        const value = options && typeof options === "object" && !Array.isArray(options) ? options[key] ?? usual : usual;
        if (typeof value !== "number" || !(value >= low && value <= high)) throw new Error(`\`${key}\` of the preset ${python(name)} must be a number from ${low} to ${high}; got ${python(value)}. Move its slider.`);
        chosen[key] = value;
      }
      const data = preset.data ?? GENERATORS[preset.generator](chosen);
      return {features: null, classes: null, ...structuredClone(data), name, options: chosen, algorithm: preset.algorithm, parameters: structuredClone(preset.parameters)};
    },
    csv: body => readCsv(body.text, body.label, body.columns, body.projection === true, limits),
    run: body => {
      const [run, {parameters}] = traced(body);
      /** @type {Body | null} */
      let table = null;
      return {
        algorithm: run.algorithm, classes: run.classes, features: run.features, kind: run.kind, examples: run.examples, epochs: run.epochs,
        total: run.total, mistakes: run.mistakes, updates: run.updates, start: run.kind === "dual" ? run.start.map(() => [0]) : run.start,
        weights: run.kind === "dual" ? run.start.map(() => [0]) : run.weights, formula: run.formula, bound: finite(run.bound), note: run.note,
        comparator: run.comparator, steps: packed(run),
        get table() { return table ??= grid(run, columnsOf(run.algorithm)); },
        survivors: COMPARED.includes(run.algorithm) ? run.survivors : null,
        kernel: run.kind === "dual" ? {name: parameters.kernel, gamma: gammaOf(parameters, run.X[0].length), degree: parameters.degree, coef0: parameters.coef0} : null,
        band: run.kind === "weights" ? bandOf(run.algorithm, parameters) : null,
        winnow: run.algorithm === "winnow" ? winnowOf(run, parameters) : null,
      };
    },
    certify: body => {
      const {X, y, parameters} = problem(body), bias = parameters.fit_intercept, proved = certificateOf(X, y, bias);
      return {...proved, bound: finite(proved.bound), common: common(X, y, bias, proved)};
    },
    export: body => {
      if (body.form === "python") {
        const {X, y, algorithm, given, known} = problem(body);
        return {text: script(X, y, {algorithm, ...given, ...(known ? {classes: known} : {})})};
      }
      if (!["csv", "markdown"].includes(body.form)) throw new Error(`\`form\` of an export must be csv, markdown or python; got ${python(body.form)}. Choose one from the menu.`);
      const [run] = traced(body);
      return {text: body.form === "csv" ? csv(run) : markdown(run, columnsOf(run.algorithm))};
    },
  };

  /** @param {string} name @param {Body} body @returns {Body} */
  return (name, body) => {
    if (!Object.hasOwn(requests, name)) throw new Error(`A request must be one of ${Object.keys(requests).join(", ")}; got ${python(name)}. Reload the page.`);
    return requests[name](body);
  };
}

/** @param {number | null} value */
const finite = value => value !== null && Number.isFinite(value) ? value : null;

/** Score below which the rule updates, if it is greater than 0. @param {string} algorithm @param {Body} parameters */
const bandOf = (algorithm, parameters) => algorithm === "margin" ? parameters.b : ["passive-aggressive", "arow", "nherd"].includes(algorithm) ? 1 : null;

/** Bound of Winnow; null if there is no theorem for this run or the search for a margin would take long. @param {Trace} run @param {Body} parameters */
function winnowOf({X, y, classes, bias}, {eta, balanced, init}) {
  if (classes.length !== 2 || new Set(y).size !== 2 || init || X.length * X[0].length > LARGEST_SEARCH) return null;
  return winnowBound(X, y.map(one => one === classes[1]), eta, balanced, bias);
}

/** One list for each attribute of the steps; weights only where they changed. @param {Trace} run */
function packed(run) {
  const {steps} = run;
  /** @type {Body} */
  const columns = {
    number: steps.map(step => step.number), epoch: steps.map(step => step.epoch), example: steps.map(step => step.example),
    predicted: steps.map(step => step.example === null ? null : step.predicted), correct: steps.map(step => step.correct), moved: steps.map(step => step.moved),
    scores: steps.map(step => step.scores), moves: steps.map(step => step.moves), missed: steps.filter(step => step.example === null).map(step => step.missed),
    squeeze: steps[0]?.squeeze ? steps.map(step => step.squeeze) : null, pocket: typeof steps[0]?.pocket === "number" ? steps.map(step => step.pocket) : null,
    updates: [],
  };
  let updates = 0;
  for (const step of steps) columns.updates.push(updates += Number(step.moved));
  if (run.kind === "dual") return {...columns, gaps: gapsOf(run)};
  const vectors = [run.start];
  /** @type {number[]} */
  const before = [], /** @type {number[]} */ after = [];
  let last = run.start;
  for (const step of steps) {
    for (const [part, places] of /** @type {[number[][], number[]][]} */ ([[step.before, before], [step.after, after]])) {
      if (part !== last) {
        if (part.some((row, k) => row.some((value, j) => value !== last[k][j]))) vectors.push(part);
        last = part;
      }
      places.push(vectors.length - 1);
    }
  }
  return {...columns, vectors, before, after};
}

/** Changes between two kept steps of a kernel run: (vector, example, change). @param {Trace} run */
function gapsOf(run) {
  let last = run.start;
  return run.steps.map(step => {
    const change = step.before === last ? [] : step.before.flatMap((row, k) => row.flatMap((value, j) => value === last[k][j] ? [] : [[k, j, value - last[k][j]]]));
    last = step.after;
    return change;
  });
}

/** A point in the convex hulls of both classes, or without a bias the combination of rows y·x that is 0. @param {number[][]} X @param {any[]} y @param {boolean} bias @param {import("./certificate.js").Certificate} proved */
function common(X, y, bias, proved) {
  if (!proved.combination || proved.classes.length !== 2) return null;
  if (!bias) return {kind: "origin", point: X[0].map(() => 0)};
  const used = proved.combination.filter(([i]) => y[i] === proved.classes[1]), total = used.reduce((sum, [, share]) => sum + share, 0);
  return {kind: "hulls", point: X[0].map((_, j) => used.reduce((sum, [i, share]) => sum + share * X[i][j], 0) / total)};
}
