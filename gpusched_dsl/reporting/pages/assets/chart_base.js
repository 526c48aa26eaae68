// What all charts share: the library's instance, colours, time axis, zoom, and redrawing after a change of any of them.
report.chartBase = (() => {
  const { colour } = report.theme;
  const drawn = new WeakMap(); // by element
  const MARGIN = { left: 150, right: 40 };

  // Draws `option()` into an element, and again when colours change. `label` is read to those who cannot see it.
  function create(box, label, option) {
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", label);
    box.tabIndex = 0;
    const chart = echarts.init(box, null, { renderer: "canvas" });
    const draw = () => chart.setOption({ ...common(), ...option() }, { notMerge: true });
    draw();
    report.theme.listen(draw);
    new ResizeObserver(() => chart.resize()).observe(box);
    drawn.set(box, { chart, option: () => ({ ...common(), ...option() }) });
    return { chart, draw };
  }

  const common = () => ({
    animation: false,
    backgroundColor: colour("page"),
    textStyle: { fontFamily: "system-ui, sans-serif", color: colour("text") },
    aria: { enabled: true, label: { enabled: false }, decal: { show: true } },
    tooltip: tooltip(),
  });

  const tooltip = () => ({
    confine: true, transitionDuration: 0, backgroundColor: colour("page"), borderColor: colour("faint"),
    textStyle: { color: colour("text") },
  });

  const axisStyle = () => ({
    axisLine: { lineStyle: { color: colour("faint") } },
    axisLabel: { color: colour("text"), formatter: value => report.numbers.text(value), hideOverlap: true },
    splitLine: { show: true, lineStyle: { color: colour("grid") } },
    nameTextStyle: { color: colour("faint") },
  });

  const timeAxis = (axis, more = {}) => ({
    ...axisStyle(), type: "value", min: axis.low, max: axis.high, name: axis.dates ? axis.dates.zone : axis.unit, nameLocation: "end", nameGap: 6,
    minInterval: axis.slots ? 1 : undefined, ...more,
    axisLabel: { ...axisStyle().axisLabel, showMaxLabel: false, formatter: value => report.numbers.mark(axis, value) },
  });

  const valueAxis = (unit, more = {}) => ({ ...axisStyle(), type: "value", name: unit, ...more });

  // Zoom with Ctrl and the wheel, move with a drag: the page itself scrolls as usual.
  const timeZoom = (view, more = {}) => ({
    id: "time", type: "inside", xAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true,
    moveOnMouseWheel: false, startValue: view.now.low, endValue: view.now.high,
    minValueSpan: (view.whole.high - view.whole.low) / 5000, throttle: 30, ...more,
  });

  // A chart follows the common window of time, and changes it. Charts out of sight follow when they are seen again.
  function link(chart, view) {
    const { low, high } = view.whole;
    let [pending, seen, behind] = [false, true, false];
    chart.on("datazoom", event => {
      for (const zoom of event.batch ?? [event]) {
        if (!String(zoom.dataZoomId).startsWith("time")) continue;
        if (zoom.start !== undefined) view.set(at(zoom.start), at(zoom.end), chart);
      }
    });
    const at = percent => low + ((high - low) * percent) / 100;
    view.listen(source => {
      if (source === chart || pending) return;
      if (!seen) {
        behind = true;
        return;
      }
      pending = true;
      requestAnimationFrame(follow);
    });
    function follow() {
      [pending, behind] = [false, false];
      chart.dispatchAction({ type: "dataZoom", dataZoomId: "time", startValue: view.now.low, endValue: view.now.high });
    }
    new IntersectionObserver(entries => {
      seen = entries[entries.length - 1].isIntersecting;
      if (seen && behind) follow();
    }).observe(chart.getDom());
  }

  return { create, tooltip, axisStyle, timeAxis, valueAxis, timeZoom, link, MARGIN, of: box => drawn.get(box) };
})();
