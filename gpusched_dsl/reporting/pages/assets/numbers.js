// Numbers as short texts.
report.numbers = (() => {
  const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

  // "1,234.5"; "unknown" for null.
  const text = value => (value === null || value === undefined ? "unknown" : format.format(value));

  // "4 h"; a number without a unit alone.
  const withUnit = (value, unit) => (unit ? `${text(value)} ${unit}` : text(value));

  // A time of an axis: "Thu 2026-10-29 15:00" where it has dates, else "4 h". The offset is added where the clock shows
  // the same time twice.
  const HALF_HOUR = 1800000;
  const formats = new Map(); // by zone
  const format_of = zone => {
    if (!formats.has(zone)) {
      const one = more => new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...more });
      formats.set(zone, [
        one({ weekday: "short", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" }),
        one({ timeZoneName: "longOffset" }),
      ]);
    }
    return formats.get(zone);
  };
  const parts = (value, { epoch, seconds, zone }) => {
    const [clock, offsets] = format_of(zone);
    const shown = instant => {
      const part = Object.fromEntries(clock.formatToParts(instant).map(({ type, value }) => [type, value]));
      return { day: `${part.weekday} ${part.year}-${part.month}-${part.day}`, hour: `${part.hour}:${part.minute}` };
    };
    const time = Math.round((epoch + value * seconds * 1000) / 60000) * 60000;
    const found = shown(time);
    const same = other => other.day === found.day && other.hour === found.hour;
    const twice = [-2, -1, 1, 2].some(steps => same(shown(time + steps * HALF_HOUR)));
    const zoned = twice ? offsets.formatToParts(time).find(part => part.type === "timeZoneName").value : "";
    return { ...found, offset: zoned && ` ${zoned.replace("GMT", "") || "+00:00"}` };
  };
  const moment = (axis, value) => {
    if (!axis.dates || value === null || value === undefined) return withUnit(value, axis.unit);
    const { day, hour, offset } = parts(value, axis.dates);
    return `${day} ${hour}${offset}`;
  };

  // The label of a mark on an axis.
  const mark = (axis, value) => {
    if (!axis.dates) return text(value);
    const { day, hour, offset } = parts(value, axis.dates);
    return `${hour}${offset}\n${day}`;
  };

  // "1 job", "2 jobs".
  const count = (number, one, many = `${one}s`) => `${text(number)} ${number === 1 ? one : many}`;

  return { text, withUnit, moment, mark, count };
})();
