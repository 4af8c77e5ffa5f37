// The fields of a form that hold one value each: texts, numbers, choices, and JSON where nothing else will do.

import { h } from "./dom.js";

let serial = 0;

/** What is wrong with a value, in words for whoever has typed it. */
class Problem extends Error {}

/** What all fields have: a label, a line of meaning, a place for an error, and ids that tie them together. */
export function field(place, control, { inline = false } = {}) {
  serial += 1;
  const id = `field-${serial}`;
  const input = control.matches("input, textarea, select") ? control : control.querySelector("input, textarea, select");
  const error = h("p", { class: "field-error", id: `${id}-error`, hidden: true });
  const meaning = place.meaning ? h("p", { class: "meaning", id: `${id}-meaning` }, place.meaning) : null;
  if (input) {
    input.id = id;
    input.setAttribute("aria-describedby", [meaning && `${id}-meaning`, `${id}-error`].filter(Boolean).join(" "));
    if (place.required && input.type !== "checkbox") input.setAttribute("aria-required", "true");
  }
  const label = h("label", { for: input ? id : null }, place.label, place.required || !place.label ? null : h("span", { class: "optional" }, " optional"));
  const element = h("div", { class: `field${inline ? " inline" : ""}` }, inline ? [control, label] : [label, control], meaning, error);
  let wrong = false;
  const mark = (message) => {
    wrong = message !== null;
    error.hidden = !wrong;
    error.textContent = message ?? "";
    input?.toggleAttribute("aria-invalid", wrong);
    if (wrong) input?.setAttribute("aria-invalid", "true");
  };
  input?.addEventListener("input", () => mark(null));
  return { element, input, mark, failed: () => wrong };
}

function simple(place, control, readValue, options) {
  const made = field(place, control, options);
  return {
    ...made,
    path: place.path,
    read() {
      try {
        return readValue();
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        made.mark(problem.message);
        return undefined;
      }
    },
    clean: () => made.mark(null),
    tell(location, message) {
      if (!fits(place.path, location)) return false;
      made.mark(message);
      return true;
    },
  };
}

/** Whether an error's place is this field's: the server's path may have names of models and kinds in between. */
export function fits(path, location) {
  let next = 0;
  for (const segment of location) if (next < path.length && segment === path[next]) next += 1;
  return next === path.length;
}

function absent(place) {
  if (place.required && !place.nullable) throw new Problem("This is needed.");
  return place.required ? null : undefined;
}

export function shown(value) { return typeof value === "string" ? value : JSON.stringify(value); }

function hintOf(part, place, fallback = "") {
  const given = place.top ? undefined : place.example;
  if (given !== undefined && given !== null && typeof given !== "object") return `e.g. ${given}`;
  return part.default !== undefined && part.default !== null && part.default !== "" ? shown(part.default) : fallback;
}

export function textual(part, place) {
  const isShort = part.maxLength <= 120 || part.pattern || part.format || place.short;
  const input = isShort
    ? h("input", { type: "text", placeholder: hintOf(part, place), autocomplete: "off", spellcheck: "false" })
    : h("textarea", { rows: 1, placeholder: hintOf(part, place), autocomplete: "off" });
  input.autocapitalize = "off";
  if (typeof place.draft === "string") input.value = place.draft;
  if (!isShort) growing(input);
  const made = simple(place, input, () => {
    const { value } = input;
    if (value === "" && !(place.required && (part.minLength ?? 0) === 0 && !place.nullable)) return absent(place);
    const length = [...value].length;
    if (length < (part.minLength ?? 0)) throw new Problem(`At least ${part.minLength} characters are needed.`);
    if (length > (part.maxLength ?? Infinity)) throw new Problem(`At most ${part.maxLength} characters fit; these are ${length}.`);
    if (part.pattern && !matches(part.pattern, value)) throw new Problem(`This must look like ${part.pattern}.`);
    return value;
  });
  return { ...made, clear() { input.value = ""; input.dispatchEvent(new Event("input")); } };
}

function matches(pattern, value) {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true; // a pattern of another kind of expressions: the server checks it
  }
}

/** A text box as high as its text; Enter sends, Shift+Enter begins a line. */
function growing(area) {
  const fit = () => {
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight + 2, 320)}px`;
  };
  area.addEventListener("input", fit);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      area.form?.requestSubmit();
    }
  });
}

function bounds(part) {
  const low = part.minimum ?? part.exclusiveMinimum;
  const high = part.maximum ?? part.exclusiveMaximum;
  if (low !== undefined && high !== undefined) return `${low} to ${high}`;
  if (low !== undefined) return part.minimum !== undefined ? `${low} or more` : `more than ${low}`;
  if (high !== undefined) return part.maximum !== undefined ? `${high} or less` : `less than ${high}`;
  return "";
}

export function numeric(part, place) {
  const isWhole = part.type === "integer";
  const input = h("input", {
    type: "text", inputmode: isWhole && (part.minimum ?? -1) >= 0 ? "numeric" : "decimal", autocomplete: "off",
    placeholder: hintOf(part, place, bounds(part)),
  });
  if (typeof place.draft === "number") input.value = String(place.draft);
  return simple(place, input, () => {
    const word = input.value.trim();
    if (word === "") return absent(place);
    const value = Number(word);
    const told = bounds(part);
    if (!Number.isFinite(value) || (isWhole && !Number.isInteger(value))) {
      throw new Problem(`This is not a ${isWhole ? "whole " : ""}number${told ? `: ${told}` : ""}.`);
    }
    if (value < (part.minimum ?? -Infinity) || value > (part.maximum ?? Infinity)
      || value <= (part.exclusiveMinimum ?? -Infinity) || value >= (part.exclusiveMaximum ?? Infinity)) {
      throw new Problem(`This must be ${told}.`);
    }
    if (part.multipleOf && Math.abs(value / part.multipleOf - Math.round(value / part.multipleOf)) > 1e-9) {
      throw new Problem(`This must be a multiple of ${part.multipleOf}.`);
    }
    return value;
  });
}

export function choice(part, place) {
  const isOpen = !place.required || place.nullable;
  const empty = isOpen ? [h("option", { value: "" }, part.default === undefined || part.default === null ? "(not set)" : `(${part.default})`)] : [];
  const select = h("select", {}, empty, part.enum.map((value, index) => h("option", { value: String(index) }, shown(value))));
  if (place.draft !== undefined && part.enum.includes(place.draft)) select.value = String(part.enum.indexOf(place.draft));
  return simple(place, select, () => (select.value === "" ? absent(place) : part.enum[Number(select.value)]));
}

export function boolean(part, place) {
  if (place.required && !place.nullable) {
    const input = h("input", { type: "checkbox" });
    input.checked = place.draft === true;
    return simple(place, input, () => input.checked, { inline: true });
  }
  return choice({ ...part, enum: [true, false] }, place);
}

export function constant(part, place) {
  return {
    element: h("input", { type: "hidden" }), path: place.path, read: () => part.const, clean() {}, failed: () => false, tell: () => false,
  };
}

export function json(part, place) {
  const area = h("textarea", { rows: 2, class: "mono", placeholder: hintOf(part, place, "JSON"), spellcheck: "false" });
  if (place.draft !== undefined && !place.top) area.value = JSON.stringify(place.draft);
  return simple(place, area, () => {
    if (area.value.trim() === "") return absent(place);
    try {
      return JSON.parse(area.value);
    } catch (error) {
      throw new Problem(`This is not JSON: ${error.message}`);
    }
  });
}
