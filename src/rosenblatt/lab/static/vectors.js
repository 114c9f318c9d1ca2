// The update as a vector addition, tip to tail; with more than two features, the weights as bars.

import {COLOURS, draw, h, label, number, vector} from "./dom.js";

const WIDTH = 360, HEIGHT = 220;

export class Vectors {
  constructor(lab) {
    this.lab = lab;
    this.svg = draw("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "vectors"});
    this.words = h("p", {class: "words"});
    this.element = h("section", {class: "card", "aria-label": "The weights"}, h("h2", {}, "The weights"), this.svg, this.words);
  }

  load() {
    const {run} = this.lab;
    this.element.hidden = !run || run.kind === "dual";
    if (this.element.hidden) return;
    this.bars = run.width > 2;
    let low = 0, high = 0, [x0, y0, x1, y1] = [0, 0, 0, 0];
    for (const weights of run.steps.vectors) for (const row of weights) {
      if (this.bars) for (const value of row) { low = Math.min(low, value); high = Math.max(high, value); }
      const [x, y] = this.flat(row);
      x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y);
    }
    this.low = low;
    this.high = high === low ? low + 1 : high;
    // All weights of the run and the origin fit, so that the scale does not change during playback.
    this.unit = Math.min((WIDTH - 120) / (x1 - x0 || 1), (HEIGHT - 50) / (y1 - y0 || 1));
    this.origin = [WIDTH / 2 - this.unit * (x0 + x1) / 2, HEIGHT / 2 + this.unit * (y0 + y1) / 2];
  }

  show() {
    const {run, frame} = this.lab;
    if (!run || this.element.hidden) return;
    const {step, phase} = run.frames[frame];
    const now = run.weightsAt(frame), before = step >= 0 ? run.steps.vectors[run.steps.before[step]] : now;
    if (this.bars) this.showBars(run, now); else this.showArrows(run, step, phase, before, now);
    this.words.textContent = this.inWords(run, phase, before, now);
    this.svg.setAttribute("aria-label", this.words.textContent);
  }

  inWords(run, phase, before, now) {
    if (now.length > 1) return `${now.length} weight vectors, one for each ${run.kind === "committee" ? "perceptron of the committee" : "class"}`;
    const bias = run.bias ? `, bias ${number(now[0][0])}` : "";
    const own = run.bias ? now[0].slice(1) : now[0], old = run.bias ? before[0].slice(1) : before[0];
    if (phase !== "update" || this.bars) return `w = ${vector(own)}${bias}`;
    const by = own.map((value, k) => Number((value - old[k]).toPrecision(12)));
    return `${vector(old)} + ${vector(by)} = ${vector(own)}${run.bias ? `, bias ${number(before[0][0])} → ${number(now[0][0])}` : ""}`;
  }

  flat(row) {
    return this.lab.run.bias ? [row[1], row[2] ?? 0] : [row[0], row[1] ?? 0];
  }

