// Bars of methods: the mean with its interval, and a dot for each seed.
report.barsChart = (() => {
  const { colour } = report.theme;
  const { text } = report.numbers;
  const base = report.chartBase;
  const ROW = 34; // pixels

  function create(box, figure, view, title) {
    box.style.height = `${60 + ROW * figure.methods.length}px`;
    const several = figure.values.some(values => values.length > 1);
    const interval = at => figure.low[at] !== null && figure.high[at] !== null;

    function drawInterval(params, api) {
      const at = params.dataIndex;
      if (!interval(at)) return null;
      const [x1, y] = api.coord([figure.low[at], at]);
      const x2 = api.coord([figure.high[at], at])[0];
      const style = { stroke: colour("text"), lineWidth: 2 };
      const line = shape => ({ type: "line", shape, style });
      return {
        type: "group", silent: true,
        children: [
          line({ x1, x2, y1: y, y2: y }), line({ x1, x2: x1, y1: y - 5, y2: y + 5 }), line({ x1: x2, x2, y1: y - 5, y2: y + 5 }),
        ],
      };
    }

    function words(at) {
      const mean = text(figure.mean[at]);
      return interval(at) ? `${mean} (${text(figure.low[at])} to ${text(figure.high[at])})` : mean;
    }

    const tip = ({ dataIndex, seriesType }) => report.words.tip(figure.methods[seriesType === "scatter" ? dots()[dataIndex][1] : dataIndex], [
      seriesType === "scatter" ? `one seed: ${text(dots()[dataIndex][0])} ${figure.unit}` : `${several ? "mean " : ""}${words(dataIndex)} ${figure.unit}`,
    ]);
    const dots = () => (several ? figure.values.flatMap((values, at) => values.map(value => [value, at])) : []);

    const option = () => ({
      grid: { left: 10, right: 120, top: 10, bottom: 26, containLabel: true },
      tooltip: { ...base.tooltip(), trigger: "item", formatter: tip },
      xAxis: base.valueAxis("", { splitNumber: 4 }),
      yAxis: {
        ...base.axisStyle(), type: "category", inverse: true, data: figure.methods, axisTick: { show: false }, splitLine: { show: false },
        axisLabel: { color: colour("text"), width: 150, overflow: "truncate" },
      },
      series: [
        { type: "bar", data: figure.mean, barWidth: 18, itemStyle: { color: colour("line0"), opacity: 0.75 },
          label: { show: true, position: "right", color: colour("text"), distance: several ? 14 : 5, formatter: ({ dataIndex }) => words(dataIndex) } },
        { type: "custom", renderItem: drawInterval, z: 5, silent: true, data: figure.mean.map((value, at) => [value, at]) },
        { type: "scatter", data: dots(), z: 4, symbolSize: 6, itemStyle: { color: colour("page"), borderColor: colour("text"), borderWidth: 1 } },
      ],
    });
    const { chart } = base.create(box, title, option);
    return { chart, view: null };
  }

  return { create };
})();
