// Small charts: lines over the last minutes, drawn as SVG, with the same told in words.

import { h, svg } from "./dom.js";

const WIDTH = 360;
const HEIGHT = 120;
const LEFT = 44;
const BOTTOM = 18;
const TOP = 8;

/**
 * @param title what is shown
 * @param lines [{name, values}]: null where there is nothing
 * @param times seconds, one for each value
 * @param options format(value) for the axis; log: a logarithmic axis
 */
export function lineChart(title, lines, times, { format = String, log = false } = {}) {
  const all = lines.flatMap((line) => line.values.filter((value) => value !== null && value !== undefined && (!log || value > 0)));
  const last = lines.map((line) => `${line.name}: ${nowOf(line, format)}`).join(", ");
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}. ${last}`, class: "chart" });
  const figure = h("figure", { class: "chart-card" },
    h("figcaption", {}, h("strong", {}, title), h("span", { class: "legend" }, lines.map((line, index) => h("span", { class: `key key-${index}` }, `${line.name ? `${line.name} ` : ""}${nowOf(line, format)}`)))), picture);
  if (all.length === 0) {
    picture.append(svg("text", { x: WIDTH / 2, y: HEIGHT / 2, "text-anchor": "middle", class: "axis" }, "nothing yet"));
    return figure;
  }
  const scale = scaleOf(all, log);
  for (const tick of scale.ticks) {
    const y = scale.place(tick);
    picture.append(svg("line", { x1: LEFT, x2: WIDTH, y1: y, y2: y, class: "rule" }), svg("text", { x: LEFT - 5, y: y + 3.5, "text-anchor": "end", class: "axis" }, format(tick)));
  }
  const [from, to] = [times[0], times.at(-1)];
  const across = (at) => LEFT + ((WIDTH - LEFT - 4) * (at - from)) / Math.max(1, to - from);
  lines.forEach((line, index) => {
    for (const run of runs(line.values, log)) {
      const points = run.map((at) => `${across(times[at]).toFixed(1)},${scale.place(line.values[at]).toFixed(1)}`);
      if (points.length === 1) {
        const [x, y] = points[0].split(",");
        picture.append(svg("circle", { cx: x, cy: y, r: 2, class: `dot line-${index}` }));
      } else picture.append(svg("polyline", { points: points.join(" "), class: `line line-${index}` }));
    }
  });
  picture.append(svg("text", { x: LEFT, y: HEIGHT - 4, class: "axis" }, ago(to - from)), svg("text", { x: WIDTH - 4, y: HEIGHT - 4, "text-anchor": "end", class: "axis" }, "now"));
  return figure;
}

function nowOf(line, format) {
  const value = line.values.findLast((one) => one !== null && one !== undefined);
  return value === undefined ? "–" : format(value);
}

function ago(seconds) {
  return seconds < 90 ? `${Math.round(seconds)} s ago` : `${Math.round(seconds / 60)} min ago`;
}

/** The stretches without a gap. */
function runs(values, log) {
  const found = [];
  let run = [];
  values.forEach((value, index) => {
    if (value === null || value === undefined || (log && value <= 0)) {
      if (run.length) found.push(run);
      run = [];
    } else run.push(index);
  });
  if (run.length) found.push(run);
  return found;
}

function scaleOf(values, log) {
  const room = HEIGHT - BOTTOM - TOP;
  if (log) {
    const low = Math.floor(Math.log10(Math.min(...values)));
    const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
    const step = Math.max(1, Math.ceil((high - low) / 3));
    const ticks = [];
    for (let power = low; power <= high; power += step) ticks.push(10 ** power);
    return { ticks, place: (value) => TOP + room * (1 - (Math.log10(value) - low) / (high - low)) };
  }
  const low = Math.min(0, ...values);
  const top = Math.max(0, ...values);
  const raw = (top - low || 1) / 3;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((times) => times * size).find((one) => one >= raw);
  const first = Math.floor(low / step) * step;
  const ticks = [];
  for (let at = first; at < top + step * 0.999 && ticks.length < 7; at += step) ticks.push(Number(at.toPrecision(6)));
  const high = ticks.at(-1);
  return { ticks, place: (value) => TOP + room * (1 - (value - first) / (high - first || 1)) };
}

/** Counts by name, as bars with their numbers. */
export function bars(title, counts, empty) {
  const rows = Object.entries(counts).sort(([, one], [, other]) => other - one);
  const most = Math.max(1, ...rows.map(([, count]) => count));
  const list = rows.map(([name, count]) => {
    const bar = h("span", { class: "bar" });
    bar.style.width = `${Math.max(2, (100 * count) / most)}%`;
    return h("div", { class: "bar-row" }, h("dt", {}, name.replaceAll("_", " ").toLowerCase()), h("dd", {}, h("span", { class: "bar-space", "aria-hidden": "true" }, bar), h("span", {}, count.toLocaleString("en"))));
  });
  return h("section", { class: "card" }, h("h3", {}, title), rows.length ? h("dl", { class: "bars" }, list) : h("p", { class: "quiet" }, empty));
}
