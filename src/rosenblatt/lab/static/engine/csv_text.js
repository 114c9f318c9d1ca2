// Points and labels from a pasted or dropped table, as `rosenblatt.lab.csv_text`.

import {python} from "./text.js";

const MISSING = ["", "NA", "N/A", "NaN", "nan", "na", "n/a", "null", "NULL", "None", "none", "?"];
const NUMBER = /^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/;
const INFINITE = /^\s*[+-]?inf(inity)?\s*$/i;
const LABEL_NAMES = ["label", "target", "class", "y"];

/** @param {string[]} values */
function kindOf(values) {
  const present = values.filter(value => !MISSING.includes(value.trim()));
  const finite = present.filter(value => !INFINITE.test(value));
  return finite.length > 0 && finite.every(value => NUMBER.test(value)) ? "number" : "other";
}

/** Records of fields and their first lines; a field in quotes may contain delimiters and line ends. @param {string} text @param {string} delimiter @param {boolean} quoted @returns {[number, string[]][]} */
function split(text, delimiter, quoted) {
  /** @type {[number, string[]][]} */
  const records = [];
  /** @type {string[]} */
  let fields = [];
  let field = "", inside = false, fresh = true, line = 1, from = 1;
  const end = () => {
    fields.push(field);
    if (fields.length > 1 || fields[0] !== "") records.push([from, fields]);
    fields = [];
    field = "";
    fresh = true;
    from = line + 1;
  };
  for (let k = 0; k < text.length; k++) {
    const sign = text[k];
    if (inside) {
      if (sign === '"' && text[k + 1] === '"') { field += '"'; k++; } else if (sign === '"') inside = false;
      else { field += sign; if (sign === "\n") line++; }
    } else if (sign === '"' && quoted && fresh) { inside = true; fresh = false; } else if (sign === delimiter) { fields.push(field); field = ""; fresh = true; } else if (sign === "\n" || sign === "\r") {
      if (sign === "\r" && text[k + 1] === "\n") k++;
      end();
      line++;
    } else { field += sign; fresh = false; }
  }
  if (field !== "" || fields.length) end();
  return records;
}

/** @param {string} text */
function delimiterOf(text) {
  const lines = text.split("\n").slice(0, 20), first = (lines.length > 1 ? lines.slice(0, -1) : lines).join("\n");
  let best = ",", most = 1;
  for (const sign of [",", "\t", ";", "|"]) {
    const widths = new Set(split(first, sign, true).map(([, row]) => row.length));
    const [width] = widths;
    if (widths.size === 1 && width > most) [best, most] = [sign, width];
  }
  return best;
}

/** @param {string} text @param {string} delimiter */
function isQuoted(text, delimiter) {
  if (delimiter !== "\t") return true;
  return !text.split("\n").slice(0, 5000).some(line => line.replace(/\r$/, "").split(delimiter).some(field => field.startsWith('"') && (field.length < 2 || !field.endsWith('"'))));
}

/** @param {string[]} first @param {string[][]} columns @param {string[]} kinds */
function isHeader(first, columns, kinds) {
  const counted = (/** @type {number} */ from) => first.length > 1 && first.every((cell, k) => cell === String(k + from));
  if (counted(0) || counted(1)) return true;
  if (first.some(cell => NUMBER.test(cell)) || (first.length === 1 && first[0] === "")) return false;
  if (new Set(first).size < first.length) return first.some((cell, k) => kinds[k] === "number" && !MISSING.includes(cell));
  if (kinds.includes("number") || first.some(cell => LABEL_NAMES.includes(cell.toLowerCase()))) return true;
  const repeating = first.map((cell, k) => ({cell, values: new Set(columns[k]), size: columns[k].length})).filter(one => one.values.size <= one.size / 2);
  return repeating.length > 0 && repeating.every(one => !one.values.has(one.cell));
}

