"""The web page of an animation: an SVG for points and boundary, a canvas behind it for the regions, and a short script."""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 1rem auto; max-width: 42rem; padding: 0 1rem; color: #111; background: #fff }
h1 { font-size: 1.1rem; margin: 0 0 .5rem }
#plane { position: relative; aspect-ratio: 4 / 3; border: 1px solid #999 }
#plane canvas, #plane svg { position: absolute; inset: 0; width: 100%; height: 100% }
#controls { display: flex; gap: .75rem; align-items: center; margin: .6rem 0 }
#place { flex: 1 }
#legend { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; margin: .4rem 0; list-style: none }
#legend svg { width: 1em; height: 1em; vertical-align: -.1em; margin-right: .3em }
#said { font-family: ui-monospace, monospace; min-height: 1.5em }
@media (max-width: 30rem) { #plane text { font-size: 28px } }
button { font: inherit; padding: .2em 1em; min-width: 5.5em }
</style>
</head>
<body>
<h1>{{title}}</h1>
<div id="plane"><canvas width="320" height="240" aria-hidden="true"></canvas><svg viewBox="0 0 640 480" role="img"></svg></div>
<div id="controls"><button type="button" id="play">Play</button>
<input id="place" type="range" min="0" value="0" aria-label="step"></div>
<div id="said" aria-live="polite"></div>
<ul id="legend"></ul>
<p>{{note}}</p>
<script type="application/json" id="run">{{data}}</script>
<script>
"use strict";
const run = JSON.parse(document.getElementById("run").textContent);
const svg = document.querySelector("#plane svg"), canvas = document.querySelector("canvas");
const said = document.getElementById("said"), place = document.getElementById("place"), play = document.getElementById("play");
// One scale for both axes, so that w is perpendicular to the boundary.
const [x0, y0, x1, y1] = run.box;
const unit = Math.min(640 / (x1 - x0), 480 / (y1 - y0));
const left = (x0 + x1) / 2 - 320 / unit, top_ = (y0 + y1) / 2 + 240 / unit;
const px = x => (x - left) * unit, py = y => (top_ - y) * unit;
const wx = x => left + x / unit, wy = y => top_ - y / unit;
const make = (name, attributes, parent = svg) => {
  const one = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  parent.append(one);
  return one;
};
const star = (corners, turn, inner) => Array.from({length: 2 * corners}, (_, k) => {
  const angle = turn + k * Math.PI / corners, size = k % 2 ? inner : 1;
  return `${size * Math.sin(angle)},${-size * Math.cos(angle)}`;
}).join(" ");
const SHAPES = {
  o: null, s: star(4, Math.PI / 4, Math.SQRT1_2), "^": star(3, 0, 0.5), D: star(4, 0, Math.SQRT1_2), v: star(3, Math.PI, 0.5),
  P: star(4, 0, 0.45), X: star(4, Math.PI / 4, 0.45), "<": star(3, -Math.PI / 2, 0.5), ">": star(3, Math.PI / 2, 0.5),
  "*": star(5, 0, 0.4)
};
const mark = (parent, x, y, code, size) => {
  const group = make("g", {transform: `translate(${x} ${y}) scale(${size})`}, parent);
  const look = {fill: run.colours[code], stroke: run.ink, "stroke-width": 0.1};
  const shape = SHAPES[run.markers[code]];
  if (shape === null) make("circle", {r: 0.85, ...look}, group); else make("polygon", {points: shape, ...look}, group);
};
const tints = run.colours.map(hex => [...[1, 3, 5].map(k => parseInt(hex.slice(k, k + 2), 16)), 70]);
const score = (w, x, y) => run.bias ? w[0] + w[1] * x + w[2] * y : w[0] * x + w[1] * y;
const normal = w => run.bias ? [w[1], w[2]] : w;

// The class with the highest score; of several with it the first, or -1 in a vote.
function winner(weights, x, y, tie) {
  if (weights.length === 1) {
    const s = score(weights[0], x, y);
    return tie && s === 0 ? -1 : s >= 0 ? 1 : 0;
  }
  let best = 0, top = -Infinity;
  weights.forEach((w, k) => {
    const s = score(w, x, y);
    if (s > top) { top = s; best = k; } else if (tie && s === top) best = -1;
  });
  return best;
}

const each = action => {
  for (let r = 0, p = 0; r < canvas.height; r++) for (let c = 0; c < canvas.width; c++, p++)
    action(p, wx((c + .5) * 640 / canvas.width), wy((r + .5) * 480 / canvas.height));
};

// The votes for every class in every place; a frame adds or takes away only what differs from the one before.
const votes = run.voters.length ? run.classes.map(() => new Float64Array(canvas.width * canvas.height)) : null;
let counted = 0;
function count(done) {
  for (const [weights, begin, end] of run.voters) {
    const by = Math.max(0, Math.min(done, end) - begin) - Math.max(0, Math.min(counted, end) - begin);
    if (by) each((p, x, y) => { const best = winner(weights, x, y, true); if (best >= 0) votes[best][p] += by; });
  }
  counted = done;
}

function regions(weights) {
  const paper = canvas.getContext("2d"), image = paper.createImageData(canvas.width, canvas.height);
  each((p, x, y) => {
    let best = votes ? (votes.length === 2 ? 1 : 0) : winner(weights, x, y, false);
    votes?.forEach((own, k) => { if (own[p] > votes[best][p]) best = k; });
    image.data.set(tints[best], 4 * p);
  });
  paper.putImageData(image, 0, 0);
}

function arrow(group, from, w, colour) {
  const [a, b] = normal(w), size = Math.hypot(a, b);
  if (!size) return;
  const to = [from[0] + 70 * a / size, from[1] - 70 * b / size];
  make("line", {x1: from[0], y1: from[1], x2: to[0], y2: to[1], stroke: colour, "stroke-width": 3}, group);
  const turn = Math.atan2(to[1] - from[1], to[0] - from[0]) * 180 / Math.PI;
  make("polygon", {points: "0,-6 14,0 0,6", fill: colour, transform: `translate(${to[0]} ${to[1]}) rotate(${turn})`}, group);
}

// The boundary of one weight vector; returns the point of it that is nearest to the middle of the picture.
function boundary(w, look) {
  const [a, b] = normal(w), size = Math.hypot(a, b);
  if (!size) return null;
  const cx = (x0 + x1) / 2, cy = (y0 + y1) / 2, off = score(w, cx, cy) / (size * size);
  const fx = px(cx - off * a), fy = py(cy - off * b), far = 2000 / size;
  const ends = {x1: fx - far * b, y1: fy - far * a, x2: fx + far * b, y2: fy + far * a};
  make("line", {...ends, stroke: run.ink, "stroke-width": 2, ...look}, changing);
  return [fx, fy];
}

let changing = null;
function show(frame) {
  const {w, last, done, at, ok, text} = run.frames[frame];
  if (changing) changing.remove();
  changing = make("g", {});
  if (votes) count(done);
  regions(w);
  if (votes) {
    if (last.length === 1) boundary(last[0], {"stroke-dasharray": "9 7", opacity: 0.5});
  } else if (w.length === 1) {
    // Beside an average or a pocket the last weights are a dashed line.
    if (String(last) !== String(w)) boundary(last[0], {"stroke-dasharray": "9 7", opacity: 0.5});
    const from = boundary(w[0], {});
    if (from) arrow(changing, from, w[0], run.ink);
  } else w.forEach((one, k) => arrow(changing, [320, 240], one, run.colours[k]));
  if (at !== null) {
    const [x, y] = run.points[at - 1];
    make("circle", {cx: px(x), cy: py(y), r: 15, fill: "none", stroke: ok ? run.right : run.wrong, "stroke-width": 4,
      "stroke-dasharray": ok ? "none" : "9 5"}, changing);
  }
  said.textContent = text;
  place.value = frame;
}

run.points.forEach(([x, y], k) => mark(svg, px(x), py(y), run.codes[k], 8));
make("text", {x: 630, y: 472, "text-anchor": "end", "font-size": 16}).textContent = run.features[0];
make("text", {x: 8, y: 20, "font-size": 16}).textContent = run.features[1];
run.classes.forEach((name, k) => {
  const item = document.createElement("li");
  mark(make("svg", {viewBox: "-1.1 -1.1 2.2 2.2"}, item), 0, 0, k, 1);
  item.append(name);
  document.getElementById("legend").append(item);
});
place.max = run.frames.length - 1;
let timer = null;
const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
play.addEventListener("click", () => {
  if (timer) return stop();
  if (+place.value === run.frames.length - 1) show(0);
  play.textContent = "Pause";
  timer = setInterval(() => {
    show(+place.value + 1);
    if (+place.value === run.frames.length - 1) stop();
  }, run.interval);
});
place.addEventListener("input", () => { stop(); show(+place.value); });
show(0);
</script>
</body>
</html>
"""
