// A worker with Python and the front end of gsdsl: {id, call, text} in, {id, result} or {id, error} out.
import { loadPyodide } from "./pyodide/pyodide.mjs";

async function start() {
  const python = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  const archive = await fetch(new URL("./front_end.zip", import.meta.url));
  if (!archive.ok) throw new Error("front_end.zip is missing: run `make playground`");
  python.unpackArchive(await archive.arrayBuffer(), "zip", { extractDir: "/front_end" });
  python.runPython("import sys; sys.path.insert(0, '/front_end')");
  return python.pyimport("examine");
}

const examine = start();
examine.then(() => postMessage({ ready: true }), (error) => postMessage({ failed: String(error) }));

onmessage = async ({ data }) => {
  try {
    const module = await examine;
    postMessage({ id: data.id, result: module[data.call](data.text) });
  } catch (error) {
    postMessage({ id: data.id, error: String(error) });
  }
};