/** @param {string} text @returns {{header: string[], rows: string[][], numeric: number[]}} */
function table(text) {
  text = text.replace(/^[\ufeff\r\n]+/, "");
  if (!/[,;\t|]/.test(text.split("\n")[0])) {
    throw new Error("A CSV must have at least two columns, separated by commas, semicolons or tabs; the first line has one. Put commas between the fields.");
  }
  const delimiter = delimiterOf(text), records = split(text, delimiter, isQuoted(text, delimiter)), width = records[0][1].length;
  const body = records.slice(1).map(([, row]) => row).filter(row => row.length === width), first = records[0][1];
  const columns = first.map((_, c) => body.map(row => row[c]));
  const named = isHeader(first.map(cell => cell.trim()), columns, columns.map(kindOf));
  if (named && !body.length) throw new Error("A table must have rows below its header; this file has none. If its first line is a row, say so with --no-header (header=False in Python).");
  for (const [line, row] of records) {
    if (row.length !== width) throw new Error(`line ${line}: A row must have ${width} field${width === 1 ? "" : "s"}, as the first one has; got ${row.length}. Quote a field that contains ${python(delimiter)}.`);
  }
  const names = first.map((cell, c) => cell.trim() || String(c)), twice = names.filter((name, k) => names.indexOf(name) !== k).sort()[0];
  if (named && twice !== undefined) throw new Error(`The names of columns must be unique; ${python(twice)} occurs twice. Rename one. If this line is a row, say so with --no-header (header=False in Python).`);
  const rows = records.slice(named ? 1 : 0).map(([, row]) => row.map(cell => cell.trim())).filter(row => row.some(Boolean));
  const header = named ? names : [...first.slice(1).map((_, k) => `x${k + 1}`), "y"];
  const kinds = first.map((_, c) => kindOf(rows.map(row => row[c])));
  const numeric = kinds.map((kind, c) => kind === "number" && rows.every(row => MISSING.includes(row[c]) || Number.isFinite(Number(row[c]))) ? c : -1).filter(c => c >= 0);
  return {header, rows, numeric};
}

/** @param {string[]} header @param {any} label */
function labelOf(header, label) {
  if (label === null || label === undefined) return header.find(name => LABEL_NAMES.includes(name.trim().toLowerCase())) ?? header[header.length - 1];
  if (header.includes(String(label))) return String(label);
  throw new Error(`The label must be one of the columns ${header.slice(0, 12).join(", ")}, by name or by number from 0; got ${python(label)}. Choose one of them.`);
}

/** @param {string[]} header @param {number[]} numeric @param {any} columns @param {boolean} projection @param {number} most */
function choose(header, numeric, columns, projection, most) {
  let chosen = projection ? numeric : numeric.slice(0, 2);
  if (columns !== null && columns !== undefined) {
    if (!Array.isArray(columns) || !columns.every(name => typeof name === "string")) throw new Error(`The columns must be a list of names; got ${python(columns)}. Choose them from the list.`);
    const known = new Map(numeric.map(place => [header[place], place])), wrong = columns.find(name => !known.has(name));
    if (wrong !== undefined) {
      throw new Error(`The columns must contain numbers in every row that is not empty; ${python(wrong)} does not, or is the label. Choose from ${[...known.keys()].join(", ") || "none"}.`);
    }
    chosen = columns.map(name => /** @type {number} */ (known.get(name)));
  }
  const least = projection ? 2 : 1;
  if (chosen.length < least || chosen.length > most) {
    throw new Error(`A CSV must have between ${least} and ${most} columns of numbers besides the label; got ${chosen.length}. Check that numbers have a decimal point, and that the label is the right column.`);
  }
  return chosen;
}

