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

/** @param {string} product @param {string} tie @param {Record<string, any>} options @param {number} b */
function condition(product, tie, {on_zero: zero}, b) {
  if (b > 0) return `if ${product} <= ${number(b)}:`;
  return zero === "keep" ? `if ${product} < 0:` : zero === "positive" ? `if ${product} < 0, or ${tie}:` : `if ${product} <= 0:`;
}

function together(options, eta, b) {
  const lead = condition("<w_y, x> − <w_r, x>", "it is 0 and r comes before y", options, b);
  const lines = [line("r = the other class with the highest <w_r, x>", 1, "decide"), line(lead, 1, "decide"), line(`w_y = w_y + ${eta}x`, 2, "update")];
  const rivals = {
    max: `w_r = w_r − ${eta}x`, all: `w_k = w_k − ${eta}x for every other class k`,
    uniform: b > 0 ? `w_k = w_k − ${eta}x / m for r and all with <w_k, x> >= <w_y, x>, m in all` : `w_k = w_k − ${eta}x / m for the m other classes with <w_k, x> >= <w_y, x>`,
    proportional: `w_k = w_k − ${eta}p_k x, where p_k is the share of <w_k, x> − <w_y, x> in their sum`,
  };
  return [...lines, line(rivals[options.multiclass], 2, "update")];
}

function oneByOne(options, eta, b) {
  return [line("for every class k, with y_k = +1 if k is y, else −1:", 1, "decide"), line(condition("y_k <w_k, x>", "<w_k, x> = 0 and y_k = −1", options, b), 2, "decide"), line(`w_k = w_k + ${eta}y_k x`, 3, "update")];
}

// The other learners. Their rules are written once, in terms of the margin m, the direction z of the update, and w: for two classes
// y <w, x>, y x and w; for several together a lead and a vector of all classes; one by one those of a class.

const TOGETHER = {
  max: "z = x for the class y, −x for the top rival, 0 for the others", all: "z = x for the class y, −x for every other class",
  uniform: "z = x for the class y, −x / q for each of its q rivals: the top rival, and all with a score of at least <w_y, x>",
  proportional: "z = x for the class y, −p_k x for its rivals: p_k is the share of <w_k, x> − <w_y, x> in their sum",
};

/** @typedef {{m: string, z: string, zj: string, w: string, sigma: string, wj: string, sj: string, long: string, when: string, tie: string, options: Record<string, any>}} Terms */
/** @type {Terms} */
const TWO = {m: "y <w, x>", z: "y x", zj: "y x_j", w: "w", wj: "w_j", sigma: "Σ", sj: "σ_j", long: "‖x‖", when: "y <w, x>", tie: "<w, x> = 0 and y = −1", options: {}};
/** @type {Terms} */
const SEVERAL = {...TWO, m: "m", z: "z", zj: "z_j", long: "‖z‖", when: "m", tie: "m = 0 and the top rival comes before y"};
/** @type {Terms} */
const ONE = {m: "y_k <w_k, x>", z: "y_k x", zj: "y_k x_j", w: "w_k", wj: "w_k,j", sigma: "Σ_k", sj: "σ_k,j", long: "‖x‖", when: "y_k <w_k, x>", tie: "<w_k, x> = 0 and y_k = −1", options: {}};

// What a rule with variances does after it has found alpha and beta. A variance of each weight, or the matrix of all.
const spread = (t, decide) => {
  const full = t.options.covariance === "full", x = t.z === "z" ? "z" : "x", block = full && t.z === "z" ? ", within each class" : "";
  const moves = full ? [`${t.w} = ${t.w} + alpha ${t.sigma} ${t.z}`, `${t.sigma} = ${t.sigma} − beta ${t.sigma} ${x} (${t.sigma} ${x})ᵀ${block}`]
    : [`${t.wj} = ${t.wj} + alpha ${t.sj} ${t.zj} for every j`, `${t.sj} = ${t.sj} − beta (${t.sj} ${x}_j)² for every j`];
  const [test, ...values] = decide;
  return [line(full ? `v = ${x}ᵀ ${t.sigma} ${x}` : `v = sum of ${t.sj} ${x}_j²`, 0, "decide"), line(test, 0, "decide"), ...values.map(text => line(text, 1, "update")), ...moves.map(text => line(text, 1, "update"))];
};
const variances = (first, inverse = "") => ({covariance}, many) => covariance === "full" ? `${many ? "Σ_k" : "Σ"} = ${inverse ? `I / ${inverse}` : "I"}` : `${many ? "σ_k,j" : "σ_j"} = ${inverse ? `1 / ${inverse}` : first} for every j`;

