// The schedule as a chart: bars of jobs in rows, the price behind them, and only what the view can show.
report.scheduleChart = (() => {
  const { colour, jobColours } = report.theme;
  const { text, withUnit, moment, count } = report.numbers;
  const base = report.chartBase;
  const MOST_ROWS = 40; // of a view: the others are reached by moving
  const MOST_SHAPES = 3500;
  const MOST_BANDS = 160;
  const [LEAST_ROW, LANE, MOST_HEIGHT] = [18, 15, 760]; // pixels
  const [TOP, BOTTOM] = [34, 44];

  function create(box, figure, view, title) {
    const state = { mode: "node", found: null, shapes: [], bands: [], rows: report.scheduleRows.byNode(figure), seen: null };
    const width = () => Math.max(200, box.clientWidth - base.MARGIN.left - base.MARGIN.right);
    const visible = () => Math.min(MOST_ROWS, state.rows.rows.length);
    state.firstRow = 0;
    size();

    function size() {
      const wanted = Math.min(LANE / state.rows.leastHeight, 120, MOST_HEIGHT / Math.max(1, visible()));
      box.style.height = `${TOP + BOTTOM + visible() * Math.max(LEAST_ROW, wanted)}px`;
    }

    // Shapes reach beyond the view, so that moving shows them at once.
    const beyond = () => Math.ceil(visible() / 4);
    function choose() {
      const span = view.now.high - view.now.low;
      const more = beyond();
      state.seen = { low: view.now.low - span / 2, high: view.now.high + span / 2, span, firstRow: state.firstRow };
      state.shapes = report.visibleBars.choose(state.rows.sorted, state.rows.bars, {
        low: state.seen.low, high: state.seen.high, pixels: 2 * width(),
        firstRow: Math.max(0, state.firstRow - more),
        lastRow: Math.min(state.rows.rows.length - 1, state.firstRow + visible() + more),
      }, MOST_SHAPES);
      state.lives = [];
      if (state.rows.lives !== null) {
        const last = Math.min(state.rows.rows.length, state.firstRow + visible() + more);
        for (let row = Math.max(0, state.firstRow - more); row < last; row += 1) state.lives.push(row);
      }
      state.bands = figure.prices.length
        ? report.priceBands.bands(figure.prices[0], state.seen.low, state.seen.high, MOST_BANDS) : [];
    }

    const style = shape => {
      const job = shape.bar === undefined ? null : figure.stays.job[shape.bar];
      if (job === null) return { fill: colour("merged"), opacity: 0.75 };
      const found = job === state.found;
      const late = figure.stays.late[shape.bar] === 1;
      return {
        fill: jobColours[(figure.jobs.group === null ? job : figure.jobs.group[job]) % jobColours.length],
        stroke: found ? colour("text") : late ? colour("late") : colour("page"),
        lineWidth: found ? 3 : late ? 1.5 : 0.6,
        opacity: state.found === null || found ? 1 : 0.45,
      };
    };

    function label(shape, pixels, height) {
      if (shape.bar === undefined || height < 11) return "";
      const name = state.mode === "node" ? figure.jobs.names[figure.stays.job[shape.bar]] : figure.nodes[figure.stays.node[shape.bar]];
      const mark = figure.stays.late[shape.bar] === 1 ? `${name} ▲ late` : name;
      return [mark, name].find(words => pixels > 6.2 * words.length + 8) ?? "";
    }

    function drawBar(params, api) {
      const shape = state.shapes[params.dataIndex];
      const [x, y] = api.coord([shape.start, shape.row]);
      const end = api.coord([shape.end, shape.row])[0];
      const band = api.size([0, 1])[1] - 2;
      const rect = echarts.graphic.clipRectByRect({
        x, y: y - band / 2 + shape.top * band, width: Math.max(end - x, 1), height: Math.max(shape.height * band - 1, 2),
      }, params.coordSys);
      if (!rect) return null;
      const words = label(shape, rect.width, rect.height);
      const bar = {
        type: "rect", shape: rect, style: style(shape), emphasis: { style: { stroke: colour("text"), lineWidth: 2 } },
      };
      if (words) {
        bar.textContent = { style: { text: words, fill: "#1b1f24", fontSize: 10 } };
        bar.textConfig = { position: "insideLeft", distance: 4 };
      }
      const due = shape.bar === undefined ? null : figure.jobs.due[figure.stays.job[shape.bar]];
      if (due === null || due >= shape.end || rect.width < 5) return bar;
      const from = Math.max(rect.x, api.coord([due, shape.row])[0]);
      return { type: "group", children: [bar, hatch(from, rect.y, rect.x + rect.width - from, rect.height)] };
    }

    // Diagonal lines over the part after the due date.
    function hatch(x, y, wide, high) {
      const lines = [];
      for (let at = x - high; at < x + wide; at += 6) {
        const [a, b] = [Math.max(at, x), Math.min(at + high, x + wide)];
        if (b > a) lines.push(`M${a} ${y + high - (a - at)}L${b} ${y + high - (b - at)}`);
      }
      return { type: "path", silent: true, shape: { pathData: lines.join("") || "M0 0", x: 0, y: 0 }, style: { stroke: colour("late"), lineWidth: 1, fill: "none" } };
    }

    function drawLife(params, api) {
      const row = state.lives[params.dataIndex];
      const job = state.rows.lives[row];
      const [arrival, due, end] = [figure.jobs.arrival[job], figure.jobs.due[job], figure.jobs.end[job]];
      const high = api.size([0, 1])[1];
      const children = [];
      if (arrival !== null) {
        const [x, y] = api.coord([arrival, row]);
        const to = api.coord([end ?? figure.axis.high, row])[0];
        children.push({ type: "line", shape: { x1: x, x2: to, y1: y, y2: y }, style: { stroke: colour("faint"), lineWidth: 1, lineDash: [2, 2] } });
      }
      if (due !== null) {
        const [x, y] = api.coord([due, row]);
        children.push({ type: "line", shape: { x1: x, x2: x, y1: y - high / 2 + 2, y2: y + high / 2 - 2 }, style: { stroke: colour("late"), lineWidth: 2 } });
      }
      return { type: "group", silent: true, children };
    }

    function drawBand(params, api) {
      const band = state.bands[params.dataIndex];
      const x = api.coord([band.start, 0])[0];
      const end = api.coord([band.end, 0])[0];
      const rect = echarts.graphic.clipRectByRect({ x, y: params.coordSys.y, width: end - x, height: params.coordSys.height }, params.coordSys);
      return rect && { type: "rect", silent: true, shape: rect, style: { fill: colour("band"), opacity: 0.03 + 0.3 * band.level } };
    }

    function tip({ seriesId, dataIndex }) {
      const shape = seriesId === "bars" ? state.shapes[dataIndex] : undefined;
      if (!shape) return "";
      const { unit } = figure.axis;
      const time = `from ${moment(figure.axis, shape.start)} to ${moment(figure.axis, shape.end)}`;
      if (shape.bar === undefined) return report.words.tip(count(shape.count, "short job"), [time, "zoom in to see each of them"]);
      const job = figure.stays.job[shape.bar];
      const type = figure.types[figure.stays.type[shape.bar]];
      const { arrival, due, end } = { arrival: figure.jobs.arrival[job], due: figure.jobs.due[job], end: figure.jobs.end[job] };
      return report.words.tip(figure.jobs.names[job], [
        time,
        `on ${figure.nodes[figure.stays.node[shape.bar]]}${type ? ` (${type})` : ""}`,
        report.scheduleRows.gpus(figure, shape.bar),
        figure.jobs.group === null ? "" : `of ${figure.jobs.groups[figure.jobs.group[job]] || "none"}`,
        arrival === null ? "" : `arrived at ${moment(figure.axis, arrival)}`,
        due === null ? "" : `due at ${moment(figure.axis, due)}`,
        figure.stays.late[shape.bar] !== 1 ? "" : due !== null && end !== null ? `late by ${withUnit(end - due, unit)}` : "late",
        ...figure.prices.slice(0, 3).map(p => `${p.name} at its start: ${text(report.priceBands.at(p, shape.start))} ${p.unit}`),
      ]);
    }

    const series = () => [
      { id: "price", type: "custom", silent: true, z: 1, renderItem: drawBand, clip: true, tooltip: { show: false },
        data: state.bands.map(band => [band.start, 0]) },
      { id: "lives", type: "custom", silent: true, z: 2, renderItem: drawLife, clip: true, tooltip: { show: false },
        data: (state.lives ?? []).map(row => [figure.axis.low, row]) },
      { id: "bars", type: "custom", z: 3, renderItem: drawBar, clip: true, encode: { x: [0, 1], y: 2 },
        data: state.shapes.map(shape => [shape.start, shape.end, shape.row]) },
    ];

    function zooms() {
      const slider = {
        showDataShadow: false, brushSelect: false, showDetail: false, borderColor: colour("grid"),
        fillerColor: "rgba(110, 118, 129, 0.25)", handleStyle: { borderColor: colour("faint") }, throttle: 30,
      };
      const found = [
        base.timeZoom(view),
        { ...base.timeZoom(view), ...slider, id: "time-slider", type: "slider", bottom: 8, height: 18 },
      ];
      if (state.rows.rows.length > MOST_ROWS) {
        const rows = { yAxisIndex: 0, filterMode: "none", zoomLock: true, startValue: state.firstRow, endValue: state.firstRow + MOST_ROWS - 1 };
        found.push({ ...rows, id: "rows", type: "inside", zoomOnMouseWheel: false, moveOnMouseMove: true, moveOnMouseWheel: "shift", throttle: 30 });
        found.push({ ...rows, ...slider, id: "rows-slider", type: "slider", right: 6, width: 16 });
      }
      return found;
    }

    function option() {
      choose();
      return {
        grid: { left: base.MARGIN.left, right: base.MARGIN.right, top: TOP, bottom: BOTTOM },
        tooltip: { ...base.tooltip(), trigger: "item", formatter: tip },
        xAxis: base.timeAxis(figure.axis, { position: "top" }),
        yAxis: {
          ...base.axisStyle(), type: "category", inverse: true, data: state.rows.rows,
          axisLabel: { color: colour("text"), width: base.MARGIN.left - 16, overflow: "truncate", interval: 0, fontSize: 11 },
          axisTick: { show: false },
          splitLine: { show: true, interval: 0, lineStyle: { color: colour("grid") } },
        },
        dataZoom: zooms(),
        series: series(),
      };
    }

    const { chart, draw } = base.create(box, title, option);
    base.link(chart, view);

    // After a move: new shapes if those drawn no longer cover the view, or are too coarse.
    let timer = null;
    function refresh() {
      const span = view.now.high - view.now.low;
      const covered = view.now.low >= state.seen.low - 1e-9 && view.now.high <= state.seen.high + 1e-9
        && span > state.seen.span / 1.3 && Math.abs(state.firstRow - state.seen.firstRow) < beyond();
      if (covered || timer !== null) return;
      timer = setTimeout(() => {
        timer = null;
        choose();
        chart.setOption({ series: series() }, { lazyUpdate: true });
      }, 60);
    }
    view.listen(refresh);
    chart.on("datazoom", event => {
      for (const zoom of event.batch ?? [event]) {
        if (!String(zoom.dataZoomId).startsWith("rows")) continue;
        const last = state.rows.rows.length - 1;
        state.firstRow = Math.round(zoom.startValue ?? (zoom.start / 100) * last);
      }
      refresh();
    });

    function moveRows(first) {
      const rows = state.rows.rows.length;
      if (rows <= MOST_ROWS) return;
      const start = Math.min(Math.max(0, Math.round(first)), rows - MOST_ROWS);
      chart.dispatchAction({ type: "dataZoom", dataZoomId: "rows", startValue: start, endValue: start + MOST_ROWS - 1 });
    }

    return {
      chart, view,
      moveRows: share => moveRows(state.firstRow + share * MOST_ROWS),
      setMode(mode) {
        state.mode = mode;
        state.rows = mode === "node" ? report.scheduleRows.byNode(figure) : report.scheduleRows.byJob(figure);
        state.firstRow = 0;
        size();
        chart.resize();
        draw();
        if (state.found !== null) moveRows(state.rows.rowOfJob(state.found) - MOST_ROWS / 2);
      },
      // Marks a job and shows it; null removes the mark. Returns whether the job runs at all.
      show(job) {
        state.found = job;
        const bars = job === null ? [] : figure.stays.job.flatMap((other, bar) => (other === job ? [bar] : []));
        if (bars.length) {
          view.show(Math.min(...bars.map(bar => figure.stays.start[bar])), Math.max(...bars.map(bar => figure.stays.end[bar])));
        }
        if (job !== null && (bars.length || state.mode === "job")) moveRows(state.rows.rowOfJob(job) - MOST_ROWS / 2);
        choose();
        chart.setOption({ series: series() });
        return bars.length > 0;
      },
    };
  }

  return { create, MOST_ROWS };
})();
