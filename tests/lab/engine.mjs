// Answers requests to the JavaScript engine: one JSON array [name, body] a line in, {"answer": …} or {"error": …} a line out.

import readline from "node:readline";
import {makeEngine} from "./engine/engine.js";

let engine = null;
for await (const line of readline.createInterface({input: process.stdin})) {
  const [name, body] = JSON.parse(line);
  if (name === "start") { engine = makeEngine(body); continue; }
  let said;
  try { said = {answer: engine(name, body)}; } catch (error) { said = {error: error.message}; }
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
