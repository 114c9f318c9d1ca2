// The pseudocode of a run as it is: with its options, its starting weights, and for two classes or many.

import {number, vector} from "./dom.js";

const FAMILY = ["perceptron", "averaged", "voted", "pocket", "margin"];

const line = (text, indent, role) => ({text, indent, role});

// `many`: three or more classes; `bias`: whether the first starting weight is that of the bias.
export function ruleLines(learner, parameters, many) {
  const options = {...Object.fromEntries(learner.parameters.map(one => [one.name, one.default])), ...parameters};
  if (learner.name === "kernel") return kernel(options, many);
  return FAMILY.includes(learner.name) ? family(learner.name, options, many) : other(learner, options, many);
}

const KERNELS = {
  poly: ({gamma, coef0, degree}) => `(${gamma} <x, z> + ${number(coef0)})^${number(degree)}`, rbf: ({gamma}) => `exp(−${gamma} ‖x − z‖²)`,
  sigmoid: ({gamma, coef0}) => `tanh(${gamma} <x, z> + ${number(coef0)})`, linear: () => "<x, z>",
};

// The perceptron in the space of a kernel: it keeps a coefficient of each example instead of w.
function kernel(options, many) {
  const gamma = options.gamma === null ? "gamma" : number(options.gamma), own = {...options, gamma};
  const lines = [line(`k(x, z) = ${KERNELS[options.kernel](own)} = <φ(x), φ(z)>`, 0, "start"), line(many ? "a_k,i = 0 for every class k and example i" : "a_i = 0 for every example i", 0, "start"), line(taken(options), 0, "take")];
  if (!many) {
    lines.push(line("s = Σ a_i k(x_i, x) = <w, φ(x)>", 1, "decide"), line("predict the sign of s", 1, "decide"), line(condition("y s", "s = 0 and y = −1", options, 0), 1, "decide"),
      line("a of this example = a + y, so w = w + y φ(x)", 2, "update"));
    return lines;
  }
  lines.push(line("s_k = Σ a_k,i k(x_i, x) for every class k", 1, "decide"), line("predict the class k with the highest s_k", 1, "decide"));
  if (options.multiclass === "ovr") {
    lines.push(line("for every class k, with y_k = +1 if k is y, else −1:", 1, "decide"), line(condition("y_k s_k", "s_k = 0 and y_k = −1", options, 0), 2, "decide"), line("a_k of this example = a_k + y_k", 3, "update"));
    return lines;
  }
  return [...lines, line("r = the other class with the highest s_r", 1, "decide"), line(condition("s_y − s_r", "it is 0 and r comes before y", options, 0), 1, "decide"),
    line("a_y of this example = a_y + 1", 2, "update"), line({max: "a_r = a_r − 1", all: "a_k = a_k − 1 for every other class k", uniform: "a_k = a_k − 1 / m for the m other classes with s_k >= s_y",
      proportional: "a_k = a_k − p_k, where p_k is the share of s_k − s_y in their sum"}[options.multiclass], 2, "update")];
}

function starting(options, many, usual) {
  const {init} = options;
  if (!init) return many ? `w_k = ${usual} for every class k` : `w = ${usual}`;
  return Array.isArray(init[0]) ? init.map((row, k) => `w_${k + 1} = ${vector(row)}`).join(", ") : `w = ${vector(init)}`;
}

const taken = ({shuffle}) => shuffle === "replacement" ? "for each example (x, y), drawn at random:" : shuffle ? "for each example (x, y), in random order:" : "for each example (x, y):";

function family(name, options, many) {
  const eta = options.eta0 === 1 ? "" : `${number(options.eta0)} `, b = name === "margin" ? options.b : 0;
  const counted = name === "voted" || name === "averaged", lines = [];
  lines.push(line(`${starting(options, many, "0")}${counted ? ", c = 0" : ""}`, 0, "start"), line(taken(options), 0, "take"));
  lines.push(line(many ? "predict the class k with the highest <w_k, x>" : "predict the sign of <w, x>", 1, "decide"));
  const separate = many && options.multiclass === "ovr";
  lines.push(...separate ? oneByOne(options, eta, b) : many ? together(options, eta, b) : [line(condition("y <w, x>", "<w, x> = 0 and y = −1", options, b), 1, "decide"), line(`w = w + ${eta}y x`, 2, "update")]);
  if (counted) {
    const updates = lines.findIndex(one => one.role === "update");
    lines.splice(updates, 0, line(name === "voted" ? "keep w with its count c" : "S = S + c w", 2, "update"));
    lines.push(line("c = 0", 2, "update"), line("c = c + 1", 1, "decide"));
    lines.push(line(name === "voted" ? (many ? "answer: the class that gets most votes, c from each kept w" : "answer: the sign of Σ c sign(<w, x>) over all kept w") : many ? "answer: the class with the highest score of S + c w" : "answer: the sign of <S + c w, x>", 0, "answer"));
    if (name === "averaged") lines[0].text += ", S = 0";
  }
  if (name === "pocket") {
    lines.push(line("if w was right more often in a row than the pocket:", 1, "keep"), line("if w has fewer mistakes on all examples:", 2, "keep"),
      line("put w in the pocket", 3, "keep"), line("answer: the sign of <pocket, x>", 0, "answer"));
    if (many) lines.at(-1).text = "answer: the class with the highest score of the pocket";
  }
  return lines;
}

