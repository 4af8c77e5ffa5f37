// Elements, made without markup: whatever an environment says ends up in text nodes and nowhere else.

/** An element. Attributes that are null, undefined or false are left out; `on…` are listeners. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for a drawing. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

/** Tell a person who does not see the page. */
export function announce(text) {
  const live = document.getElementById("live");
  live.textContent = "";
  requestAnimationFrame(() => { live.textContent = text; });
}

/** A button that puts a text on the clipboard. */
export function copyButton(textOf, label = "Copy") {
  const button = h("button", { type: "button", class: "small-button copy" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(textOf());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy by hand";
    }
    setTimeout(() => { button.textContent = label; }, 1800);
  });
  return button;
}

/** A number as people write it. */
export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(1);
  return String(Number(value.toFixed(digits)));
}

/** A time span in seconds, short. */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1e-3) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${number(seconds * 1e3, 1)} ms`;
  if (seconds < 120) return `${number(seconds, 1)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${number(seconds / 3600, 1)} h`;
}

const defaults = {};

/** What an action's fields are where nobody gives them: they are not told. */
export function learnDefaults(schema) {
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    if ("default" in part || part.type === "object") defaults[name] = JSON.stringify(part.default ?? {});
  }
}

/** Values by name, in a few words; one alone stands without its name, unless `named`. */
export function inWords(values, { named = false } = {}) {
  if (values === null || values === undefined) return "";
  const told = Object.entries(values).filter(([name, value]) => name !== "metadata" && (named || JSON.stringify(value) !== defaults[name]));
  const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const text = told.length === 1 && !named ? plain(told[0][1]) : told.map(([name, value]) => `${name} ${plain(value)}`).join(", ");
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
