// The span of time that all charts of a result show, within its whole time.
report.timeWindow = (low, high) => {
  const SMALLEST = 1 / 5000; // of the whole time
  const listeners = [];
  const now = { low, high };

  function set(newLow, newHigh, source) {
    const span = Math.min(Math.max(newHigh - newLow, (high - low) * SMALLEST), high - low);
    now.low = Math.min(Math.max(newLow, low), high - span);
    now.high = now.low + span;
    for (const listener of listeners) listener(source);
  }

  return {
    now, whole: { low, high }, set,
    listen: listener => listeners.push(listener),
    pan: share => set(now.low + share * (now.high - now.low), now.high + share * (now.high - now.low)),
    zoom: factor => {
      const [middle, half] = [(now.low + now.high) / 2, ((now.high - now.low) * factor) / 2];
      set(middle - half, middle + half);
    },
    show: (from, to) => set(from - (to - from), to + (to - from)),
    reset: () => set(low, high),
  };
};
