// Helpers: elements, formatted numbers, files, the clipboard.

export const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"];

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined));
  return element;
}

export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

let counter = 0;
export const unique = name => `rosenblatt-${name}-${++counter}`;

// Whole numbers without a point, others with the given number of significant digits, as in the tables of the library.
export function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value).replace("-", "−");
  const rounded = Number(value.toPrecision(digits)), size = Math.abs(rounded);
  const text = size >= 1e6 || size < 1e-4 ? rounded.toExponential().replace("e+", "e") : String(rounded);
  return text.replaceAll("-", "−");
}

// Entries that differ from 0 only by rounding are written as 0.
const dusted = values => {
  const dust = 1e-13 * Math.max(...values.map(Math.abs));
  return values.map(value => Math.abs(value) < dust ? 0 : value);
};

export const vector = (values, digits = 4) => plainVector(dusted(Array.from(values)), digits);

const plainVector = (values, digits) => values.length > 8
  ? `(${values.slice(0, 6).map(v => number(v, digits)).join(", ")}, … ${values.length - 7} more …, ${number(values.at(-1), digits)})`
  : `(${values.map(v => number(v, digits)).join(", ")})`;

export const label = value => value === 1 ? "+1" : typeof value === "number" ? number(value) : String(value);

// A bound on a number of mistakes as a whole number; rounding errors of the bound must not make it smaller.
export const atMost = bound => Math.floor(bound * (1 + 1e-9)).toLocaleString("en");

export const count = (amount, one, many = `${one}s`) => `${amount.toLocaleString("en")} ${amount === 1 ? one : many}`;

const corners = (n, turn, inner) => Array.from({length: 2 * n}, (_, k) => {
  const angle = turn + k * Math.PI / n, size = k % 2 ? inner : 1;
  return `${(size * Math.sin(angle)).toFixed(3)} ${(-size * Math.cos(angle)).toFixed(3)}`;
}).join("L");
const CIRCLE = "M.88 0A.88.88 0 1 1-.88 0A.88.88 0 1 1 .88 0Z";
// Classes differ in shape as well as in colour.
export const SHAPES = [
  CIRCLE, `M${corners(4, Math.PI / 4, Math.SQRT1_2)}Z`, `M${corners(3, 0, 0.5)}Z`, `M${corners(4, 0, Math.SQRT1_2)}Z`,
  `M${corners(3, Math.PI, 0.5)}Z`, `M${corners(4, 0, 0.45)}Z`, `M${corners(5, 0, 0.4)}Z`,
];

export const symbol = code => draw("svg", {viewBox: "-1.25 -1.25 2.5 2.5", class: "symbol", "aria-hidden": "true"},
  draw("path", {d: SHAPES[code], fill: COLOURS[code]}));

export function download(name, blob) {
  const link = h("a", {href: URL.createObjectURL(blob), download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The frame of a notebook may not have access to the clipboard; the older method works there.
    const area = h("textarea", {"aria-hidden": "true"});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function debounce(delay, action) {
  let timer = null;
  const later = (...given) => { clearTimeout(timer); timer = setTimeout(() => { timer = null; action(...given); }, delay); };
  later.stop = () => { clearTimeout(timer); timer = null; };
  later.waiting = () => timer !== null;
  return later;
}

// Requests as messages: each has a number, which comes back with its answer or error.
/** @param {(message: {id: number, name: string, body: any}) => void} send */
export function correspond(send) {
  const waiting = new Map();
  let last = 0;
  return {
    request: (name, body) => new Promise((take, refuse) => {
      waiting.set(++last, {take, refuse});
      send({id: last, name, body});
    }),
    receive: ({id, answer, error}) => {
      const one = waiting.get(id);
      waiting.delete(id);
      if (error) one?.refuse(new Error(error)); else one?.take(answer);
    },
  };
}

// Resolves when the next picture is on the screen; a page that is not shown has no pictures, and waits a second.
export const painted = () => new Promise(done => {
  requestAnimationFrame(() => setTimeout(done));
  setTimeout(done, 1000);
});

export const rgb = hex => [1, 3, 5].map(k => parseInt(hex.slice(k, k + 2), 16));