function condition(product, tie, {on_zero: zero}, b) {
  if (b > 0) return `if ${product} <= ${number(b)}:`;
  return zero === "keep" ? `if ${product} < 0:` : zero === "positive" ? `if ${product} < 0, or ${tie}:` : `if ${product} <= 0:`;
}

function together(options, eta, b) {
  const lead = condition("<w_y, x> − <w_r, x>", "it is 0 and r comes before y", options, b);
  const lines = [line("r = the other class with the highest <w_r, x>", 1, "decide"), line(lead, 1, "decide"), line(`w_y = w_y + ${eta}x`, 2, "update")];
  const rivals = {
    max: `w_r = w_r − ${eta}x`, all: `w_k = w_k − ${eta}x for every other class k`,
    uniform: `w_k = w_k − ${eta}x / m for the m other classes with <w_k, x> >= <w_y, x>`,
    proportional: `w_k = w_k − ${eta}p_k x, where p_k is the share of <w_k, x> − <w_y, x> in their sum`,
  };
  return [...lines, line(rivals[options.multiclass], 2, "update")];
}

function oneByOne(options, eta, b) {
  return [line("for every class k, with y_k = +1 if k is y, else −1:", 1, "decide"), line(condition("y_k <w_k, x>", "<w_k, x> = 0 and y_k = −1", options, b), 2, "decide"), line(`w_k = w_k + ${eta}y_k x`, 3, "update")];
}

// Other learners: the pseudocode of their source, with what was chosen.
function other(learner, options, many) {
  let lines = learner.code.map(one => ({...one}));
  const change = (from, to) => { for (const one of lines) one.text = one.text.replace(from, to); };
  if (learner.name === "winnow" && options.balanced) {
    change("w = 1", "w = 0, as w⁺ = 1 and w⁻ = 1");
    change(/^w_j = .*/, "w⁺_j = w⁺_j exp(eta y x_j),  w⁻_j = w⁻_j exp(−eta y x_j),  w_j = w⁺_j − w⁻_j");
  }
  if (options.init) change(/^w = [01]/, starting(options, many, "0"));
  if (learner.name === "passive-aggressive") {
    change(/^tau = .*/, {PA: "tau = loss / ‖x‖²", "PA-I": "tau = min(C, loss / ‖x‖²)", "PA-II": "tau = loss / (‖x‖² + 1 / (2C))"}[options.variant]);
  }
  if (learner.name === "romma") change(/^if y <w, x> <= 0.*/, options.variant === "aggressive" ? "if y <w, x> < 1:" : condition("y <w, x>", "<w, x> = 0 and y = −1", options, 0));
  if (learner.name === "batch") {
    if (options.variant !== "average") change(", divided by the number of examples", "");
    if (options.variant === "line-search") change("w + alpha Δ", "w + a Δ, where a lowers Σ max(0, −y <w, x>) most");
    change("y <w, x> <= 0", condition("y <w, x>", "<w, x> = 0 and y = −1", options, 0).slice(3, -1));
  }
  if (learner.parameters.some(one => one.name === "shuffle")) change(/^for each example \(x, y\):$/, taken(options));
  const text = lines.map(one => one.text).join(" ");
  const used = learner.parameters.filter(one => typeof options[one.name] === "number" && new RegExp(`(^|[^\\w])${one.name}([^\\w]|$)`).test(text));
  if (used.length) lines.unshift(line(used.map(one => `${one.name} = ${number(options[one.name])}`).join(", "), 0, "start"));
  if (many && learner.name !== "parallel") {
    lines.push(line(options.multiclass === "ovr" ? "for several classes: one such w for every class against the rest"
      : "for several classes: y <w, x> is the lead of the true class over its rivals, x is added to its w and taken from theirs", 0, "note"));
  }
  return lines;
}
