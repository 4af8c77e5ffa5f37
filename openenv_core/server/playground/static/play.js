// Play: one tab, one session, one episode after the other.

import { announce, h, inWords, number } from "./dom.js";
import { formOf } from "./form.js";
import { Session, claim } from "./socket.js";
import { tree } from "./tree.js";
import { draw, release } from "./view.js";

const KEY = "openenv-play";
const KEPT_BYTES = 2_000_000;
const KEPT_STEPS = 300;
const KEY_NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "space" };

const sessionStore = (name) => ({
  read() {
    try {
      return JSON.parse(sessionStorage.getItem(name));
    } catch {
      return null;
    }
  },
  write(value) {
    try {
      sessionStorage.setItem(name, JSON.stringify(value));
    } catch {
      sessionStorage.removeItem(name); // too much, or not allowed: then nothing outlives a reload
    }
  },
});

export class Play {
  constructor(root, config) {
    this.config = config;
    this.root = root;
    this.store = sessionStore(`${KEY}-game`);
    this.phase = "idle"; // idle, queued, running, over, lost
    this.busy = false;
    this.history = [];
    this.shown = null;
    this.view = null;
    this.drawn = "";
    const url = new URL("ws", document.baseURI);
    url.protocol = url.protocol.replace("http", "ws");
    this.session = new Session(url.href, sessionStore(`${KEY}-session`));
    this.session.onstatus = (status, attempt) => this.showStatus(status, attempt);
    this.session.onqueued = (position) => this.showQueue(position);
    this.session.onlost = (reason, message) => this.lose(message);
    this.build();
    document.addEventListener("keydown", (event) => this.pressed(event));
    this.ready = this.comeBack();
  }

  get last() { return this.history.at(-1) ?? null; }

  // What there is

  build() {
    this.pill = h("span", { class: "pill" }, "not playing");
    this.title = h("h3", { class: "stage-title" }, this.config.name);
    this.counter = h("span", { class: "quiet" });
    this.screen = h("div", { class: "screen", id: "screen" });
    this.notice = h("div", { class: "notice", role: "alert", hidden: true });
    this.buttons = h("div", { class: "actions", role: "group", "aria-label": "Actions" });
    this.formPlace = h("div", { class: "form-place" });
    this.controls = h("section", { class: "card controls", "aria-label": "Your move", hidden: true }, this.notice, this.buttons, this.formPlace);
    this.score = h("dl", { class: "score" });
    this.list = h("ol", { class: "history", "aria-label": "Steps of this episode" });
    this.historyCard = h("section", { class: "card", hidden: true, "aria-labelledby": "history-heading" }, h("h3", { id: "history-heading" }, "Episode"), this.list);
    this.json = this.panel("Observation as JSON", () => tree(this.shown?.observation ?? this.last?.observation ?? null));
    this.state = this.panel("State", () => this.askState());
    this.newGame = this.buildReset();
    this.root.replaceChildren(h("div", { class: "play-grid" },
      h("div", { class: "main-column" },
        h("section", { class: "card stage", "aria-labelledby": "stage-title" },
          h("div", { class: "stage-head" }, this.title, this.counter, this.pill), this.screen),
        this.controls),
      h("div", { class: "side-column" }, this.newGame, h("section", { class: "card", "aria-label": "Score" }, this.score), this.historyCard, this.json, this.state)));
    this.title.id = "stage-title";
    this.showScore();
    this.showHero();
  }

  panel(name, content) {
    const body = h("div", { class: "panel-body" });
    const details = h("details", { class: "card panel" }, h("summary", {}, name), body);
    details.refresh = async () => {
      if (!details.open) return;
      const made = await content();
      if (made) body.replaceChildren(made);
    };
    details.addEventListener("toggle", () => details.refresh());
    return details;
  }

