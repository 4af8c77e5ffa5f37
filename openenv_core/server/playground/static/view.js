// The parts of a view, drawn: grids, texts, pictures, and an author's HTML in a frame that has no origin.

import { h } from "./dom.js";
import { longText } from "./tree.js";

const WORDS = {
  right: "right place", near: "elsewhere in the word", wrong: "not in the word",
  own: "yours", other: "not yours", goal: "goal", danger: "danger",
};
const LONG_LINES = 30;

/**
 * @param parts what the server sent
 * @param options observation: the one that is shown; choose(value): a cell was taken; click(action): a picture was
 *   clicked; letter(sign): a key of a drawn keyboard was pressed; picture(name): the address of a picture apart
 */
export function draw(parts, options = {}) {
  return parts.map((part) => DRAWERS[part.kind]?.(part, options) ?? null).filter(Boolean);
}

function grid(part, options) {
  const cells = part.rows.flat();
  const isRagged = part.rows.some((row) => row.length !== part.rows[0].length);
  const isKeyboard = isRagged && cells.every((cell) => /^[a-z]$/i.test(cell.text));
  const numeric = !isKeyboard && cells.length >= 9 && cells.every((cell) => /^\d*$/.test(cell.text) && cell.choice === undefined);
  const longest = Math.max(1, ...cells.map((cell) => cell.text.length));
  const shape = part.spaced ? (isKeyboard ? "keyboard" : "spaced") : "close";
  const width = Math.max(...part.rows.map((row) => row.length));
  const size = longest > 2 ? "wide" : width > 12 ? "small" : "";
  const board = h("div", { class: `grid ${shape} ${size}`, role: "table", "aria-label": isKeyboard ? "Letters" : "Board" });
  board.style.setProperty("--rows", String(part.rows.length));
  for (const row of part.rows) {
    board.append(h("div", { class: "row", role: "row" }, row.map((cell) => face(cell, isKeyboard, numeric, options))));
  }
  return board;
}

function face(cell, isKeyboard, numeric, options) {
  const word = WORDS[cell.tone];
  const heat = numeric && cell.text !== "0" && cell.text ? ` heat-${Math.min(11, Math.round(Math.log2(Number(cell.text))))}` : "";
  const sign = cell.tone === "empty" && cell.choice === undefined && /^[._0]$/.test(cell.text);
  const attributes = { class: `cell tone-${cell.tone}${heat}${sign ? " blank" : ""}${cell.mark ? " marked" : ""}` };
  const text = [h("span", { class: "sign", "aria-hidden": sign ? "true" : null }, sign && cell.text !== "." ? "" : cell.text)];
  if (word) text.push(h("span", { class: "hidden-visually" }, `, ${word}`));
  if (sign) text.push(h("span", { class: "hidden-visually" }, "empty"));
  const isOpen = cell.choice !== undefined && options.choose;
  if (!isOpen && !(isKeyboard && options.letter)) return h("div", { ...attributes, role: "cell" }, text);
  const press = isOpen ? () => options.choose(cell.choice) : () => options.letter(cell.text);
  const button = h("button", { type: "button", ...attributes, tabIndex: isKeyboard ? -1 : 0, onclick: press }, text);
  return h("div", { role: "cell", class: "holds-button" }, button);
}

function text(part, options) {
  const lines = part.text.split("\n").length;
  if (part.label && part.text === "") return h("div", { class: "part labelled" }, h("span", { class: "label" }, part.label), h("span", { class: "quiet" }, "(empty)"));
  const isLong = lines > LONG_LINES || part.text.length > 4000;
  const body = h("pre", { class: `text tone-${part.tone}${lines === 1 ? " line" : ""}` }, part.text.length > 4000 ? longText(part.text) : part.text);
  if (isLong) {
    body.classList.add("scrolls");
    body.tabIndex = 0;
    body.setAttribute("role", "region");
    body.setAttribute("aria-label", part.label || "Text");
  }
  const shown = [body];
  const whole = part.more ? longest(options.observation) : null;
  if (part.more && whole !== null) {
    const more = h("button", { type: "button", class: "small-button" }, `Show ${part.more.toLocaleString("en")} characters more`);
    more.addEventListener("click", () => {
      body.replaceChildren(...longText(whole));
      more.remove();
    });
    shown.push(more);
  } else if (part.more) shown.push(h("p", { class: "quiet" }, `… ${part.more.toLocaleString("en")} characters more`));
  if (!part.label) return h("div", { class: "part" }, shown);
  return h("div", { class: `part labelled${lines > 1 ? " tall" : ""}` }, h("span", { class: "label" }, part.label), h("div", {}, shown));
}

