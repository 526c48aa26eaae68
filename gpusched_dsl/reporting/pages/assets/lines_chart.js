// Lines over a factor: each method has a colour, a dash pattern and a symbol; intervals of means are vertical lines.
report.linesChart = (() => {
  const { colour } = report.theme;
  const { text } = report.numbers;
  const base = report.chartBase;
  const DASHES = ["solid", [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 4]];
  const SYMBOLS = ["circle", "rect", "triangle", "diamond", "pin", "arrow"];
  const own = number => colour(`line${number % 6}`);

  // "3.2 (3 to 3.4) $"
  function words(line, at, unit) {
    const mean = text(line.mean[at]);
    const shown = line.low[at] === null ? mean : `${mean} (${text(line.low[at])} to ${text(line.high[at])})`;
    return unit ? `${shown} ${unit}` : shown;
  }

  function create(box, figure, view, title) {
    function intervals(line, number) {
      function draw(params, api) {
        const at = params.dataIndex;
        if (line.low[at] === null) return null;
        const [x, y1] = api.coord([line.x[at], line.low[at]]);
        const y2 = api.coord([line.x[at], line.high[at]])[1];
        const part = shape => ({ type: "line", shape, style: { stroke: own(number), lineWidth: 1.5 } });
        return {
          type: "group", silent: true,
          children: [
            part({ x1: x, x2: x, y1, y2 }), part({ x1: x - 4, x2: x + 4, y1, y2: y1 }), part({ x1: x - 4, x2: x + 4, y1: y2, y2 }),
          ],
        };
      }
      return { type: "custom", name: line.label, color: own(number), renderItem: draw, silent: true, z: 3, data: line.x.map((x, at) => [x, line.mean[at]]) };
    }

    const tip = params => report.words.tip(`${figure.factor}: ${text(params[0].axisValue)}`, figure.lines.map(line => {
      const at = line.x.indexOf(params[0].axisValue);
      return at < 0 ? "" : `${line.label}: ${words(line, at, figure.unit)}`;
    }));

    const option = () => ({
      grid: { left: base.MARGIN.left, right: base.MARGIN.right, top: 40, bottom: 45 },
      legend: { top: 0, left: base.MARGIN.left, textStyle: { color: colour("text") }, itemWidth: 40, data: figure.lines.map(line => line.label) },
      tooltip: { ...base.tooltip(), trigger: "axis", formatter: tip },
      xAxis: base.valueAxis(figure.factor, { nameLocation: "middle", nameGap: 28, scale: true, axisLine: { onZero: false, lineStyle: { color: colour("faint") } } }),
      yAxis: base.valueAxis(figure.unit, { scale: figure.lines.some(line => line.mean.some(value => value < 0)) }),
      series: figure.lines.flatMap((line, number) => [
        { type: "line", name: line.label, color: own(number), symbol: SYMBOLS[number % SYMBOLS.length], symbolSize: 8, showAllSymbol: true,
          lineStyle: { width: 2, color: own(number), type: DASHES[number % DASHES.length] }, data: line.x.map((x, at) => [x, line.mean[at]]) },
        intervals(line, number),
      ]),
    });
    const { chart } = base.create(box, title, option);
    return { chart, view: null };
  }

  return { create, words };
})();
