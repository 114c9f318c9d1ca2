// The blackboard: the table of steps as in the notes, with the current row marked.

import {copy, h} from "./dom.js";

const ROWS = 120, TALLEST = 350, REST = 60;

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
    this.scroller = h("div", {class: "board-scroll", tabindex: "0", role: "region", "aria-label": "Step table", onscroll: () => this.scrolled()},
      h("table", {}, h("caption", {class: "hidden"}, "Every step of the run"), this.head, this.body));
    this.element = h("section", {class: "card board", "aria-label": "Blackboard"},
      h("header", {}, h("h2", {}, "The blackboard"), copies("markdown", "Markdown"), copies("csv", "CSV")),
      this.scroller, this.note);
  }

  load() {
    const {run} = this.lab;
    clearTimeout(this.resting);
    this.row = 0;
    this.first = -1;
    this.head.replaceChildren(h("tr", {}, (run?.table.headings ?? []).map(one => h("th", {scope: "col"}, one))));
    this.body.replaceChildren();
    this.note.textContent = (run?.note ?? "").replace(" Raise limit to see more.", ""); // a setting of `trace`
    this.note.hidden = !run?.note;
    if (!run?.length) return;
    // The height is measured once and then fixed: the layout of a scroller of fixed size does not depend on the page.
    this.scroller.style.contain = "none";
    this.scroller.style.height = "auto";
    this.turn(0);
    this.scroller.style.height = `${Math.min(TALLEST, this.scroller.scrollHeight + 16)}px`;
    this.scroller.style.contain = "strict";
    this.headHeight = this.head.offsetHeight;
  }

  show() {
    const {run, frame} = this.lab;
    if (!run) return;
    const {step, phase} = run.frames[frame];
    const row = phase === "end" ? run.length : Math.max(0, step);
    const leap = Math.abs(row - this.row) > 1;
    this.row = row;
    clearTimeout(this.resting);
    if (row < this.first || row >= this.first + ROWS) {
      // Rows are not written while the position changes fast; they are written when it rests.
      if (leap) { this.resting = setTimeout(() => { this.turn(row - ROWS / 2); this.mark(row); }, REST); return; }
      this.turn(row - ROWS / 2);
    }
    this.mark(row);
  }

  mark(row) {
    this.current?.removeAttribute("class");
    this.current?.removeAttribute("aria-current");
    this.current = this.body.children[row - this.first];
    if (!this.current) return;
    this.current.className = "now";
    this.current.setAttribute("aria-current", "step");
    // Not scrollIntoView, which would scroll the whole page.
    const top = this.current.offsetTop - this.headHeight, bottom = this.current.offsetTop + this.current.offsetHeight;
    const view = this.scroller;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (bottom > view.scrollTop + view.clientHeight) view.scrollTop = bottom - view.clientHeight;
  }

  // Of a long run a window of rows is written, so that a step takes the same time for any length; at its ends it moves on.
  turn(first) {
    const {run} = this.lab, {rows} = run.table;
    this.first = Math.max(0, Math.min(Math.round(first), rows.length - ROWS));
    this.body.replaceChildren(...rows.slice(this.first, this.first + ROWS).map((cells, k) => {
      const step = this.first + k, wrong = step < run.length && !run.steps.correct[step];
      const row = h("tr", {}, cells.map(lines => h("td", {}, lines.flatMap((line, n) => n ? [h("br"), line] : [line]))));
      if (wrong) row.dataset.wrong = "";
      if (step < run.length) row.addEventListener("click", () => this.lab.go(run.frames.findIndex(one => one.step === step)));
      return row;
    }));
  }

  scrolled() {
    const {run} = this.lab, view = this.scroller, {children} = this.body;
    if (!run || children.length < ROWS) return;
    const up = view.scrollTop < 40 && this.first > 0, down = view.scrollTop + view.clientHeight > view.scrollHeight - 40 && this.first + ROWS < run.table.rows.length;
    if (!up && !down) return;
    const kept = up ? 0 : children.length - 1, number = this.first + kept, place = children[kept].offsetTop - view.scrollTop;
    this.turn(this.first + (up ? -ROWS / 2 : ROWS / 2));
    view.scrollTop = this.body.children[number - this.first].offsetTop - place;
    this.current = this.body.children[this.row - this.first];
    if (this.current) { this.current.className = "now"; this.current.setAttribute("aria-current", "step"); }
  }
}
