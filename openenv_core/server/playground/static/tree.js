// Any JSON value as something to look at: closed where it is deep, cut where it is long, whole where it is asked for.

import { copyButton, h } from "./dom.js";

const LONG = 300;
const MANY = 100;
const BLOCK = 100_000;

/** Control and direction characters written out, as a terminal would be spared them. */
function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (sign) => {
    if (sign === "\n" || sign === "\t" || sign === "\u200d") return sign;
    const code = sign.codePointAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** A text of any length: in blocks, which a browser lays out only where they are seen. */
export function longText(text) {
  const blocks = [];
  for (let from = 0; from < text.length; from += BLOCK) {
    blocks.push(h("span", { class: "block" }, visible(text.slice(from, from + BLOCK))));
  }
  return blocks;
}

function isPicture(value) { return value.startsWith("iVBORw0KGgo"); }

function leaf(value) {
  if (typeof value !== "string") return h("span", { class: `json-${value === null ? "null" : typeof value}` }, String(value));
  if (isPicture(value)) return h("span", { class: "json-null" }, `picture (PNG, ${Math.round(value.length * 0.75).toLocaleString("en")} bytes)`);
  if (value.length <= LONG) return h("span", { class: "json-string" }, visible(JSON.stringify(value)));
  const holder = h("span", { class: "json-string" }, visible(JSON.stringify(value.slice(0, LONG))).slice(0, -1), "… ");
  const more = h("button", { type: "button", class: "small-button" }, `Show all ${value.length.toLocaleString("en")} characters`);
  more.addEventListener("click", () => holder.replaceChildren(...longText(value)));
  holder.append(more);
  return holder;
}

function branch(name, value, depth) {
  const label = name === null ? null : h("span", { class: "json-key" }, visible(name), ": ");
  if (value === null || typeof value !== "object") return h("div", { class: "json-row" }, label, leaf(value));
  const entries = Array.isArray(value) ? value.map((item, index) => [String(index), item]) : Object.entries(value);
  if (entries.length === 0) return h("div", { class: "json-row" }, label, Array.isArray(value) ? "[]" : "{}");
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  const details = h("details", {}, h("summary", {}, label, h("span", { class: "json-null" }, size)));
  let shown = 0;
  const fill = () => {
    details.querySelector(":scope > .small-button")?.remove();
    details.append(...entries.slice(shown, shown + MANY).map(([key, item]) => branch(key, item, depth + 1)));
    shown += MANY;
    if (shown < entries.length) {
      details.append(h("button", { type: "button", class: "small-button", onclick: fill }, `${entries.length - shown} more`));
    }
  };
  details.addEventListener("toggle", () => { if (details.open && shown === 0) fill(); });
  if (depth === 0 || (depth === 1 && entries.length <= 8)) {
    details.open = true;
    fill();
  }
  return details;
}

/** The value as a tree, with a button that copies it. */
export function tree(value) {
  return h("div", { class: "json" }, branch(null, value, 0), copyButton(() => JSON.stringify(value, null, 2), "Copy JSON"));
}
