// Regions that are not polygons: votes and kernels, painted cell by cell. Sums are kept, so that a step costs one weight vector.

import {COLOURS, rgb} from "./dom.js";

// Places to judge: the cells of a grid over the box, row by row from the top, or given points.
export class Grid {
  /** @param {number[]} box @param {number} columns @param {number} rows */
  constructor([x0, y0, x1, y1], columns, rows) {
    this.columns = columns;
    this.rows = rows;
    this.size = columns * rows;
    this.x = Float64Array.from({length: this.size}, (_, p) => x0 + (p % columns + 0.5) * (x1 - x0) / columns);
    this.y = Float64Array.from({length: this.size}, (_, p) => y1 - (Math.floor(p / columns) + 0.5) * (y1 - y0) / rows);
  }
}

export const places = points => ({
  size: points.length, x: Float64Array.from(points, ([x]) => x), y: Float64Array.from(points, ([, y = 0]) => y),
});

// The classes that most perceptrons of a committee vote for, as one field of votes for each class.
export function committeeVotes(weights, {size, x, y}) {
  const on = new Float64Array(size);
  for (const [a, b, c] of weights) for (let p = 0; p < size; p++) if (a + b * x[p] + c * y[p] >= 0) on[p]++;
  return [on.map(votes => weights.length - votes), on];
}

export class VoteField {
  constructor(run, grid) {
    this.run = run;
    this.grid = grid;
    this.classes = Math.max(2, run.start.length);
    this.votes = Array.from({length: this.classes}, () => new Float64Array(grid.size));
    this.whole = 0;
    this.partial = 0;
  }

  cast(weights, votes) {
    const {grid: {size, x, y}, classes} = this;
    if (weights.length === 1) {
      const [[a, b, d]] = weights, [against, on] = this.votes;
      for (let p = 0; p < size; p++) {
        const score = a + b * x[p] + d * y[p];
        if (score > 0) on[p] += votes; else if (score < 0) against[p] += votes;
      }
      return;
    }
    for (let p = 0; p < size; p++) {
      let best = -1, top = -Infinity;
      for (let k = 0; k < classes; k++) {
        const score = weights[k][0] + weights[k][1] * x[p] + weights[k][2] * y[p];
        if (score > top) { top = score; best = k; } else if (score === top) best = -1;
      }
      if (best >= 0) this.votes[best][p] += votes;
    }
  }

  // Votes of the weight vectors of the first `examples` examples; only the difference to the last call is computed.
  at(examples) {
    const {count, partial} = this.run.voted(examples), {voters} = this.run;
    if (this.whole > 0) this.cast(voters[this.whole - 1].weights, -this.partial);
    let from = Math.max(0, this.whole - 1);
    const to = Math.max(0, count - 1);
    if (Math.abs(to - from) > to) {
      this.votes.forEach(field => field.fill(0));
      from = 0;
    }
    for (; from < to; from++) this.cast(voters[from].weights, voters[from].votes);
    for (; from > to; from--) this.cast(voters[from - 1].weights, -voters[from - 1].votes);
    if (count > 0) this.cast(voters[count - 1].weights, partial);
    this.whole = count;
    this.partial = partial;
    return this.votes;
  }
}

export class KernelField {
  constructor(run, grid) {
    this.run = run;
    this.grid = grid;
    this.held = run.start.map(() => new Float64Array(run.examples));
    this.fields = run.start.map(() => new Float64Array(grid.size));
    this.values = new Map();
  }

  // The kernel between one example and every cell.
  column(example) {
    if (!this.values.has(example)) {
      const {grid} = this, {size, x, y} = grid, {name, gamma, degree, coef0} = this.run.kernel;
      const [u, v = 0] = this.run.data.X[example], values = new Float32Array(grid.size);
      for (let p = 0; p < size; p++) {
        const inner = gamma * (u * x[p] + v * y[p]);
        if (name === "rbf") values[p] = Math.exp(-gamma * ((u - x[p]) ** 2 + (v - y[p]) ** 2));
        else if (name === "poly") values[p] = (inner + coef0) ** degree;
        else if (name === "sigmoid") values[p] = Math.tanh(inner + coef0);
        else values[p] = u * x[p] + v * y[p];
      }
      this.values.set(example, values);
    }
    return this.values.get(example);
  }

  at(frame) {
    this.run.dualAt(frame).forEach((dual, row) => {
      const held = this.held[row], field = this.fields[row];
      for (let k = 0; k < dual.length; k++) {
        const by = dual[k] - held[k];
        if (!by) continue;
        const values = this.column(k);
        for (let p = 0; p < field.length; p++) field[p] += by * values[p];
        held[k] = dual[k];
      }
    });
    if (this.fields.length > 1) return this.fields;
    const [score] = this.fields;
    return [score.map(value => -value), score];
  }
}

// Paint each cell in the colour of the class with the highest value, stronger where its lead is larger; ties stay empty.
export function paint(canvas, grid, fields, codes, alpha) {
  if (canvas.width !== grid.columns || canvas.height !== grid.rows) { canvas.width = grid.columns; canvas.height = grid.rows; }
  const paper = canvas.getContext("2d"), image = paper.createImageData(grid.columns, grid.rows), pixels = new Uint32Array(image.data.buffer);
  const {size} = grid, leads = grid.leads ??= new Float32Array(size), winners = grid.winners ??= new Int8Array(size);
  let widest = 0;
  for (let p = 0; p < size; p++) {
    let best = -1, top = -Infinity, second = -Infinity;
    for (let k = 0; k < fields.length; k++) {
      const value = fields[k][p];
      if (value > top) { second = top; top = value; best = k; } else if (value === top) { best = -1; second = value; } else if (value > second) second = value;
    }
    winners[p] = best;
    leads[p] = best < 0 ? 0 : top - second;
    if (leads[p] > widest) widest = leads[p];
  }
  // Red, green, blue and opacity of a pixel as one number.
  const inks = codes.map(code => { const [red, green, blue] = rgb(COLOURS[code]); return red | green << 8 | blue << 16; });
  for (let p = 0; p < size; p++) {
    if (winners[p] >= 0) pixels[p] = inks[winners[p]] | Math.min(255, alpha * (0.55 + 0.75 * Math.sqrt(leads[p] / widest))) << 24;
  }
  paper.putImageData(image, 0, 0);
}
