// Pseudocode of the learner, with the lines of the current frame marked.

import {h} from "./dom.js";
import {ruleLines} from "./rule.js";

export class Code {
  constructor(lab) {
    this.lab = lab;
    this.list = h("ol", {class: "code"});
    this.title = h("h2", {}, "The rule");
    this.source = h("p", {class: "source"});
    this.element = h("section", {class: "card rule", "aria-label": "The rule"}, this.title, this.list, this.source);
  }

  load() {
    const {data, state, learner} = this.lab, many = (data.known ?? [...new Set(data.y)]).length > 2;
    this.lines = ruleLines(learner, state.parameters, many);
    this.list.replaceChildren(...this.lines.map(line => {
      const item = h("li", {"data-role": line.role, "data-indent": line.indent}, h("code", {}, line.text));
      item.style.setProperty("--indent", line.indent);
      return item;
    }));
    this.source.textContent = learner.source;
  }

  show() {
    const {run, frame} = this.lab;
    if (!this.lines) return;
    const active = new Set();
    if (run) {
      const {step, phase} = run.frames[frame];
      active.add({start: "start", look: "decide", update: "update", end: "answer"}[phase]);
      if (phase === "end" && !this.lines.some(line => line.role === "answer")) active.add("take");
      if (phase !== "start" && phase !== "end" && run.pocketChanged(step)) active.add("keep");
    }
    this.lines.forEach((line, k) => {
      const item = this.list.children[k];
      item.classList.toggle("now", active.has(line.role));
      if (active.has(line.role)) item.setAttribute("aria-current", "true"); else item.removeAttribute("aria-current");
    });
  }
}
