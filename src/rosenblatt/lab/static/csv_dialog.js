// Paste or drop a table; choose the label and two columns, a projection, or all columns.

import {count, debounce, h, unique} from "./dom.js";

const LARGEST = 3_000_000;

export class CsvDialog {
  constructor(lab) {
    this.lab = lab;
    const [title, text] = [unique("csv"), unique("text")];
    this.area = h("textarea", {
      id: text, rows: 8, spellcheck: "false", placeholder: "height,width,class\n1.2,3.4,plum\n2.1,0.7,pear\n…",
      oninput: debounce(250, () => this.look({})),
    });
    this.file = h("input", {type: "file", accept: ".csv,.tsv,.txt,text/csv", "aria-label": "Choose a file", onchange: () => this.read(this.file.files[0])});
    this.message = h("p", {class: "error", role: "alert"});
    this.choices = h("div", {class: "fields"});
    this.use = h("button", {type: "button", class: "primary", disabled: true, onclick: () => this.apply()}, "Use these points");
    this.element = h("dialog", {class: "csv", "aria-labelledby": title},
      h("h2", {id: title}, "Your own table"),
      h("p", {}, "One row per example, one column with the class. The table stays on this computer."),
      h("label", {for: text}, "Paste it here, or choose or drop a file"), this.area, this.file, this.message, this.choices,
      h("div", {class: "row"}, this.use, h("button", {type: "button", onclick: () => this.element.close()}, "Cancel")));
  }

  open() {
    if (!this.element.open) this.element.showModal();
  }

  async read(file) {
    if (!file) return;
    this.open();
    this.found = null;
    this.choices.replaceChildren();
    this.use.disabled = true;
    if (file.size > LARGEST) {
      this.fail(`A table may have at most ${LARGEST.toLocaleString("en")} bytes; ${file.name} has ${file.size.toLocaleString("en")}. Use a part of it, or rosenblatt train for all of it.`);
      return;
    }
    this.area.value = await file.text();
    await this.look({});
  }

  fail(text) {
    this.message.textContent = text;
    this.use.disabled = true;
  }

  async look(wish) {
    if (!this.area.value.trim()) { this.fail(""); this.choices.replaceChildren(); return; }
    this.lab.attempts++;
    try {
      this.found = await this.lab.request("csv", {text: this.area.value, ...wish});
    } catch (error) {
      this.fail(error.message);
      return;
    } finally {
      this.lab.attempts--;
    }
    this.wish = wish;
    this.message.textContent = "";
    this.use.disabled = false;
    this.drawChoices();
  }

  drawChoices() {
    const {found, wish} = this, numeric = found.numeric.filter(one => one !== found.label);
    const way = wish.projection ? "projection" : wish.all ? "all" : "two";
    const field = (name, options, value, change) => {
      const id = unique("choice");
      const select = h("select", {id, onchange: () => change(select.value)}, options.map(([key, text]) => h("option", {value: key, selected: key === value}, text)));
      return [h("label", {for: id}, name), select];
    };
    const names = list => list.map(one => [one, one]);
    const ways = [["two", "two columns"]];
    if (numeric.length > 1) ways.push(["projection", "a projection of all columns"]);
    if (numeric.length > 2) ways.push(["all", "all columns, projected on w"]);
    const fields = [
      field("class", names(found.columns), found.label, value => this.look({label: value})),
      field("features", ways, way, value => this.look({
        label: found.label, projection: value === "projection", all: value === "all", columns: value === "two" ? undefined : numeric,
      })),
    ];
    if (way === "two") {
      const [first, second] = found.chosen;
      fields.push(field("horizontal", names(numeric), first, value => this.look({label: found.label, columns: [value, second === value ? first : second].filter(Boolean)})));
      if (second) fields.push(field("vertical", names(numeric), second, value => this.look({label: found.label, columns: [first === value ? second : first, value]})));
    }
    const skipped = found.skipped ? `; ${count(found.skipped, "row")} with an empty field left out` : "";
    const unused = (found.unused ?? []).map(([name, cell]) => h("p", {class: "error"}, cell ? `The column ${name} is left out, because “${cell}” is not a number.` : `The column ${name} is left out, because it is empty.`));
    this.choices.replaceChildren(...fields.flat(), ...unused, h("p", {class: "summary"}, `${count(found.X.length, "point")}, ${count(new Set(found.y).size, "class", "classes")}${skipped}`));
  }

  apply() {
    if (!this.found) return;
    this.lab.useTable(this.found);
    this.element.close();
    this.area.value = "";
    this.file.value = "";
    this.choices.replaceChildren();
    this.use.disabled = true;
  }
}
