// A form from a JSON schema. Each node gives its element, its value (undefined: leave it out), and its own errors.

import { h } from "./dom.js";

const DEEP = 8;
let serial = 0;

class Problem extends Error {}

/**
 * The form of an object's schema.
 * @returns element; read(): {value} or {errors: true}, after telling errors at their fields; tell(list): the server's
 *   errors, as pydantic lists them, at their fields, what finds no field is returned; focus(); clear()
 */
export function formOf(schema, { example = {}, hidden = [], draft = {} } = {}) {
  const root = node(schema, schema, { path: [], required: true, label: "", depth: 0, example, hidden, top: true, draft });
  return {
    element: root.element,
    read() {
      root.clean();
      const value = root.read();
      return root.failed() ? { errors: true } : { value };
    },
    tell(errors) {
      root.clean();
      return errors.filter((error) => !root.tell(error.loc.map(String), error.msg));
    },
    focus() { root.element.querySelector("input:not([type=hidden]), textarea, select")?.focus(); },
    nodes: root.children,
  };
}

function resolved(schema, root) {
  let part = schema === true || schema === undefined ? {} : schema;
  for (let round = 0; round < DEEP; round += 1) {
    if (part.$ref?.startsWith("#/$defs/")) {
      const { $ref, ...rest } = part;
      part = { ...root.$defs?.[$ref.slice(8)], ...rest };
    } else if (part.allOf?.length === 1) {
      const { allOf, ...rest } = part;
      part = { ...allOf[0], ...rest };
    } else return part;
  }
  return part;
}

/** Without the null that a value may be instead. */
function stripped(schema, root) {
  const part = resolved(schema, root);
  const options = part.anyOf ?? part.oneOf;
  if (!options) return { part: part.type instanceof Array ? { ...part, type: part.type.find((kind) => kind !== "null") } : part, nullable: part.type instanceof Array && part.type.includes("null") };
  const rest = options.filter((option) => resolved(option, root).type !== "null");
  if (rest.length === options.length) return { part, nullable: false };
  const { anyOf, oneOf, ...outer } = part;
  if (rest.length === 1) return { part: { ...resolved(rest[0], root), ...outer }, nullable: true };
  return { part: { ...outer, anyOf: rest }, nullable: true };
}

function node(schema, root, place) {
  const { part, nullable } = stripped(schema, root);
  const own = { ...place, nullable, meaning: part.description ?? place.meaning ?? "" };
  if (place.depth > DEEP) return json(part, own);
  if ("const" in part) return constant(part, own);
  if (part.enum) return choice(part, own);
  if (part.anyOf || part.oneOf) return union(part.anyOf ?? part.oneOf, root, own, part.discriminator);
  if (part.type === "boolean") return boolean(part, own);
  if (part.type === "integer" || part.type === "number") return numeric(part, own);
  if (part.type === "string" && part.contentMediaType === undefined) return textual(part, own);
  if (part.type === "array" && part.items && !part.prefixItems) return list(part, root, own);
  if (part.type === "object" && part.properties) return object(part, root, own);
  return json(part, own);
}

