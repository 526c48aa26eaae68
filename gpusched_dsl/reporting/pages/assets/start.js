// Draws the page: tables at once, charts when they come near the view.
report.start = (() => {
  const CHARTS = { schedule: "scheduleChart", curves: "curvesChart", "heat map": "heatMapChart", bars: "barsChart", lines: "linesChart" };

  // What a chart shows, for those who cannot see it.
  function label(figure) {
    const words = [figure.title];
    if (figure.axis) words.push(`over time, from ${report.numbers.moment(figure.axis, figure.axis.low)} to ${report.numbers.moment(figure.axis, figure.axis.high)}`);
    if (figure.kind === "schedule") words.push(`${report.numbers.count(figure.jobs.names.length, "job")} on ${report.numbers.count(figure.nodes.length, "node")}`);
    if (figure.kind === "bars") words.push(figure.methods.map((method, at) => `${method} ${report.numbers.text(figure.mean[at])}`).join(", "));
    if (figure.kind === "lines") words.push(`over ${figure.factor}`, figure.lines.map(line => line.label).join(", "));
    if (figure.kind === "curves") words.push(figure.curves.map(curve => curve.label).join(", "));
    return `${words.join("; ")}. The tables below have the numbers.`;
  }

  function draw(holder, figure, view) {
    const box = holder.querySelector(".drawing");
    const tools = holder.querySelector(".tools");
    const chart = report[CHARTS[figure.kind]].create(box, figure, view, label(figure));
    if (chart.view) report.keyboard.listen(box, chart.view, chart.moveRows);
    if (figure.kind === "schedule") report.scheduleTools.build(tools, chart, figure, view);
    report.saving.buttons(tools, box, holder.dataset.file);
    holder.dataset.drawn = "yes";
  }

  function page() {
    const { parts } = JSON.parse(document.getElementById("report-data").textContent);
    report.theme.start();
    for (const table of document.querySelectorAll("table.sortable")) {
      const { part, table: at } = table.closest(".table")?.dataset ?? {};
      report.tables.build(table, part === undefined ? null : parts[part].tables[at].rows);
    }
    const views = parts.map(({ figures }) => {
      const axis = figures.find(figure => figure.axis)?.axis;
      return axis && report.timeWindow(axis.low, axis.high);
    });
    const waiting = new Set(document.querySelectorAll("figure"));
    const drawOne = holder => {
      if (!waiting.delete(holder)) return;
      draw(holder, parts[holder.dataset.part].figures[holder.dataset.figure], views[holder.dataset.part]);
    };
    const near = new IntersectionObserver(entries => {
      for (const entry of entries) if (entry.isIntersecting) drawOne(entry.target);
    }, { rootMargin: "300px" });
    for (const holder of waiting) near.observe(holder);
    window.addEventListener("beforeprint", () => [...waiting].forEach(drawOne));
    document.documentElement.dataset.ready = "yes";
  }

  return { page, label };
})();

if (typeof document !== "undefined") report.start.page();
