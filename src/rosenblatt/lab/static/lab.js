// The lab: state, requests and current frame, and the cards that show them.

import {Board} from "./board.js";
import {Cards} from "./cards.js";
import {Code} from "./code.js";
import {DataPanel} from "./data_panel.js";
import {copy, debounce, h, painted} from "./dom.js";
import {ExportMenu} from "./exports.js";
import {Run} from "./frames.js";
import {LearnerPanel} from "./learner_panel.js";
import {CertificateCard, Proof} from "./proof.js";
import {Plane} from "./plane.js";
import {Readouts} from "./readouts.js";
import {History, blank, checked, decode, encode, palette} from "./state.js";
import {Transport} from "./transport.js";
import {Vectors} from "./vectors.js";

const FIRST = "separable";
const THEMES = ["auto", "light", "dark"];
const KEYS = [
  ["Space", "play or pause"], ["← →", "one step back or forward"], ["M", "to the next mistake"], ["Home, End", "to the start, to the end"], ["+ −", "faster, slower"],
  ["1 … 4", "class that a click adds"], ["0", "erase with a click"], ["Ctrl+Z, Ctrl+Shift+Z", "undo, redo"],
  ["in the plane", "arrows move a cursor, Enter adds, Delete removes, [ and ] choose a point, Alt+arrows move it; . and , step forward and back"],
];

class Lab {
  /** @param {HTMLElement} root @param {{request: (name: string, body: any) => Promise<any>, initial?: string, address?: boolean, changed?: ((text: string) => void) | null, alone?: boolean}} options */
  constructor(root, {request, initial = "", address = false, changed = null, alone = false}) {
    this.root = root;
    this.request = request;
    this.address = address;
    this.changed = changed;
    this.alone = alone;
    /** @type {Record<string, any>} */
    this.data = blank();
    /** @type {{algorithm: string, parameters: Record<string, any>, show: Record<string, any>}} */
    this.state = {algorithm: "perceptron", parameters: {}, show: {}};
    this.frame = 0;
    /** @type {number | "erase"} */
    this.tool = 0;
    /** @type {Promise<void> | null} */
    this.furnishing = null;
    this.touched = false;
    this.run = null;
    this.certificate = null;
    this.history = new History();
    this.asked = 0;
    this.attempts = 0;
    this.build();
    this.save = debounce(250, () => this.store());
    this.took = 0;
    this.settle = debounce(80, () => this.compute());
    this.slide = debounce(60, (name, options) => this.usePreset(name, options, true));
    this.ready = this.begin(initial).catch(error => this.complain(`The lab could not start: ${error.message}`));
  }

  // ---------------------------------------------------------------- the page

