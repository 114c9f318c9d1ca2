// Exact arithmetic: every finite number is a whole number times a power of two.

/** @typedef {{top: bigint, bottom: bigint}} Fraction */

const view = new DataView(new ArrayBuffer(8));

/** The whole number and the exponent of a finite float. @param {number} value @returns {[bigint, number]} */
function parts(value) {
  if (value === 0) return [0n, 0];
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0), exponent = Number((bits >> 52n) & 0x7ffn);
  let whole = bits & 0xfffffffffffffn, power = exponent ? exponent - 1075 : -1074;
  if (exponent) whole |= 0x10000000000000n;
  while (whole && !(whole & 1n)) { whole >>= 1n; power++; }
  return [value < 0 ? -whole : whole, power];
}

/** Rows of floats as whole numbers times 2**exponent. @param {ArrayLike<number>[]} rows @returns {{whole: bigint[][], exponent: number}} */
export function wholeRows(rows) {
  const read = rows.map(row => Array.from(row, parts));
  let exponent = 0;
  for (const row of read) for (const [whole, power] of row) if (whole) exponent = Math.min(exponent, power);
  return {whole: read.map(row => row.map(([whole, power]) => whole << BigInt(power - exponent))), exponent};
}

/** @param {bigint[]} a @param {bigint[]} b */
export function product(a, b) {
  let sum = 0n;
  for (let j = 0; j < a.length; j++) sum += a[j] * b[j];
  return sum;
}

/** @param {bigint} a @param {bigint} b */
export function gcd(a, b) {
  a = a < 0n ? -a : a;
  b = b < 0n ? -b : b;
  while (b) [a, b] = [b, a % b];
  return a;
}

/** Divide by the greatest common divisor. @param {bigint[]} values */
export function lowest(values) {
  const by = values.reduce(gcd, 0n);
  return by > 1n ? values.map(value => value / by) : values;
}

/** The nearest float of a quotient of whole numbers, up to a few units in the last place. @param {bigint} top @param {bigint} bottom */
export function quotient(top, bottom) {
  if (top === 0n) return 0;
  const sign = (top < 0n) !== (bottom < 0n) ? -1 : 1;
  top = top < 0n ? -top : top;
  bottom = bottom < 0n ? -bottom : bottom;
  const shift = BigInt(Math.max(0, 80 - (top.toString(2).length - bottom.toString(2).length)));
  const whole = (top << shift) / bottom, extra = Math.max(0, whole.toString(2).length - 64);
  return sign * Number(whole >> BigInt(extra)) * 2 ** (extra - Number(shift));
}

/** The whole square root, rounded down. @param {bigint} value */
export function root(value) {
  if (value < 2n) return value;
  let guess = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  for (;;) {
    const next = (guess + value / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}

/** The square root of a quotient as a float. @param {bigint} top @param {bigint} bottom */
export function rootOf(top, bottom) {
  if (top <= 0n) return 0;
  const shift = BigInt(Math.max(0, Math.ceil((140 - top.toString(2).length + bottom.toString(2).length) / 2)));
  return quotient(root((top << (2n * shift)) / bottom), 1n << shift);
}

/** The solution λ of Σ λ_k rows_k = 0 with λ_0 > 0, if the other rows are independent and there is one; else null. @param {bigint[][]} rows */
export function nullCombination(rows) {
  const count = rows.length, width = rows[0].length;
  // Fraction-free elimination on the columns of the matrix whose unknowns are the weights.
  const lines = Array.from({length: width}, (_, j) => rows.map(row => row[j]));
  let previous = 1n, rank = 0;
  /** @type {number[]} */
  const pivots = [];
  for (let c = count - 1; c >= 0 && rank < width; c--) {
    const at = lines.findIndex((line, k) => k >= rank && line[c] !== 0n);
    if (at < 0) continue;
    [lines[rank], lines[at]] = [lines[at], lines[rank]];
    const pivot = lines[rank];
    for (let k = 0; k < width; k++) {
      if (k === rank) continue;
      const by = lines[k][c];
      lines[k] = lines[k].map((value, j) => (pivot[c] * value - by * pivot[j]) / previous);
    }
    previous = pivot[c];
    pivots.push(c);
    rank++;
  }
  const free = Array.from({length: count}, (_, k) => k).filter(k => !pivots.includes(k));
  if (free.length !== 1) return null;
  const weights = rows.map(() => 0n);
  weights[free[0]] = previous;
  pivots.forEach((c, k) => { weights[c] = -lines[k][free[0]] * previous / lines[k][c]; });
  const signed = weights.some(value => value < 0n) ? weights.map(value => -value) : weights;
  return signed.every(value => value >= 0n) ? lowest(signed) : null;
}
