// Buttons that save a chart as PNG or SVG.
report.saving = (() => {
  function download(url, name) {
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
  }

  const png = chart => chart.getDataURL({ type: "png", pixelRatio: 3, backgroundColor: report.theme.colour("page") });

  // The chart as an SVG document, drawn again by the library's other renderer.
  function svg(box) {
    const { chart, option } = report.chartBase.of(box);
    const copy = echarts.init(null, null, { renderer: "svg", ssr: true, width: chart.getWidth(), height: chart.getHeight() });
    copy.setOption(option());
    const text = copy.renderToSVGString();
    copy.dispose();
    return text;
  }

  function buttons(tools, box, name) {
    const { element } = report.words;
    const first = element("button", "Save PNG", "push");
    first.addEventListener("click", () => download(png(report.chartBase.of(box).chart), `${name}.png`));
    const second = element("button", "Save SVG");
    second.addEventListener("click", () => {
      const url = URL.createObjectURL(new Blob([svg(box)], { type: "image/svg+xml" }));
      download(url, `${name}.svg`);
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
    for (const button of [first, second]) button.type = "button";
    tools.append(first, second);
  }

  return { buttons, svg, png };
})();