  build() {
    const {root} = this;
    root.classList.add("rosenblatt-lab");
    this.plane = new Plane(this);
    this.transport = new Transport(this);
    this.board = new Board(this);
    this.code = new Code(this);
    this.vectors = new Vectors(this);
    this.proof = new Proof(this);
    this.certificateCard = new CertificateCard(this);
    this.readouts = new Readouts(this);
    this.dataPanel = new DataPanel(this);
    this.learnerPanel = new LearnerPanel(this);
    this.exports = new ExportMenu(this);
    this.ideas = new Cards(this);
    this.sentence = h("p", {class: "sentence", "aria-live": "polite"}, "Loading the library…");
    this.facts = h("dl", {class: "facts"});
    this.message = h("p", {class: "error", role: "alert", hidden: true});
    this.status = h("p", {class: "toast", role: "status"});
    this.busy = h("p", {class: "busy", hidden: true}, "The run is being computed …");
    this.help = h("dialog", {class: "help", "aria-label": "Keys"}, h("h2", {}, "Keyboard shortcuts"),
      h("dl", {}, KEYS.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])),
      h("button", {type: "button", class: "primary", onclick: () => this.help.close()}, "Close"));
    const link = h("button", {type: "button", title: "Copy a link to the current state", onclick: () => this.share()}, "Share");
    this.themeButton = h("button", {type: "button", class: "theme", onclick: () => this.turnTheme()});
    this.cards = [this.code, this.vectors, this.proof, this.readouts, this.board];
    this.layout = h("main", {class: "layout"},
      h("section", {class: "card stage", "aria-label": "The plane and the run"},
        h("header", {}, h("h2", {}, h("span", {class: "number", "aria-hidden": "true"}, "3"), "Watch"), this.plane.hint),
        this.plane.element, this.transport.element, this.sentence, this.facts, this.message, this.busy));
    root.append(
      h("header", {class: "top"},
        h("div", {class: "brand"}, h("h1", {}, "rosenblatt ", h("span", {}, "lab")), h("p", {}, "Watch the perceptron learn, one example at a time, with the proof that it stops.")),
        h("nav", {"aria-label": "The lab"}, link, this.exports.element, h("button", {type: "button", title: "Keys (?)", onclick: () => this.help.showModal()}, "Keys"), this.themeButton)),
      this.ideas.element, this.layout, this.status, this.help);
    this.setTheme(this.remembered());
    /** @type {[EventTarget, string, (event: any) => void][]} */
    this.listeners = [
      [root, "keydown", event => this.key(event)],
      [root, "dragover", event => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); }],
      [root, "drop", event => {
        const file = event.dataTransfer?.files[0];
        if (file) { event.preventDefault(); this.dataPanel.dialog.read(file); }
      }],
    ];
    if (this.address) {
      this.listeners.push([document.body, "keydown", event => { if (event.target === document.body) this.key(event); }]);
      this.listeners.push([window, "hashchange", () => { if (location.hash.slice(1) !== this.stored) this.open(location.hash.slice(1)); }]);
    }
    for (const [target, name, action] of this.listeners) target.addEventListener(name, action);
    root.tabIndex = -1;
  }

  // The plane is the first picture. Everything around it is added when that is on the screen, which a phone thus shows much earlier.
  furnish() {
    this.layout.prepend(h("div", {class: "side"}, this.dataPanel.element, this.learnerPanel.element));
    this.layout.append(
      h("div", {class: "right"}, this.code.element, this.proof.element),
      this.board.element,
      h("div", {class: "cards"}, this.vectors.element, this.readouts.element, this.certificateCard.element));
    this.furnished = true;
    this.refreshPanels();
    for (const card of this.cards) card.load();
    this.certificateCard.show();
    this.show();
    // During playback only the cards in view are drawn.
    this.inView = new Set();
    this.viewed = new IntersectionObserver(entries => {
      for (const {target, isIntersecting} of entries) this.inView[isIntersecting ? "add" : "delete"](target);
    });
    for (const {element} of this.cards) this.viewed.observe(element);
  }

  close() {
    this.transport.stop();
    this.viewed?.disconnect();
    this.save.stop();
    this.settle.stop();
    this.plane.close();
    for (const [target, name, action] of this.listeners) target.removeEventListener(name, action);
  }

  // The answer that the plane shows: the chosen one, else that of the learner.
  get answer() {
    const all = this.run?.answers ?? [];
    return all.find(one => one.key === this.state.show.answer) ?? all.find(one => one.key === this.run.own) ?? all[0];
  }

  showAnswer(key) {
    this.state = {...this.state, show: {...this.state.show, answer: key === this.run.own ? undefined : key}};
    this.show();
    this.save();
  }

  // A choice in the display, which belongs to the state that is shared.
  setShow(name, value) {
    this.state = {...this.state, show: {...this.state.show, [name]: value}};
    this.save();
  }

  async begin(initial) {
    this.catalogue = await this.request("catalogue", {});
    this.dataPanel.load(this.catalogue);
    this.learnerPanel.load(this.catalogue);
    const text = this.address ? location.hash.slice(1) : initial;
    if (text && await this.open(text)) return;
    await this.usePreset(FIRST, {}, false, true);
    // The first picture moves by itself, until the visitor does something.
    if (!text) this.computing?.then(() => { if (this.moves && !this.touched && this.frame === 0) this.transport.start(); });
  }

  // ---------------------------------------------------------------- the address

  async open(text) {
    let found = null;
    try {
      found = checked(await decode(text));
    } catch { /* the address is incomplete or changed: reported below */ }
    if (!found || !this.catalogue.learners.some(one => one.name === found.algorithm)) {
      this.complain("The address contains no run that this lab can read; it may be incomplete. An example is shown instead.");
      return false;
    }
    if (found.data.preset) {
      const made = await this.attempt(() => this.request("preset", found.data.preset));
      if (!made) return false;
      this.data = this.fromPreset(made);
    } else {
      const {X, codes, classes, features, known} = found.data;
      this.data = {X, y: codes.map(code => classes[code]), classes: palette(classes), features: features ?? null, preset: null, known: known ? classes : null};
    }
    this.state = {algorithm: found.algorithm, parameters: found.parameters, show: found.show};
    this.frame = found.frame;
    this.stored = text;
    this.renewed();
    return true;
  }

  snapshot() {
    return {data: this.data, ...this.state, frame: this.frame};
  }

  async store() {
    const text = await encode(this.snapshot());
    this.stored = text;
    try {
      if (this.address) history.replaceState(null, "", `#${text}`);
    } catch { /* a frame may not be allowed to change its address */ }
    this.changed?.(text);
  }

  async share() {
    await this.store();
    await copy(this.address ? location.href : this.stored);
    this.say(this.address ? this.alone && location.protocol !== "file:" ? "The link was copied. It opens the same state on any computer or phone."
      : this.alone ? "The link was copied. It opens the same state wherever this file is at the same place."
      : "The link was copied. It opens the same state on any computer that runs rosenblatt lab on the same port." : "The state was copied: Widget(state=…) opens it.");
  }

  // ---------------------------------------------------------------- data

  get learner() {
    return this.catalogue.learners.find(one => one.name === this.state.algorithm) ?? this.catalogue.learners[0];
  }

  // A parameter of the learner: the chosen value, else the default.
  parameter(name) { return this.state.parameters[name] ?? this.learner.parameters.find(one => one.name === name)?.default; }

  // Whether a class that takes part in the run has no point: then its margin is not known.
  get lacking() { return this.data.known?.some(one => !this.data.y.includes(one)) ?? false; }

  fromPreset(made) {
    const classes = [...new Set(made.classes ?? made.y)].sort((a, b) => a < b ? -1 : 1);
    return {X: made.X, y: made.y, classes: palette(classes), features: made.features, preset: {name: made.name, options: made.options}, known: made.classes};
  }

  async usePreset(name, options, sliding = false, first = false) {
    if (!name) { this.touch(); this.edit({preset: null}); return; }
    const made = await this.attempt(() => this.request("preset", {name, options}));
    if (!made) return;
    this.transport.stop();
    if (!first) this.remember(sliding ? `slide ${name}` : "");
    if (!sliding) this.state = {...this.state, algorithm: made.algorithm, parameters: {...made.parameters}};
    this.data = this.fromPreset(made);
    this.frame = 0;
    this.renewed();
  }

  async useCard({preset, options = {}, algorithm, parameters, show}) {
    const made = await this.attempt(() => this.request("preset", {name: preset, options}));
    if (!made) return;
    this.transport.stop();
    this.remember();
    this.state = {algorithm, parameters: {...parameters}, show: {...show}};
    this.data = this.fromPreset(made);
    this.frame = 0;
    this.renewed();
    await this.idle();
    if (this.moves) this.transport.start();
  }

  // Whether the visitor allows movement.
  get moves() { return !matchMedia("(prefers-reduced-motion: reduce)").matches; }

  useTable({X, y, features}) {
    this.remember();
    const classes = [...new Set(y)].sort((a, b) => a < b ? -1 : 1);
    this.data = {X, y, classes: palette(classes), features, preset: null, known: null};
    const {init, ...parameters} = this.state.parameters;
    const visits = (parameters.max_iter ?? 10) * X.length;
    if (visits > this.catalogue.limits.visits) parameters.max_iter = Math.max(1, Math.floor(this.catalogue.limits.visits / X.length));
    this.state = {...this.state, parameters};
    this.frame = 0;
    this.renewed();
  }

  // All data were replaced: fit the plane to them.
  renewed() {
    if (this.tool !== "erase" && this.tool >= this.data.classes.length) this.tool = 0;
    this.plane.selected = -1;
    this.plane.fit();
    this.refresh();
    this.refit = this.plane.flat();
    this.compute();
  }

  // Changes with the same name in quick succession, such as those of a slider, are undone together.
  remember(name = "") {
    this.complain("");
    this.history.remember({data: this.data, state: this.state}, name);
  }

  back(entry) {
    if (!entry) return;
    this.transport.stop();
    ({data: this.data, state: this.state} = entry);
    this.plane.selected = -1;
    const [x0, y0, x1, y1] = this.plane.box;
    if (this.plane.flat() || this.data.X.some(([x, y = 0]) => x < x0 || x > x1 || y < y0 || y > y1)) this.plane.fit();
    this.refit = this.plane.flat();
    this.refresh();
    this.compute();
  }

  undo() { this.back(this.history.undo({data: this.data, state: this.state})); }
  redo() { this.back(this.history.redo({data: this.data, state: this.state})); }

  touch() {
    this.touched = true;
    this.plane.showHint();
  }

  edit(changes) {
    this.data = {...this.data, preset: null, ...changes};
    this.refresh();
    this.compute();
  }

  add(point) {
    if (this.plane.flat() || this.tool === "erase") return;
    if (this.data.X.length >= this.catalogue.limits.points) { this.complain(`There may be at most ${this.catalogue.limits.points} points.`); return; }
    this.remember();
    this.touch();
    const flat = this.data.X.length > 0 && this.data.X[0].length === 1;
    this.edit({X: [...this.data.X, flat ? [point[0]] : point], y: [...this.data.y, this.data.classes[this.tool]]});
  }

  move(index, point) {
    this.touch();
    this.complain("");
    const flat = this.data.X[0].length === 1, changed = this.data.preset !== null;
    this.data = {...this.data, preset: null, X: this.data.X.map((x, k) => k === index ? (flat ? [point[0]] : point) : x)};
    this.still = true;
    if (changed) this.dataPanel.show();
    this.plane.drawPoints();
    // A long computation waits until the hand rests, so that the point follows it.
    if (this.took > 12) this.settle(); else this.compute();
  }

  remove(index) {
    this.remember();
    this.touch();
    this.plane.selected = -1;
    this.edit({X: this.data.X.filter((_, k) => k !== index), y: this.data.y.filter((_, k) => k !== index)});
  }

  clear() {
    this.transport.stop();
    this.remember();
    this.touch();
    // What a preset has set, such as a single pass or no bias, goes with its points.
    const set = this.catalogue.presets.find(one => one.name === this.data.preset?.name)?.parameters ?? {};
    const own = Object.entries(this.state.parameters).filter(([name, value]) => name !== "init" && value !== set[name]);
    this.data = blank();
    this.state = {...this.state, parameters: Object.fromEntries(own)};
    this.frame = 0;
    this.renewed();
  }

  pick(tool) {
    this.tool = tool;
    this.dataPanel.drawClasses();
  }

  // ---------------------------------------------------------------- learner

  choose(name) {
    this.transport.stop();
    this.remember();
    const learner = this.catalogue.learners.find(one => one.name === name);
    const known = new Set([...learner.parameters.map(one => one.name), ...(["kernel", "parallel"].includes(name) ? [] : ["init"])]);
    const parameters = Object.fromEntries(Object.entries(this.state.parameters).filter(([key]) => known.has(key)));
    this.state = {...this.state, algorithm: name, parameters: this.startable(name, parameters)};
    this.frame = 0;
    this.refresh();
    this.compute();
  }

  setParameter(name, value) {
    this.transport.stop();
    this.remember();
    const parameters = {...this.state.parameters};
    if (value === null || value === undefined) delete parameters[name]; else parameters[name] = value;
    // Initial weights have another length with or without a bias.
    if (name === "fit_intercept") delete parameters.init;
    this.state = {...this.state, parameters: name === "init" ? parameters : this.startable(this.learner.name, parameters)};
    this.refresh();
    this.compute();
  }

  // The parameters without initial weights that the learner cannot start from, such as those of a preset for another learner.
  startable(name, parameters) {
    const {init, ...rest} = parameters;
    if (name !== "winnow" || parameters.balanced || !init || init.flat().every(value => value > 0)) return parameters;
    this.say("The initial weights were left out: those of Winnow must be greater than 0. With “balanced” they may have any sign.");
    return rest;
  }

  // ---------------------------------------------------------------- requests

  body() {
    const {data, learner, state} = this;
    const defaults = Object.fromEntries(learner.parameters.filter(one => ["max_iter", "shuffle"].includes(one.name)).map(one => [one.name, one.default]));
    return {X: data.X, y: data.y, classes: data.known ?? undefined, algorithm: learner.name, parameters: {...defaults, ...state.parameters}};
  }

  async attempt(action) {
    this.attempts++;
    try {
      return await action();
    } catch (error) {
      this.complain(error.message);
      return null;
    } finally {
      this.attempts--;
    }
  }

  // One request at a time; during a request only the newest waiting one is kept.
  compute() {
    this.settle.stop();
    this.save();
    this.asked++;
    if (!this.computing) this.computing = this.work().finally(() => { this.computing = null; });
    return this.computing;
  }

  async work() {
    let answered = -1;
    while (answered !== this.asked) {
      answered = this.asked;
      const {data} = this, began = performance.now();
      if (!data.X.length) { this.accept(null, data); await this.furnishing; continue; }
      const slow = setTimeout(() => { this.busy.hidden = false; }, 1500);
      const body = this.body();
      const answer = await this.attempt(() => this.request("run", body));
      clearTimeout(slow);
      this.busy.hidden = true;
      if (answered !== this.asked && data !== this.data) continue;
      this.accept(answer && new Run(answer, data, body.parameters), data);
      await this.furnishing;
      const proved = answer && !this.lacking && await this.request("certify", body).catch(() => null);
      if (answered !== this.asked) continue;
      this.certificate = proved || null;
      this.certificateCard.show();
      this.drawCertificate();
      this.showFacts();
      this.proof.load();
      this.proof.show();
      this.took = performance.now() - began;
    }
  }

  accept(run, data) {
    const end = this.run && this.frame > 0 && this.frame === this.run.last;
    this.run = run;
    if (!run || data !== this.data) this.certificate = null;
    if (!run) { this.certificate = null; this.certificateCard.show(); this.drawCertificate(); }
    this.frame = run ? Math.min(end ? run.last : this.frame, run.last) : 0;
    if (this.refit) { this.plane.fit(); this.plane.drawPoints(); this.refit = false; }
    this.furnishing ??= painted().then(() => this.furnish());
    if (this.furnished) for (const card of this.cards) card.load();
    this.show();
  }

  // Resolves when no request is running or about to be made.
  async idle() {
    await this.ready;
    while (this.computing || this.attempts || this.settle.waiting() || this.slide.waiting()) await (this.computing ?? new Promise(done => setTimeout(done, 20)));
  }

  async exportText(form) {
    const answer = await this.attempt(() => this.request("export", {...this.body(), form}));
    return answer && answer.text;
  }

  drawCertificate() {
    this.plane.showCertificate(this.certificate, this.certificateCard.wanted.checked);
  }

  // ---------------------------------------------------------------- display

  refresh() {
    if (this.furnished) this.refreshPanels();
    this.plane.drawPoints();
    this.plane.showCertificate(null, false);
    this.plane.show();
  }

  refreshPanels() {
    this.dataPanel.show();
    this.learnerPanel.show();
    this.code.load();
  }

  // Whether movement is to be left out, at least for the next picture.
  get still() { return this.stillOnce || !this.moves; }
  set still(once) { this.stillOnce = once; }

  go(frame) {
    if (!this.run) return;
    this.frame = Math.max(0, Math.min(frame, this.run.last));
    this.show();
    this.save();
  }

  show() {
    const {run, frame} = this;
    this.plane.show();
    this.transport.show();
    this.stillOnce = false;
    this.showFacts();
    this.sentence.textContent = run ? run.sentence(frame) : this.data.X.length ? "" : "Add points of two classes to start a run.";
    const at = run?.frames[frame];
    const wrong = at && at.step >= 0 && at.phase !== "end" && !run.steps.correct[at.step];
    this.sentence.dataset.verdict = !at || at.phase === "start" || at.phase === "end" ? "" : wrong ? "wrong" : "right";
    if (!this.furnished) return;
    // The blackboard is last, because it measures the page.
    for (const card of this.cards) if (!this.transport.playing || this.inView.has(card.element)) card.show();
  }

  showFacts() {
    const {run, frame, certificate} = this;
    this.facts.replaceChildren(...(run ? run.facts(frame, certificate?.separator, this.plane.flat() ? this.run.answers[0] : this.answer) : []).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }

  // During playback a screen reader does not read every frame.
  quiet(on) { this.sentence.setAttribute("aria-live", on ? "off" : "polite"); }

  complain(text) {
    this.message.textContent = text;
    this.message.hidden = !text;
  }

  say(text) {
    this.status.textContent = text;
    this.status.classList.add("shown");
    clearTimeout(this.fading);
    this.fading = setTimeout(() => this.status.classList.remove("shown"), 3500);
  }

  // ---------------------------------------------------------------- keys and theme

  key(event) {
    if (event.defaultPrevented || event.target.closest("dialog, [role=menu]")) return;
    const undo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
    const typing = event.target.matches("textarea, input[type=text], select");
    if (undo && !typing) {
      event.preventDefault();
      if (event.shiftKey) this.redo(); else this.undo();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
    const {transport} = this, slider = event.target.matches("input[type=range]"), pressed = event.target.matches("button, input[type=checkbox]");
    const actions = {
      ".": () => transport.to(this.frame + 1), ",": () => transport.to(this.frame - 1),
      m: () => transport.to(this.run ? this.run.nextMistake(this.frame) : 0), M: () => actions.m(),
      "+": () => transport.faster(8), "=": () => transport.faster(8), "-": () => transport.faster(-8),
      "?": () => this.help.showModal(), 0: () => this.pick("erase"),
      ...(pressed ? {} : {" ": () => transport.toggle()}),
      ...(slider ? {} : {ArrowRight: () => transport.to(this.frame + 1), ArrowLeft: () => transport.to(this.frame - 1), Home: () => transport.to(0), End: () => transport.to(Infinity)}),
    };
    const code = Number(event.key) - 1;
    if (Number.isInteger(code) && code >= 0 && code < this.data.classes.length) actions[event.key] = () => this.pick(code);
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  remembered() {
    try { return localStorage.getItem("rosenblatt-theme") ?? "auto"; } catch { return "auto"; }
  }

  setTheme(theme) {
    this.theme = THEMES.includes(theme) ? theme : "auto";
    this.root.dataset.theme = this.theme === "auto" && this.around ? this.around : this.theme;
    this.themeButton.textContent = {auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark"}[this.theme];
    this.themeButton.setAttribute("aria-label", `Colours: ${this.theme}`);
    this.plane.drawPoints();
  }

  // The colours of the page around the lab, which "auto" follows; "" to follow the system.
  setSurroundings(theme) {
    this.around = theme;
    this.setTheme(this.theme);
  }

  turnTheme() {
    this.setTheme(THEMES[(THEMES.indexOf(this.theme) + 1) % 3]);
    try { localStorage.setItem("rosenblatt-theme", this.theme); } catch { /* not available in a private window */ }
  }
}

export const mount = (root, options) => new Lab(root, options);
