// The rows of a schedule: by node, with bars as high as their share of its GPUs, or by job, in the order of arrival.
report.scheduleRows = (() => {
  const LEAST_HEIGHT = 0.35; // of a bar in a row of its own, so that small shares are seen

  function byNode(figure) {
    const { stays, nodes } = figure;
    const used = new Set(stays.node);
    return {
      rows: nodes.map((name, node) => (used.has(node) ? name : `${name} (idle)`)),
      bars: { start: stays.start, end: stays.end, top: stays.top, height: stays.height },
      sorted: report.visibleBars.index(stays.node, stays.start, nodes.length),
      rowOfJob: job => stays.node[stays.job.indexOf(job)] ?? 0,
      lives: null,
      leastHeight: stays.height.reduce((a, b) => Math.min(a, b), 1),
    };
  }

  function byJob(figure) {
    const { stays, jobs } = figure;
    const first = jobs.names.map(() => Infinity);
    stays.job.forEach((job, bar) => { first[job] = Math.min(first[job], stays.start[bar]); });
    const came = job => jobs.arrival[job] ?? first[job];
    const order = jobs.names.map((_, job) => job).sort((a, b) => came(a) - came(b) || first[a] - first[b] || a - b);
    const high = stays.height.map(height => LEAST_HEIGHT + (1 - LEAST_HEIGHT) * height);
    const row = [];
    order.forEach((job, at) => { row[job] = at; });
    return {
      rows: order.map(job => jobs.names[job]),
      bars: { start: stays.start, end: stays.end, top: high.map(height => (1 - height) / 2), height: high },
      sorted: report.visibleBars.index(stays.job.map(job => row[job]), stays.start, order.length),
      rowOfJob: job => row[job],
      lives: order, // the job of each row
      leastHeight: 1,
    };
  }

  // "4 of 8 GPUs", as far as they are known.
  function gpus(figure, bar) {
    const [uses, of] = [figure.stays.uses[bar], figure.capacity[figure.stays.node[bar]]];
    if (uses === null) return "";
    if (of === null || of === undefined) return report.numbers.count(uses, "GPU");
    return `${report.numbers.text(uses)} of ${report.numbers.count(of, "GPU")} (${Math.round((100 * uses) / of)} %)`;
  }

  return { byNode, byJob, gpus };
})();