// A rule that scales w, in which the score of z has the place of the lead; with "all", the lead has the place of that score.
const scaled = rule => t => {
  if (t.z !== "z") return rule(t);
  const all = t.options.multiclass === "all", own = all || t.options.multiclass === "max" ? t : {...t, when: "<w, z>", tie: "<w, z> = 0 and the top rival comes before y"};
  return [...rule(own), ...all ? [line("in this step, m has the place of <w, z>", 1, "update")] : []];
};

// What is set at the start besides w, and the lines for an example, from the terms above.
/** @type {Record<string, {usual?: (options: any) => string, start?: (options: any, many: boolean) => string, rule: (t: Terms) => any[]}>} */
const RULES = {
  "passive-aggressive": {
    rule: t => {
      const square = t.z === "z" ? {max: "2 ‖x‖²", all: "2 ‖x‖²", uniform: "(1 + 1 / q) ‖x‖²", proportional: "(1 + p of the top rival) ‖x‖²"}[t.options.multiclass] : "‖x‖²";
      const tau = {PA: `loss / (${square})`, "PA-I": `min(C, loss / (${square}))`, "PA-II": `loss / (${square} + 1 / (2C))`}[t.options.variant];
      return [line(`loss = max(0, 1 − ${t.m})`, 0, "decide"), line(`tau = ${tau.replace("(‖x‖²)", "‖x‖²")}`, 0, "decide"), line(`${t.w} = ${t.w} + tau ${t.z}`, 0, "update")];
    },
  },
  winnow: {
    usual: ({balanced}) => balanced ? "0" : "1", start: ({balanced}, many) => balanced ? `always ${many ? "w_k,j = exp(v_k,j) − exp(−v_k,j)" : "w_j = exp(v_j) − exp(−v_j)"}` : "",
    rule: t => [line(condition(t.when, t.tie, t.options, 0), 0, "decide"), line(t.options.balanced ? `${t.wj.replace("w", "v")} = ${t.wj.replace("w", "v")} + eta ${t.zj} for every feature j` : `${t.wj} = ${t.wj} exp(eta ${t.zj}) for every feature j`, 1, "update")],
  },
  alma: {
    start: ({multiclass}, many) => many && multiclass === "ovr" ? "t_k = 1" : "t = 1",
    rule: scaled((t, count = t.w.replace("w", "t")) => [line(`if ${t.when} <= (1 − alpha) B / √${count} ${t.long}:`, 0, "decide"), line(`${t.w} = ${t.w} + C / √${count} ${t.z} / ${t.long}`, 1, "update"), line(`${t.w} = ${t.w} / max(1, ‖${t.w}‖)`, 1, "update"), line(`${count} = ${count} + 1`, 1, "update")]),
  },
  romma: {
    rule: scaled(t => [line(t.options.variant === "aggressive" ? `if ${t.when} < 1:` : condition(t.when, t.tie, t.options, 0), 0, "decide"),
      line(`${t.w} = the shortest w' with ${t.z === "z" ? "<w', z>" : t.m.replace(t.w, "w'")} >= 1 and <w', ${t.w}> >= ‖${t.w}‖²`, 1, "update")]),
  },
  arow: {start: variances("1"), rule: t => spread(t, [`if ${t.m} < 1:`, `beta = 1 / (v + r), alpha = (1 − ${t.m}) beta`])},
  nherd: {start: variances("1"), rule: t => spread(t, [`if ${t.m} < 1:`, `c = 1 / (v + 1 / C), alpha = (1 − ${t.m}) c, beta = c (2 − c v)`])},
  "second-order": {start: variances("1", "a"), rule: t => spread(t, [condition(t.when, t.tie, t.options, 0), `beta = 1 / (v + 1), alpha = (1 − ${t.m}) beta`])},
  cw: {
    start: variances("1"),
    rule: t => named(t, spread(t, ["if m < phi v:", "alpha = (−(1 + 2 phi m) + √((1 + 2 phi m)² − 8 phi (m − phi v))) / (4 phi v)", "beta = 2 alpha phi / (1 + 2 alpha phi v)"])),
  },
  "soft-confidence-weighted": {
    start: variances("1"),
    rule: t => named(t, spread(t, ["if m < phi √v:", ...t.options.variant === "SCW-II"
      ? ["n = v + 1 / (2C)", "alpha = max(0, (phi √(phi² m² v² + 4 n v (n + phi² v)) − m (2 n + phi² v)) / (2 n (n + phi² v)))"]
      : ["alpha = min(C, (phi √(phi² m² / 4 + v (1 + phi²)) − m (1 + phi² / 2)) / (v (1 + phi²)))"],
    "d = (√((alpha phi v)² + 4 v) − alpha phi v) / 2", "beta = alpha phi / (d + alpha phi v)"])),
  },
};

const STACKED = "w: the w_k of all classes in one vector";

