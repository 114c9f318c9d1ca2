// Numbers as Python writes them.

/** Round to the nearest whole number; halves to the even one. @param {number} value */
export function halfEven(value) {
  const low = Math.floor(value), rest = value - low;
  if (rest < 0.5) return low;
  if (rest > 0.5) return low + 1;
  return low % 2 === 0 ? low : low + 1;
}

/** As `repr` of a float. @param {number} value */
export function repr(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [digits, power] = value.toExponential().split("e"), exponent = Number(power);
  if (exponent >= 16 || exponent < -4) return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  if (Number.isInteger(value)) return `${BigInt(value)}.0`;
  if (exponent >= 0) return String(value);
  const sign = value < 0 ? "-" : "";
  return `${sign}0.${"0".repeat(-exponent - 1)}${digits.replace("-", "").replace(".", "")}`;
}

/** As the format `.{digits}g`. @param {number} value @param {number} digits */
function general(value, digits) {
  let [mantissa, power] = value.toExponential(digits - 1).split("e");
  const long = value.toExponential(60).split("e");
  // Python rounds a number half-way between two to the even digit, and JavaScript away from 0.
  const [kept, dropped] = [long[0].slice(0, mantissa.length), long[0].slice(mantissa.length).replace(".", "")];
  if (/^50*$/.test(dropped) && long[1] === power && Number(kept.at(-1)) % 2 === 0) mantissa = kept;
  const exponent = Number(power);
  const trimmed = (/** @type {string} */ text) => text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  if (exponent < -4 || exponent >= digits) return `${trimmed(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  const figures = mantissa.replace("-", "").replace(".", ""), sign = value < 0 ? "-" : "";
  if (exponent < 0) return trimmed(`${sign}0.${"0".repeat(-exponent - 1)}${figures}`);
  return trimmed(`${sign}${figures.slice(0, exponent + 1)}.${figures.slice(exponent + 1)}`);
}

const DUST = 1e-14;

// A whole number without a point, others with some significant digits. `size` is the magnitude of the terms of a sum: what rounding
// leaves of a sum that is exactly 0 is shown as 0.
/** @param {number} value @param {number} digits @param {number} size */
export function number(value, digits = 6, size = 0) {
  if (Math.abs(value) <= DUST * size) return "0";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  return general(value, digits);
}

/** A value as Python code. @param {any} value @returns {string} */
export function python(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : repr(value);
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  const text = String(value), quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inner = text.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`).replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
  return `${quote}${inner}${quote}`;
}

/** Labels in the order of Python: numbers by value, texts by code point. @param {any} a @param {any} b */
export function order(a, b) {
  if (typeof a === "number") return a - b;
  const [p, q] = [[...a], [...b]];
  for (let k = 0; k < Math.min(p.length, q.length); k++) {
    const by = /** @type {number} */ (p[k].codePointAt(0)) - /** @type {number} */ (q[k].codePointAt(0));
    if (by) return by;
  }
  return p.length - q.length;
}
