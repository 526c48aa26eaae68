// Which bars to draw of many: those of at least a few pixels; shorter neighbours in a row are merged into one.
report.visibleBars = (() => {
  const LEAST_PIXELS = 2;
  const WIDEST = 3; // of merged bars, as a multiple of the least width: so they still show the use over time

  // Bars by row and start: `order.slice(first[r], first[r + 1])` are the bars of row r.
  function index(rowOf, start, rows) {
    const first = new Int32Array(rows + 1);
    for (const row of rowOf) first[row + 1] += 1;
    for (let row = 0; row < rows; row += 1) first[row + 1] += first[row];
    const order = Array.from(rowOf, (_, bar) => bar).sort((a, b) => rowOf[a] - rowOf[b] || start[a] - start[b]);
    return { first, order };
  }

  // Shapes {row, start, end, top, height, count, bar} in a view {low, high, firstRow, lastRow, pixels}; at most `most`
  // as far as one shape in a row allows. A merged shape has the mean height of its bars, and no `bar`.
  function choose(sorted, bars, view, most) {
    let least = (LEAST_PIXELS * (view.high - view.low)) / view.pixels;
    let found = shapes(sorted, bars, view, least);
    while (found.length > most && least < view.high - view.low) {
      least *= 1.4;
      found = shapes(sorted, bars, view, least);
    }
    return found;
  }

  function shapes(sorted, bars, view, least) {
    const merged = [];
    const single = [];
    const finish = group => {
      if (group === null) return;
      if (group.count === 1) single.push(alone(bars, group.row, group.bar));
      else {
        const height = Math.min(1, group.area / (group.end - group.start || 1));
        merged.push({ row: group.row, start: group.start, end: group.end, top: 1 - height, height, count: group.count });
      }
    };
    for (let row = view.firstRow; row <= view.lastRow; row += 1) {
      let group = null;
      for (let at = sorted.first[row]; at < sorted.first[row + 1]; at += 1) {
        const bar = sorted.order[at];
        const [start, end] = [bars.start[bar], bars.end[bar]];
        if (end < view.low || start > view.high) continue;
        if (end - start >= least) single.push(alone(bars, row, bar));
        else if (group !== null && start - group.end < least && end - group.start < WIDEST * least) {
          group.end = Math.max(group.end, end);
          group.area += (end - start) * bars.height[bar];
          group.count += 1;
        } else {
          finish(group);
          group = { row, start, end, bar, area: (end - start) * bars.height[bar], count: 1 };
        }
      }
      finish(group);
    }
    return merged.concat(single);
  }

  const alone = (bars, row, bar) => ({
    row, start: bars.start[bar], end: bars.end[bar], top: bars.top[bar], height: bars.height[bar], count: 1, bar,
  });

  return { index, choose };
})();