function longest(observation) {
  const texts = Object.values(observation ?? {}).filter((value) => typeof value === "string");
  return texts.length ? texts.reduce((one, other) => (other.length > one.length ? other : one)) : null;
}

/** A picture's address from base64. It is given back when the picture goes. */
function addressOf(png) {
  const bytes = Uint8Array.from(atob(png), (sign) => sign.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type: "image/png" }));
}

function picture(part, options) {
  const value = part.png ?? options.observation?.[part.field];
  const apart = value?.$picture ? options.picture?.(value.$picture) : null;
  if (!apart && typeof value !== "string") return h("p", { class: "quiet" }, `(${part.description}: not kept)`);
  const image = h("img", { class: "picture", alt: part.description, src: apart ?? addressOf(value) });
  if (part.size) [image.width, image.height] = part.size;
  const link = h("a", { href: image.src, target: "_blank", class: "quiet" }, part.size ? `${part.size[0]} × ${part.size[1]}, full size` : "Full size");
  if (part.click && options.click) {
    image.classList.add("clickable");
    image.addEventListener("click", (event) => {
      const x = Math.floor((event.offsetX / image.clientWidth) * image.naturalWidth);
      const y = Math.floor((event.offsetY / image.clientHeight) * image.naturalHeight);
      options.click(filled(part.click, { x, y }));
    });
  }
  const marks = (options.act ? part.marks ?? [] : []).map((mark) => place(mark, part.size, options));
  return h("figure", { class: "part" }, h("div", { class: "marked-picture" }, image, marks), h("figcaption", {}, link));
}

/** A button over a place in a picture. The same action is among the buttons below it, which the keyboard reaches. */
function place(mark, [width, height], options) {
  const [left, top, across, down] = mark.box;
  const button = h("button", { type: "button", class: `mark${mark.draft ? " draft" : ""}`, tabIndex: -1, title: mark.name, "aria-label": mark.name, onclick: () => options.act(mark) }, h("span", { "aria-hidden": "true" }, mark.label));
  const share = (value, of) => `${Math.max(0, Math.min(100, (100 * value) / of))}%`;
  Object.assign(button.style, { left: share(left, width), top: share(top, height), width: share(across, width), height: share(down, height) });
  return button;
}

function filled(action, place) {
  return Object.fromEntries(Object.entries(action).map(([name, value]) => [
    name, typeof value === "string" ? value.replace("{x}", place.x).replace("{y}", place.y) : value,
  ]));
}

function html(part) {
  const frame = h("iframe", { class: "html", title: "The environment's own view", sandbox: "allow-scripts", src: "frame" });
  const listen = (event) => {
    if (event.source !== frame.contentWindow) {
      if (!frame.isConnected) window.removeEventListener("message", listen);
      return;
    }
    if (event.data?.ready) frame.contentWindow.postMessage(part.html, "*");
    else if (Number.isFinite(event.data?.height)) frame.style.height = `${Math.min(4000, event.data.height + 4)}px`;
  };
  window.addEventListener("message", listen);
  return frame;
}

const DRAWERS = { grid, text, picture, html };

/** Give back what drawn pictures hold. */
export function release(element) {
  for (const image of element.querySelectorAll("img.picture")) {
    if (image.src.startsWith("blob:")) URL.revokeObjectURL(image.src);
  }
}
