// Numbers as short texts.
report.numbers = (() => {
  const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

  // "1,234.5"; "unknown" for null.
  const text = value => (value === null || value === undefined ? "unknown" : format.format(value));

  // "4 h"; a number without a unit alone.
  const withUnit = (value, unit) => (unit ? `${text(value)} ${unit}` : text(value));

  // "1 job", "2 jobs".
  const count = (number, one, many = `${one}s`) => `${text(number)} ${number === 1 ? one : many}`;

  return { text, withUnit, count };
})();
