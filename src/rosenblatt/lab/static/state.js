// The state for sharing and undo: data, learner and current frame. It is stored in the address of the page.

const VERSION = 1;

const bytesToText = bytes => {
  let text = "";
  for (let k = 0; k < bytes.length; k += 8192) text += String.fromCharCode(...bytes.subarray(k, k + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
};
const textToBytes = text => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

// An unchanged preset is stored as its name and options, without its points.
function small(state) {
  const {data, algorithm, parameters, frame, show} = state;
  const own = data.preset
    ? {preset: data.preset}
    : {X: data.X, codes: data.y.map(one => data.classes.indexOf(one)), classes: data.classes, features: data.features,
       known: data.known ? true : undefined};
  return {v: VERSION, data: own, algorithm, parameters, frame, show};
}

export async function encode(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(small(state)));
  return bytesToText(await through(bytes, new CompressionStream("deflate-raw")));
}

export async function decode(text) {
  const bytes = await through(textToBytes(text), new DecompressionStream("deflate-raw"));
  return JSON.parse(new TextDecoder().decode(bytes));
}

// The text of an address cannot be trusted: accept only values of the right form.
export function checked(found) {
  if (!found || found.v !== VERSION || typeof found.algorithm !== "string") return null;
  const {data} = found;
  if (data?.preset) {
    if (typeof data.preset.name !== "string") return null;
  } else {
    const fine = Array.isArray(data?.X) && Array.isArray(data.codes) && Array.isArray(data.classes)
      && data.X.length === data.codes.length && data.classes.length <= 7
      && data.classes.every(one => typeof one === "string" || Number.isInteger(one))
      && data.X.every(x => Array.isArray(x) && x.length === data.X[0].length && x.every(Number.isFinite))
      && data.codes.every(code => Number.isInteger(code) && code >= 0 && code < data.classes.length);
    if (!fine) return null;
  }
  return {
    data, algorithm: found.algorithm,
    parameters: typeof found.parameters === "object" && found.parameters ? found.parameters : {},
    frame: Number.isInteger(found.frame) ? found.frame : 0,
    show: typeof found.show === "object" && found.show ? found.show : {},
  };
}

export const blank = () => ({X: [], y: [], classes: [-1, 1, 2, 3], features: null, preset: null, known: null});

// At least four classes that can be drawn, those of the data first.
export function palette(classes) {
  const all = [...classes];
  const spare = all.some(one => typeof one === "string") ? ["a", "b", "c", "d", "e", "f", "g", "h"] : [-1, 1, 2, 3, 4, 5, 6, 0];
  for (const one of spare) if (all.length < 4 && !all.includes(one)) all.push(one);
  return all;
}

export class History {
  constructor() {
    this.held = false; // whether a slider is held, whose changes are one entry
    this.past = [];
    this.future = [];
  }

  hold() {
    this.held = true;
    this.name = "";
  }

  // The last change of a slider may arrive a moment after its release.
  release() {
    this.held = false;
    this.when = performance.now();
  }

  // Entries of the same name within a second of each other, or while a slider is held, are one.
  remember(entry, name = "") {
    const now = performance.now(), again = name && name === this.name && (this.held || now - this.when < 1000);
    this.name = name;
    this.when = now;
    this.future = [];
    if (again) return;
    this.past.push(entry);
    if (this.past.length > 200) this.past.shift();
  }

  undo(now) {
    this.name = "";
    if (!this.past.length) return null;
    this.future.push(now);
    return this.past.pop();
  }

  redo(now) {
    if (!this.future.length) return null;
    this.past.push(now);
    return this.future.pop();
  }
}
