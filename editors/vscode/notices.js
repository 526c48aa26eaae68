// Writes the licences of the packages in the built extension beside it, and in it which source it was built from.
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");

const { inputs } = JSON.parse(fs.readFileSync("dist/meta.json", "utf8"));
const names = new Set(Object.keys(inputs).flatMap((file) => file.match(/.*node_modules\/([^/]+)/)?.[0] ?? []));
const texts = [...names].sort().map((folder) => {
  const { name, version, license } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = fs.readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no licence`);
  return `${name} ${version} (${license})\n\n${fs.readFileSync(path.join(folder, file), "utf8").trim()}\n`;
});
fs.writeFileSync("dist/NOTICE.txt", texts.join("\n----\n\n"));
fs.rmSync("dist/meta.json");
const source = crypto.createHash("sha256").update(fs.readFileSync("src/extension.js")).digest("hex");
fs.appendFileSync("dist/extension.js", `// built from src/extension.js, sha256 ${source}\n`);
