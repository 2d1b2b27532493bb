// Loads the entry point of an unpacked extension, with a stand-in for the editor's own module, and checks that it
// exports what the editor calls: `node load.cjs FOLDER`.

const assert = require("node:assert/strict");
const Module = require("node:module");
const { join } = require("node:path");

const folder = process.argv[2];
// Any name is a class whose members are such classes again: enough to load code that only runs in an editor.
const anything = () =>
  new Proxy(class {}, { get: (target, name) => (name in target || typeof name === "symbol" ? target[name] : anything()) });
const load = Module._load;
Module._load = (request, ...rest) => {
  if (request !== "vscode") return load(request, ...rest);
  return new Proxy({ version: "1.100.0" }, { get: (target, name) => target[name] ?? anything() });
};
const extension = require(join(folder, require(join(folder, "package.json")).main));
assert.equal(typeof extension.activate, "function");
assert.equal(typeof extension.deactivate, "function");
