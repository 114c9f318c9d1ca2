// The page in a browser: requests go to the server of the page.

import {mount} from "./lab.js";

async function request(name, body) {
  const answer = await fetch(`api/${name}`, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
  const said = await answer.json().catch(() => ({error: `The lab answered with the status ${answer.status}.`}));
  if (!answer.ok) throw new Error(said.error);
  return said;
}

const root = document.getElementById("lab");
root.replaceChildren();
window.lab = mount(root, {request, address: true});
