// Tests of the scripts of pages that need no browser; `node --test` runs them. The folder of the scripts is given.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import vm from "node:vm";

const folder = process.env.GSDSL_PAGE_SCRIPTS;
const names = ["report", "numbers", "visible_bars", "price_bands", "job_search", "time_window", "keyboard", "tables"];
const text = names.map(name => readFileSync(join(folder, `${name}.js`), "utf8")).join("\n");
const report = vm.runInThisContext(`(() => { ${text}; return report; })()`);
for (const name of ["curves_chart", "heat_map_chart", "lines_chart"]) {
  const context = { report: { theme: {}, numbers: report.numbers, chartBase: {} } };
  vm.runInNewContext(readFileSync(join(folder, `${name}.js`), "utf8"), context);
  Object.assign(report, { [name]: context.report.curvesChart ?? context.report.heatMapChart ?? context.report.linesChart });
}

// A small generator of pseudo-random numbers in [0, 1), so that tests are equal each time.
function random(seed) {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

function bars(count, rows, length) {
  const next = random(7);
  const made = { row: [], start: [], end: [], top: [], height: [] };
  for (let bar = 0; bar < count; bar += 1) {
    made.row.push(Math.floor(next() * rows));
    made.start.push(next() * 1000);
    made.end.push(made.start[bar] + next() * length);
    made.top.push(0);
    made.height.push(0.5);
  }
  return made;
}

test("every bar of a view is drawn, alone or merged, and no others", () => {
  const made = bars(3000, 20, 8);
  const sorted = report.visibleBars.index(made.row, made.start, 20);
  for (const view of [
    { low: 0, high: 1008, firstRow: 0, lastRow: 19, pixels: 1000 },
    { low: 200, high: 260, firstRow: 3, lastRow: 7, pixels: 1000 },
  ]) {
    const inside = made.row.filter((row, bar) => row >= view.firstRow && row <= view.lastRow
      && made.end[bar] >= view.low && made.start[bar] <= view.high).length;
    const shapes = report.visibleBars.choose(sorted, made, view, 100000);
    assert.equal(shapes.reduce((sum, shape) => sum + shape.count, 0), inside);
    for (const shape of shapes) {
      assert.ok(shape.row >= view.firstRow && shape.row <= view.lastRow);
      if (shape.count === 1) assert.equal(shape.end, made.end[shape.bar]);
      else assert.ok(shape.bar === undefined && shape.height > 0 && shape.height <= 1);
    }
  }
});

test("there are few shapes, and more detail in a shorter time", () => {
  const made = bars(10000, 40, 4);
  const sorted = report.visibleBars.index(made.row, made.start, 40);
  const whole = { low: 0, high: 1004, firstRow: 0, lastRow: 39, pixels: 1000 };
  const shapes = report.visibleBars.choose(sorted, made, whole, 2500);
  assert.ok(shapes.length <= 2500, String(shapes.length));
  assert.ok(shapes.some(shape => shape.count > 1));
  const near = report.visibleBars.choose(sorted, made, { ...whole, low: 500, high: 501 }, 2500);
  assert.ok(near.every(shape => shape.count === 1) || near.length < shapes.length);
});

test("prices keep their mean when they are thinned", () => {
  const price = { times: Array.from({ length: 1001 }, (_, i) => i), values: Array.from({ length: 1001 }, (_, i) => Math.sin(i) + 2) };
  const bands = report.priceBands.bands(price, 0, 1000, 50);
  assert.ok(bands.length <= 51);
  const area = list => list.reduce((sum, band) => sum + band.price * (band.end - band.start), 0);
  const exact = price.values.slice(0, 1000).reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(area(bands) - exact) < 1e-6);
  assert.ok(bands.every(band => band.level >= 0 && band.level <= 1));
  assert.equal(report.priceBands.at(price, 3.7), price.values[3]);
  assert.equal(report.priceBands.bands({ times: [0, 5], values: [2, 2] }, 0, 5, 9)[0].level, 0);
});

test("jobs are found by any part of their names, the best first", () => {
  const names = ["job 10", "Job 1", "my job 1", "other"];
  assert.deepEqual(report.jobSearch.find(names, " job 1 "), [1, 0, 2]);
  assert.deepEqual(report.jobSearch.find(names, ""), []);
  assert.deepEqual(report.jobSearch.find(names, "zzz"), []);
});

