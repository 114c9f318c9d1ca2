// The engine in a thread of its own, so that the page stays alive during a long run.

import {makeEngine} from "./engine.js";

/** @type {ReturnType<typeof makeEngine> | null} */
let engine = null;

// The first message is the description of learners and presets, the others are requests.
onmessage = ({data: {id, name, body, described}}) => {
  if (described) { engine = makeEngine(described); return; }
  try {
    postMessage({id, answer: /** @type {NonNullable<typeof engine>} */ (engine)(name, body)});
  } catch (error) {
    postMessage({id, error: /** @type {Error} */ (error).message});
  }
};
