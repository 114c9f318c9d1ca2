// The plane: points to draw and drag, and the run: regions, boundary, margin band, w, the current example.

import {COLOURS, SHAPES, draw, h, label, number} from "./dom.js";
import {clip, dot, hull, leads, line, principal, ticks} from "./geometry.js";
import {AnswerField} from "./readouts.js";
import {Grid, KernelField, paint} from "./regions.js";

export const WIDTH = 800;
export const HEIGHT = 600;
const NEAR = 16, GLIDE = 200, OUTLINE = 0.16;
let gradients = 0;

// The marker of a class, with its outline, in pixels.
function stamp(code, size, outline) {
  const side = 2 * Math.ceil(1.25 * size), canvas = h("canvas", {width: side, height: side}), paper = canvas.getContext("2d"), shape = new Path2D(SHAPES[code]);
  paper.translate(side / 2, side / 2);
  paper.scale(size, size);
  [paper.fillStyle, paper.strokeStyle, paper.lineWidth] = [COLOURS[code], outline, OUTLINE];
  paper.fill(shape);
  paper.stroke(shape);
  return canvas;
}

export class Plane {
  // `lab` has data, run, frame, drawing (the class to add), tool, certificate, and the methods add, move, remove, commit.
  constructor(lab) {
    this.lab = lab;
    this.box = [-5, -3.75, 5, 3.75];
    this.cursor = null;
    this.selected = -1;
    this.layers = Object.fromEntries(["regions", "axes", "run", "arrows", "proof", "front"].map(name =>
      [name, draw("g", {class: `layer-${name}`})]));
    // From the back to the front: votes, the run, the points, arrows and names, the proof and the cursor. The points have a
    // picture of their own, because a frame of the run does not change them.
    this.canvas = h("canvas", {class: "field", "aria-hidden": "true"});
    const {regions, axes, run, arrows, proof, front} = this.layers;
    this.back = draw("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "back", "aria-hidden": "true"}, regions, axes, run);
    this.points = h("canvas", {class: "points", "aria-hidden": "true"});
    this.svg = draw("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plane", tabindex: "0", role: "application",
      "aria-roledescription": "drawing plane",
      "aria-label": "The plane. Arrow keys move a cursor, Enter adds a point, Delete removes the nearest, brackets choose a point, Alt and arrows move it.",
    }, arrows, proof, front);
    this.hint = h("p", {class: "hint"});
    this.fitButton = h("button", {type: "button", class: "fit", title: "Show all points", onclick: () => { this.fit(); this.drawPoints(); lab.show(); lab.drawCertificate(); lab.readouts.load(); lab.readouts.show(); }}, "Fit");
    this.element = h("div", {class: "plane-frame"}, this.canvas, this.back, this.points, this.svg, this.fitButton);
    this.wide = 0;
    this.text = 1; // how much larger text is in the units of the picture
    this.watch = new ResizeObserver(([{contentRect}]) => {
      this.wide = contentRect.width;
      // Text in the picture keeps its size on the screen when the picture is small.
      const text = Math.max(1, WIDTH / (this.wide || WIDTH)), other = text !== this.text;
      this.text = text;
      this.element.style.setProperty("--px", text);
      this.drawPoints();
      if (other) { this.drawAxes(); this.show(); }
    });
    this.watch.observe(this.element);
    // The markers have the colour of the paper around them.
    this.looks = ["print", "(prefers-color-scheme: dark)"].map(query => matchMedia(query));
    this.relook = () => this.drawPoints();
    for (const look of this.looks) look.addEventListener("change", this.relook);
    this.slopes = `rosenblatt-slope-${++gradients}`;
    this.listen();
  }

  close() {
    this.watch.disconnect();
    for (const look of this.looks) look.removeEventListener("change", this.relook);
  }

  // ---------------------------------------------------------------- coordinates

  px(x) { return (x - this.box[0]) / (this.box[2] - this.box[0]) * WIDTH; }
  py(y) { return (this.box[3] - y) / (this.box[3] - this.box[1]) * HEIGHT; }

