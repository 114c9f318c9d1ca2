// The largest margin of weights on the simplex, for the bound of Winnow, as `rosenblatt.theory.simplex`.

const TINY = 1e-11;

/** @typedef {{margin: number | null, largest: number, features: number, bound: number | null}} WinnowBound */

/** @param {number[][]} X @param {boolean[]} positive @param {number} rate @param {boolean} balanced @param {boolean} bias @returns {WinnowBound} */
export function winnowBound(X, positive, rate, balanced, bias) {
  const rows = X.map((x, i) => {
    const row = (bias ? [1, ...x] : x).map(value => positive[i] ? value : -value);
    return balanced ? [...row, ...row.map(value => -value)] : row;
  });
  const features = rows[0].length, largest = rows.reduce((most, row) => Math.max(most, ...row.map(Math.abs)), 0);
  const margin = simplexMargin(rows), gain = margin === null ? 0 : rate * margin - logCosh(rate * largest);
  return {margin, largest, features, bound: gain > 0 ? Math.log(features) / gain : null};
}

/** @param {number} value */
const logCosh = value => value + Math.log1p(Math.exp(-2 * value)) - Math.LN2;

// The largest γ with ⟨u, row⟩ ≥ γ for all rows and one u ≥ 0 with sum 1. It is 1 / max Σ λ for λ ≥ 0 with Σ λ_i row_i ≤ 1, which the
// simplex method finds from λ = 0; Bland's choice of the columns cannot cycle.
/** @param {number[][]} rows @returns {number | null} null if it is not greater than 0 */
function simplexMargin(rows) {
  const count = rows.length, width = rows[0].length, end = count + width;
  const table = Array.from({length: width}, (_, j) => Float64Array.from({length: end + 1}, (_, k) => k < count ? rows[k][j] : Number(k === count + j || k === end)));
  const goal = Float64Array.from({length: end + 1}, (_, k) => k < count ? 1 : 0), basis = Array.from({length: width}, (_, j) => count + j);
  for (;;) {
    const column = goal.findIndex((value, k) => k < end && value > TINY);
    if (column < 0) return -1 / goal[end];
    let pivot = -1;
    table.forEach((row, j) => {
      if (row[column] <= TINY) return;
      const by = pivot < 0 ? -1 : row[end] / row[column] - table[pivot][end] / table[pivot][column];
      if (by < 0 || (by === 0 && basis[j] < basis[pivot])) pivot = j;
    });
    if (pivot < 0) return null;
    const chosen = table[pivot], size = chosen[column];
    for (let k = 0; k <= end; k++) chosen[k] /= size;
    for (const row of [...table, goal]) {
      const by = row[column];
      if (row === chosen || !by) continue;
      for (let k = 0; k <= end; k++) row[k] -= by * chosen[k];
    }
    basis[pivot] = column;
  }
}
