// Cards for what most visitors come for: each sets data, learner and options, and plays.

import {COLOURS, draw, h} from "./dom.js";

const DOTS = {
  two: [[[-3, 2], [-2, -1], [-3.4, -0.4], [-1.4, 1.6]], [[2, -2], [3, 1], [1.6, 0.4], [3.2, -1]]],
  xor: [[[-2.4, 2], [-3, 1.4], [2.4, -2], [3, -1.4]], [[-2.4, -2], [-3, -1.4], [2.4, 2], [3, 1.4]]],
  noisy: [[[-3, 2], [-2, -1], [-3.4, -0.4], [2.2, 1.4]], [[2, -2], [3, 1], [1.6, -0.6], [-2.4, 0.6]]],
};

const line = d => draw("path", {d, class: "card-line"});
const curve = (d, colour) => draw("path", {d, fill: "none", stroke: colour, "stroke-width": 0.35});

const CARDS = [
  {key: "stop", title: "It must stop", said: "the squeeze", picture: () => [curve("M-4 2.6L4 -1", "var(--floor)"), curve("M-4 2.6Q-3 -1.4 4 -2.6", "var(--ceiling)"), curve("M-4 2.6L-1 0.6L1 -0.3L4 -1.6", "var(--length)")],
    state: {preset: "separable", algorithm: "perceptron", parameters: {max_iter: 20}, show: {wide: true}}},
  {key: "xor", title: "XOR fails", said: "and cycles", dots: "xor", picture: () => [line("M-3.4 -3L3.4 3"), line("M-3.4 3L3.4 -3")],
    state: {preset: "cycle", algorithm: "perceptron", parameters: {max_iter: 4, fit_intercept: false, on_zero: "update", init: [0, 0]}, show: {}}},
  {key: "kernel", title: "A kernel", said: "solves XOR", dots: "xor", picture: () => [line("M-4 -0.5Q-0.3 -0.5 -0.3 -3"), line("M4 0.5Q0.3 0.5 0.3 3"), line("M-4 0.5Q-0.3 0.5 -0.3 3"), line("M4 -0.5Q0.3 -0.5 0.3 -3")],
    state: {preset: "xor", algorithm: "kernel", parameters: {max_iter: 10, kernel: "poly", degree: 2}, show: {proof: false}}},
  {key: "committee", title: "A committee", said: "solves XOR", dots: "xor", picture: () => [line("M-4 1.6L1.6 -3"), line("M-1.6 3L4 -1.6"), line("M-4 -2L3 3")],
    state: {preset: "xor", options: {points: 24}, algorithm: "parallel", parameters: {max_iter: 40, n_perceptrons: 5, eta: 0.05, shuffle: true, random_state: 1}, show: {proof: false}}},
  {key: "pocket", title: "Noisy points", said: "the pocket", dots: "noisy", picture: () => [line("M-0.8 -3L0.6 3")],
    state: {preset: "noisy", algorithm: "pocket", parameters: {max_iter: 5, shuffle: true}, show: {proof: false}}},
  {key: "average", title: "Averaging", said: "last, average, vote", dots: "noisy", picture: () => [line("M-0.8 -3L0.6 3"), line("M-2 -3L1.4 3"), line("M0.8 -3L-0.4 3")],
    state: {preset: "noisy", algorithm: "averaged", parameters: {max_iter: 3, shuffle: true}, show: {proof: false}}},
  {key: "rate", title: "Learning rate", said: "with a start", dots: "two", picture: () => [line("M-2.4 -3L-1 3"), line("M-1 -3L0.4 3"), line("M0.4 -3L1.6 3")],
    state: {preset: "separable", algorithm: "perceptron", parameters: {max_iter: 20, eta0: 0.2, init: [0, 4, -2]}, show: {}}},
];

export class Cards {
  constructor(lab) {
    this.lab = lab;
    this.buttons = CARDS.map(card => h("button", {type: "button", class: "idea", "data-card": card.key, onclick: () => lab.useCard(card.state)},
      draw("svg", {viewBox: "-4.4 -3.3 8.8 6.6", "aria-hidden": "true"},
        ...(DOTS[card.dots] ?? []).flatMap((list, k) => list.map(([x, y]) => draw("circle", {cx: x, cy: y, r: 0.5, fill: COLOURS[k]}))), ...card.picture()),
      h("span", {class: "idea-words"}, h("b", {}, card.title), h("span", {}, card.said))));
    this.element = h("section", {class: "ideas", "aria-label": "What to see"}, ...this.buttons);
  }
}