  // Fit the points; both axes have the same scale, so that w is drawn perpendicular to the boundary.
  fit() {
    const points = this.positions();
    let [x0, y0, x1, y1] = points.length ? [Infinity, Infinity, -Infinity, -Infinity] : [-4, -3, 4, 3];
    for (const [x, y] of points) {
      x0 = Math.min(x0, x); x1 = Math.max(x1, x);
      y0 = Math.min(y0, y); y1 = Math.max(y1, y);
    }
    // Include the origin if it is near; it matters without a bias.
    const near = Math.max(x1 - x0, y1 - y0, 1);
    if (Math.max(Math.abs(x0), Math.abs(y0), Math.abs(x1), Math.abs(y1)) < 2 * near) {
      x0 = Math.min(x0, 0); x1 = Math.max(x1, 0); y0 = Math.min(y0, 0); y1 = Math.max(y1, 0);
    }
    if (this.flat()) { this.stretch([x0, y0, x1, y1]); return; }
    // A single place has no extent: show its surroundings.
    const around = x1 === x0 && y1 === y0 ? Math.max(2, Math.abs(x0), Math.abs(y0)) / HEIGHT : 0;
    const unit = Math.max((x1 - x0) / 0.8 / WIDTH, (y1 - y0) / 0.8 / HEIGHT, around);
    const cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
    this.box = [cx - unit * WIDTH / 2, cy - unit * HEIGHT / 2, cx + unit * WIDTH / 2, cy + unit * HEIGHT / 2];
    this.drawAxes();
  }

  // More than two features: the points are projected on w, and the boundary is a vertical line in the middle.
  flat() { return this.lab.data.X.length > 0 && this.lab.data.X[0].length > 2; }

  stretch([, y0, , y1]) {
    const {run} = this.lab;
    let reach = 1e-9;
    if (run && run.kind !== "dual") {
      const stops = Math.min(24, run.last);
      for (let k = 0; k <= stops; k++) {
        for (const [x] of this.along(Math.round(k * run.last / Math.max(1, stops)))) reach = Math.max(reach, Math.abs(x));
      }
    } else reach = 1;
    const room = (y1 - y0) * 0.12 || 1; // a single height has no extent: show its surroundings
    this.box = [-1.15 * reach, y0 - room, 1.15 * reach, y1 + room];
    this.drawAxes();
  }

  positions() {
    const {X} = this.lab.data;
    if (!this.flat()) return X.map(x => [x[0], x[1] ?? 0]);
    return this.along(this.lab.frame);
  }

  // Horizontal: score / ‖w‖ (several classes: lead of the true class). Vertical: the direction of largest variance.
  along(frame) {
    const {data, run} = this.lab;
    if (this.spreadOf !== data.X) { this.spread = principal(data.X); this.spreadOf = data.X; }
    if (!run || run.kind === "dual" || run.data.X !== data.X) return data.X.map((_, k) => [0, this.spread[k]]);
    const weights = run.weightsAt(Math.min(frame, run.last));
    const score = (row, x) => run.bias ? row[0] + x.reduce((sum, v, j) => sum + v * row[j + 1], 0) : dot(x, row);
    const size = Math.hypot(...weights.flat()) || 1, votes = x => weights.reduce((sum, row) => sum + (score(row, x) >= 0 ? 1 : -1), 0);
    return data.X.map((x, k) => {
      if (run.kind === "committee") return [votes(x) / weights.length, this.spread[k]];
      if (weights.length === 1) return [score(weights[0], x) / size, this.spread[k]];
      const scores = weights.map(row => score(row, x)), own = run.classes.indexOf(data.y[k]);
      return [(scores[own] - Math.max(...scores.filter((_, j) => j !== own))) / size, this.spread[k]];
    });
  }

