// The grammar in the engine of VS Code, on all shipped models.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const ROOT = path.resolve(__dirname, "..");
const GRAMMAR = path.join(ROOT, "syntaxes", "gsm.tmLanguage.json");
const MODELS = path.resolve(ROOT, "..", "..", "models");

async function load() {
  await oniguruma.loadWASM(fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(GRAMMAR, "utf8"), GRAMMAR),
  });
  return registry.loadGrammar("source.gsm");
}

const loaded = load();

/** The parts of a text with their innermost scopes. */
async function tokens(text) {
  const grammar = await loaded;
  let stack = textmate.INITIAL;
  const found = [];
  for (const line of text.split("\n")) {
    const read = grammar.tokenizeLine(line, stack);
    for (const t of read.tokens) found.push([line.slice(t.startIndex, t.endIndex).trim(), t.scopes[t.scopes.length - 1]]);
    stack = read.ruleStack;
  }
  return found.filter(([word]) => word !== "");
}

async function scopeOf(text, word) {
  const found = (await tokens(text)).filter(([each]) => each === word).map(([, scope]) => scope);
  assert.ok(found.length > 0, `${word} is no token of ${text}`);
  return found[0];
}

test("declarations, units, aggregates and comments have their scopes", async () => {
  const text = 'model A "m" {\n  param price[Nodes] in $/h; # cost\n  let c = sum[j in Jobs] 2.5e3[GPU*h] * x[j];\n}';
  assert.equal(await scopeOf(text, "model"), "keyword.other.block.gsm");
  assert.equal(await scopeOf(text, "A"), "entity.name.type.gsm");
  assert.equal(await scopeOf(text, "param"), "keyword.declaration.gsm");
  assert.equal(await scopeOf(text, "price"), "variable.other.gsm");
  assert.equal(await scopeOf(text, "sum"), "support.function.aggregate.gsm");
  assert.equal(await scopeOf(text, "2.5e3"), "constant.numeric.gsm");
  assert.equal(await scopeOf(text, "GPU*h"), "support.type.unit.gsm");
  assert.equal(await scopeOf(text, "# cost"), "comment.line.number-sign.gsm");
});

test("words that are keywords only in places remain names elsewhere", async () => {
  assert.equal(await scopeOf("policy P {\n  order j in Jobs by d[j];\n}", "order"), "keyword.other.gsm");
  assert.equal(await scopeOf("scenario S {\n  order = 3;\n}", "order"), "variable.other.gsm");
  assert.equal(await scopeOf("model M {\n  param table[S] in h;\n}", "table"), "variable.other.gsm");
});

test("a text without its closing quote ends at the end of its line", async () => {
  assert.equal(await scopeOf('import "a.gsm;\nmodel B { }', "model"), "keyword.other.block.gsm");
});

test("all shipped models: each part has a scope, each reserved word that of a keyword", async () => {
  const grammar = JSON.parse(fs.readFileSync(GRAMMAR, "utf8"));
  const patterns = grammar.repository.words.patterns.slice(0, 7).map((p) => new RegExp(`^(?:${p.match})$`));
  const files = fs.readdirSync(MODELS, { recursive: true }).filter((f) => f.endsWith(".gsm"));
  assert.ok(files.length > 50);
  for (const file of files) {
    for (const [word, scope] of await tokens(fs.readFileSync(path.join(MODELS, file), "utf8"))) {
      if (/^(string|comment|constant\.character)/.test(scope)) continue;
      if (patterns.some((p) => p.test(word))) assert.match(scope, /keyword|support|constant/, `${word} in ${file}`);
      if (/\w/.test(word)) assert.notEqual(scope, "source.gsm", `${word} in ${file}`);
    }
  }
});