  showArrows(run, step, phase, before, now) {
    const {unit, origin: [cx, cy]} = this, shown = [], names = [];
    shown.push(draw("path", {class: "axis", d: `M0 ${cy}H${WIDTH}M${cx} 0V${HEIGHT}`}));
    /** @param {number[]} start @param {number[]} tip @param {string} kind @param {string | null} colour @param {string} name */
    const arrow = ([x, y], [u, v], kind, colour, name) => {
      const from = [cx + x * unit, cy - y * unit], to = [cx + u * unit, cy - v * unit];
      const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
      if (length < 2) return;
      const look = colour ? {stroke: colour, fill: colour} : {};
      const turn = Math.atan2(to[1] - from[1], to[0] - from[0]), back = Math.min(10, length * 0.5);
      const neck = [to[0] - back * Math.cos(turn), to[1] - back * Math.sin(turn)];
      shown.push(draw("line", {class: `vector ${kind}`, x1: from[0], y1: from[1], x2: neck[0], y2: neck[1], ...look}));
      shown.push(draw("path", {class: `vector-head ${kind}`, d: `M0-5 ${back} 0 0 5Z`, transform: `translate(${neck}) rotate(${turn * 180 / Math.PI})`, ...look}));
      if (name && length > 24) {
        // Weights have their name beyond the tip, an update beside its middle: the first place that no other name has.
        const wide = 7 * name.length, ahead = kind === "by" ? 0 : 14, away = kind === "by" ? 12 : 0, part = kind === "by" ? 0.5 : 1;
        const spots = [[ahead, away], [ahead, -away], [ahead, 16], [ahead, -16], [ahead + 16, away], [-ahead, 24], [-ahead, -24]].map(([along, across]) => {
          const x = from[0] + part * (to[0] - from[0]) + along * Math.cos(turn) - across * Math.sin(turn), y = from[1] + part * (to[1] - from[1]) + along * Math.sin(turn) + across * Math.cos(turn);
          // The nearer end of the name is at this place.
          const shift = wide * (1 - Math.cos(turn + Math.sign(across) * Math.PI / 2 * Number(kind === "by"))) / 2;
          return [Math.max(2, Math.min(WIDTH - wide - 2, x - shift)), Math.min(HEIGHT - 6, Math.max(12, y + 5))];
        });
        const [left, y2] = spots.find(([x, y]) => !names.some(([u, v, w]) => x < u + w && u < x + wide && Math.abs(y - v) < 14)) ?? spots[0];
        names.push([left, y2, wide]);
        shown.push(draw("text", {class: "vector-name", x: left, y: y2}, name));
      }
    };
    // The vectors of a committee belong to no class: they are numbered, as on the blackboard.
    const committee = run.kind === "committee";
    now.forEach((row, k) => {
      const colour = now.length > 1 && !committee ? COLOURS[run.codes[k]] : null, moved = phase === "update" && row.some((v, j) => v !== before[k][j]);
      if (moved) {
        arrow([0, 0], this.flat(before[k]), "old", colour, now.length > 1 ? "" : "w before");
        const example = run.steps.example[step];
        const own = (now.length > 1 && !committee) || example === null ? null : COLOURS[run.data.classes.indexOf(run.data.y[example])];
        arrow(this.flat(before[k]), this.flat(row), "by", own ?? colour, now.length > 1 || run.kind === "logarithms" ? "" : example === null ? "Σ" : "y·x");
      }
      arrow([0, 0], this.flat(row), "new", colour, committee ? `w${k + 1}` : now.length > 1 ? label(run.classes[k]) : moved ? "w after" : "w");
    });
    this.svg.replaceChildren(...shown);
  }

  showBars(run, now) {
    const count = now[0].length, wide = WIDTH / count, shown = [];
    const y = value => HEIGHT - 14 - (value - this.low) / (this.high - this.low) * (HEIGHT - 28);
    const deep = Math.max(1, now.length);
    now.forEach((row, k) => row.forEach((value, j) => {
      const name = run.bias && j === 0 ? "bias" : run.data.features?.[j - (run.bias ? 1 : 0)] ?? run.features[j], panel = name.endsWith("(panel)"), from = Math.min(y(0), y(value));
      const bar = draw("rect", {
        class: `bar${panel ? " panel" : ""}`, x: j * wide + wide * (0.1 + 0.8 * k / deep), width: wide * 0.8 / deep, y: from, height: Math.max(1, Math.abs(y(value) - y(0))),
      }, draw("title", {}, `${name}: ${number(value)}`));
      if (deep > 1) bar.setAttribute("fill", run.kind === "committee" ? "var(--soft)" : COLOURS[run.codes[k]]);
      shown.push(bar);
    }));
    shown.push(draw("path", {class: "axis", d: `M0 ${y(0)}H${WIDTH}`}));
    this.svg.replaceChildren(...shown);
  }
}
