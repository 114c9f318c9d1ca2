// The notebook widget: requests are messages to the kernel, the state is a trait of the widget.

import {mount} from "./lab.js";

function render({model, el}) {
  const waiting = new Map();
  let last = 0;
  const receive = ({id, answer, error}) => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (error) one?.refuse(new Error(error)); else one?.take(answer);
  };
  model.on("msg:custom", receive);
  const request = (name, body) => new Promise((take, refuse) => {
    waiting.set(++last, {take, refuse});
    model.send({id: last, name, body});
  });
  const root = document.createElement("div");
  el.append(root);
  let own = null;
  const lab = mount(root, {
    request, initial: model.get("state"),
    changed: text => { own = text; model.set("state", text); model.save_changes(); },
  });
  const reload = () => { if (model.get("state") !== own) lab.open(model.get("state")); };
  model.on("change:state", reload);
  return () => { model.off("msg:custom", receive); model.off("change:state", reload); lab.close(); };
}

export default {render};