  buildReset() {
    const { seed, episode_id: _, ...others } = this.config.reset.properties ?? {};
    this.seed = h("input", { type: "text", inputmode: "numeric", id: "seed", placeholder: "any", autocomplete: "off", "aria-describedby": "seed-error" });
    this.seedError = h("p", { class: "field-error", id: "seed-error", hidden: true });
    const dice = h("button", { type: "button", class: "icon-button", "aria-label": "Another seed", title: "Another seed", onclick: () => { this.seed.value = String(Math.floor(Math.random() * 100000)); this.seedError.hidden = true; } }, "⚄");
    this.start = h("button", { type: "submit", class: "primary" }, "Start");
    this.optionsForm = Object.keys(others).length === 0 ? null
      : formOf({ ...this.config.reset, type: "object", properties: others, required: (this.config.reset.required ?? []) });
    const names = Object.keys(others);
    const more = this.optionsForm && h("details", { class: "more", open: (this.config.reset.required ?? []).length > 0 }, h("summary", {}, `Options: ${names.slice(0, 3).join(", ").replaceAll("_", " ")}${names.length > 3 ? ", …" : ""}`), this.optionsForm.element);
    this.optionsPlace = more;
    this.resetNotice = h("div", { class: "notice", role: "alert", hidden: true });
    const form = h("form", { class: "card reset", novalidate: true, "aria-label": "New episode" },
      h("div", { class: "reset-line" }, h("label", { for: "seed" }, "Seed"), this.seed, dice, this.start), this.seedError, more, this.resetNotice);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.begin();
    });
    return form;
  }

  // A game

  async comeBack() {
    const kept = this.store.read();
    const session = this.session.kept.session;
    if (!session) return;
    if (!(await claim(session))) { // another tab has it: this one is a copy
      this.session.keep({ session: null, token: null, request: null });
      this.store.write(null);
      return;
    }
    if (kept) {
      Object.assign(this, { history: kept.history, options: kept.options, facts: kept.facts });
      this.seed.value = kept.seed ?? "";
      this.phase = "running";
      this.showHistory();
      this.showScore();
    }
    try {
      const { request, owed } = await this.session.resume();
      if (owed && request.type !== "state") await this.answered(request.type, request.data, owed, request.type === "reset");
      if (this.history.length) await this.refresh();
    } catch (error) {
      if (error.code !== "SESSION_LOST") this.complain(error);
    }
  }

  async begin() {
    const options = this.options_();
    if (options === null || this.busy) return;
    this.resetNotice.hidden = true;
    this.setBusy(true);
    try {
      if (!this.session.isOpen) {
        this.setPhase("opening");
        await this.session.open();
        claim(this.session.kept.session);
      }
      await this.answered("reset", options, this.session.call("reset", options), true);
    } catch (error) {
      if (error.code !== "SESSION_LOST") this.refuse(error);
    } finally {
      this.setBusy(false);
    }
    if (this.phase === "running") this.focusMove();
  }

  /** The reset's options, or null after telling what is wrong. */
  options_() {
    const word = this.seed.value.trim();
    const isWrong = word !== "" && !/^\d{1,15}$/.test(word);
    this.seedError.hidden = !isWrong;
    this.seed.toggleAttribute("aria-invalid", isWrong);
    if (isWrong) this.seedError.textContent = "A seed is a whole number, 0 or more.";
    const read = this.optionsForm?.read() ?? { value: {} };
    if (read.errors) this.optionsPlace.open = true;
    if (isWrong || read.errors) return null;
    return { ...(word === "" ? {} : { seed: Number(word) }), ...read.value };
  }

  async step(action) {
    if (this.busy || this.phase !== "running") return false;
    this.back();
    this.notice.hidden = true;
    this.setBusy(true);
    try {
      await this.answered("step", action, this.session.call("step", action), false);
      return true;
    } catch (error) {
      this.complain(error);
      return false;
    } finally {
      this.setBusy(false);
    }
  }

  /** Take in what a reset or a step led to. */
  async answered(type, data, answer, isReset) {
    const frame = await answer;
    const observation = frame.data;
    if (isReset) {
      this.history = [];
      this.options = data;
    }
    const done = Boolean(observation.done);
    this.history.push({
      action: isReset ? null : data, options: isReset ? data : null,
      reward: typeof observation.reward === "boolean" ? Number(observation.reward) : observation.reward ?? null,
      done, truncated: Boolean(observation.truncated ?? frame.truncated), success: observation.success ?? null, observation, view: frame.view,
    });
    if (this.history.length > KEPT_STEPS) this.thin();
    this.view = frame.view;
    this.shown = null;
    if (isReset) await this.learnFacts();
    this.setPhase(done ? "over" : "running");
    this.show();
    this.tellStep(isReset);
    this.keep();
  }

  /** Which game it is, is told by the state; the view depends on it. */
  async learnFacts() {
    try {
      const frame = await this.session.call("state");
      this.facts = frame.data;
      if (frame.view) this.view = this.last.view = { ...frame.view, parts: this.last.view.parts.some((part) => part.field) ? this.last.view.parts : frame.view.parts };
    } catch (error) {
      if (error.code === "SESSION_LOST") throw error;
      this.facts = null; // an environment without a state can be played all the same
    }
  }

  async refresh() {
    const frame = await this.session.call("state");
    this.facts = frame.data;
    if (frame.view && this.last) this.view = this.last.view = frame.view;
    this.setPhase(this.last?.done ? "over" : "running");
    this.show();
  }

  async askState() {
    if (!this.session.isOpen || this.busy) return this.facts ? tree(this.facts) : null;
    try {
      this.facts = (await this.session.call("state")).data;
    } catch (error) {
      return h("p", { class: "quiet" }, error.message);
    }
    return tree(this.facts);
  }

  lose(message) {
    if (this.phase === "opening") return;
    this.setPhase(this.phase === "over" ? "over" : "lost");
    if (this.phase === "lost") {
      this.explain(`This session is gone: ${message.replace("; call reset to start a new one", "")}. Start a new episode when you like.`);
      announce("The session is gone.");
    }
    this.show();
    this.store.write(null);
  }

  keep() {
    let room = KEPT_BYTES;
    const history = [];
    for (const entry of [...this.history].reverse()) {
      const small = { ...entry, view: undefined, observation: undefined };
      const size = JSON.stringify(entry).length;
      history.unshift(size < room ? entry : small);
      room -= size;
    }
    this.store.write({ history, options: this.options, facts: this.facts, seed: this.seed.value });
  }

  /** Old steps of a long episode keep what the list shows. */
  thin() {
    const entry = this.history[this.history.length - KEPT_STEPS];
    entry.view = undefined;
    entry.observation = undefined;
  }

  // What is seen

  setPhase(phase) {
    this.phase = phase;
    this.root.dataset.phase = phase;
    this.controls.hidden = phase !== "running";
    this.historyCard.hidden = this.history.length === 0;
    this.start.textContent = this.history.length || phase === "running" ? "Restart" : "Start";
    this.showPill();
  }

  setBusy(busy) {
    this.busy = busy;
    this.screen.setAttribute("aria-busy", String(busy));
    this.root.classList.toggle("busy", busy);
  }

  showStatus(status, attempt) {
    this.status = status;
    this.attempt = attempt;
    this.showPill();
  }

  showPill() {
    const away = this.session.wanted && this.status === "connecting";
    const words = { idle: "not playing", opening: "connecting", queued: "waiting", running: "playing", over: "over", lost: "session gone" };
    const text = away && this.attempt > 0 ? "reconnecting …" : away ? "connecting …" : words[this.phase] ?? this.phase;
    if (this.pill.textContent === text) return;
    if (away && this.attempt === 1) announce("The connection is lost. Trying to get it back.");
    this.pill.textContent = text;
    this.pill.className = `pill ${away ? "warn" : this.phase}`;
  }

  showHero() {
    this.setScreen([h("div", { class: "hero" },
      h("p", { class: "hero-title" }, this.config.name),
      h("p", {}, document.querySelector("#about .lead")?.textContent ?? ""),
      h("p", {}, h("button", { type: "button", class: "primary big", id: "hero-start", onclick: () => this.begin() }, "Start playing")),
      h("p", { class: "quiet" }, "You get an environment of your own, as an agent does."))]);
  }

  showQueue(position) {
    if (this.phase === "opening" && this.drawn !== `queue ${position}`) {
      this.drawn = `queue ${position}`;
      announce(`The server is full. Your place in the queue: ${position}.`);
      this.pill.textContent = "waiting";
      this.setScreen([h("div", { class: "hero queue" },
        h("p", { class: "queue-place" }, String(position)),
        h("p", { class: "hero-title" }, position === 1 ? "You are next." : "Your place in the queue"),
        h("p", {}, "All places are taken. The game starts by itself when one is free."),
        h("p", {}, h("button", { type: "button", onclick: () => this.session.giveUp() }, "Stop waiting")))]);
    }
  }

  setScreen(children) {
    release(this.screen);
    this.screen.replaceChildren(...children);
  }

  show() {
    const entry = this.shown ?? this.last;
    this.showScore();
    this.showHistory();
    if (!entry) return this.showHero();
    const isNow = entry === this.last;
    const view = isNow ? this.view : entry.view;
    const canAct = isNow && this.phase === "running";
    const parts = view ? draw(view.parts, {
      observation: entry.observation,
      choose: canAct ? (value) => this.choose(value) : null,
      click: canAct ? (action) => this.step(action) : null,
      letter: canAct && this.textInput() !== false ? (sign) => this.typed(sign) : null,
    }) : [h("p", { class: "quiet" }, "The picture of this step is not kept.")];
    this.setScreen([isNow ? this.ending(entry) : this.pastBanner(entry), ...parts].filter(Boolean));
    this.title.textContent = this.gameName();
    this.counter.textContent = isNow ? "" : `step ${this.history.indexOf(entry)}`;
    if (canAct) this.showControls(view);
    this.json.refresh();
    if (isNow && !this.busy) this.state.refresh();
    return undefined;
  }

  gameName() {
    const { game_name: one, env_id: two, task_name: three, gymnasium_id: four } = this.facts ?? {};
    const seed = this.options?.seed;
    return `${one || three || two || four || this.config.name}${seed === undefined ? "" : ` · seed ${seed}`}`;
  }

  pastBanner(entry) {
    return h("p", { class: "banner past" }, `Step ${this.history.indexOf(entry)}${entry.action ? `: ${inWords(entry.action)}` : ", the start"} `, h("button", { type: "button", class: "small-button", onclick: () => { this.back(); this.show(); } }, "Back to now"));
  }

  back() {
    if (this.shown) this.shown = null;
  }

  ending(entry) {
    if (!entry.done && this.phase !== "lost") return null;
    const steps = this.history.length - 1;
    const why = this.phase === "lost" ? "The session is gone." : entry.success === true ? "Solved!" : entry.truncated ? "A limit cut the episode short." : entry.success === false ? "Not solved." : "The episode is over.";
    const told = entry.observation?.end_reason || "";
    return h("div", { class: `ending ${entry.success === true ? "good" : ""}` },
      h("p", { class: "ending-title" }, why), h("p", {}, `${steps} step${steps === 1 ? "" : "s"}, return ${number(this.total())}.`, told ? ` ${told}` : ""),
      h("button", { type: "button", class: "primary", id: "again", onclick: () => this.again() }, "Play again"));
  }

  /** The next game: of the next seed where one was given. */
  again() {
    if (/^\d+$/.test(this.seed.value.trim())) this.seed.value = String(Number(this.seed.value) + 1);
    return this.begin();
  }

  total() { return this.history.reduce((sum, entry) => sum + (Number(entry.reward) || 0), 0); }

  showScore() {
    const row = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
    const steps = Math.max(0, this.history.length - 1);
    this.score.replaceChildren(row("Return", number(this.total())), row("Last reward", steps ? number(this.last.reward) : "–"), row("Steps", String(steps)));
  }

  showHistory() {
    const shown = this.shown ?? this.last;
    this.historyCard.hidden = this.history.length === 0;
    const from = Math.max(0, this.history.length - 200);
    this.list.replaceChildren(...this.history.slice(from).map((entry, offset) => {
      const index = from + offset;
      const reward = index === 0 ? "" : entry.reward === null ? "–" : entry.reward > 0 ? `+${number(entry.reward)}` : number(entry.reward);
      const button = h("button", { type: "button", class: entry === shown ? "current" : "", "aria-current": entry === shown ? "step" : null },
        h("span", { class: "index" }, String(index)), h("span", { class: "what" }, index === 0 ? "reset" : this.named(entry.action, index)),
        h("span", { class: `reward ${entry.reward > 0 ? "good" : entry.reward < 0 ? "bad" : ""}` }, reward));
      button.addEventListener("click", () => {
        this.shown = entry === this.last ? null : entry;
        this.show();
        this.list.children[offset]?.firstChild.focus({ preventScroll: true });
      });
      return h("li", {}, button);
    }));
    if (!this.shown) this.list.scrollTop = this.list.scrollHeight;
  }

  /** An action by its label, where it had one when it was done. */
  named(action, index) {
    const offered = this.history[index - 1]?.view?.actions ?? [];
    const key = JSON.stringify(action);
    return offered.find((one) => JSON.stringify(one.action) === key)?.label ?? inWords(action);
  }

  tellStep(isReset) {
    const entry = this.last;
    if (isReset) announce("A new episode has begun.");
    else announce(`Step ${this.history.length - 1}: reward ${number(entry.reward)}.${entry.done ? " The episode is over." : ""}`);
  }

  // A move

  showControls(view) {
    const direct = view.actions.filter((one) => !one.draft);
    const drafts = view.actions.filter((one) => one.draft);
    const isWhole = view.questions.length === 1 && view.questions[0].kind === "choice" && direct.length > 0;
    const label = (one) => h("button", {
      type: "button", class: `action${one.draft ? " draft" : ""}`, onclick: () => (one.draft ? this.drafted(one.action) : this.act(one)),
    }, h("span", {}, one.label), one.key ? h("kbd", { "aria-hidden": "true" }, KEY_NAMES[one.key] ?? one.key) : null);
    const focused = this.buttons.contains(document.activeElement) ? [...this.buttons.children].indexOf(document.activeElement) : -1;
    this.buttons.replaceChildren(...[...drafts, ...direct].map(label));
    this.buttons.hidden = view.actions.length === 0;
    this.buttons.classList.toggle("many", view.actions.length > 8);
    if (focused >= 0) (this.buttons.children[Math.min(focused, this.buttons.children.length - 1)] ?? this.controls).focus?.();
    const signature = JSON.stringify([isWhole, view.questions.map((one) => [one.field, one.kind, one.template])]);
    if (this.signature !== signature) {
      this.signature = signature;
      this.buildForm(view, isWhole);
    }
  }

  act(one) { return this.step(one.action); }

  choose(value) {
    const field = this.view.questions[0]?.field;
    if (field) this.step({ [field]: value });
  }

  buildForm(view, isWhole, draft) {
    const [question] = view.questions;
    const template = view.questions.length === 1 ? question?.template ?? "" : "";
    const fields = formOf(this.config.action, { example: this.config.example, draft });
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
      if (await this.step(action)) this.clearTexts(form);
      this.focusMove();
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
      type: "button", class: "small-button", onclick: async () => {
        try {
          error.hidden = true;
          await this.step(JSON.parse(area.value));
        } catch (problem) {
          error.hidden = false;
          error.textContent = `This is not JSON: ${problem.message}`;
        }
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
    const rows = [...this.screen.querySelectorAll(".grid.spaced .row")];
    const row = rows.find((one) => [...one.children].every((cell) => cell.classList.contains("blank") || cell.classList.contains("typed")));
    if (!row) return;
    const letters = [...input.value.replace(/[^\p{L}]/gu, "").toUpperCase()];
    [...row.children].forEach((cell, index) => {
      cell.classList.toggle("typed", index < letters.length);
      cell.classList.toggle("blank", index >= letters.length);
      cell.querySelector(".sign").textContent = letters[index] ?? "";
    });
  }

  focusMove() {
    const input = this.textInput();
    if (input && this.phase === "running" && matchMedia("(hover: hover)").matches) input.focus({ preventScroll: true });
    if (this.phase === "over") document.getElementById("again")?.focus({ preventScroll: true });
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.phase !== "running" || this.root.closest("[hidden]") || this.root.offsetParent === null) return;
    if (event.target.closest?.("input, textarea, select, summary, [contenteditable]")) return;
    if (event.key === " " && event.target.closest?.("button, a")) return;
    const found = this.view?.actions.find((one) => one.key === event.key);
    if (!found || this.shown) return;
    event.preventDefault();
    if (!event.repeat || !this.busy) this.act(found);
  }

  // What went wrong

  /** A refusal of a step: at the fields where it names them, else in words. Nothing is lost by it. */
  complain(error) {
    if (error.code === "SESSION_LOST") return;
    const problems = error.details?.errors;
    const rest = Array.isArray(problems) && this.fields ? this.fields.tell(problems) : null;
    if (rest?.length === 0 && this.form?.querySelector(".field-error:not([hidden])")?.checkVisibility?.()) {
      announce(error.message);
      return;
    }
    this.explain(error.message);
  }

  explain(text) {
    this.notice.textContent = text;
    this.notice.hidden = false;
    this.resetNotice.textContent = text;
    this.resetNotice.hidden = this.phase === "running";
  }

  /** A refusal of a new episode. */
  refuse(error) {
    if (this.phase === "opening") this.setPhase(this.history.length ? "lost" : "idle");
    this.drawn = "";
    if (error.code === "CANCELLED") {
      this.setPhase("idle");
      this.history = [];
      this.show();
      return;
    }
    const problems = error.details?.errors;
    if (Array.isArray(problems) && this.optionsForm) {
      const rest = this.optionsForm.tell(problems);
      this.optionsPlace.open = true;
      if (rest.length === 0) return;
    }
    this.resetNotice.textContent = error.message;
    this.resetNotice.hidden = false;
    this.show();
  }
}

function worded(template, text) {
  return typeof text === "string" && text.trim() !== "" && !text.includes(template[0]) ? template.replace("{}", text.trim()) : text;
}
