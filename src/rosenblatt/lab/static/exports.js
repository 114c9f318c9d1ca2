// Exports: pictures, tables and Python code.

import {copy, download, draw, h} from "./dom.js";
import {HEIGHT, WIDTH} from "./plane.js";

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "font-style", "paint-order", "stroke-linejoin", "stroke-linecap"];

// The plane as a separate SVG document, with the styles of the style sheet as attributes.
export function picture(plane) {
  const {canvas, element, back, svg} = plane;
  const styled = from => {
    const to = from.cloneNode(false), style = getComputedStyle(from);
    for (const name of LOOKS) {
      const value = style.getPropertyValue(name);
      if (value && value !== "none" && value !== "normal") to.setAttribute(name, value);
      else if (name === "fill" && value === "none") to.setAttribute(name, "none");
    }
    to.removeAttribute("class");
    to.append(...[...from.childNodes].map(child => child.nodeType === Node.ELEMENT_NODE ? styled(child) : child.cloneNode()));
    return to;
  };
  const under = canvas.hidden ? [] : [draw("image", {href: canvas.toDataURL(), width: WIDTH, height: HEIGHT, preserveAspectRatio: "none"})];
  const whole = draw("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT},
    draw("rect", {width: WIDTH, height: HEIGHT, fill: getComputedStyle(element).backgroundColor}), ...under,
    ...[...back.children].map(styled), draw("g", {}, ...plane.marks()), ...[...svg.children].map(styled));
  return new XMLSerializer().serializeToString(whole);
}

export async function png(plane, scale = 2) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([picture(plane)], {type: "image/svg+xml"}));
  await image.decode();
  const canvas = h("canvas", {width: WIDTH * scale, height: HEIGHT * scale});
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise(done => canvas.toBlob(done, "image/png"));
}

export class ExportMenu {
  constructor(lab) {
    this.lab = lab;
    const save = async (form, name, type) => {
      const text = await lab.exportText(form);
      if (text !== null) download(name, new Blob([text], {type}));
    };
    const item = (text, action) => h("button", {type: "button", role: "menuitem", tabindex: "-1", onclick: () => { this.close(); action(); }}, text);
    this.menu = h("div", {class: "menu", role: "menu", "aria-label": "Export", hidden: true},
      item("Picture as PNG", async () => download("rosenblatt.png", await png(lab.plane))),
      item("Picture as SVG", () => download("rosenblatt.svg", new Blob([picture(lab.plane)], {type: "image/svg+xml"}))),
      item("Steps as CSV", () => save("csv", "rosenblatt.csv", "text/csv")),
      item("Python code as file", () => save("python", "rosenblatt_run.py", "text/x-python")),
      item("Copy Python code", async () => {
        const text = await lab.exportText("python");
        if (text !== null) { await copy(text); lab.say("The Python code was copied."); }
      }));
    this.button = h("button", {type: "button", "aria-haspopup": "menu", "aria-expanded": "false", onclick: () => this.menu.hidden ? this.open() : this.close()}, "Export");
    this.element = h("div", {class: "menu-holder"}, this.button, this.menu);
    this.menu.addEventListener("keydown", event => {
      const items = [...this.menu.children], at = items.indexOf(this.menu.getRootNode().activeElement);
      const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
      if (by) items[(at + by + items.length) % items.length].focus();
      else if (event.key === "Escape") { this.close(); this.button.focus(); }
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.element.addEventListener("focusout", event => { if (!this.element.contains(event.relatedTarget)) this.close(); });
  }

  open() {
    this.menu.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.menu.firstChild.focus();
  }

  close() {
    this.menu.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
  }
}
