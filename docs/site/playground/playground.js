// The page of the playground: an editor, its diagnostics, mathematics, and a solver. The model is in the link.
const root = document.getElementById("gsdsl-playground");
const base = new URL("./", import.meta.url);
const WAIT = 250; // ms after the last key

const element = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};

// --- the model in the link ---
const packed = async (bytes, stream) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
async function toLink(text) {
  const bytes = await packed(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
async function fromLink(word) {
  const letters = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  return new TextDecoder().decode(await packed(bytes, new DecompressionStream("deflate-raw")));
}

async function start() {
  const [examples, words] = await Promise.all(
    ["examples.json", "words.json"].map(async (file) => (await fetch(new URL(file, base))).json()),
  );
  const { default: temml } = await import(new URL("temml/temml.mjs", base));

  const choice = element("select", { ariaLabel: "example" });
  examples.forEach((each, number) => choice.append(element("option", { value: number, textContent: each.title })));
  const format = element("button", { textContent: "Format" });
  const share = element("button", { textContent: "Copy link" });
  const solve = element("button", { textContent: "Solve" });
  const note = element("p", { className: "note", textContent: "Only unchanged examples can be solved here, an edited model by gsdsl solve." });
  const state = element("output", { className: "state", textContent: "loading Python ..." });
  const paint = element("pre", { className: "paint", ariaHidden: "true" });
  const editor = element("textarea", { spellcheck: false, ariaLabel: "model", wrap: "off" });
  const problems = element("div", { className: "problems" });
  const solution = element("div", { className: "solution" });
  const explanation = element("div", { className: "explanation" });
  root.replaceChildren(
    element("div", { className: "bar" }, choice, format, solve, share, state),
    note,
    element("div", { className: "editor" }, paint, editor),
    problems, solution, explanation,
  );

  // --- Python, in a worker ---
  const worker = new Worker(new URL("front_end.js", base), { type: "module" });
  const waiting = new Map();
  let asked = 0;
  worker.onmessage = ({ data }) => {
    if (data.failed) state.textContent = data.failed;
    else if (data.ready) refresh();
    else waiting.get(data.id)?.(data), waiting.delete(data.id);
  };
  const python = (call, text) =>
    new Promise((resolve, reject) => {
      waiting.set(++asked, (data) => (data.error ? reject(new Error(data.error)) : resolve(data.result)));
      worker.postMessage({ id: asked, call, text });
    });

  // --- colours and underlines ---
  const kinds = new RegExp(`(?<comment>#.*)|(?<text>"(?:[^"\\\\\\n]|\\\\.)*")|(?<word>[^\\W\\d]\\w*)|(?<number>\\d[\\d.]*)`, "gu");
  function draw(diagnostics = []) {
    const text = editor.value;
    const spans = [...text.matchAll(kinds)].map((found) => {
      const kind = Object.keys(found.groups).find((name) => found.groups[name] !== undefined);
      return [found.index, found.index + found[0].length, kind === "word" ? (words[found[0]] ?? "") : kind];
    });
    const cuts = new Set([0, text.length]);
    for (const [from, to] of spans) cuts.add(from).add(to);
    for (const each of diagnostics) if (each.from !== null) cuts.add(each.from).add(Math.max(each.to, each.from + 1));
    const places = [...cuts].sort((a, b) => a - b);
    let at = 0;
    paint.replaceChildren(
      ...places.slice(0, -1).map((from, number) => {
        while (at < spans.length && spans[at][1] <= from) at++;
        const kind = at < spans.length && spans[at][0] <= from ? spans[at][2] : "";
        const wrong = diagnostics.find((d) => d.from !== null && d.from <= from && from < Math.max(d.to, d.from + 1));
        return element("span", {
          className: `${kind} ${wrong ? wrong.severity : ""}`,
          textContent: text.slice(from, places[number + 1]),
        });
      }),
      "\n",
    );
    paint.scrollTop = editor.scrollTop;
    paint.scrollLeft = editor.scrollLeft;
  }

  let newest = 0;
  async function refresh() {
    const text = editor.value, mine = ++newest;
    history.replaceState(null, "", `#model=${await toLink(text)}`);
    const example = examples.find((each) => each.text.trim() === text.trim());
    solve.disabled = !example?.lp;
    note.hidden = !solve.disabled;
    const diagnostics = JSON.parse(await python("checked", text));
    if (mine !== newest) return;
    draw(diagnostics);
    const errors = diagnostics.filter((each) => each.severity === "error").length;
    state.textContent = errors ? `${errors} error${errors > 1 ? "s" : ""}` : "no errors";
    problems.replaceChildren(
      ...diagnostics.map((each) => {
        const link = element("a", { href: `errors.html#${each.anchor}`, textContent: each.code });
        return element("div", { className: each.severity }, link, element("pre", { textContent: each.text }));
      }),
    );
    const { models, policies } = JSON.parse(await python("explained", text));
    if (mine !== newest) return;
    explanation.replaceChildren(...models.flatMap(shownModel), ...policies.flatMap(shownPolicy));
  }
  const shownModel = (model) => [
    element("h2", { textContent: model.name }),
    element("p", { textContent: model.meaning }),
    ...model.equations.map((each) => {
      const formula = element("div", { className: "formula" });
      temml.render(each.latex, formula, { displayMode: true, throwOnError: false });
      return element("div", {}, element("strong", { textContent: each.name }), formula);
    }),
  ];
  const shownPolicy = (policy) => [
    element("h2", { textContent: policy.name }),
    element("pre", { textContent: policy.lines.join("\n") }),
  ];

  // --- solving ---
  function solved(text) {
    const highs = new Worker(new URL("solver.js", base), { type: "module" });
    state.textContent = "solving ...";
    highs.onmessage = ({ data }) => {
      highs.terminate();
      state.textContent = data.error ?? data.result.Status;
      if (data.error) return;
      const rows = Object.entries(data.result.Columns ?? {}).filter(([, column]) => Math.abs(column.Primal) > 1e-9);
      solution.replaceChildren(
        element("p", { textContent: `${data.result.Status}: ${Number(data.result.ObjectiveValue.toPrecision(10))}` }),
        element("table", {}, ...rows.map(([name, column]) =>
          element("tr", {}, element("td", { textContent: name }), element("td", { textContent: Number(column.Primal.toPrecision(10)) })))),
      );
    };
    highs.postMessage(text);
  }

  let timer;
  const changed = () => {
    draw();
    solution.replaceChildren();
    clearTimeout(timer);
    timer = setTimeout(refresh, WAIT);
  };
  editor.oninput = changed;
  editor.onscroll = () => { paint.scrollTop = editor.scrollTop; paint.scrollLeft = editor.scrollLeft; };
  choice.onchange = () => { editor.value = examples[choice.value].text; changed(); };
  format.onclick = async () => { editor.value = await python("formatted", editor.value); changed(); };
  solve.onclick = () => solved(examples.find((each) => each.text.trim() === editor.value.trim()).lp);
  share.onclick = async () => { await refresh(); await navigator.clipboard.writeText(location.href); state.textContent = "link copied"; };

  const open = async () => {
    const word = new URLSearchParams(location.hash.slice(1)).get("model");
    editor.value = word ? await fromLink(word).catch(() => examples[0].text) : examples[0].text;
    draw();
  };
  window.onhashchange = async () => { await open(); refresh(); };
  await open();
}

if (root) {
  const refusal = [...root.childNodes]; // the text of the page for copies without the playground
  root.replaceChildren("loading ...");
  start().catch(() => root.replaceChildren(...refusal));
}