// Rules that use the margin often give it a name.
const named = (t, lines) => t.m === "m" ? lines : [line(`m = ${t.m}`, 0, "decide"), ...lines];

const indented = (lines, by) => lines.map(one => ({...one, indent: one.indent + by}));

function other(learner, options, many) {
  const lines = learner.name === "batch" ? batch(options, many) : learner.name === "parallel" ? parallel(options) : RULES[learner.name] ? online(RULES[learner.name], options, many) : documented(learner, options, many);
  const text = lines.map(one => one.text).join(" ");
  const used = learner.parameters.filter(one => typeof options[one.name] === "number" && new RegExp(`(^|[^A-Za-z_])${one.name}([^\\w]|$)`).test(text)).map(one => `${one.name} = ${number(options[one.name])}`);
  if (learner.name === "alma" && options.B === null) used.push(`B = √8 / alpha = ${number(Math.sqrt(8) / options.alpha)}`);
  return used.length ? [line(used.join(", "), 0, "start"), ...lines] : lines;
}

function online({usual = _ => "0", start = (..._) => "", rule}, options, many) {
  const separate = many && options.multiclass === "ovr", more = start(options, many);
  const lines = [line([starting(options, many, usual(options)), more].filter(Boolean).join(", "), 0, "start"), line(taken(options), 0, "take")];
  if (many && !separate) lines.splice(1, 0, line(STACKED, 0, "start"));
  lines.push(line(many ? "predict the class k with the highest <w_k, x>" : "predict the sign of <w, x>", 1, "decide"));
  if (separate) return [...lines, line("for every class k, with y_k = +1 if k is y, else −1:", 1, "decide"), ...indented(rule({...ONE, options}), 2)];
  if (!many) return [...lines, ...indented(rule({...TWO, options}), 1)];
  return [...lines, line("m = <w_y, x> − the highest score of another class, its top rival", 1, "decide"), line(TOGETHER[options.multiclass], 1, "decide"), ...indented(rule({...SEVERAL, options}), 1)];
}

function batch(options, many) {
  const separate = many && options.multiclass === "ovr", t = separate ? ONE : many ? SEVERAL : TWO, delta = separate ? "Δ_k" : "Δ";
  const lines = [line(starting(options, many, "0"), 0, "start"), ...many && !separate ? [line(STACKED, 0, "start")] : [], line("repeat:", 0, "take")];
  const wrong = condition(t.when, t.tie, options, 0).slice(3, -1);
  if (separate) lines.push(line(`${delta} = Σ ${t.z} over the examples with ${wrong}, for every class k, with y_k = +1 if k is y, else −1`, 1, "decide"));
  else if (many) {
    lines.push(line("m = <w_y, x> − the highest score of another class, its top rival", 1, "decide"), line(TOGETHER[options.multiclass], 1, "decide"), line(`Δ = Σ z over the examples with ${wrong}`, 1, "decide"));
  } else lines.push(line(`Δ = Σ y x over the examples with ${wrong}`, 1, "decide"));
  const by = {average: "alpha Δ / N, with N examples", "fixed-increment": "alpha Δ", "line-search": `a Δ, where a lowers Σ max(0, −${t.m}) most`}[options.variant].replace("Δ", delta);
  return [...lines, line(`${t.w} = ${t.w} + ${by}`, 1, "update"), line(`until ‖Δ‖${options.variant === "fixed-increment" ? "" : " / N"} < epsilon`, 0, "answer")];
}

const parallel = options => [
  line(`w_1 … w_${number(options.n_perceptrons)} random`, 0, "start"), line(taken(options), 0, "take"), line("predict the majority of the signs of <w_i, x>", 1, "decide"), line("for each i, with own = y <w_i, x>:", 1, "decide"),
  line("the majority is wrong and so is i: step = eta", 2, "decide"), line("i is right, but own < gamma: step = eta mu", 2, "decide"), line("the majority is right, i wrong, but own > −gamma: step = −eta mu", 2, "decide"),
  line("after a step: w_i = w_i / max(½, 1 + eta (‖w_i‖² − 1)) + step y x", 2, "update"),
];

// A rule that is new in the library: the pseudocode of its source.
function documented(learner, options, many) {
  const lines = learner.code.map(one => ({...one, text: one.text.replace(/^for each example \(x, y\):$/, taken(options))}));
  if (options.init) for (const one of lines) one.text = one.text.replace(/^w = [01]/, starting(options, many, "0"));
  if (many) {
    lines.push(line(options.multiclass === "ovr" ? "for several classes: one such w for every class against the rest"
      : "for several classes: the margin is the lead of the true class over its top rival, and w has the weights of all classes", 0, "note"));
  }
  return lines;
}
