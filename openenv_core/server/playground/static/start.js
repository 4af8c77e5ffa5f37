// The beginning of an episode: its seed and its options.

import { h } from "./dom.js";
import { formOf } from "./form.js";

export class Start {
  constructor(schema, draft, begin) {
    const { seed: _, episode_id: __, ...others } = schema.properties ?? {};
    const names = Object.keys(others);
    this.seed = h("input", { type: "text", inputmode: "numeric", id: "seed", placeholder: "any", autocomplete: "off", "aria-describedby": "seed-error" });
    this.seedError = h("p", { class: "field-error", id: "seed-error", hidden: true });
    this.button = h("button", { type: "submit", class: "primary" }, "Start");
    const dice = h("button", { type: "button", class: "icon-button", "aria-label": "Another seed", title: "Another seed", onclick: () => this.roll() }, "⚄");
    this.options = names.length === 0 ? null : formOf({ ...schema, type: "object", properties: others, required: schema.required ?? [] }, { draft });
    this.more = this.options && h("details", { class: "more", open: (schema.required ?? []).length > 0 },
      h("summary", {}, `Options: ${names.slice(0, 3).join(", ").replaceAll("_", " ")}${names.length > 3 ? ", …" : ""}`), this.options.element);
    this.notice = h("div", { class: "notice", role: "alert", hidden: true });
    this.element = h("form", { class: "card reset", novalidate: true, "aria-label": "New episode" },
      h("div", { class: "reset-line" }, h("label", { for: "seed" }, "Seed"), this.seed, dice, this.button), this.seedError, this.more, this.notice);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      begin();
    });
  }

  name(text) { this.button.textContent = text; }

  roll() {
    this.seed.value = String(Math.floor(Math.random() * 100000));
    this.mark(false);
  }

  /** The next seed, where one was given. */
  next() {
    if (/^\d+$/.test(this.seed.value.trim())) this.seed.value = String(Number(this.seed.value) + 1);
  }

  mark(isWrong) {
    this.seedError.hidden = !isWrong;
    this.seedError.textContent = isWrong ? "A seed is a whole number, 0 or more." : "";
    if (isWrong) this.seed.setAttribute("aria-invalid", "true");
    else this.seed.removeAttribute("aria-invalid");
  }

  /** The options of reset, or null after telling what is wrong. */
  read() {
    const word = this.seed.value.trim();
    const isWrong = word !== "" && !/^\d{1,15}$/.test(word);
    this.mark(isWrong);
    const read = this.options?.read() ?? { value: {} };
    if (read.errors) this.more.open = true;
    if (isWrong || read.errors) {
      this.element.querySelector("[aria-invalid=true]")?.focus();
      return null;
    }
    return { ...(word === "" ? {} : { seed: Number(word) }), ...read.value };
  }

  /** The server's errors at their fields; whether all of them have one. */
  tell(errors) {
    if (!Array.isArray(errors) || !this.options) return false;
    const rest = this.options.tell(errors);
    this.more.open = true;
    return rest.length === 0;
  }

  explain(text) {
    this.notice.textContent = text ?? "";
    this.notice.hidden = text === null;
  }
}
