// Choice of the learner and its parameters, with the help texts of its documentation.

import {h, unique} from "./dom.js";

const WORDS = {
  on_zero: {update: "a mistake", positive: "means +1", keep: "no mistake"},
  shuffle: {false: "as added", true: "shuffled", replacement: "with replacement"},
};

export class LearnerPanel {
  constructor(lab) {
    this.lab = lab;
    const id = unique("learner");
    this.select = h("select", {id, onchange: () => lab.choose(this.select.value)});
    this.about = h("p", {class: "about"});
    this.fields = h("div", {class: "fields"});
    this.element = h("section", {class: "card", "aria-label": "Learner"},
      h("h2", {}, h("span", {class: "number", "aria-hidden": "true"}, "2"), h("label", {for: id}, "Learner")), this.select, this.about, this.fields);
  }

  load(catalogue) {
    this.select.replaceChildren(...catalogue.learners.map(one => h("option", {value: one.name}, one.title)));
  }

  show() {
    const {learner, state} = this.lab;
    this.select.value = learner.name;
    this.about.textContent = learner.about;
    const many = new Set(this.lab.data.y).size > 2 || (this.lab.data.known?.length ?? 0) > 2;
    const fields = learner.parameters
      .filter(one => (one.name !== "multiclass" || many) && (one.name !== "random_state" || state.parameters.shuffle))
      .map(one => this.field(one, state.parameters[one.name] ?? one.default));
    if (!["kernel", "parallel"].includes(learner.name)) fields.push(this.init(state.parameters.init));
    // Keep the keyboard focus on the changed parameter.
    const active = this.fields.getRootNode().activeElement;
    const held = this.fields.contains(active) ? active.dataset.name : null;
    this.fields.replaceChildren(...fields.flat());
    if (held) this.fields.querySelector(`[data-name="${held}"]`)?.focus();
  }

  field(one, value) {
    const id = unique(one.name), change = next => this.lab.setParameter(one.name, next);
    let input;
    if (one.kind === "choice") {
      input = h("select", {id, onchange: () => change(one.choices[input.selectedIndex])},
        one.choices.map(choice => h("option", {selected: choice === value}, WORDS[one.name]?.[choice] ?? String(choice))));
    } else if (one.kind === "switch") {
      input = h("input", {id, type: "checkbox", checked: value, onchange: () => change(input.checked)});
    } else {
      input = h("input", {
        id, type: "text", inputmode: "decimal", value: value ?? "", placeholder: one.optional ? "auto" : "",
        onchange: () => {
          const text = input.value.trim().replace("−", "-"), number = Number(text);
          const fine = text === "" ? one.optional : Number.isFinite(number) && (one.kind !== "whole" || Number.isInteger(number));
          input.setAttribute("aria-invalid", String(!fine));
          if (fine) change(text === "" ? null : number);
          else this.lab.complain(`“${one.title}” must be a ${one.kind === "whole" ? "whole " : ""}number; got “${input.value}”.`);
        },
      });
    }
    input.dataset.name = one.name;
    return [h("label", {for: id, title: one.help}, one.title), input];
  }

  // Initial weights: numbers separated by commas, rows of several classes by semicolons.
  init(value) {
    const id = unique("init"), rows = Array.isArray(value?.[0]) ? value : value ? [value] : [];
    const input = h("input", {
      id, type: "text", value: rows.map(row => row.join(", ")).join("; "), placeholder: this.lab.learner.name === "winnow" && !this.lab.state.parameters.balanced ? "one" : "zero",
      onchange: () => {
        const text = input.value.trim().replaceAll("−", "-");
        const numbers = text === "" ? null : text.split(";").map(row => row.split(",").map(one => one.trim() === "" ? NaN : Number(one)));
        const fine = numbers === null || numbers.flat().every(Number.isFinite);
        input.setAttribute("aria-invalid", String(!fine));
        if (fine) this.lab.setParameter("init", numbers === null ? null : numbers.length === 1 ? numbers[0] : numbers);
        else this.lab.complain(`“initial w” must be numbers separated by commas, such as −1, 0, 0; got “${input.value}”.`);
      },
    });
    input.dataset.name = "init";
    return [h("label", {for: id, title: "Initial weights, the bias first; for several classes a row each, separated by semicolons."}, "initial w"), input];
  }
}
