// Predictions of the last weights, the average and the vote side by side; for the pocket: last weights and pocket.

import {COLOURS, h} from "./dom.js";
import {cells} from "./geometry.js";
import {Grid, VoteField, paint} from "./regions.js";

const WIDTH = 240, HEIGHT = 180;

export class Readouts {
  constructor(lab) {
    this.lab = lab;
    this.row = h("div", {class: "readouts"});
    this.element = h("section", {class: "card", "aria-label": "Last, average and vote"}, h("h2", {}, "Predictions"), this.row);
  }

  load() {
    const {run} = this.lab;
    this.shown = [];
    const plane = run && run.width <= 2 && run.length > 0;
    if (plane && run.voters) this.shown = [["last w", frame => run.weightsAt(frame)], ["average", frame => run.averageAt(frame)], ["vote", null]];
    else if (plane && run.steps.pocket) this.shown = [["last w", frame => run.weightsAt(frame)], ["pocket", frame => run.pocketAt(frame)]];
    this.element.hidden = !this.shown.length;
    if (!this.shown.length) { this.row.replaceChildren(); return; }
    this.box = this.lab.plane.box;
    const crowd = run.voters && run.voters.length > 800 ? 0.5 : 1;
    this.grid = new Grid(this.box, 120 * crowd, 90 * crowd);
    this.field = run.voters ? new VoteField(run, this.grid) : null;
    this.small = h("canvas");
    this.drawPoints();
    this.canvases = this.shown.map(([name]) => h("canvas", {width: WIDTH, height: HEIGHT, role: "img", "aria-label": `Regions: ${name}`}));
    this.errors = this.shown.map(() => h("span", {class: "wrong-count"}));
    this.row.replaceChildren(...this.shown.map(([name], k) => h("figure", {}, this.canvases[k], h("figcaption", {}, name, " ", this.errors[k]))));
  }

  px(x) { return (x - this.box[0]) / (this.box[2] - this.box[0]) * WIDTH; }
  py(y) { return (this.box[3] - y) / (this.box[3] - this.box[1]) * HEIGHT; }

  // The points do not change during playback: they are drawn once and copied.
  drawPoints() {
    const {data} = this.lab;
    this.dots = h("canvas", {width: WIDTH, height: HEIGHT});
    const paper = this.dots.getContext("2d"), size = data.X.length > 200 ? 1.4 : 2.6;
    data.X.forEach(([x, y = 0], k) => {
      paper.fillStyle = COLOURS[data.classes.indexOf(data.y[k])];
      paper.beginPath();
      paper.arc(this.px(x), this.py(y), size, 0, 7);
      paper.fill();
    });
  }

  show() {
    const {run, frame} = this.lab;
    if (!run || !this.shown.length) return;
    this.shown.forEach(([, weights], k) => {
      const paper = this.canvases[k].getContext("2d");
      paper.clearRect(0, 0, WIDTH, HEIGHT);
      const wrong = weights ? this.fillCells(paper, run, run.plane(weights(frame))) : this.fillVotes(paper, run, frame);
      paper.drawImage(this.dots, 0, 0);
      this.errors[k].textContent = `${wrong} wrong`;
    });
  }

  fillCells(paper, run, weights) {
    paper.globalAlpha = 0.32;
    cells(weights, this.box).forEach((polygon, k) => {
      if (polygon.length < 3) return;
      paper.fillStyle = COLOURS[run.codes[k]];
      paper.beginPath();
      polygon.forEach(([x, y]) => paper.lineTo(this.px(x), this.py(y)));
      paper.fill();
    });
    paper.globalAlpha = 1;
    return this.count(run, x => {
      if (weights.length === 1) return weights[0][0] + weights[0][1] * x[0] + weights[0][2] * (x[1] ?? 0) >= 0 ? 1 : 0;
      let best = 0, top = -Infinity;
      weights.forEach((w, k) => { const s = w[0] + w[1] * x[0] + w[2] * (x[1] ?? 0); if (s > top) { top = s; best = k; } });
      return best;
    });
  }

  fillVotes(paper, run, frame) {
    const votes = this.field.at(run.done(frame));
    paint(this.small, this.grid, votes, run.codes, 82);
    paper.drawImage(this.small, 0, 0, WIDTH, HEIGHT);
    const {columns, rows} = this.grid, [x0, y0, x1, y1] = this.box;
    return this.count(run, ([x, y = 0]) => {
      const c = Math.min(columns - 1, Math.max(0, Math.floor((x - x0) / (x1 - x0) * columns)));
      const r = Math.min(rows - 1, Math.max(0, Math.floor((y1 - y) / (y1 - y0) * rows)));
      let best = votes.length === 2 ? 1 : 0, top = votes[best][r * columns + c];
      votes.forEach((field, k) => { if (field[r * columns + c] > top) { top = field[r * columns + c]; best = k; } });
      return best;
    });
  }

  count(run, answer) {
    const {X, y} = run.data;
    let wrong = 0;
    for (let k = 0; k < X.length; k++) if (run.classes[answer(X[k])] !== y[k]) wrong++;
    return wrong;
  }
}
