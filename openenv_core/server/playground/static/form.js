// A form from a JSON schema. Each node gives its element, its value (undefined: leave it out), and its own errors.

import { h } from "./dom.js";
import { boolean, choice, constant, field, fits, json, numeric, shown, textual } from "./fields.js";

const DEEP = 8;

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
