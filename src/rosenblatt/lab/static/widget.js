// The notebook widget: requests are messages to the kernel, the state is a trait of the widget.

import {mount} from "./lab.js";
import {correspond} from "./dom.js";

// "dark" or "light" by the first background behind the widget that can be seen; "" if there is none.
function surroundings(el) {
  for (let at = el; at; at = at.parentElement ?? at.getRootNode().host) {
    const [red, green, blue, alpha = 1] = (getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (alpha > 0.5 && blue !== undefined) return 0.3 * red + 0.6 * green + 0.1 * blue < 110 ? "dark" : "light";
  }
  return "";
}

function render({model, el}) {
  const {request, receive} = correspond(message => model.send(message));
  model.on("msg:custom", receive);
  const root = document.createElement("div");
  el.append(root);
  let own = null;
  const lab = mount(root, {
    request, initial: model.get("state"),
    changed: text => { own = text; model.set("state", text); model.save_changes(); },
  });
  // A notebook has its own light and dark colours, whatever the system says.
  const follow = () => lab.setSurroundings(surroundings(el));
  const watch = new MutationObserver(follow);
  for (const place of [document.documentElement, document.body]) watch.observe(place, {attributes: true});
  follow();
  const reload = () => { if (model.get("state") !== own) lab.open(model.get("state")); };
  model.on("change:state", reload);
  return () => { model.off("msg:custom", receive); model.off("change:state", reload); watch.disconnect(); lab.close(); };
}

export default {render};