test("the window of time stays within the whole time", () => {
  const view = report.timeWindow(10, 110);
  let told = 0;
  view.listen(() => { told += 1; });
  view.zoom(0.5);
  assert.deepEqual({ ...view.now }, { low: 35, high: 85 });
  view.pan(-5);
  assert.deepEqual({ ...view.now }, { low: 10, high: 60 });
  view.zoom(100);
  assert.deepEqual({ ...view.now }, { low: 10, high: 110 });
  view.set(50, 50);
  assert.ok(view.now.high - view.now.low > 0);
  view.reset();
  assert.deepEqual({ ...view.now }, { low: 10, high: 110 });
  assert.equal(told, 5);
});

test("keys move and zoom", () => {
  const view = report.timeWindow(0, 100);
  const rows = [];
  const actions = report.keyboard.actions(view, share => rows.push(share));
  actions["+"]();
  actions.ArrowLeft();
  actions.PageDown();
  assert.ok(view.now.high - view.now.low < 100);
  assert.deepEqual(rows, [1]);
  actions[0]();
  assert.deepEqual({ ...view.now }, { low: 0, high: 100 });
  assert.equal(report.keyboard.actions(view).ArrowDown, undefined);
});

test("tables sort numbers by value, with missing ones last, and filter by words", () => {
  const rows = [["a", "1,000"], ["b", "20 *"], ["c", ""], ["d", "-3"]];
  assert.deepEqual(report.tables.order(rows, 1, 1, true), [3, 1, 0, 2]);
  assert.deepEqual(report.tables.order(rows, 1, -1, true), [0, 1, 3, 2]);
  assert.deepEqual(report.tables.order([["j10"], ["j9"]], 0, 1, false), [1, 0]);
  assert.ok(report.tables.matches(["GPU job", "n1"], "n1 gpu"));
  assert.ok(!report.tables.matches(["GPU job", "n1"], "n2"));
});

test("values of curves: steps keep their value, lines are interpolated", () => {
  const curve = { x: [0, 2, 4], y: [1, 3, 3], steps: true };
  assert.equal(report.curves_chart.at(curve, 1), 1);
  assert.equal(report.curves_chart.at({ ...curve, steps: false }, 1), 2);
  assert.equal(report.curves_chart.at(curve, -1), null);
  assert.equal(report.curves_chart.at(curve, 9), 3);
});

test("equal neighbours of a heat map are one cell, idle ones none", () => {
  const found = report.heat_map_chart.cells([0, 50, 50, 52, 100, 0, 0, 0, 0, 7], 2, 5);
  const cells = JSON.parse(JSON.stringify(found)); // arrays of another context
  assert.deepEqual(cells.map(({ row, from, to }) => [row, from, to]), [[0, 1, 4], [0, 4, 5], [1, 4, 5]]);
  assert.ok(Math.abs(cells[0].percent - 152 / 3) < 1e-9);
});

test("a mean has its interval and unit in words", () => {
  const line = { mean: [3.25, 4], low: [3, null], high: [3.5, null] };
  assert.equal(report.lines_chart.words(line, 0, "$"), "3.25 (3 to 3.5) $");
  assert.equal(report.lines_chart.words(line, 1, ""), "4");
});

test("times of an axis with dates are those of the clock on the wall, told apart where it shows them twice", () => {
  const axis = { unit: "h", dates: { epoch: Date.UTC(2026, 9, 24, 18), seconds: 3600, zone: "Europe/Berlin" } };
  const shown = [0, 4.5, 6.5, 7.5, 8].map(time => report.numbers.moment(axis, time));
  assert.deepEqual(shown, [
    "Sat 2026-10-24 20:00", "Sun 2026-10-25 00:30", "Sun 2026-10-25 02:30 +02:00", "Sun 2026-10-25 02:30 +01:00",
    "Sun 2026-10-25 03:00",
  ]);
  assert.equal(report.numbers.mark(axis, 4), "00:00\nSun 2026-10-25");
  assert.equal(report.numbers.moment({ unit: "h" }, 4), "4 h");
});
