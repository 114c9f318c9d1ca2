// Choice of the data: presets and their sliders, the class to add, undo, CSV.

import {count, h, label, number, symbol, unique} from "./dom.js";
import {CsvDialog} from "./csv_dialog.js";

export class DataPanel {
  constructor(lab) {
    this.lab = lab;
    const id = unique("preset");
    this.select = h("select", {id, onchange: () => lab.usePreset(this.select.value, {})});
    this.about = h("p", {class: "about"});
    this.sliders = h("div", {class: "sliders"});
    this.classes = h("div", {class: "classes", role: "radiogroup", "aria-label": "Action of a click in the plane"});
    this.undoButton = h("button", {type: "button", title: "Undo (Ctrl+Z)", onclick: () => lab.undo()}, "Undo");
    this.redoButton = h("button", {type: "button", title: "Redo (Ctrl+Shift+Z)", onclick: () => lab.redo()}, "Redo");
    this.summary = h("p", {class: "summary"});
    this.dialog = new CsvDialog(lab);
    this.element = h("section", {class: "card", "aria-label": "Data"},
      h("h2", {}, h("span", {class: "number", "aria-hidden": "true"}, "1"), h("label", {for: id}, "Data")),
      this.select, this.about, this.sliders, this.classes,
      h("div", {class: "row"}, this.undoButton, this.redoButton,
        h("button", {type: "button", onclick: () => lab.clear()}, "Clear"),
        h("button", {type: "button", onclick: () => this.dialog.open()}, "CSV…")),
      this.summary, this.dialog.element);
  }

  load(catalogue) {
    this.presets = catalogue.presets;
    const groups = [...new Set(this.presets.map(one => one.group))];
    this.select.replaceChildren(
      h("option", {value: ""}, "Own points"),
      ...groups.map(group => h("optgroup", {label: group}, this.presets.filter(one => one.group === group).map(one => h("option", {value: one.name}, one.title)))));
  }

  show() {
    const {data, history} = this.lab, preset = this.presets.find(one => one.name === data.preset?.name);
    this.select.value = preset?.name ?? "";
    this.about.textContent = preset?.about ?? "";
    this.about.hidden = !preset;
    const slid = preset ? JSON.stringify([preset.name, data.preset.options]) : "";
    if (this.slid !== slid && this.sliding !== slid) this.drawSliders(preset);
    this.slid = slid;
    this.undoButton.disabled = !history.past.length;
    this.redoButton.disabled = !history.future.length;
    const used = data.classes.filter(one => data.y.includes(one));
    this.summary.textContent = data.X.length ? `${count(data.X.length, "point")}, ${count(used.length, "class", "classes")}` : "No points yet";
    this.drawClasses();
  }

  drawSliders(preset) {
    const {data} = this.lab;
    this.wished = null;
    this.sliders.replaceChildren(...(preset?.options ?? []).map(option => {
      const id = unique(option.name), value = data.preset.options[option.name] ?? option.default;
      const shown = h("output", {}, number(value));
      const input = h("input", {
        id, type: "range", min: option.low, max: option.high, step: option.step, value,
        onpointerdown: () => this.lab.history.hold(), onpointerup: () => this.lab.history.release(), onpointercancel: () => this.lab.history.release(),
        oninput: () => {
          shown.textContent = number(Number(input.value));
          // The slider itself is already there: it is drawn again only for other options, such as those of an undo.
          this.wished = {...(this.wished ?? this.lab.data.preset?.options), [option.name]: Number(input.value)};
          this.sliding = JSON.stringify([preset.name, this.wished]);
          this.lab.slide(preset.name, this.wished);
        },
      });
      return h("div", {class: "slider"}, h("label", {for: id}, option.title), shown, input);
    }));
  }

  drawClasses() {
    const {lab} = this, {data} = lab, fixed = data.X.length > 0 && data.X[0].length > 2;
    this.classes.hidden = fixed;
    const option = (value, text, picture, title) => h("button", {
      type: "button", role: "radio", "aria-checked": String(lab.tool === value), tabindex: lab.tool === value ? "0" : "-1", title,
      onclick: () => lab.pick(value),
      onkeydown: event => {
        const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
        if (!by) return;
        event.preventDefault();
        event.stopPropagation();
        const all = [...this.classes.children], next = (all.indexOf(event.currentTarget) + by + all.length) % all.length;
        all[next].click();
        this.classes.children[next].focus();
      },
    }, picture, text);
    this.classes.replaceChildren(
      ...data.classes.map((one, code) => option(code, label(one), symbol(code), `Click to add points of class ${label(one)} (${code + 1})`)),
      option("erase", "erase", "", "Click a point to remove it (0)"));
  }
}
