// A worker with HiGHS: the text of an LP file in, its solution out.
import loadHighs from "./highs/highs.mjs";

const highs = loadHighs({ locateFile: (file) => new URL(`./highs/${file}`, import.meta.url).href });

onmessage = async ({ data }) => {
  try {
    // Two rules of its presolve can return points that are not optimal; gsdsl turns them off everywhere.
    postMessage({ result: (await highs).solve(data, { presolve_rule_off: (1 << 12) | (1 << 16) }) });
  } catch (error) {
    postMessage({ error: String(error) });
  }
};
