// Curves over time: each has a colour and a dash pattern, areas that add up have a pattern too.
report.curvesChart = (() => {
  const { colour } = report.theme;
  const { text, moment } = report.numbers;
  const base = report.chartBase;
  const DASHES = ["solid", [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 4]];
  const COLOURS = 6;

  // The value of a curve at a time; null before its first point.
  function at(curve, time) {
    const { x, y } = curve;
    if (!x.length || time < x[0]) return null;
    let [low, high] = [0, x.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (x[middle] <= time) low = middle;
      else high = middle - 1;
    }
    if (curve.steps || low === x.length - 1) return y[low];
    return y[low] + ((y[low + 1] - y[low]) * (time - x[low])) / (x[low + 1] - x[low] || 1);
  }

  function create(box, figure, view, title) {
    function tip(params) {
      const time = params[0].axisValue;
      return report.words.tip(moment(figure.axis, time), figure.curves.map(curve => {
        const value = at(curve, time);
        return value === null ? "" : `${curve.label}: ${text(value)} ${figure.unit}`;
      }));
    }

    function option() {
      return {
        grid: { left: base.MARGIN.left, right: base.MARGIN.right, top: 40, bottom: 30 },
        legend: { top: 0, left: base.MARGIN.left, textStyle: { color: colour("text") }, itemWidth: 40, itemStyle: figure.stacked ? {} : { opacity: 0 } },
        tooltip: { ...base.tooltip(), trigger: "axis", formatter: tip },
        xAxis: base.timeAxis(figure.axis),
        yAxis: base.valueAxis(figure.unit, { minInterval: figure.integer ? 1 : undefined }),
        dataZoom: [base.timeZoom(view)],
        series: figure.curves.map((curve, number) => {
          const own = colour(`line${number % COLOURS}`);
          const area = figure.stacked && curve.label !== "total";
          return {
            type: "line", name: curve.label, showSymbol: false, symbol: "none", color: own, step: curve.steps ? "end" : false,
            lineStyle: { width: area ? 1 : 2, color: own, type: area ? "solid" : DASHES[number % DASHES.length] },
            stack: area ? "all" : undefined, areaStyle: area ? { color: own, opacity: 0.45 } : undefined,
            data: curve.x.map((x, i) => [x, curve.y[i]]),
          };
        }),
      };
    }

    const { chart } = base.create(box, title, option);
    base.link(chart, view);
    return { chart, view };
  }

  return { create, at };
})();
