// The manifest, and the extension with a stub of the editor in place of `vscode`.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const test = require("node:test");

const ROOT = path.resolve(__dirname, "..");
const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, "package.json"), "utf8"));

test("every file of the manifest exists", () => {
  const [language] = manifest.contributes.languages;
  const [grammar] = manifest.contributes.grammars;
  for (const file of [manifest.main, language.configuration, grammar.path]) {
    assert.ok(fs.existsSync(path.join(ROOT, file)), file);
  }
  assert.equal(JSON.parse(fs.readFileSync(path.join(ROOT, grammar.path), "utf8")).scopeName, grammar.scopeName);
});

test("the extension starts the configured server with the settings, and stops it", async () => {
  const calls = [];
  const values = { command: "/opt/gsdsl", mathematics: "latex", checkData: false, allowOutside: true };
  const vscode = {
    workspace: {
      getConfiguration: () => ({ get: (name) => values[name] }),
      createFileSystemWatcher: (pattern) => pattern,
      onDidChangeConfiguration: (handler) => ((vscode.changed = handler), { dispose() {} }),
      textDocuments: [],
    },
    window: { showErrorMessage: (text) => calls.push(["error", text]) },
  };
  class LanguageClient {
    constructor(id, name, server, options) {
      calls.push(["new", server, options.initializationOptions, options.documentSelector]);
    }
    async start() {
      if (values.command === "missing") throw new Error("not found");
      calls.push(["start"]);
    }
    needsStop() {
      return true;
    }
    async stop() {
      calls.push(["stop"]);
    }
  }
  const load = Module._load;
  Module._load = (name, ...rest) =>
    name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);
  try {
    const extension = require("../src/extension.js");
    await extension.activate({ subscriptions: [] });
    const { command, ...options } = values;
    assert.deepEqual(calls[0], ["new", { command, args: ["lsp"] }, options, [{ language: "gsm" }]]);
    values.command = "missing";
    await vscode.changed({ affectsConfiguration: (section) => section === "gsdsl" });
    assert.deepEqual(calls.map((c) => c[0]), ["new", "start", "stop", "new", "error"]);
    assert.match(calls.at(-1)[1], /pip install '\.\[lsp\]'/);
    await extension.deactivate();
  } finally {
    Module._load = load;
  }
});

test("the built extension needs nothing but the editor and Node", () => {
  const built = fs.readFileSync(path.join(ROOT, manifest.main), "utf8");
  const needed = new Set([...built.matchAll(/\brequire\("([^"]+)"\)/g)].map((found) => found[1].replace("node:", "")));
  assert.ok(needed.delete("vscode"));
  for (const name of needed) assert.ok(Module.isBuiltin(name), name);
});

test("the settings of the manifest are those that the extension sends", () => {
  const source = fs.readFileSync(path.join(ROOT, "src/extension.js"), "utf8");
  for (const name of Object.keys(manifest.contributes.configuration.properties)) {
    assert.ok(source.includes(`"${name.replace("gsdsl.", "")}"`), name);
  }
});
