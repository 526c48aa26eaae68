// The controls above a schedule: rows by node or by job, the search for a job, zoom, and the key of its marks.
report.scheduleTools = (() => {
  const { element } = report.words;
  const { count, moment } = report.numbers;

  function button(words, label, action) {
    const made = element("button", words);
    made.type = "button";
    if (label) made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
    return made;
  }

  function modes(chart) {
    const both = [["node", "By node"], ["job", "By job"]].map(([mode, words]) => {
      const made = button(words, "", () => {
        chart.setMode(mode);
        for (const other of both) other.setAttribute("aria-pressed", String(other === made));
      });
      made.setAttribute("aria-pressed", String(mode === "node"));
      return made;
    });
    return both;
  }

  function search(chart, figure) {
    const field = element("input");
    field.type = "search";
    field.placeholder = "find a job";
    field.setAttribute("aria-label", "find a job; Enter shows the next one");
    const said = element("span");
    said.setAttribute("role", "status");
    let [found, at] = [[], -1];
    const show = () => {
      if (!found.length) {
        chart.show(null);
        said.textContent = field.value.trim() ? "no such job" : "";
        return;
      }
      const job = found[at];
      const runs = chart.show(job);
      const end = figure.jobs.end[job];
      const until = !runs ? ": does not run" : end === null ? "" : `: ends at ${moment(figure.axis, end)}`;
      said.textContent = `${at + 1} of ${count(found.length, "job")}: ${figure.jobs.names[job]}${until}`;
    };
    field.addEventListener("input", () => {
      found = report.jobSearch.find(figure.jobs.names, field.value);
      at = 0;
      show();
    });
    field.addEventListener("keydown", event => {
      if (event.key !== "Enter" || !found.length) return;
      at = (at + (event.shiftKey ? found.length - 1 : 1)) % found.length;
      show();
    });
    return [field, said];
  }

  function zoom(view) {
    return [
      button("−", "zoom out", () => view.zoom(1 / 0.7)), button("+", "zoom in", () => view.zoom(0.7)),
      button("←", "earlier", () => view.pan(-0.2)), button("→", "later", () => view.pan(0.2)),
      button("Show all", "", () => view.reset()),
    ];
  }

  // What colours, patterns and heights mean, in words.
  function key(figure) {
    const lines = ["a bar is a job, as high as its share of the node's GPUs"];
    if (figure.stays.late.includes(1)) lines.push("framed and ▲: ends after its due date; hatched: the time after it");
    if (figure.prices.length) lines.push(`background: ${figure.prices[0].name} [${figure.prices[0].unit}], stronger is dearer`);
    lines.push("grey: short jobs merged", "by job: dotted from arrival to end, a vertical line at the due date");
    if (figure.idle) lines.push(figure.idle);
    const made = element("p", undefined, "key");
    made.append(...lines.map(line => element("span", line)));
    return made;
  }

  function build(tools, chart, figure, view) {
    tools.append(...modes(chart), ...search(chart, figure), ...zoom(view));
    tools.after(key(figure));
  }

  return { build };
})();
