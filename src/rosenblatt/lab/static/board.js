// The blackboard: the step table of the notes, its row marked as the play head moves.

import {copy, h} from "./dom.js";

const PAGE = 60;

export class Board {
  constructor(lab) {
    this.lab = lab;
    this.head = h("thead");
    this.body = h("tbody");
    this.note = h("p", {class: "board-note"});
    const copies = (form, title) => h("button", {type: "button", class: "chalk", onclick: async () => {
      const text = await lab.exportText(form);
      if (text !== null) { await copy(text); lab.say(`The table was copied as ${title}.`); }
    }}, `Copy ${title}`);
    this.scroller = h("div", {class: "board-scroll", tabindex: "0", role: "region", "aria-label": "Step table"},
      h("table", {}, h("caption", {class: "hidden"}, "Every step of the run"), this.head, this.body));
    this.element = h("section", {class: "card board", "aria-label": "Blackboard"},
      h("header", {}, h("h2", {}, "The blackboard"), copies("markdown", "Markdown"), copies("csv", "CSV")),
      this.scroller, this.note);
  }

  load() {
    const {run} = this.lab;
    this.page = -1;
    this.head.replaceChildren(h("tr", {}, (run?.table.headings ?? []).map(one => h("th", {scope: "col"}, one))));
    this.body.replaceChildren();
    this.note.textContent = run?.note ?? "";
    this.note.hidden = !run?.note;
  }

  show() {
    const {run, frame} = this.lab;
    if (!run) return;
    const {step, phase} = run.frames[frame];
    const row = phase === "end" ? run.length : Math.max(0, step);
    const page = Math.floor(row / PAGE);
    if (page !== this.page) this.turn(page);
    this.current?.removeAttribute("class");
    this.current?.removeAttribute("aria-current");
    this.current = this.body.children[row - page * PAGE];
    if (!this.current) return;
    this.current.className = "now";
    this.current.setAttribute("aria-current", "step");
    // Not scrollIntoView, which would scroll the whole page under the reader's hands.
    const top = this.current.offsetTop - this.head.offsetHeight, bottom = this.current.offsetTop + this.current.offsetHeight;
    const view = this.scroller;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (bottom > view.scrollTop + view.clientHeight) view.scrollTop = bottom - view.clientHeight;
  }

  // Long runs are written page by page, so that a step costs the same whatever their length.
  turn(page) {
    const {run} = this.lab, {rows} = run.table;
    this.page = page;
    this.body.replaceChildren(...rows.slice(page * PAGE, (page + 1) * PAGE).map((cells, k) => {
      const step = page * PAGE + k, wrong = step < run.length && !run.steps.correct[step];
      const row = h("tr", {}, cells.map(lines => h("td", {}, lines.flatMap((line, n) => n ? [h("br"), line] : [line]))));
      if (wrong) row.dataset.wrong = "";
      if (step < run.length) row.addEventListener("click", () => this.lab.go(run.frames.findIndex(one => one.step === step)));
      return row;
    }));
  }
}