  drawAxes() {
    const [x0, y0, x1, y1] = this.box, marks = [], flat = this.flat();
    const names = flat
      ? [this.lab.run?.kind === "committee" ? "votes for / all votes" : this.lab.run?.start.length > 1 ? "lead of the true class / ‖w‖" : "score / ‖w‖", "largest variance"]
      : this.lab.data.features ?? ["x1", "x2"];
    for (const x of ticks(x0, x1, 8)) {
      marks.push(draw("line", {class: x === 0 ? "axis" : "grid", x1: this.px(x), x2: this.px(x), y1: 0, y2: HEIGHT}));
      if (x > x0 + 0.03 * (x1 - x0) && x < x1 - 0.12 * this.text * (x1 - x0)) marks.push(draw("text", {class: "tick", x: this.px(x) + 4, y: HEIGHT - 8}, number(x)));
    }
    for (const y of ticks(y0, y1, 6)) {
      marks.push(draw("line", {class: y === 0 ? "axis" : "grid", y1: this.py(y), y2: this.py(y), x1: 0, x2: WIDTH}));
      if (y > y0 + 0.06 * this.text * (y1 - y0) && y < y1 - 0.07 * this.text * (y1 - y0)) marks.push(draw("text", {class: "tick", x: 6, y: this.py(y) - 4}, number(y)));
    }
    marks.push(draw("text", {class: "axis-name", x: WIDTH - 8, y: HEIGHT - 8, "text-anchor": "end"}, names[0]));
    marks.push(draw("text", {class: "axis-name", x: 8, y: 6, "dominant-baseline": "hanging"}, names[1] ?? ""));
    this.layers.axes.replaceChildren(...marks);
  }

  // ---------------------------------------------------------------- points

  drawPoints() {
    const {length} = this.lab.data.X, small = this.wide && this.wide < 520;
    this.size = (length > 600 ? 4.5 : length > 150 ? 6.5 : 9) * (small ? 1.6 : 1);
    this.paintPoints();
    this.showHint();
    this.drawCursor();
  }

  // Each marker is drawn once for its class and then copied. Before the plane has a size there is nothing to see.
  paintPoints() {
    if (!this.wide) return;
    const {points: canvas, size, lab: {data}} = this, [print] = this.looks;
    const scale = this.wide / WIDTH * (print.matches ? 4 : Math.min(3, devicePixelRatio)), paper = canvas.getContext("2d");
    [canvas.width, canvas.height] = [Math.round(WIDTH * scale), Math.round(HEIGHT * scale)];
    const outline = getComputedStyle(this.element).getPropertyValue("--marker"), codes = new Map(data.classes.map((one, code) => [one, code]));
    const stamps = data.classes.map((_, code) => stamp(code, size * scale, outline)), half = stamps[0].width / 2;
    this.positions().forEach(([x, y], k) => {
      paper.drawImage(stamps[codes.get(data.y[k])], Math.round(this.px(x) * scale - half), Math.round(this.py(y) * scale - half));
    });
  }

  // The points as elements, for a picture that is saved.
  marks() {
    const {data} = this.lab, stroke = getComputedStyle(this.element).getPropertyValue("--marker");
    return this.positions().map(([x, y], k) => {
      const code = data.classes.indexOf(data.y[k]);
      return draw("path", {
        d: SHAPES[code], fill: COLOURS[code], stroke, "stroke-width": OUTLINE, transform: `translate(${this.px(x)} ${this.py(y)}) scale(${this.size})`,
      });
    });
  }

  // A hint that has served keeps its place: otherwise the plane would jump under the finger that drags.
  showHint() {
    const text = this.hintText();
    if (text) this.hint.textContent = text;
    this.hint.classList.toggle("served", !text);
  }

  hintText() {
    const {data, touched, run} = this.lab;
    const click = matchMedia("(hover: none)").matches ? "Tap" : "Click";
    if (!data.X.length) return `${click} anywhere to add points of two classes.`;
    if (this.flat()) {
      return run?.kind === "dual"
        ? "A kernel run with more than two features cannot be drawn in the plane; see the table of steps."
        : `${data.X[0].length} features, ${run?.kind === "committee" ? "placed by the votes of the committee: on the dividing line they would be tied." : "projected on w: on the dividing line the score is 0."}`;
    }
    return touched ? "" : `${click} to add a point, drag to move one, then press Play.`;
  }

