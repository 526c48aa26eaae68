// Utilisation of nodes over time: darker (in dark colours: lighter) cells are used more. Equal neighbours are one cell.
report.heatMapChart = (() => {
  const { colour, between } = report.theme;
  const { moment } = report.numbers;
  const base = report.chartBase;
  const STEP = 5; // per cent: cells of one row within a step are merged

  // Cells {row, from, to, percent} of columns from..to - 1.
  function cells(percent, rows, spans) {
    const found = [];
    for (let row = 0; row < rows; row += 1) {
      let from = 0;
      for (let at = 1; at <= spans; at += 1) {
        const begin = percent[row * spans + from];
        const same = at < spans && (begin === percent[row * spans + at]
          || (begin > 0 && percent[row * spans + at] > 0 && Math.abs(begin - percent[row * spans + at]) < STEP));
        if (same) continue;
        if (begin > 0) {
          const mean = percent.slice(row * spans + from, row * spans + at).reduce((a, b) => a + b, 0) / (at - from);
          found.push({ row, from, to: at, percent: mean });
        }
        from = at;
      }
    }
    return found;
  }

  function create(box, figure, view, title) {
    const { low, high } = figure.axis;
    const rows = figure.rows.length;
    const found = cells(figure.percent, rows, figure.spans);
    const time = column => low + ((high - low) * column) / figure.spans;
    box.style.height = `${70 + rows * Math.max(7, Math.min(24, 240 / rows))}px`;

    function drawCell(params, api) {
      const cell = found[params.dataIndex];
      const [x, y] = api.coord([time(cell.from), cell.row]);
      const end = api.coord([time(cell.to), cell.row])[0];
      const band = api.size([0, 1])[1];
      const rect = echarts.graphic.clipRectByRect({ x, y: y - band / 2, width: end - x + 0.5, height: band - 1 }, params.coordSys);
      const share = 0.12 + (0.88 * cell.percent) / 100;
      return rect && { type: "rect", shape: rect, style: { fill: between(colour("cold"), colour("hot"), share) } };
    }

    function tip({ dataIndex }) {
      const cell = found[dataIndex];
      return report.words.tip(figure.rows[cell.row], [
        `${Math.round(cell.percent)} % used`, `from ${moment(figure.axis, time(cell.from))} to ${moment(figure.axis, time(cell.to))}`,
      ]);
    }

    const option = () => ({
      grid: { left: base.MARGIN.left, right: base.MARGIN.right, top: 30, bottom: 30 },
      tooltip: { ...base.tooltip(), trigger: "item", formatter: tip },
      xAxis: base.timeAxis(figure.axis, { splitLine: { show: false } }),
      yAxis: {
        ...base.axisStyle(), type: "category", inverse: true, data: figure.rows, axisTick: { show: false },
        splitLine: { show: false },
        axisLabel: { color: colour("text"), width: base.MARGIN.left - 16, overflow: "truncate", fontSize: 10 },
      },
      dataZoom: [base.timeZoom(view)],
      series: [{ type: "custom", renderItem: drawCell, clip: true, encode: { x: [0, 1], y: 2 },
        data: found.map(cell => [time(cell.from), time(cell.to), cell.row]) }],
    });
    const key = report.words.element("p", "each cell is the used share of GPUs: none ", "key");
    key.append(report.words.element("i", "", "scale"), document.createTextNode(" all"));
    box.before(key);
    const { chart } = base.create(box, title, option);
    base.link(chart, view);
    return { chart, view };
  }

  return { create, cells };
})();
