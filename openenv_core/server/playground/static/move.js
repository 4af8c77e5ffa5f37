// A move: buttons for what has a name, a form for everything, and letters that are typed on a board.

import { h } from "./dom.js";
import { formOf } from "./form.js";

const KEY_NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "space" };

export class Move {
  /** @param game step(action): do it, resolves to whether it was done; screen: where the board is */
  constructor(config, game) {
    this.config = config;
    this.game = game;
    this.view = null;
    this.buttons = h("div", { class: "actions", role: "group", "aria-label": "Actions" });
    this.formPlace = h("div", { class: "form-place" });
    this.element = h("div", {}, this.buttons, this.formPlace);
  }

  /** What can be done now. */
  show(view) {
    this.view = view;
    const direct = view.actions.filter((one) => !one.draft);
    const drafts = view.actions.filter((one) => one.draft);
    const isWhole = view.questions.length === 1 && view.questions[0].kind === "choice" && direct.length > 0;
    const label = (one) => h("button", {
      type: "button", class: `action${one.draft ? " draft" : ""}`, onclick: () => this.act(one),
    }, h("span", {}, one.name), one.key ? h("kbd", { "aria-hidden": "true" }, KEY_NAMES[one.key] ?? one.key) : null);
    const focused = this.buttons.contains(document.activeElement) ? [...this.buttons.children].indexOf(document.activeElement) : -1;
    this.buttons.replaceChildren(...[...drafts, ...direct].map(label));
    this.buttons.hidden = view.actions.length === 0;
    this.buttons.classList.toggle("many", view.actions.length > 8);
    if (focused >= 0) this.buttons.children[Math.min(focused, this.buttons.children.length - 1)]?.focus();
    const signature = JSON.stringify([isWhole, view.questions.map((one) => [one.field, one.kind, one.template])]);
    if (this.signature !== signature) {
      this.signature = signature;
      this.buildForm(view, isWhole);
    }
  }

  act(one) { return one.draft ? this.drafted(one.action) : this.game.step(one.action); }

  choose(value) {
    const field = this.view.questions[0]?.field;
    if (field) this.game.step({ [field]: value });
  }

  buildForm(view, isWhole, draft) {
    const [question] = view.questions;
    const template = view.questions.length === 1 ? question?.template ?? "" : "";
    const fields = formOf(this.config.action, { example: hints(this.config.hints ?? {}, template), draft });
    const send = h("button", { type: "submit", class: "primary" }, "Step");
    const line = h("div", { class: view.questions.length <= 1 ? "one-line" : "" }, fields.element, send);
    const form = h("form", { class: "step-form", novalidate: true, "aria-label": "Action" }, line, this.rawForm());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const read = fields.read();
      if (read.errors) {
        form.querySelector("[aria-invalid=true]")?.focus();
        return;
      }
      const action = template ? { ...read.value, [question.field]: worded(template, read.value[question.field]) } : read.value;
      if (await this.game.step(action)) this.clearTexts(form);
      if (this.element.checkVisibility() && matchMedia("(hover: hover)").matches) (this.textInput() || null)?.focus({ preventScroll: true });
    });
    this.fields = fields;
    this.form = form;
    this.template = template;
    form.addEventListener("input", () => this.preview());
    this.formPlace.replaceChildren(isWhole ? h("details", { class: "more" }, h("summary", {}, "As a form"), form) : form);
  }

  rawForm() {
    const area = h("textarea", { class: "mono", rows: 2, "aria-label": "The whole action as JSON", spellcheck: "false", placeholder: JSON.stringify(this.config.example) });
    const error = h("p", { class: "field-error", hidden: true });
    const send = h("button", {
      type: "button", class: "small-button", onclick: () => {
        error.hidden = true;
        let action;
        try {
          action = JSON.parse(area.value);
        } catch (problem) {
          error.hidden = false;
          error.textContent = `This is not JSON: ${problem.message}`;
          return;
        }
        this.game.step(action);
      },
    }, "Send JSON");
    return h("details", { class: "more raw" }, h("summary", {}, "As JSON"), area, error, send);
  }

  drafted(action) {
    this.buildForm(this.view, false, action);
    this.form.querySelectorAll("textarea").forEach((area) => area.dispatchEvent(new Event("input")));
    const input = this.textInput();
    if (!input) return;
    input.focus();
    // The cursor stands where something is to be filled in: between the last pair of quotes.
    const place = input.value.lastIndexOf("''");
    if (place >= 0) input.setSelectionRange(place + 1, place + 1);
  }

  clearTexts(form) {
    for (const input of form.querySelectorAll(".fields-form input[type=text], .fields-form textarea")) {
      input.value = "";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  /** The one text that a move consists of; false where a move is something else. */
  textInput() {
    const questions = this.view?.questions ?? [];
    if (questions.length !== 1 || questions[0].kind !== "text") return false;
    return this.form?.querySelector(".fields-form textarea, .fields-form input[type=text]") ?? null;
  }

  typed(sign) {
    const input = this.textInput();
    if (!input) return;
    input.value += sign;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    if (matchMedia("(hover: hover)").matches) input.focus();
  }

  /** Letters that are being typed stand in the first free row of a board of letters. */
  preview() {
    const input = this.textInput();
    if (!input || !this.template) return;
    const rows = [...this.game.screen.querySelectorAll(".grid.spaced .row")];
    const row = rows.find((one) => [...one.children].every((cell) => cell.classList.contains("blank") || cell.classList.contains("typed")));
    if (!row) return;
    const letters = [...input.value.replace(/[^\p{L}]/gu, "").toUpperCase()];
    [...row.children].forEach((cell, index) => {
      cell.classList.toggle("typed", index < letters.length);
      cell.classList.toggle("blank", index >= letters.length);
      cell.querySelector(".sign").textContent = letters[index] ?? "";
    });
  }

  /** Errors of the server, at their fields; whether all of them have one. */
  tell(problems) {
    const rest = this.fields?.tell(problems);
    for (const error of this.form?.querySelectorAll(".field-error:not([hidden])") ?? []) {
      for (let around = error.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
    }
    return rest?.length === 0;
  }

  takesText(view) { return view.questions.length === 1 && view.questions[0].kind === "text"; }
}

/** Examples as a person types them: without what is put around them. */
function hints(example, template) {
  const [before, after] = template ? template.split("{}") : ["", ""];
  const bare = (value) => (typeof value === "string" && value.startsWith(before) && value.endsWith(after) ? value.slice(before.length, value.length - after.length) : value);
  return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, bare(value)]));
}

function worded(template, text) {
  return typeof text === "string" && text.trim() !== "" && !text.includes(template[0]) ? template.replace("{}", text.trim()) : text;
}
