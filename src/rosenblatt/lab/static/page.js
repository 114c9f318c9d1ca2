// The page in a browser. With a catalogue in the page it computes everything itself; else it asks the server of the page.

import {mount} from "./lab.js";
import {makeEngine} from "./engine/engine.js";

const embedded = document.getElementById("catalogue");
const engine = embedded && makeEngine(JSON.parse(embedded.textContent));

async function ask(name, body) {
  let answer;
  try {
    answer = await fetch(`api/${name}`, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
  } catch {
    throw new Error("The lab does not answer. Check that `rosenblatt lab` is still running, and reload the page.");
  }
  const said = await answer.json().catch(() => ({error: `The lab answered with the status ${answer.status}. Reload the page.`}));
  if (!answer.ok) throw new Error(said.error);
  return said;
}

const root = document.getElementById("lab");
root.replaceChildren();
/** @type {any} */ (window).lab = mount(root, {request: engine ? async (name, body) => engine(name, body) : ask, address: true, alone: Boolean(engine)});
