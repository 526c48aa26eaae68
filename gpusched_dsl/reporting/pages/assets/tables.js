// Tables: a click or Enter on a heading sorts, the field above filters. Long tables come from the data of the page, and
// only the first rows that match are drawn.
report.tables = (() => {
  const SHOWN = 200;

  // The number of a text such as "1,234 *"; NaN for other texts.
  function number(text) {
    const trimmed = text.trim();
    return trimmed === "" || trimmed === "-" ? NaN : Number(trimmed.replace(/,|\s*[*!%]\s*$/g, ""));
  }

  // Row numbers in the order of a column; numbers by value and last if they are missing.
  function order(rows, column, sign, numeric) {
    const keys = rows.map((row, at) => [at, row[column], number(row[column])]);
    keys.sort(([, a, x], [, b, y]) => {
      if (numeric && Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
      return sign * (Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x - y);
    });
    return keys.map(([at]) => at);
  }

  // Whether a row contains all words of a text.
  function matches(row, text) {
    const all = row.join(" ").toLowerCase();
    return text.toLowerCase().split(/\s+/).filter(Boolean).every(word => all.includes(word));
  }

  function build(table, long) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const elements = long ? null : [...body.rows];
    const rows = long ?? elements.map(row => [...row.cells].map(cell => cell.textContent));
    const box = table.closest(".table");
    const field = box && box.querySelector(".filter");
    const count = box && box.querySelector(".count");
    let sequence = rows.map((_, at) => at);

    function draw() {
      const text = field ? field.value : "";
      const chosen = text ? sequence.filter(at => matches(rows[at], text)) : sequence;
      body.replaceChildren(...chosen.slice(0, long ? SHOWN : rows.length).map(at => (long ? made(rows[at]) : elements[at])));
      if (!count) return;
      const cut = long && chosen.length > SHOWN ? `; the first ${SHOWN} are shown, sort or filter for others` : "";
      count.textContent = text || cut ? `${report.numbers.count(chosen.length, "row")}${cut}` : "";
    }

    function made(cells) {
      const row = document.createElement("tr");
      cells.forEach((cell, at) => row.append(report.words.element("td", cell, heads[at].className)));
      return row;
    }

    function sort(column) {
      const sign = heads[column].getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const head of heads) head.removeAttribute("aria-sort");
      heads[column].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      sequence = order(rows, column, sign, heads[column].classList.contains("number"));
      draw();
    }

    heads.forEach((head, column) => {
      head.tabIndex = 0;
      head.title = "sort by this column";
      head.addEventListener("click", () => sort(column));
      head.addEventListener("keydown", event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        sort(column);
      });
    });
    if (field) field.addEventListener("input", draw);
    if (long) draw();
  }

  return { build, order, matches, number };
})();
