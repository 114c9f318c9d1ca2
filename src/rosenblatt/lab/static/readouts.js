// The possible answers side by side, such as the last weights, their average and the vote. A click draws one in the plane.

import {COLOURS, h} from "./dom.js";
import {cells} from "./geometry.js";
import {Grid, VoteField, committeeVotes, paint, places} from "./regions.js";

const WIDTH = 240, HEIGHT = 180;

export class Readouts {
  constructor(lab) {
    this.lab = lab;
    this.row = h("div", {class: "readouts", role: "group", "aria-label": "Answer that the plane shows"});
    this.element = h("section", {class: "card", "aria-label": "Predictions"}, h("h2", {}, "Predictions"), this.row,
      h("p", {class: "about"}, "The plane shows the marked one; click another to compare. Beside an average, a vote or a pocket the last w is a dashed line."));
  }

  load() {
    const {run} = this.lab;
    this.shown = run && run.width <= 2 && run.length > 0 ? run.answers : [];
    this.element.hidden = this.shown.length < 2;
    if (this.element.hidden) { this.row.replaceChildren(); return; }
    this.box = this.lab.plane.box;
    const crowd = run.voters && run.voters.length > 800 ? 0.5 : 1;
    this.grid = new Grid(this.box, 120 * crowd, 90 * crowd);
    this.points = places(run.data.X);
    this.truth = run.data.y.map(one => run.classes.indexOf(one));
    this.field = run.voters ? new VoteField(run, this.grid) : null;
    this.judged = run.voters ? new VoteField(run, this.points) : null;
    this.small = h("canvas");
    this.drawPoints();
    this.canvases = this.shown.map(one => h("canvas", {width: WIDTH, height: HEIGHT, role: "img", "aria-label": `Regions: ${one.title}`}));
    this.errors = this.shown.map(() => h("span", {class: "wrong-count"}));
    this.buttons = this.shown.map((one, k) => h("button", {type: "button", onclick: () => this.lab.showAnswer(one.key)}, this.canvases[k], h("span", {}, one.title), this.errors[k]));
    this.row.replaceChildren(...this.buttons);
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
    if (!run || !this.shown?.length || this.element.hidden) return;
    const chosen = this.lab.answer?.key;
    this.shown.forEach((one, k) => {
      this.buttons[k].setAttribute("aria-pressed", String(one.key === chosen));
      const paper = this.canvases[k].getContext("2d");
      paper.clearRect(0, 0, WIDTH, HEIGHT);
      const wrong = one.at ? this.fillCells(paper, run, run.plane(one.at(frame))) : this.fillVotes(paper, run, frame);
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
    const {x, y} = this.points;
    if (weights.length === 1) {
      const [[a, b, c]] = weights;
      return this.count(k => a + b * x[k] + c * y[k] >= 0 ? 1 : 0);
    }
    return this.count(k => {
      let best = 0, top = -Infinity;
      for (let c = 0; c < weights.length; c++) {
        const score = weights[c][0] + weights[c][1] * x[k] + weights[c][2] * y[k];
        if (score > top) { top = score; best = c; }
      }
      return best;
    });
  }

  fillVotes(paper, run, frame) {
    const done = run.done(frame);
    paint(this.small, this.grid, this.field.at(done), run.codes, 82);
    paper.drawImage(this.small, 0, 0, WIDTH, HEIGHT);
    return this.count(winner(this.judged.at(done)));
  }

  count(answer) {
    let wrong = 0;
    for (let k = 0; k < this.truth.length; k++) if (answer(k) !== this.truth[k]) wrong++;
    return wrong;
  }
}

// The class with the most votes: of two classes the second in a tie, of several the first.
const winner = votes => k => {
  let best = votes.length === 2 ? 1 : 0;
  votes.forEach((field, c) => { if (field[k] > votes[best][k]) best = c; });
  return best;
};

// The fields of votes that the plane paints, for answers that are not one set of weights.
export class AnswerField {
  constructor(run, grid) {
    this.run = run;
    this.grid = grid;
    this.votes = run.voters ? new VoteField(run, grid) : null;
  }

  at(answer, frame) {
    return answer.key === "committee" ? committeeVotes(this.run.plane(this.run.weightsAt(frame)), this.grid) : this.votes.at(this.run.done(frame));
  }
}
