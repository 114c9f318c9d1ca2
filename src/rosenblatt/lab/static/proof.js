// The proof: four curves over the number of updates; and the certificate.

import {atMost, count, draw, h, number, unique, vector} from "./dom.js";
import {dot, ticks} from "./geometry.js";

const WIDTH = 400, HEIGHT = 230, LEFT = 36, BOTTOM = 22, TOP = 8, RIGHT = 8;
const NAMES = ["floor", "along", "length", "ceiling"];
const PROVED = ["perceptron", "averaged", "voted", "pocket", "margin"];
const SHORT = {floor: "kγ", along: "⟨w, u⟩", length: "‖w‖", ceiling: "√k·R"};

export class Proof {
  constructor(lab) {
    this.lab = lab;
    this.svg = draw("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "squeeze", role: "img"});
    this.clip = unique("grown");
    this.legend = h("ul", {class: "legend"});
    this.words = h("p", {class: "words"});
    this.wide = h("input", {type: "checkbox", onchange: () => { lab.setShow("wide", this.wide.checked || undefined); this.load(); this.show(); }});
    this.wideLabel = h("label", {class: "check"}, this.wide, "show up to the bound, where the outer curves cross");
    this.element = h("section", {class: "card proof", "aria-label": "The proof, live"}, h("h2", {}, "The proof, live"), this.svg, this.legend, this.words, this.wideLabel);
  }

  load() {
    const {run} = this.lab;
    this.wide.checked = Boolean(this.lab.state.show.wide);
    this.points = null;
    this.element.hidden = !run;
    if (!run) return;
    this.collect(run);
    const none = !this.points;
    this.wideLabel.hidden = none || !run.bound;
    this.svg.toggleAttribute("hidden", none);
    this.legend.hidden = none;
    if (none) {
      this.words.textContent = this.why(run);
      return;
    }
    const parts = run.formula.split(" ≤ ");
    this.values = NAMES.map(() => h("b"));
    this.legend.replaceChildren(...NAMES.map((name, k) => h("li", {class: name}, h("span", {class: "swatch"}), parts[k] ?? SHORT[name], " ", this.values[k])));
    this.drawCurves(run);
  }

  why(run) {
    const {certificate} = this.lab;
    if (run.winnow) return ofWinnow(run.winnow, this.lab.parameter("eta"), this.lab.parameter("balanced"));
    if (run.kind !== "dual" && !PROVED.includes(run.algorithm)) return "These curves show the proof for the perceptron; the chosen learner has a different bound. Choose the perceptron to see them.";
    if (run.kind === "dual") return "The last coefficients do not separate the points, so that there is no u in feature space to compare w with.";
    if (certificate?.status === "inseparable") return "No line separates these points, so there is no margin γ and no bound; the certificate below is the proof.";
    if (run.classes.length > 2 && ["all", "ovr"].includes(this.lab.state.parameters.multiclass)) return "The proof for several classes holds for updates that add as much to the true class as they take from its rivals. Choose max, uniform or proportional to see it.";
    if (this.lab.lacking) return "One of the classes has no point, so that its margin is not known. Add a point of it to see the proof.";
    if (certificate?.status === "separable") return "The points can be separated, but the search for a separator u was left out because there are so many numbers.";
    return "The proof compares w with a separator u, and whether there is one is not known.";
  }

  collect(run) {
    if (!run.steps.squeeze || !run.comparator) return;
    const u = run.comparator.weights?.flat(), start = run.start.flat();
    const first = u ? dot(start, u) : 0, size = Math.hypot(...start);
    this.points = [[first, first, size, size]];
    this.at = [0];
    run.steps.squeeze.forEach((four, k) => {
      if (run.steps.moved[k]) { this.points.push(four); this.at.push(run.steps.updates[k]); }
    });
  }

  drawCurves(run) {
    const made = this.at.at(-1) || 1, wide = this.wide.checked && run.bound;
    this.most = wide ? Math.max(made, run.bound * 1.15) : made;
    const last = this.points.at(-1), [a] = this.points;
    const slope = made ? (last[0] - a[0]) / made : 0, growth = made ? (last[3] ** 2 - a[3] ** 2) / made : 0;
    const floor = k => a[0] + slope * k, ceiling = k => Math.sqrt(a[3] ** 2 + growth * k);
    this.top = Math.max(wide ? floor(this.most) : 0, ceiling(this.most), ...this.points.map(one => one[2])) * 1.06 || 1;
    this.low = Math.min(0, ...this.points.map(one => one[0]), ...this.points.map(one => one[1]));
    const x = k => LEFT + k / this.most * (WIDTH - LEFT - RIGHT), y = v => HEIGHT - BOTTOM - (v - this.low) / (this.top - this.low) * (HEIGHT - BOTTOM - TOP);
    this.x = x;
    const marks = [];
    for (const k of ticks(0, this.most, 5)) if (Number.isInteger(k)) marks.push(draw("text", {class: "tick", x: x(k), y: HEIGHT - 6, "text-anchor": k > this.most * 0.92 ? "end" : "middle"}, number(k)));
    for (const v of ticks(this.low, this.top, 4)) {
      marks.push(draw("line", {class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v)}));
      marks.push(draw("text", {class: "tick", x: LEFT - 5, y: y(v) + 4, "text-anchor": "end"}, number(v, 3)));
    }
    const many = Array.from({length: 81}, (_, k) => k * this.most / 80);
    const path = list => list.map(([k, v], n) => `${n ? "L" : "M"}${x(k).toFixed(1)} ${y(v).toFixed(1)}`).join("");
    const grown = [];
    grown.push(draw("path", {class: "between", d: `${path(this.at.map((k, n) => [k, this.points[n][1]]))}${path(this.at.map((k, n) => [k, this.points[n][2]]).reverse()).replace("M", "L")}Z`}));
    marks.push(draw("path", {class: "curve floor", d: path([[0, floor(0)], [this.most, floor(this.most)]])}));
    marks.push(draw("path", {class: "curve ceiling", d: path(many.map(k => [k, ceiling(k)]))}));
    grown.push(draw("path", {class: "curve along", d: path(this.at.map((k, n) => [k, this.points[n][1]]))}));
    grown.push(draw("path", {class: "curve length", d: path(this.at.map((k, n) => [k, this.points[n][2]]))}));
    if (wide) marks.push(draw("line", {class: "bound", x1: x(run.bound), x2: x(run.bound), y1: TOP, y2: HEIGHT - BOTTOM}));
    this.head = draw("line", {class: "head", y1: TOP, y2: HEIGHT - BOTTOM});
    this.dots = NAMES.map(name => draw("circle", {class: `dot ${name}`, r: 4}));
    this.y = y;
    // The curves of the run grow with it; the two bounds are there from the start.
    this.curtain = draw("rect", {x: 0, y: 0, width: 0, height: HEIGHT});
    this.svg.replaceChildren(draw("clipPath", {id: this.clip}, this.curtain), ...marks, draw("g", {"clip-path": `url(#${this.clip})`}, ...grown), this.head, ...this.dots);
  }

