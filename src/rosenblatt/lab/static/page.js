// The page in a browser. With an engine in the page it computes everything itself; else it asks the server of the page.

import {mount} from "./lab.js";
import {correspond} from "./dom.js";

const embedded = document.getElementById("engine");

// The engine is a text in the page, because a file has no other files beside it that a worker could be made from.
function alone() {
  const worker = new Worker(URL.createObjectURL(new Blob([embedded.textContent], {type: "text/javascript"})));
  worker.postMessage({described: JSON.parse(document.getElementById("catalogue").textContent)});
  const {request, receive} = correspond(message => worker.postMessage(message));
  worker.onmessage = ({data}) => receive(data);
  return request;
}

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
const lab = /** @type {any} */ (window).lab = mount(root, {request: embedded ? alone() : ask, address: true, alone: Boolean(embedded)});

// A page around the lab, such as this documentation, can tell whether it is "light" or "dark", or "" for the choice of the system.
if (window.parent !== window) {
  window.addEventListener("message", ({source, data}) => {
    if (source === window.parent && ["light", "dark", ""].includes(data?.theme)) lab.setSurroundings(data.theme);
  });
}