// The two directions of largest variance of the standardised columns, by the rotations of Jacobi.
/** @param {number[][]} X */
function project(X) {
  const n = X.length, d = X[0].length;
  const mean = X[0].map((_, j) => X.reduce((sum, x) => sum + x[j], 0) / n);
  const spread = X[0].map((_, j) => Math.sqrt(X.reduce((sum, x) => sum + (x[j] - mean[j]) ** 2, 0) / n) || 1);
  const Z = X.map(x => x.map((value, j) => (value - mean[j]) / spread[j]));
  const C = X[0].map((_, i) => X[0].map((_, j) => Z.reduce((sum, z) => sum + z[i] * z[j], 0)));
  const V = C.map((_, i) => C.map((_, j) => Number(i === j)));
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    for (let p = 0; p < d; p++) for (let q = p + 1; q < d; q++) {
      off += C[p][q] ** 2;
      if (Math.abs(C[p][q]) < 1e-300) continue;
      const turn = (C[q][q] - C[p][p]) / (2 * C[p][q]), t = Math.sign(turn || 1) / (Math.abs(turn) + Math.hypot(1, turn)), c = 1 / Math.hypot(1, t), s = t * c;
      for (let k = 0; k < d; k++) { const [a, b] = [C[k][p], C[k][q]]; C[k][p] = c * a - s * b; C[k][q] = s * a + c * b; }
      for (let k = 0; k < d; k++) { const [a, b] = [C[p][k], C[q][k]]; C[p][k] = c * a - s * b; C[q][k] = s * a + c * b; }
      for (let k = 0; k < d; k++) { const [a, b] = [V[k][p], V[k][q]]; V[k][p] = c * a - s * b; V[k][q] = s * a + c * b; }
    }
    if (off < 1e-26) break;
  }
  const largest = C.map((row, j) => [row[j], j]).sort((a, b) => b[0] - a[0]).slice(0, 2).map(([, j]) => V.map(row => row[j]));
  const directions = largest.map(v => { const sum = v.reduce((a, b) => a + b, 0) + 1e-300; return v.map(value => value * Math.sign(sum)); });
  return Z.map(z => [0, 1].map(k => directions[k] ? Number(z.reduce((sum, value, j) => sum + value * directions[k][j], 0).toFixed(6)) + 0 : 0));
}

/** @param {any} text @param {any} label @param {any} columns @param {boolean} projection @param {{points: number, classes: number, features: number}} limits */
export function readCsv(text, label, columns, projection, limits) {
  if (typeof text !== "string" || !text.trim()) throw new Error("A CSV must have at least one line with numbers; got nothing. Paste a table or drop a file.");
  if (text.includes("\0")) throw new Error("A CSV must be text; got binary data. Save a spreadsheet as CSV first, and drop that file.");
  const {header, rows, numeric} = table(text), labels = header.indexOf(labelOf(header, label));
  const chosen = choose(header, numeric.filter(place => place !== labels), columns, projection, limits.features);
  const full = rows.filter(row => [...chosen, labels].every(place => !MISSING.includes(row[place])));
  if (!full.length) throw new Error("A CSV must have a row without empty fields; got none. Choose other columns.");
  if (full.length > limits.points) {
    throw new Error(`The lab draws at most ${limits.points.toLocaleString("en")} points; the CSV has ${full.length.toLocaleString("en")} rows. Remove some rows, or use \`rosenblatt train\` for all of them.`);
  }
  const points = full.map(row => chosen.map(place => Number(row[place]))), fields = full.map(row => row[labels]);
  const y = fields.every(field => /^[+-]?\d{1,15}(\.0*)?$/.test(field)) ? fields.map(field => Math.trunc(Number(field)) + 0) : fields;
  const different = new Set(/** @type {any[]} */ (y)).size;
  if (different > limits.classes) {
    throw new Error(`The column ${python(header[labels])} has ${different.toLocaleString("en")} different labels; the lab draws at most ${limits.classes}. Choose another column as the label.`);
  }
  return {
    columns: header, numeric: numeric.map(place => header[place]), label: header[labels], chosen: chosen.map(place => header[place]),
    X: projection ? project(points) : points, y, features: projection ? ["direction 1", "direction 2"] : chosen.map(place => header[place]),
    skipped: rows.length - full.length, unused: unused(header, rows, numeric, labels),
  };
}

// Columns that look like numbers but are not used, each with the first cell that is none.
/** @param {string[]} header @param {string[][]} rows @param {number[]} numeric @param {number} labels */
function unused(header, rows, numeric, labels) {
  return header.flatMap((name, c) => {
    if (c === labels || numeric.includes(c)) return [];
    const present = rows.map(row => row[c]).filter(cell => !MISSING.includes(cell)), wrong = present.find(cell => !NUMBER.test(cell));
    if (!present.length) return [[name, ""]];
    return present.filter(cell => NUMBER.test(cell)).length * 2 >= present.length && wrong !== undefined ? [[name, wrong.slice(0, 40)]] : [];
  });
}