  show() {
    const {run, frame} = this.lab;
    if (!run || !this.points) return;
    const k = run.updatesAt(frame);
    let n = 0;
    while (n + 1 < this.at.length && this.at[n + 1] <= k) n++;
    const four = this.points[n];
    this.curtain.setAttribute("width", this.x(this.at[n]) + 2);
    this.head.setAttribute("x1", this.x(this.at[n]));
    this.head.setAttribute("x2", this.x(this.at[n]));
    four.forEach((value, j) => {
      this.values[j].textContent = number(value);
      this.dots[j].setAttribute("cx", this.x(this.at[n]));
      this.dots[j].setAttribute("cy", this.y(value));
    });
    const bound = run.bound ? ` No run in any order can make more than ${atMost(run.bound)}: the lower bound would exceed the upper bound.` : "";
    this.words.textContent = `k = ${k} ${k === 1 ? "update" : "updates"} so far.${bound}`;
    this.svg.setAttribute("aria-label", `After ${k} updates: ${four.map(value => number(value)).join(" ≤ ")}`);
  }
}

// The bound of Winnow in words, with R = max |x_j| and η the learning rate.
function ofWinnow({margin, largest, features, bound}, eta, balanced) {
  const kind = balanced ? "whose absolute values have the sum 1" : "that are positive and have the sum 1";
  if (margin === null) return `The bound of Winnow needs weights ${kind}, with every point on the correct side; there are none for these points.${balanced ? "" : " With “balanced” they may be negative."}`;
  const found = `The best weights ${kind} have the margin γ = ${number(margin)}; the largest |x| is R = ${number(largest)}.`;
  const logCosh = value => value + Math.log1p(Math.exp(-2 * value)) - Math.LN2;
  if (bound !== null) return `${found} So Winnow makes at most ln ${features} / (ηγ − ln cosh ηR) = ${atMost(bound)} ${Math.floor(bound) === 1 ? "mistake" : "mistakes"}, in any order.`;
  const rate = margin / largest ** 2, tuned = Math.log(features) / (rate * margin - logCosh(rate * largest));
  return `${found} The bound of Winnow, ln ${features} / (ηγ − ln cosh ηR), does not hold for η = ${number(eta)}: ηγ must be greater than ln cosh ηR. With η = ${number(rate, 2)} it is about ${number(tuned, 2)}.`;
}