  nearest(x, y) {
    // Touch needs a larger radius than a mouse, in pixels of the screen.
    let best = -1, distance = NEAR * Math.max(1, WIDTH / (this.wide || WIDTH));
    this.positions().forEach(([u, v], k) => {
      const away = Math.hypot(this.px(u) - x, this.py(v) - y);
      if (away <= distance) { best = k; distance = away; }
    });
    return best;
  }

  place(event) {
    const frame = this.svg.getBoundingClientRect();
    return [(event.clientX - frame.left) / frame.width * WIDTH, (event.clientY - frame.top) / frame.height * HEIGHT];
  }

  // The point of a pixel inside the picture, rounded to about a pixel.
  /** @param {number[]} pixel */
  point([x, y]) {
    // Multiples of a power of two: sums of such points have no rounding errors.
    const [x0, y0, x1, y1] = this.box, unit = 2 ** Math.floor(Math.log2((x1 - x0) / 500));
    const within = (value, most) => Math.min(most, Math.max(0, value)), round = value => Math.round(value / unit) * unit;
    return [round(x0 + within(x, WIDTH) / WIDTH * (x1 - x0)), round(y1 - within(y, HEIGHT) / HEIGHT * (y1 - y0))];
  }

  listen() {
    const {lab, svg} = this;
    let held = -1, from = null, moved = false;
    // A finger that takes a point drags it; elsewhere it scrolls the page.
    svg.addEventListener("touchstart", event => {
      if (!this.flat() && event.touches.length === 1 && this.nearest(...this.place(event.touches[0])) >= 0) event.preventDefault();
    }, {passive: false});
    svg.addEventListener("pointerdown", event => {
      if (event.button > 0 || this.flat()) return;
      lab.transport.stop();
      const at = this.place(event);
      held = this.nearest(...at);
      from = at;
      moved = false;
      if (held >= 0) {
        if (lab.tool === "erase") { lab.remove(held); held = -1; from = null; return; }
        svg.setPointerCapture(event.pointerId);
        this.selected = held;
        this.drawCursor();
      }
    });
    svg.addEventListener("pointermove", event => {
      if (held < 0 || !from) return;
      const at = this.place(event);
      if (!moved && Math.hypot(at[0] - from[0], at[1] - from[1]) < 4) return;
      if (!moved) lab.remember();
      moved = true;
      lab.move(held, this.point(at));
    });
    svg.addEventListener("pointerup", event => {
      if (!from) return;
      const at = this.place(event);
      if (held < 0 && lab.tool !== "erase" && Math.hypot(at[0] - from[0], at[1] - from[1]) < 10) lab.add(this.point(at));
      held = -1;
      from = null;
    });
    svg.addEventListener("pointercancel", () => { held = -1; from = null; });
    svg.addEventListener("contextmenu", event => {
      if (this.flat()) return;
      const at = this.nearest(...this.place(event));
      if (at >= 0) { event.preventDefault(); lab.remove(at); }
    });
    svg.addEventListener("keydown", event => this.key(event));
    svg.addEventListener("blur", () => { this.cursor = null; this.drawCursor(); });
  }

