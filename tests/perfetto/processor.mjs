// Runs Perfetto's trace processor in this process. Its WebAssembly is built for a worker of a browser: what that has and
// Node.js lacks is put in place here, and its messages go through a channel.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

// Changes to the glue code of the engine: the bytes of the WebAssembly are handed over, not fetched, and the bridge is
// kept, which a worker would get messages for.
const EDITS = [
  ["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"],
  ["locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: globalThis.perfettoBytes,"],
  [
    "const wasmBridge = new wasm_bridge_1.WasmBridge();",
    "const wasmBridge = new wasm_bridge_1.WasmBridge(); globalThis.perfettoBridge = wasmBridge;",
  ],
];

// Returns a function that loads a file and returns a function that answers SQL with rows.
export async function processor(folder) {
  const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  define("self", globalThis);
  define("WorkerGlobalScope", function WorkerGlobalScope() {});
  define("location", { href: pathToFileURL(folder).href + "/" });
  const { EngineBase } = await import(pathToFileURL(join(folder, "engine.mjs")).href);
  let glue = readFileSync(join(folder, "engine_bundle.node.js"), "utf8");
  for (const [from, to] of EDITS) {
    if (!glue.includes(from)) throw new Error(`the engine has no \`${from}\``);
    glue = glue.replace(from, to);
  }
  // What the engine says in Node.js of each start, of its progress, and of a field that its decoder does not know.
  const known = /unsupported syscall|^\s*Loading trace|Unexpected QueryResult field|^\s*$/;
  for (const way of ["log", "info", "warn", "error"]) {
    const say = console[way].bind(console);
    console[way] = (...all) => known.test(typeof all[0] === "string" ? all[0] : JSON.stringify(all[0] ?? "")) || say(...all);
  }

  class Engine extends EngineBase {
    mode = "WASM";
    id = "raceflip";

    constructor(port) {
      super();
      this.port = port;
      port.onmessage = ({ data }) => data instanceof Uint8Array && this.onRpcResponseBytes(data);
    }

    rpcSendRequestBytes(bytes) {
      this.port.postMessage(bytes);
    }
  }

  return async (file) => {
    globalThis.perfettoBytes = new Uint8Array(readFileSync(join(folder, "trace_processor.wasm")));
    vm.runInThisContext(`(() => {${glue}\n})()`, { filename: "engine_bundle.node.js" });
    const channel = new MessageChannel();
    globalThis.perfettoBridge.initialize(channel.port1);
    const engine = new Engine(channel.port2);
    await engine.parse(new Uint8Array(readFileSync(file)));
    await engine.notifyEof();
    const query = async (sql) => {
      const result = await engine.query(sql);
      if (result.error()) throw new Error(`${sql}: ${result.error()}`);
      const rows = [];
      for (const row = result.iter({}); row.valid(); row.next()) {
        rows.push(Object.fromEntries(result.columns().map((name) => [name, plain(row.get(name))])));
      }
      return rows;
    };
    const close = () => {
      channel.port1.close();
      channel.port2.close();
    };
    return { query, close };
  };
}

function plain(value) {
  return typeof value === "bigint" ? Number(value) : value;
}