const SAID = {
  separable: ["✓", "Separable", "There is a line with every point strictly on the correct side.", "There are weights with which every point is classified correctly."],
  inseparable: ["✕", "Not separable", "No line classifies all points correctly.", "No weights classify all points correctly."],
  undecided: ["?", "Undecided", "Neither a separator nor a contradiction was found."],
};

export class CertificateCard {
  constructor(lab) {
    this.lab = lab;
    this.body = h("div", {id: unique("certificate")});
    this.wanted = h("input", {type: "checkbox", onchange: () => { lab.setShow("proof", this.wanted.checked); lab.drawCertificate(); }});
    this.element = h("section", {class: "card certificate", "aria-label": "The certificate"}, h("h2", {}, "The certificate"), this.body,
      h("label", {class: "check"}, this.wanted, "draw it in the plane"));
  }

  show() {
    const {certificate} = this.lab;
    if (!certificate) {
      this.body.replaceChildren(h("p", {class: "words"}, this.lab.lacking ? "One of the classes has no point, so that its margin is not known. Add a point of it to get a certificate."
        : "Add points of two classes to get a certificate."));
      return;
    }
    // By default only the proof of inseparability is drawn: a separator would be shown before the run has found one.
    this.wanted.checked = this.lab.state.show.proof ?? certificate.status === "inseparable";
    // A line can be spoken of with two classes in the plane.
    const [mark, title, line, weights] = SAID[certificate.status], {run} = this.lab;
    const said = weights && (certificate.classes.length > 2 || this.lab.data.X[0].length > 2) ? weights : line;
    const facts = [];
    const fact = (name, value) => facts.push(h("dt", {}, name), h("dd", {}, value));
    fact("R", number(certificate.radius));
    if (certificate.status === "separable") {
      const [low, high] = certificate.margin;
      const largest = number(low, 4) === number(high, 4) ? number(low, 4) : `${number(low, 4)} to ${number(high, 4)}`;
      const bias = this.lab.parameter("fit_intercept") !== false;
      fact("γ", `${largest}, the largest margin of any u of length 1${bias ? ", bias included" : ""}`);
      const plain = run?.bound && run.formula === "kγ ≤ ⟨w,u⟩ ≤ ‖w‖ ≤ √k·R" && run.kind !== "dual";
      const bound = plain ? run.bound : certificate.bound;
      if (bound && (!run || PROVED.includes(run.algorithm) || run.kind === "dual")) fact(certificate.classes.length > 2 ? "2(R/γ)²" : "(R/γ)²", `a perceptron from zero weights makes at most ${atMost(bound)} ${Math.floor(bound) === 1 ? "mistake" : "mistakes"}`);
      // Weights that change no score by a thousandth of the margin are written as 0.
      const furthest = (/** @type {number} */ j) => j ? this.lab.data.X.reduce((most, x) => Math.max(most, Math.abs(x[j - 1])), 0) : 1;
      const u = certificate.separator[0].map((value, j) => Math.abs(value) * furthest(j) < 0.001 * low ? 0 : value);
      if (certificate.separator.length === 1) fact("u", vector(u.slice(Number(!bias)), 3));
    } else if (certificate.combination) {
      const points = count(certificate.combination.length, "point");
      fact("proof", {
        hulls: `${points}, weighted, give one point in the convex hulls of both classes`,
        origin: `${points} with weights λ > 0, here ${vector(certificate.combination.map(([, share]) => share), 3)}: Σ λ·y·x is exactly 0, so no w has y <w, x> > 0 for all`,
      }[certificate.common?.kind] ?? `${points}, weighted, add up to exactly 0`);
    }
    this.body.replaceChildren(
      h("p", {class: `verdict ${certificate.status}`}, h("span", {class: "mark", "aria-hidden": "true"}, mark), h("strong", {}, title), ` ${said}`),
      h("dl", {}, ...facts),
      certificate.verified ? h("p", {class: "verified"}, "Checked again in exact integer arithmetic.") : "");
  }
}
