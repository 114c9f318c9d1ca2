"use strict";

// ---- small helpers ----

const at = id => document.getElementById(id);
const KEPT_SECONDS = 300; // of request rates and times to answer

/** An element with a text or children; `kind` is its class. */
function make(name, content = "", kind = "") {
  const made = document.createElement(name);
  if (Array.isArray(content)) made.append(...content);
  else made.textContent = content;
  if (kind) made.className = kind;
  return made;
}

/** An SVG element with attributes. */
function drawn(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

const shown = value => value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value);
const percent = (value, digits = 1) => value === null || value === undefined ? "–" : (100 * value).toFixed(digits) + " %";
const count = value => value.toLocaleString("en");
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
const short = (text, most = 300) => text.length > most ? text.slice(0, most) + " …" : text;

function clock(seconds, span = 0) {
  if (!seconds) return "–";
  const date = new Date(1000 * seconds), two = number => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`, hour = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (span > 3 * 86400) return day;
  if (span > 86400) return `${day} ${hour}`;
  return span > 600 || !span ? hour + (span ? "" : ":" + two(date.getSeconds())) : `${hour}:${two(date.getSeconds())}`;
}

function milliseconds(seconds) {
  if (seconds === null) return "–";
  return seconds < 0.01 ? (1000 * seconds).toFixed(1) + " ms" : seconds < 1 ? Math.round(1000 * seconds) + " ms" : seconds.toFixed(1) + " s";
}

// ---- requests ----

let token = sessionStorage.getItem("token") || "";

async function ask(path, body) {
  const headers = token ? { Authorization: "Bearer " + token } : {};
  const options = body === undefined ? { headers } : { method: "POST", body, headers: { ...headers, "Content-Type": "application/json" } };
  let response;
  try { response = await fetch(path, options); } catch { throw new Error("The service does not answer. Trying again …"); }
  if (response.status === 401) { at("login").hidden = false; throw new Error(token ? "This token is not accepted here." : "This service needs a token."); }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error || `The service answered ${response.status}.`);
  return answer;
}

const pathOf = (name, rest = "") => "/v1/models/" + encodeURIComponent(name) + rest;

// ---- plots: numbers on the axes are drawn at the size of the page, so they can be read on a phone ----

/** Round numbers between two ends, at most `most` of them. */
function ticks(low, high, most) {
  const span = high - low || 1, rough = span / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough), found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + 1e-9 * span; tick += step) found.push(tick);
  return found;
}

const TIMES = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800, 2592000, 31536000];

function timeTicks(low, high, most) {
  const step = TIMES.find(n => (high - low) / n <= most) || TIMES[TIMES.length - 1], offset = new Date(1000 * low).getTimezoneOffset() * 60, found = [];
  for (let tick = Math.ceil((low - offset) / step) * step + offset; tick <= high; tick += step) found.push(tick);
  return found;
}

/**
 * Draw lines with axes. Every line is {points: [[x, y], …], kind: class}; `marks` are places of vertical lines; `ofX` and `ofY`
 * give the texts of the ticks.
 */
function plot(box, { lines, low, high, bottom, top, marks = [], ofX = count, ofY, ticksOfX = ticks, label }) {
  const width = Math.max(200, box.clientWidth), height = box.clientHeight, left = 46, right = width - 8, up = 8, down = height - 22;
  const x = value => left + (right - left) * (high > low ? (value - low) / (high - low) : 1);
  const y = value => down - (down - up) * (top > bottom ? (value - bottom) / (top - bottom) : 0.5);
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const tick of ticks(bottom, top, height < 180 ? 3 : 5)) {
    svg.append(drawn("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }));
    svg.append(drawn("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, ofY(tick)));
  }
  const columns = Math.max(2, Math.floor(width / 110));
  for (const tick of ticksOfX(low, high, columns)) {
    const place = x(tick), end = place > right - 24 ? "end" : place < left + 12 ? "start" : "middle";
    svg.append(drawn("line", { class: "grid", x1: place, x2: place, y1: down, y2: down + 4 }));
    svg.append(drawn("text", { x: place, y: height - 4, "text-anchor": end }, ofX(tick)));
  }
  for (const mark of marks) if (mark >= low && mark <= high) svg.append(drawn("line", { class: "alarm", x1: x(mark), x2: x(mark), y1: up, y2: down }));
  for (const { points, kind } of lines) {
    const inside = points.filter(([px]) => px >= low && px <= high);
    if (inside.length === 1) svg.append(drawn("circle", { cx: x(inside[0][0]), cy: y(inside[0][1]), r: 3, class: kind, fill: "currentColor" }));
    else svg.append(drawn("polyline", { class: kind, points: inside.map(([px, py]) => `${x(px).toFixed(1)},${y(py).toFixed(1)}`).join(" ") }));
  }
  box.replaceChildren(svg);
}

function drawAccuracy(facts) {
  const byTime = document.querySelector("input[name=axis]:checked").value === "time";
  const place = point => byTime ? point.time : point.examples, curve = facts.curve, rival = facts.challenger_curve;
  const now = { examples: facts.examples, mistakes: facts.mistakes, time: facts.asked, recent: facts.window_accuracy };
  const last = curve[curve.length - 1], points = facts.examples && (!last || last.examples < facts.examples) ? [...curve, now] : curve;
  const low = byTime && points.length ? points[0].time : 0, high = points.length ? place(points[points.length - 1]) : 1;
  const lines = [{ kind: "all", points: points.map(p => [place(p), 1 - p.mistakes / p.examples]) }];
  if (rival.length) lines.push({ kind: "rival", points: rival.map(p => [place(p), p.recent]) });
  lines.push({ kind: "recent", points: points.map(p => [place(p), p.recent]) });
  if (facts.baseline !== null) lines.push({ kind: "baseline", points: [[low, facts.baseline], [high, facts.baseline]] });
  const values = lines.flatMap(line => line.points.map(([, y]) => y)), least = Math.min(1, ...values);
  const bottom = least > 0.8 ? 0.8 : least > 0.5 ? 0.5 : 0;
  const label = `Accuracy: ${percent(facts.window_accuracy)} in the last ${count(facts.window.examples)} examples, ${percent(facts.accuracy)} in all ${count(facts.examples)}`;
  plot(at("accuracy"), { lines, low, high, bottom, top: 1, marks: facts.alarms.map(place), ofY: value => Math.round(100 * value) + " %", label,
    ...byTime ? { ticksOfX: timeTicks, ofX: tick => clock(tick, high - low) } : {} });
  const entry = (kind, text) => {
    const line = drawn("svg", { viewBox: "0 0 32 10", "aria-hidden": "true" });
    line.append(drawn("line", { x1: 0, x2: 32, y1: 5, y2: 5, class: kind }));
    return make("li", [line, text]);
  };
  const entries = [entry("recent", "last 1,000 examples"), entry("all", "all examples"), entry("baseline", "always the most frequent label")];
  if (rival.length) entries.push(entry("rival", "challenger, last 1,000"));
  if (facts.alarms.length) entries.push(entry("alarm", "drift alarm"));
  at("legend").replaceChildren(...entries);
  at("alarms").replaceChildren(...facts.alarms.slice(-3).reverse().map(alarm => make("li",
    `Drift alarm at example ${count(alarm.examples)} (${clock(alarm.time, 2 * 86400)}): mistakes rose from ${percent(alarm.before)} to ${percent(alarm.after)}.`)));
}

// ---- rates and times, from the differences of two answers ----

let samples = []; // {time, examples, requests} of this model

function remember(facts) {
  samples.push({ time: performance.now() / 1000, examples: facts.examples, requests: facts.requests });
  while (samples.length > 2 && samples[samples.length - 1].time - samples[0].time > KEPT_SECONDS) samples.shift();
}

/** The time within which a share of the requests counted in `counts` was answered; between two limits by a straight line. */
function quantile(counts, limits, share) {
  const total = counts.reduce((sum, n) => sum + n, 0);
  let before = 0;
  for (let n = 0; n < limits.length; n++) {
    if (before + counts[n] >= share * total && counts[n]) {
      const start = n ? limits[n - 1] : 0;
      return start + (limits[n] - start) * (share * total - before) / counts[n];
    }
    before += counts[n];
  }
  return total ? limits[limits.length - 1] : null;
}

function recentRate() {
  const last = samples[samples.length - 1], first = samples.find(sample => last.time - sample.time <= 60) || last;
  return last.time - first.time < 0.5 ? null : (last.examples - first.examples) / (last.time - first.time);
}

function drawRates() {
  const last = samples[samples.length - 1], rates = [];
  for (let n = 1; n < samples.length; n++) {
    const [a, b] = [samples[n - 1], samples[n]];
    rates.push([b.time - last.time, Math.max(0, b.examples - a.examples) / Math.max(0.2, b.time - a.time)]);
  }
  const top = Math.max(1, ...rates.map(([, rate]) => rate)), rate = recentRate();
  plot(at("rate"), { lines: [{ kind: "recent", points: rates }], low: Math.min(-30, rates.length ? rates[0][0] : -30), high: 0, bottom: 0, top, ofX: tick => tick ? `${tick} s` : "now", ofY: count,
    label: `Examples per second, ${rate === null ? "not known yet" : rate.toFixed(1)} in the last minute` });
  const first = samples[0], limits = last.requests.limits;
  const rows = Object.entries(last.requests.routes).map(([route, counts]) => {
    const since = first.requests.routes[route] || counts.map(() => 0), fresh = counts.map((n, i) => n - since[i]);
    const some = fresh.some(n => n > 0), used = some ? fresh : counts, total = used.reduce((sum, n) => sum + n, 0);
    return make("tr", [make("td", route), make("td", count(total), "number"), make("td", milliseconds(quantile(used, limits, 0.5)), "number"),
      make("td", milliseconds(quantile(used, limits, 0.99)), "number")]);
  });
  const head = make("thead", [make("tr", [make("th", "Request"), make("th", "Number", "number"), make("th", "Half within", "number"), make("th", "99 % within", "number")])]);
  at("latency").replaceChildren(rows.length ? make("table", [head, make("tbody", rows)]) : make("p", "No requests yet.", "note"));
}

// ---- tables ----

function drawCounts(facts) {
  const rate = recentRate();
  const rows = [["Accuracy, last " + count(facts.window.examples), percent(facts.window_accuracy, 2)], ["Most frequent label", percent(facts.baseline, 2)],
    ["Accuracy, all", percent(facts.accuracy, 2)], ["Examples", count(facts.examples)], ["Mistakes", count(facts.mistakes)],
    ["Examples per second", rate === null ? "–" : rate < 10 ? rate.toFixed(1) : count(Math.round(rate))], ["Waiting for a label", count(facts.pending)],
    ["Expired", count(facts.expired)], ["Drift alarms", count(facts.drifts)], ["Features", count(facts.features)], ["Classes", count(facts.classes.length)], ["Learner", facts.algorithm]];
  at("counts").replaceChildren(...rows.map(([name, value], n) => make("div", [make("dt", name), make("dd", value)], n ? "" : "first")));
}

function drawClasses(window) {
  const head = make("thead", [make("tr", ["Label", "Examples", "Errors", "Precision", "Recall"].map((name, n) => make("th", name, n ? "number" : "")))]);
  const rows = window.classes.map(row => make("tr", [make("td", shown(row.label), "name"), make("td", count(row.examples), "number"), make("td", count(row.examples - row.right), "number"),
    make("td", percent(row.precision), "number"), make("td", percent(row.recall), "number")]));
  at("reach").textContent = count(window.examples);
  at("classes").replaceChildren(make("table", [head, make("tbody", rows)]));
  const key = value => JSON.stringify(value ?? null), labels = window.classes.map(row => row.label);
  if (labels.length && labels.length <= 8) {
    const cells = new Map(window.confusion.map(cell => [key(cell.label) + " " + key(cell.prediction), cell.count]));
    const guesses = window.confusion.some(cell => cell.prediction === null || cell.prediction === undefined) ? [...labels, null] : labels;
    const top = make("thead", [make("tr", [make("th", "label ↓ predicted →"), ...guesses.map(guess => make("th", guess === null ? "none" : shown(guess), "number"))])]);
    const body = labels.map(label => make("tr", [make("th", shown(label)), ...guesses.map(guess => {
      const number = cells.get(key(label) + " " + key(guess)) || 0;
      return make("td", count(number), number ? key(label) === key(guess) ? "hit" : "miss" : "");
    })]));
    at("confusion").replaceChildren(make("table", [top, make("tbody", body)], "matrix"));
  } else {
    const wrong = window.confusion.filter(cell => key(cell.label) !== key(cell.prediction)).slice(0, 15);
    const top = make("thead", [make("tr", [make("th", "Label"), make("th", "Predicted"), make("th", "Examples", "number")])]);
    at("confusion").replaceChildren(make("table", [top, make("tbody", wrong.map(cell => make("tr", [make("td", shown(cell.label)), make("td", shown(cell.prediction)), make("td", count(cell.count), "number")])))]));
  }
}

/** Names with numbers as bars; a negative number has another colour and its sign. */
function bars(entries) {
  const most = Math.max(1e-300, ...entries.map(([, value]) => Math.abs(value)));
  return entries.map(([name, value]) => {
    const line = make("i", "", value < 0 ? "minus" : "");
    line.style.width = 100 * Math.abs(value) / most + "%";
    return make("div", [make("span", name), make("span", (value > 0 ? "+" : "") + value.toPrecision(4)), line], "bar");
  });
}

function drawStrongest(classes) {
  at("strongest").replaceChildren(...classes.length ? classes.map(entry => make("div", [make("strong", shown(entry.class)), ...bars(entry.features)])) :
    [make("p", "This learner has no single weight for each feature, or it knows fewer than two classes.", "note")]);
}

function exampleRow(example) {
  const named = (name, text, kind = "") => { const cell = make("td", text, kind); cell.dataset.name = name; return cell; };
  const right = example.label !== null && example.label !== undefined && !example.mistake;
  const prediction = named("Predicted", shown(example.prediction), example.label === null || example.label === undefined ? "" : right ? "good" : "bad");
  const text = example.features === null || example.features === undefined ? null : JSON.stringify(example.features);
  const features = named("Features", text === null ? "not readable with this token, or no longer in the log" : short(text), text === null ? "note" : "features");
  const explain = make("button", "Explain");
  explain.type = "button";
  explain.disabled = text === null;
  explain.onclick = () => { at("features").value = text; explained(example); };
  return make("tr", [named("Time", clock(example.time), "time"), named("Id", shown(example.id), "name"), prediction, named("Label", shown(example.label), "name"), features, make("td", [explain], "all-columns")]);
}

let listed = { recent: [], recent_mistakes: [] };

function drawRecent() {
  const rows = (at("wrong").checked ? listed.recent_mistakes : listed.recent).slice().reverse();
  const body = at("recent").tBodies[0], nothing = make("td", at("wrong").checked ? "No mistakes among the recent examples." : "No examples yet.");
  nothing.colSpan = 6;
  body.replaceChildren(...rows.length ? rows.map(exampleRow) : [make("tr", [nothing])]);
}

function drawRival(facts) {
  const rival = facts.challenger;
  at("rival").hidden = !rival;
  if (!rival) return;
  const settings = JSON.stringify(rival.parameters), call = `curl -X POST ${location.origin}${pathOf(facts.name, "/promote")} -d '{"challenger": ${rival.challenger}}'`;
  at("rival").lastElementChild.replaceChildren(
    make("p", `${rival.algorithm} ${settings === "{}" ? "" : settings} has learned ${plural(rival.examples, "example")} since example ${count(rival.since)}: ${percent(rival.accuracy, 2)} right, the model ${percent(rival.model_accuracy, 2)} on the same examples.`),
    make("p", "This call puts it in the place of the model:", "note"), make("pre", call));
}

// ---- one prediction explained ----

async function explained(example) {
  const box = at("reasons");
  at("explained").scrollIntoView({ block: "nearest" });
  let features;
  try { features = JSON.parse(at("features").value); } catch (error) { box.replaceChildren(make("p", `The features must be a JSON object or a list of numbers: ${error.message}.`, "bad")); return; }
  try {
    const answer = await ask(pathOf(model, "/score"), JSON.stringify({ features, top: 5, reasons: 20 }));
    const first = make("p", [`Predicted: `, make("strong", shown(answer.prediction))]);
    if (example) first.append(example.label === null || example.label === undefined ? `; when it was asked for: ${shown(example.prediction)}` : `; label: ${shown(example.label)}; predicted before it was learned: ${shown(example.prediction)}`);
    const scores = (answer.scores || []).map(entry => make("tr", [make("td", shown(entry.label)), make("td", entry.score.toPrecision(5), "number"), make("td", entry.probability === undefined || entry.probability === null ? "" : percent(entry.probability), "number")]));
    const top = make("thead", [make("tr", [make("th", "Class"), make("th", "Score", "number"), scores.some(row => row.lastChild.textContent) ? make("th", "Probability", "number") : make("td")])]);
    const parts = answer.reasons === null || answer.reasons === undefined ? [make("p", "This learner cannot name the features that count most, because it has no single weight for each of them.", "note")] :
      answer.reasons.length ? bars([...answer.reasons.map(entry => [`${entry.feature} = ${shown(entry.value)}`, entry.part]), ...(answer.bias === undefined ? [] : [["bias", answer.bias]])]) : [make("p", "None of these features has a weight.", "note")];
    box.replaceChildren(first, make("div", [make("div", [make("strong", "Scores"), make("table", [top, make("tbody", scores)])]),
      make("div", [make("strong", `Features that count most for ${shown(answer.prediction)}`), ...parts])], "columns"));
  } catch (error) { box.replaceChildren(make("p", error.message, "bad")); }
}

// ---- help where there is nothing to show ----

function help(name) {
  const here = location.origin, box = at("empty"), key = token ? " -H 'Authorization: Bearer TOKEN'" : "";
  box.hidden = false;
  if (!name) {
    box.replaceChildren(make("h2", "There is no model yet"), make("p", "Create one:"), make("pre", `curl -X POST ${here}/v1/models/spam${key} -d '{"algorithm": "averaged-perceptron"}'`),
      make("p", "This page shows it within five seconds."));
    return;
  }
  const url = here + pathOf(name);
  box.replaceChildren(make("h2", `${name} has not learned anything yet`), make("p", "Ask for a prediction, and tell its label later:"),
    make("pre", `curl -X POST ${url}/predict${key} -d '{"id": "mail-1", "features": {"sender": "ann", "words": ["free", "offer"]}}'\ncurl -X POST ${url}/reveal${key} -d '{"id": "mail-1", "label": "spam"}'`),
    make("p", "Or send an example with its label:"), make("pre", `curl -X POST ${url}/learn${key} -d '{"features": {"words": ["meeting"]}, "label": "ham"}'`));
}

// ---- the model that is shown ----

let model = decodeURIComponent(location.hash.slice(1)), facts = null, stream = null, dirty = true;

async function names() {
  const { models, set_aside: aside } = await ask("/v1/models");
  const wanted = models.map(entry => entry.name), known = [...at("model").options].map(option => option.value);
  if (!wanted.includes(model)) model = wanted[0] || "";
  if (known.join("\n") !== wanted.join("\n")) at("model").replaceChildren(...wanted.map(name => new Option(name, name)));
  at("model").value = model;
  at("choice").hidden = !wanted.length;
  return aside || [];
}

function draw() {
  const some = facts && (facts.examples || facts.pending);
  at("content").hidden = !some;
  at("empty").hidden = Boolean(some);
  if (!some) { help(model); return; }
  drawCounts(facts);
  drawAccuracy(facts);
  drawRates();
  drawRival(facts);
  drawClasses(facts.window);
  drawStrongest(facts.strongest);
  listed = facts;
  if (!at("recent").contains(document.activeElement)) drawRecent(); // a button that has the focus stays where it is
}

/** Listen to the events of a model; each one asks for the facts again. */
async function listen(name) {
  if (stream) stream.abort();
  const mine = stream = new AbortController();
  try {
    const response = await fetch(pathOf(name, "/events"), { headers: token ? { Authorization: "Bearer " + token } : {}, signal: mine.signal });
    const reader = response.body.getReader();
    while (!(await reader.read()).done) dirty = true;
  } catch { if (mine.signal.aborted) return; }
  if (stream === mine) setTimeout(() => { if (stream === mine) listen(name); }, 2000);
}

let listening = "", beat = 0, aside = [];

async function tick() {
  try {
    if (!document.hidden) {
      if (beat++ % 5 === 0) { aside = await names(); dirty = true; }
      if (model !== listening) {
        listening = model;
        samples = [];
        facts = null;
        at("reasons").replaceChildren();
        at("found").textContent = "";
        if (model) { history.replaceState(null, "", "#" + encodeURIComponent(model)); listen(model); }
        dirty = true;
      }
      if (dirty) {
        dirty = false;
        const asked = model;
        const answer = asked ? await ask(pathOf(asked, "/insight")) : null;
        if (asked === model) {
          facts = answer && { ...answer, asked: Date.now() / 1000 };
          if (facts) remember(facts);
          draw();
        }
      }
      const broken = aside.length ? `${plural(aside.length, "model")} set aside: ${aside.map(entry => entry.name).join(", ")}` : "";
      at("state").textContent = broken || (facts && facts.standby ? "standby: as of the last snapshot" : "live");
      at("state").className = broken || (facts && facts.standby) ? "bad" : "good";
    }
  } catch (error) {
    dirty = true;
    at("state").textContent = error.message;
    at("state").className = "bad";
  }
  setTimeout(tick, 1000);
}

at("model").onchange = event => { model = event.target.value; };
at("login").onsubmit = event => {
  event.preventDefault();
  token = at("token").value.trim();
  sessionStorage.setItem("token", token);
  at("login").hidden = true;
  dirty = true;
  beat = 0;
  listening = "";
};
for (const input of document.querySelectorAll("input[name=axis]")) input.onchange = () => facts && drawAccuracy(facts);
at("wrong").onchange = drawRecent;
at("search").onsubmit = async event => {
  event.preventDefault();
  const identity = at("identity").value.trim();
  if (!identity) return;
  try {
    const found = await ask(pathOf(model, "/examples/" + encodeURIComponent(identity)));
    const states = { pending: "It waits for its label.", learned: "It was learned.", expired: "It expired without a label." };
    at("found").replaceChildren(make("span", states[found.state] || found.state));
    const mistake = found.label !== null && JSON.stringify(found.label) !== JSON.stringify(found.prediction);
    at("found").append(make("table", [make("tbody", [exampleRow({ ...found, mistake })])], "examples"));
  } catch (error) { at("found").replaceChildren(make("span", error.message, "bad")); }
};
at("ask").onsubmit = event => { event.preventDefault(); explained(null); };
addEventListener("resize", () => { if (facts) draw(); });
tick();