/** What all fields have: a label, a line of meaning, a place for an error, and ids that tie them together. */
function field(place, control, { inline = false } = {}) {
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
function fits(path, location) {
  let next = 0;
  for (const segment of location) if (next < path.length && segment === path[next]) next += 1;
  return next === path.length;
}

function absent(place) {
  if (place.required && !place.nullable) throw new Problem("This is needed.");
  return place.required ? null : undefined;
}

function shown(value) { return typeof value === "string" ? value : JSON.stringify(value); }

function hintOf(part, place, fallback = "") {
  const given = place.top ? undefined : place.example;
  if (given !== undefined && given !== null && typeof given !== "object") return `e.g. ${given}`;
  return part.default !== undefined && part.default !== null && part.default !== "" ? shown(part.default) : fallback;
}

function textual(part, place) {
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

function numeric(part, place) {
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

function choice(part, place) {
  const isOpen = !place.required || place.nullable;
  const empty = isOpen ? [h("option", { value: "" }, part.default === undefined || part.default === null ? "(not set)" : `(${part.default})`)] : [];
  const select = h("select", {}, empty, part.enum.map((value, index) => h("option", { value: String(index) }, shown(value))));
  if (place.draft !== undefined && part.enum.includes(place.draft)) select.value = String(part.enum.indexOf(place.draft));
  return simple(place, select, () => (select.value === "" ? absent(place) : part.enum[Number(select.value)]));
}

function boolean(part, place) {
  if (place.required && !place.nullable) {
    const input = h("input", { type: "checkbox" });
    input.checked = place.draft === true;
    return simple(place, input, () => input.checked, { inline: true });
  }
  return choice({ ...part, enum: [true, false] }, place);
}

function constant(part, place) {
  return {
    element: h("input", { type: "hidden" }), path: place.path, read: () => part.const, clean() {}, failed: () => false, tell: () => false,
  };
}

function json(part, place) {
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

/** Several nodes as one. */
function together(element, children, readValue) {
  return {
    element, children, read: readValue,
    clean: () => children().forEach((child) => child.clean()),
    failed: () => children().some((child) => child.failed()),
    // The deepest place that fits counts, so the longest paths are asked first.
    tell: (location, message) => [...children()]
      .sort((one, other) => (other.path?.length ?? 0) - (one.path?.length ?? 0))
      .some((child) => child.tell(location, message)),
  };
}

function object(part, root, place) {
  const names = Object.keys(part.properties).filter((name) => !(place.top && (place.hidden.includes(name))) && name !== "metadata");
  const needed = part.required ?? [];
  const example = place.example ?? {};
  const nodes = names.map((name) => [name, node(part.properties[name], root, {
    path: [...place.path, name], required: needed.includes(name), label: part.properties[name].title && !place.plainNames ? titled(name) : titled(name),
    depth: place.depth + 1, example: example?.[name], draft: place.draft?.[name], meaning: meaningOf(part, name),
  })]);
  const first = nodes.filter(([name]) => needed.includes(name) || needed.length === 0).map(([, made]) => made.element);
  const rest = nodes.filter(([name]) => !needed.includes(name) && needed.length > 0).map(([, made]) => made.element);
  const more = rest.length === 0 ? null : place.top
    ? h("details", { class: "more" }, h("summary", {}, `${rest.length} more field${rest.length === 1 ? "" : "s"}`), rest)
    : rest;
  const element = place.top
    ? h("div", { class: "fields-form" }, first, more)
    : h("fieldset", { class: "field" }, h("legend", {}, place.label, place.required ? null : h("span", { class: "optional" }, " optional")), place.meaning ? h("p", { class: "meaning" }, place.meaning) : null, first, more);
  const made = together(element, () => nodes.map(([, child]) => child), () => {
    const value = {};
    for (const [name, child] of nodes) {
      const item = child.read();
      if (item !== undefined) value[name] = item;
    }
    return value;
  });
  if (place.top || (place.required && !place.nullable)) return { ...made, path: place.path };
  return { ...optional(made, element, place), path: place.path };
}

/** A part that is there only if it is switched on. */
function optional(made, element, place) {
  const box = h("input", { type: "checkbox" });
  const body = [...element.children].slice(1);
  const wrap = h("div", { class: "optional-body", hidden: true }, body);
  element.append(h("label", { class: "switch" }, box, " set it"), wrap);
  box.checked = place.draft !== undefined && place.draft !== null;
  wrap.hidden = !box.checked;
  box.addEventListener("change", () => { wrap.hidden = !box.checked; });
  return {
    ...made, element,
    read: () => (box.checked ? made.read() : place.required ? null : undefined),
    failed: () => box.checked && made.failed(),
    tell: (location, message) => box.checked && made.tell(location, message),
  };
}

function titled(name) { return name.replaceAll("_", " "); }

/** What the docstring of a model says of a field, where the field says nothing. */
function meaningOf(part, name) {
  const section = (part.description ?? "").split("Attributes:")[1] ?? "";
  const found = section.match(new RegExp(`^ +(?:[\\w, ]+, )?${name}(?:, [\\w, ]+)?: (.+(?:\\n {6,}.+)*)`, "m"));
  return found ? found[1].replaceAll("`", "").replace(/\s+/g, " ") : "";
}

function union(options, root, place, discriminator) {
  const parts = options.map((option) => resolved(option, root));
  const tag = discriminator?.propertyName;
  const names = parts.map((part, index) => String(part.properties?.[tag]?.const ?? part.title ?? part.const ?? part.type ?? index + 1));
  const select = h("select", {}, place.required && !place.nullable ? null : h("option", { value: "" }, "(not set)"), names.map((name, index) => h("option", { value: String(index) }, name)));
  const body = h("div", { class: "union-body" });
  const head = field({ ...place, label: place.label || tag || "kind" }, select);
  let inner = null;
  const choose = () => {
    inner = select.value === "" ? null : node(parts[Number(select.value)], root, {
      ...place, nullable: false, required: true, depth: place.depth + 1, label: names[Number(select.value)], meaning: "", top: place.top, short: true,
    });
    if (inner && !inner.children && !inner.element.matches("[type=hidden]")) inner.element.querySelector("label")?.classList.add("hidden-visually");
    body.replaceChildren(...(inner ? [inner.element] : []));
  };
  const drafted = parts.findIndex((part) => tag && place.draft?.[tag] === part.properties?.[tag]?.const);
  if (place.draft !== undefined && drafted >= 0) select.value = String(drafted);
  select.addEventListener("change", choose);
  choose();
  return {
    element: h("div", { class: "union" }, head.element, body),
    path: place.path,
    children: () => (inner ? [inner] : []),
    read: () => (inner ? inner.read() : place.required && place.nullable ? null : undefined),
    clean() { head.mark(null); inner?.clean(); },
    failed: () => head.failed() || Boolean(inner?.failed()),
    tell: (location, message) => Boolean(inner?.tell(location, message)),
  };
}

function list(part, root, place) {
  const items = resolved(part.items, root);
  if (items.enum && items.enum.length <= 24) return several(part, items, place);
  const body = h("div", { class: "list-body" });
  const add = h("button", { type: "button", class: "small-button" }, "Add");
  const legend = h("legend", {}, place.label, place.required ? null : h("span", { class: "optional" }, " optional"));
  const error = h("p", { class: "field-error", hidden: true });
  let rows = [];
  const number = () => rows.forEach((row, index) => { row.made.path?.splice(place.path.length, 1, String(index)); });
  const put = (draft) => {
    const made = node(part.items, root, {
      path: [...place.path, String(rows.length)], required: true, label: `${place.label} ${rows.length + 1}`, depth: place.depth + 1, draft, short: true,
    });
    const remove = h("button", { type: "button", class: "small-button", "aria-label": `Remove ${place.label} ${rows.length + 1}` }, "Remove");
    const row = { made, line: h("div", { class: "list-row" }, made.element, remove) };
    remove.addEventListener("click", () => {
      rows = rows.filter((other) => other !== row);
      row.line.remove();
      number();
      add.focus();
    });
    rows.push(row);
    body.append(row.line);
    return made;
  };
  add.addEventListener("click", () => put().element.querySelector("input, textarea, select")?.focus());
  (Array.isArray(place.draft) ? place.draft : []).forEach(put);
  for (let missing = rows.length; place.required && missing < (part.minItems ?? 0); missing += 1) put();
  const element = h("fieldset", { class: "field" }, legend, place.meaning ? h("p", { class: "meaning" }, place.meaning) : null, body, add, error);
  let wrong = false;
  const mark = (message) => {
    wrong = message !== null;
    error.hidden = !wrong;
    error.textContent = message ?? "";
  };
  const made = together(element, () => rows.map((row) => row.made), () => {
    if (rows.length === 0 && (!place.required || place.nullable)) return place.required ? null : undefined;
    if (rows.length < (part.minItems ?? 0)) mark(`At least ${part.minItems} are needed.`);
    if (rows.length > (part.maxItems ?? Infinity)) mark(`At most ${part.maxItems} fit.`);
    return rows.map((row) => row.made.read());
  });
  return {
    ...made, path: place.path,
    clean() { mark(null); made.clean(); },
    failed: () => wrong || made.failed(),
    tell(location, message) {
      if (made.tell(location, message)) return true;
      if (!fits(place.path, location)) return false;
      mark(message);
      return true;
    },
  };
}

/** A list whose items are some of a few words: a box for each. */
function several(part, items, place) {
  const boxes = items.enum.map((value) => {
    const box = h("input", { type: "checkbox" });
    box.checked = Array.isArray(place.draft) && place.draft.includes(value);
    return { value, box, line: h("label", { class: "switch" }, box, ` ${shown(value)}`) };
  });
  const legend = h("legend", {}, place.label, place.required ? null : h("span", { class: "optional" }, " optional"));
  const element = h("fieldset", { class: "field boxes" }, legend, place.meaning ? h("p", { class: "meaning" }, place.meaning) : null, boxes.map((one) => one.line));
  return together(element, () => [], () => {
    const chosen = boxes.filter((one) => one.box.checked).map((one) => one.value);
    return chosen.length === 0 && !place.required ? undefined : chosen;
  });
}
