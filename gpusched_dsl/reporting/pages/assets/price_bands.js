// A price over time as few bands: each has its mean price, and a level from 0 (cheapest) to 1 (dearest).
report.priceBands = (() => {
  // The price at a time: values[i] is valid from times[i] to times[i + 1].
  function at(price, time) {
    let [low, high] = [0, price.times.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (price.times[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return price.values[low];
  }

  // Bands {start, end, price, level} within a window; longer curves have means over equal spans.
  function bands(price, low, high, most) {
    const [smallest, largest] = price.values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    const level = value => (largest > smallest ? (value - smallest) / (largest - smallest) : 0);
    const steps = [];
    for (let i = 0; i + 1 < price.times.length; i += 1) {
      const [start, end] = [Math.max(low, price.times[i]), Math.min(high, price.times[i + 1])];
      if (end > start) steps.push({ start, end, price: price.values[i] });
    }
    const few = steps.length <= most ? steps : means(steps, (high - low) / most);
    return few.map(band => ({ ...band, level: level(band.price) }));
  }

  function means(steps, span) {
    const found = [];
    for (const step of steps) {
      const last = found[found.length - 1];
      if (last === undefined || last.end - last.start >= span) {
        found.push({ start: step.start, end: step.end, sum: step.price * (step.end - step.start) });
      } else {
        last.end = step.end;
        last.sum += step.price * (step.end - step.start);
      }
    }
    return found.map(({ start, end, sum }) => ({ start, end, price: sum / (end - start) }));
  }

  return { at, bands };
})();
