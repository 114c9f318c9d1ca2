// The controls below the plane: play, step and position.

import {h} from "./dom.js";

const ICONS = {
  start: "M6 5v14M19 5 9 12l10 7Z", back: "M17 5 7 12l10 7Z", play: "M7 4.5 19 12 7 19.5Z", pause: "M8 5v14M16 5v14",
  step: "M7 5 17 12 7 19Z", mistake: "M4 5l9 7-9 7ZM19 5v8M19 17.5v1.5", end: "M18 5v14M5 5l10 7-10 7Z",
};
const SLOWEST = 0.5, FASTEST = 240;
// A whole run in about this many milliseconds: most of it on the mistakes, and hardly any on the other steps.
const WHOLE = 10_000, DWELL = 900, RUSH = 90;

export function icon(path, name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", `icon icon-${name}`);
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
}

export class Transport {
  constructor(lab) {
    this.lab = lab;
    this.playing = false;
    const button = (name, title, keys, action) => h("button", {
      type: "button", class: `transport-${name}`, title: `${title} (${keys})`, "aria-label": title, "aria-keyshortcuts": keys, onclick: action,
    }, icon(ICONS[name], name));
    this.playButton = h("button", {type: "button", class: "transport-play", title: "Play (Space)", "aria-keyshortcuts": "Space", onclick: () => this.toggle()});
    this.scrub = h("input", {
      type: "range", class: "scrub", min: 0, max: 0, value: 0, "aria-label": "Position in the run",
      oninput: () => { this.stop(); lab.go(Number(this.scrub.value)); },
    });
    this.speed = h("input", {
      type: "range", class: "speed", min: 0, max: 100, value: 24, "aria-label": "Speed", title: "Speed (+ and −)",
      oninput: () => { this.own = true; this.nameSpeed(); },
    });
    this.own = false; // whether the visitor has chosen the speed
    this.place = h("output", {class: "place"});
    this.nameSpeed();
    this.element = h("div", {class: "transport", role: "group", "aria-label": "Playback of the run"},
      h("div", {class: "buttons"},
        button("start", "To the start", "Home", () => this.to(0)),
        button("back", "One step back", "ArrowLeft", () => this.to(lab.frame - 1)),
        this.playButton,
        button("step", "One step", "ArrowRight", () => this.to(lab.frame + 1)),
        button("mistake", "To the next mistake", "M", () => this.to(lab.run ? lab.run.nextMistake(lab.frame) : 0)),
        button("end", "To the end", "End", () => this.to(Infinity)),
        h("label", {class: "speed-label"}, h("span", {}, "speed"), this.speed)),
      h("div", {class: "scrubbing"}, this.scrub, this.place));
    this.dress();
  }

  dress() {
    this.playButton.replaceChildren(icon(ICONS[this.playing ? "pause" : "play"], this.playing ? "pause" : "play"), h("span", {}, this.playing ? "Pause" : "Play"));
  }

  // Frames per second, on a logarithmic scale.
  rate() { return SLOWEST * (FASTEST / SLOWEST) ** (Number(this.speed.value) / 100); }
  nameSpeed() {
    const rate = this.rate();
    this.speed.setAttribute("aria-valuetext", `${rate < 10 ? rate.toFixed(1) : Math.round(rate)} frames per second`);
  }

  // Milliseconds for which a frame is shown.
  pace(frame) {
    const {run} = this.lab, at = run.frames[frame];
    if (this.own) return 1000 / this.rate();
    if (this.pacedRun !== run) {
      const long = run.frames.filter(one => this.dwells(one)).length, short = run.frames.length - long;
      this.dwell = Math.min(DWELL, Math.max(1000 / FASTEST, 0.8 * WHOLE / Math.max(1, long)));
      this.rush = Math.min(RUSH, Math.max(1000 / FASTEST, (WHOLE - long * this.dwell) / Math.max(1, short)));
      this.pacedRun = run;
    }
    return this.dwells(at) ? this.dwell : this.rush;
  }

  dwells({step, phase}) { return phase === "start" || phase === "update" || (phase === "look" && !this.lab.run.steps.correct[step]); }

  faster(by) {
    this.own = true;
    this.speed.value = Number(this.speed.value) + by;
    this.nameSpeed();
  }

  to(frame) {
    this.stop();
    this.lab.go(frame);
  }

  toggle() {
    this.lab.touch();
    if (this.playing) this.stop(); else this.start();
  }

  start() {
    const {lab} = this;
    if (!lab.run) return;
    if (lab.frame >= lab.run.last) lab.go(0);
    this.playing = true;
    this.dress();
    lab.quiet(true);
    let last = performance.now(), owed = 0;
    const tick = now => {
      if (!this.playing) return;
      owed += now - last;
      last = now;
      let to = lab.frame;
      for (let pace = this.pace(to); owed >= pace && to < lab.run.last; pace = this.pace(to)) { owed -= pace; to++; }
      if (to !== lab.frame) {
        // A movement of the boundary takes longer than a short frame.
        lab.still = this.pace(to) < 120;
        lab.go(to);
      }
      if (lab.frame >= lab.run.last) this.stop();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  stop() {
    if (!this.playing) return;
    this.playing = false;
    this.dress();
    this.lab.quiet(false);
    this.lab.show();
  }

  show() {
    const {run, frame} = this.lab;
    this.scrub.max = run ? run.last : 0;
    this.scrub.value = frame;
    const at = run ? run.frames[frame] : null;
    // Of a long run not all steps are kept: they have the numbers of the whole run.
    const steps = run ? run.total : 0, done = at && at.step >= 0 ? run.steps.number[at.step] : 0;
    this.place.textContent = `step ${done} of ${steps}`;
    this.scrub.setAttribute("aria-valuetext", `step ${done} of ${steps}`);
  }
}
