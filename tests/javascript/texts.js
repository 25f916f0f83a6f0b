// Hook for node's --import: an import of texts.toml is bound to the importing module's table, as headlight's bundler
// binds it.

import fs from "node:fs";
import { register } from "node:module";
import { isMainThread } from "node:worker_threads";

if (isMainThread) register(import.meta.url);

export function resolve(specifier, context, next) {
  if (!specifier.endsWith("/texts.toml")) return next(specifier, context);
  const [module] = context.parentURL.split("/").at(-1).split(".");
  return { url: `${new URL(specifier, context.parentURL)}?${module}`, format: "module", shortCircuit: true };
}

export function load(url, context, next) {
  const [file, module] = url.split("?");
  if (!file.endsWith("/texts.toml")) return next(url, context);
  const table = JSON.stringify(readTables(fs.readFileSync(new URL(file), "utf-8"))[module]);
  const source = `import { sayer } from "../lib/texts.js";\nexport const say = sayer(${table});\n`;
  return { source, format: "module", shortCircuit: true };
}

// The tables of the part of TOML that the bundler allows: strings of one line, and names with at most one dot.
export function readTables(text) {
  const tables = {};
  let table;
  for (const line of text.split("\n")) {
    const [, header, name, form, string] = /^(?:\[(\w+)\]|(\w+)(?:\.(\w+))? = (".*"))$/.exec(line) ?? [];
    if (header) table = tables[header] = {};
    else if (form) (table[name] ??= {})[form] = JSON.parse(string);
    else if (name) table[name] = JSON.parse(string);
  }
  return tables;
}