  key(event) {
    const {lab} = this, step = event.shiftKey ? 40 : 8;
    const by = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step]}[event.key];
    if (event.ctrlKey || event.metaKey || this.flat()) return;
    if (by && event.altKey && this.selected >= 0) {
      const [x, y] = lab.data.X[this.selected];
      lab.remember(`move ${this.selected}`);
      lab.move(this.selected, this.point([this.px(x) + by[0], this.py(y) + by[1]]));
    } else if (by) {
      const [x, y] = this.cursor ?? [WIDTH / 2, HEIGHT / 2];
      this.cursor = [Math.min(WIDTH, Math.max(0, x + by[0])), Math.min(HEIGHT, Math.max(0, y + by[1]))];
      lab.say(`Cursor at ${this.point(this.cursor).map(v => number(v)).join(", ")}`);
    } else if (event.key === "Enter") {
      this.cursor ??= [WIDTH / 2, HEIGHT / 2];
      lab.add(this.point(this.cursor));
    } else if (event.key === "Delete" || event.key === "Backspace") {
      const at = this.cursor ? this.nearest(...this.cursor) : this.selected;
      if (at >= 0) lab.remove(at);
    } else if (event.key === "[" || event.key === "]") {
      const n = lab.data.X.length;
      if (!n) return;
      const from = this.selected < 0 && event.key === "[" ? 0 : this.selected;
      this.selected = (from + (event.key === "]" ? 1 : n - 1) + n) % n;
      const [x, y] = lab.data.X[this.selected];
      this.cursor = [this.px(x), this.py(y)];
      lab.say(`Point ${this.selected + 1} of ${n}, class ${label(lab.data.y[this.selected])}, at ${number(x)}, ${number(y)}`);
    } else return;
    event.preventDefault();
    event.stopPropagation();
    this.drawCursor();
  }

  drawCursor() {
    const marks = [];
    const chosen = this.lab.data.X[this.selected];
    if (chosen && !this.flat()) marks.push(draw("circle", {class: "selected", cx: this.px(chosen[0]), cy: this.py(chosen[1] ?? 0), r: this.size + 5}));
    if (this.cursor) {
      const [x, y] = this.cursor;
      marks.push(draw("path", {class: "cursor", d: `M${x - 12} ${y}H${x + 12}M${x} ${y - 12}V${y + 12}`}));
    }
    this.layers.front.replaceChildren(...marks);
  }

  // ---------------------------------------------------------------- the run

  // While a point is dragged the run of a moment ago is drawn until the new one is there.
  fits(run) {
    const {X, y} = this.lab.data;
    return run && run.length > 0 && run.data.y === y && run.data.X.length === X.length && run.width === X[0].length;
  }

  show() {
    const {run, frame} = this.lab;
    const shown = [], fields = [];
    this.above = [];
    let painted = false;
    if (this.fits(run)) {
      if (this.flat()) this.moveAlong(run, shown);
      else if (run.kind === "dual") { this.paintKernel(run, frame); painted = true; } else painted = this.showAnswer(run, frame, shown, fields);
      if (!(this.flat() && run.kind === "dual")) this.ring(run, frame, shown);
    }
    this.canvas.hidden = !painted;
    this.layers.regions.replaceChildren(...fields);
    this.layers.run.replaceChildren(...shown);
    this.layers.arrows.replaceChildren(...this.above);
  }

  // The answer of the learner, with the last weights as a ghost if they are not the answer. Returns whether the canvas was painted.
  showAnswer(run, frame, shown, fields) {
    const {answer} = this.lab, last = run.plane(run.weightsAt(frame));
    if (answer.at) {
      const weights = run.plane(answer.at(frame));
      this.showWeights(run, this.glided(answer.key === "last" ? last : weights), shown, fields, answer.key === "last" ? "w" : answer.title);
    } else this.paintAnswer(run, answer, frame);
    if (answer.key === "committee") last.forEach(w => this.segment(w, "edge", shown));
    else if (answer.key !== "last") {
      if (last.length === 1) this.segment(last[0], "boundary ghost", shown);
      else last.forEach((w, k) => last.slice(0, k).forEach(rival => this.segment(w.map((value, j) => value - rival[j]), "boundary ghost", shown)));
    }
    return !answer.at;
  }

  // Weights on their way from those drawn before; in a hurry, or without motion, they are there at once.
  glided(weights) {
    const {lab} = this, key = JSON.stringify(weights), now = performance.now();
    if (this.aim !== key) {
      const still = lab.still || !this.drawn || this.drawn.length !== weights.length;
      this.from = still ? weights : this.drawn;
      this.began = now;
      this.aim = key;
    }
    const part = Math.min(1, (now - this.began) / GLIDE), size = row => Math.hypot(...row) || 1;
    const eased = part * part * (3 - 2 * part);
    // Lengths differ between the two, and only the directions are drawn.
    this.drawn = part >= 1 ? weights : weights.map((row, k) => row.map((value, j) => {
      const before = this.from[k][j] / (weights.length > 1 ? 1 : size(this.from[k]) / size(row));
      return before + eased * (value - before);
    }));
    if (part < 1 && this.from !== weights && !this.gliding) {
      this.gliding = requestAnimationFrame(() => { this.gliding = null; this.show(); });
    }
    return this.drawn;
  }

  paintAnswer(run, answer, frame) {
    const key = `${this.box}`;
    if (this.answerOf !== run || this.answerKey !== key) {
      const fine = (run.voters?.length ?? 0) > 300 ? 1 : 2; // a jump through a long run casts all its votes again
      this.answerGrid = new Grid(this.box, 160 * fine, 120 * fine);
      this.answerField = new AnswerField(run, this.answerGrid);
      this.answerOf = run;
      this.answerKey = key;
    }
    paint(this.canvas, this.answerGrid, this.answerField.at(answer, frame), run.codes, 70);
  }

  showWeights(run, weights, shown, fields, name) {
    const parts = leads(weights, this.box), steepest = Math.max(...parts.map(({lead}) => Math.hypot(lead[1], lead[2])));
    for (const part of parts) fields.push(this.slope(part, steepest, COLOURS[run.codes[part.k]]), draw("polygon", {
      class: "slope", fill: `url(#${this.slopes}-${part.k}-${part.j})`, points: part.polygon.map(([x, y]) => `${this.px(x)},${this.py(y)}`).join(" "),
    }));
    if (weights.length > 1) {
      // The boundary of two classes: the side of their parts on which neither leads.
      for (const {k, j, lead: [a, b, c], polygon} of parts) {
        const ends = polygon.filter(([x, y]) => Math.abs(a + b * x + c * y) <= 1e-9 * (Math.abs(a) + Math.abs(b * x) + Math.abs(c * y)));
        if (k > j || ends.length < 2) continue;
        // A corner in which several classes meet may be there more than once.
        const [u, v] = ends[0], away = ([x, y]) => Math.hypot(x - u, y - v), [x, y] = ends.reduce((one, other) => away(other) > away(one) ? other : one);
        shown.push(draw("line", {class: "boundary", x1: this.px(u), y1: this.py(v), x2: this.px(x), y2: this.py(y)}));
      }
      const size = Math.max(...weights.map(([, b, c]) => Math.hypot(b, c))) || 1;
      weights.forEach(([, b, c], k) => this.arrow([0, 0], [b * 90 / size, c * 90 / size], COLOURS[run.codes[k]]));
      return;
    }
    const [w] = weights, length = Math.hypot(w[1], w[2]);
    if (!length) return;
    this.band(run, w, length, shown, name);
    const {step, phase} = run.frames[this.lab.frame];
    if (phase === "update" && name === "w") this.segment(run.plane(run.steps.vectors[run.steps.before[step]])[0], "boundary before", shown);
    this.segment(w, "boundary", shown);
    const [x0, y0, x1, y1] = this.box, cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
    const off = (w[0] + w[1] * cx + w[2] * cy) / length ** 2;
    this.arrow([cx - off * w[1], cy - off * w[2]], [80 * w[1] / length, 80 * w[2] / length], null, name);
  }

  // The colour of a class becomes stronger with its lead over the second: a full picture away from the boundary where it is steepest.
  slope({k, j, lead: [a, b, c]}, steepest, colour) {
    const length = Math.hypot(b, c), [x0, y0, x1, y1] = this.box, cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
    const off = (a + b * cx + c * cy) / length ** 2, from = [this.px(cx - off * b), this.py(cy - off * c)], far = HEIGHT * steepest / length ** 2;
    return draw("linearGradient", {
      id: `${this.slopes}-${k}-${j}`, gradientUnits: "userSpaceOnUse", x1: from[0], y1: from[1], x2: from[0] + far * b, y2: from[1] - far * c,
    }, draw("stop", {offset: 0, "stop-color": colour, "stop-opacity": 0.1}), draw("stop", {offset: 1, "stop-color": colour, "stop-opacity": 0.5}));
  }

  // The margin that the rule requires, else the margin of these weights if they separate the points.
  band(run, w, length, shown, name) {
    let reach = name === "w" ? run.band : null, said = reach && `score ±${number(reach)}`;
    if (!reach) {
      const {X, y} = run.data, [, positive] = run.classes;
      reach = Infinity;
      let terms = 0;
      for (let k = 0; k < X.length; k++) {
        const parts = [w[0], w[1] * X[k][0], w[2] * (X[k][1] ?? 0)], score = parts[0] + parts[1] + parts[2];
        reach = Math.min(reach, y[k] === positive ? score : -score);
        terms = Math.max(terms, ...parts.map(Math.abs));
      }
      if (reach < 1e-12 * terms) return; // a point on the boundary, up to rounding
      said = `nearest point ${number(reach / length, 3)} away`;
    }
    if (!(reach > 0) || !Number.isFinite(reach)) return;
    const [x0, y0, x1, y1] = this.box;
    const inside = clip(clip([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], [reach - w[0], -w[1], -w[2]]), [reach + w[0], w[1], w[2]]);
    if (inside.length > 2) shown.push(draw("polygon", {class: "band", points: inside.map(([x, y]) => `${this.px(x)},${this.py(y)}`).join(" ")}));
    for (const side of [-1, 1]) this.segment([w[0] + side * reach, w[1], w[2]], "edge", shown);
    const edge = line([w[0] - reach, w[1], w[2]], this.box);
    if (edge) {
      const top = edge[0][1] > edge[1][1] ? edge[0] : edge[1];
      const right = this.px(top[0]) > WIDTH / 2, y = Math.min(HEIGHT - 30, Math.max(18 + 18 * this.text, this.py(top[1]) + 16 * this.text));
      const x = right ? Math.min(WIDTH - 10, this.px(top[0]) - 8) : Math.max(10, this.px(top[0]) + 8);
      this.above.push(draw("text", {class: "note", x, y: y + 8, "text-anchor": right ? "end" : "start"}, said));
    }
  }

  segment(w, kind, shown) {
    const ends = line(w, this.box);
    if (ends) shown.push(draw("line", {class: kind, x1: this.px(ends[0][0]), y1: this.py(ends[0][1]), x2: this.px(ends[1][0]), y2: this.py(ends[1][1])}));
  }

  arrow([x, y], [a, b], colour, name = "") {
    if (Math.hypot(a, b) < 1) return;
    const from = [this.px(x), this.py(y)], to = [from[0] + a, from[1] - b];
    const turn = Math.atan2(-b, a) * 180 / Math.PI, look = colour ? {stroke: colour} : {};
    this.above.push(draw("line", {class: "arrow", x1: from[0], y1: from[1], x2: to[0], y2: to[1], ...look}));
    this.above.push(draw("path", {class: "arrow-head", d: "M0-6 14 0 0 6Z", transform: `translate(${to[0]} ${to[1]}) rotate(${turn})`, ...(colour ? {fill: colour} : {})}));
    if (name) this.above.push(draw("text", {
      class: "arrow-name", x: to[0] + (a < 0 ? -18 : 18), y: to[1] + (b < 0 ? 20 : -6), "text-anchor": a < 0 ? "end" : "start",
    }, name));
  }

  moveAlong(run, shown) {
    if (run.kind === "dual") return;
    this.paintPoints();
    shown.push(draw("line", {class: "boundary", x1: this.px(0), x2: this.px(0), y1: 0, y2: HEIGHT}));
    const sides = run.start.length === 1 || run.kind === "committee" ? run.classes.map(label) : ["wrong", "right"];
    this.above.push(draw("text", {class: "note", x: this.px(0) - 12, y: 40, "text-anchor": "end"}, `← ${sides[0]}`));
    this.above.push(draw("text", {class: "note", x: this.px(0) + 12, y: 40}, `${sides[1]} →`));
  }

  paintKernel(run, frame) {
    const key = `${this.box}`;
    if (this.fieldOf !== run || this.fieldKey !== key) {
      const fine = run.examples > 500 ? 0.5 : run.examples > 150 ? 1 : 1.75;
      this.grid = new Grid(this.box, Math.round(120 * fine), Math.round(90 * fine));
      this.field = new KernelField(run, this.grid);
      this.fieldOf = run;
      this.fieldKey = key;
    }
    paint(this.canvas, this.grid, this.field.at(frame), run.codes, 72);
  }

  ring(run, frame, shown) {
    const {step, phase} = run.frames[frame];
    if (step < 0 || phase === "end") return;
    const places = this.positions(), right = run.steps.correct[step];
    if (run.data.X !== this.lab.data.X) return; // the example may be the point that is being dragged
    const looked = run.steps.example[step] === null ? run.steps.missed[step] : [run.steps.example[step]];
    for (const k of looked) {
      const [x, y] = places[k];
      shown.push(draw("circle", {class: `ring ${right ? "right" : "wrong"}`, cx: this.px(x), cy: this.py(y), r: this.size + 8}));
    }
    if (run.kind === "dual") return;
    if (looked.length === 1 && phase === "update" && run.kind === "weights" && !this.flat() && run.start.length === 1 && run.steps.moves[step]) {
      const [x, y] = places[looked[0]], by = run.steps.moves[step][0];
      const size = Math.hypot(x, y) || 1;
      this.arrow([x, y], [60 * Math.sign(by) * x / size, 60 * Math.sign(by) * y / size], COLOURS[run.data.classes.indexOf(run.data.y[looked[0]])], by > 0 ? "+x" : "−x");
    }
  }

  // ---------------------------------------------------------------- drawing of the certificate

  showCertificate(certificate, wanted) {
    const shown = [], {data} = this.lab;
    if (certificate && wanted && !this.flat()) {
      const {separator, combination, common, classes} = certificate;
      if (separator?.length === 1) {
        const [b, w1, w2 = 0] = separator[0];
        this.segment([b, w1, w2], "separator", shown);
        const ends = line([b, w1, w2], this.box);
        if (ends) shown.push(draw("text", {class: "note", x: Math.min(WIDTH - 30, this.px(ends[0][0]) + 8), y: Math.max(30, Math.min(HEIGHT - 30, this.py(ends[0][1]) - 8))}, "u"));
      }
      if (common?.kind === "hulls") classes.forEach(one => {
        const corner = hull(data.X.filter((_, k) => data.y[k] === one).map(x => [x[0], x[1] ?? 0]));
        shown.push(draw("polygon", {class: "hull", stroke: COLOURS[data.classes.indexOf(one)], points: corner.map(([x, y]) => `${this.px(x)},${this.py(y)}`).join(" ")}));
      });
      for (const [row] of combination ?? []) {
        const [x, y = 0] = data.X[row];
        if (common) {
          const [u, v = 0] = common.point;
          shown.push(draw("line", {class: "pull", x1: this.px(x), y1: this.py(y), x2: this.px(u), y2: this.py(v)}));
        }
        shown.push(draw("circle", {class: "used", cx: this.px(x), cy: this.py(y), r: this.size + 4}));
      }
      if (common) {
        const x = this.px(common.point[0]), y = this.py(common.point[1] ?? 0);
        shown.push(draw("path", {class: "common", d: `M${x - 9} ${y - 9}L${x + 9} ${y + 9}M${x - 9} ${y + 9}L${x + 9} ${y - 9}`}));
        const said = common.kind === "hulls" ? ["in both hulls"] : ["Σ λ·y·x = 0", "with weights λ > 0"];
        shown.push(...said.map((text, k) => draw("text", {class: "note", x: x + 14, y: y + 20 * (1 + k * this.text)}, text)));
      }
    }
    this.layers.proof.replaceChildren(...shown);
  }
}
