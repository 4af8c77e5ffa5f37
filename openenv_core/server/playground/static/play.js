// The Play tab: one visitor, one session, one episode at a time. Longer than other files: what happens to a visit is one
// state machine, and all that it shows is made elsewhere (screens, move, view, tree).

import { announce, h, inWords, number } from "./dom.js";
import { Move } from "./move.js";
import { ending, hero, past, queue, score, step } from "./screens.js";
import { Session, claim } from "./socket.js";
import { Start } from "./start.js";
import { sessionStore } from "./store.js";
import { tree } from "./tree.js";
import { draw, release } from "./view.js";

const KEY = `openenv-play ${location.pathname}`; // a proxy may have several servers below one origin
const KEPT_BYTES = 2_000_000;
const KEPT_STEPS = 300;

export class Play {
  constructor(root, config) {
    this.config = config;
    this.root = root;
    this.store = sessionStore(`${KEY} game`);
    this.phase = "idle"; // idle, opening, running, over, lost
    this.busy = false;
    this.history = [];
    this.shown = null;
    this.view = null;
    this.drawn = "";
    const url = new URL("ws", document.baseURI);
    url.protocol = url.protocol.replace("http", "ws");
    this.session = new Session(url.href, sessionStore(`${KEY} session`));
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
    this.screen = h("div", { class: "screen", id: "screen", tabIndex: -1 });
    this.notice = h("div", { class: "notice", role: "alert", hidden: true });
    this.move = new Move(this.config, { step: (action) => this.step(action), screen: this.screen });
    this.controls = h("section", { class: "card controls", "aria-label": "Your move", hidden: true }, this.notice, this.move.element);
    this.score = h("dl", { class: "score" });
    this.list = h("ol", { class: "history", "aria-label": "Steps of this episode" });
    this.historyCard = h("section", { class: "card", hidden: true, "aria-labelledby": "history-heading" }, h("h3", { id: "history-heading" }, "Episode"), this.list);
    this.json = this.panel("Observation as JSON", () => tree(this.shown?.observation ?? this.last?.observation ?? null));
    this.state = this.panel("State", () => this.askState());
    this.start = new Start(this.config.reset, this.config.options, () => this.begin());
    this.root.replaceChildren(h("div", { class: "play-grid" },
      h("div", { class: "main-column" },
        h("section", { class: "card stage", "aria-labelledby": "stage-title" },
          h("div", { class: "stage-head" }, this.title, this.counter, this.pill), this.screen),
        this.controls),
      h("div", { class: "side-column" }, this.start.element, h("section", { class: "card", "aria-label": "Score" }, this.score), this.historyCard, this.json, this.state)));
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
      this.start.seed.value = kept.seed ?? "";
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
    const options = this.start.read();
    if (options === null || this.busy) return;
    this.start.explain(null);
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

  async step(action) {
    if (this.busy || this.phase !== "running") return false;
    this.back();
    this.notice.hidden = true;
    this.setBusy(true);
    try {
      await this.answered("step", action, this.session.call("step", action), false);
      if (this.phase === "over") this.focusMove();
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
    if (!this.session.isOpen) return this.facts ? tree(this.facts) : null;
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
      this.why = "The session is gone.";
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
    this.store.write({ history, options: this.options, facts: this.facts, seed: this.start.seed.value });
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
    this.start.name(this.history.length || phase === "running" ? "Restart" : "Start");
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
    this.setScreen([hero(this.config.name, document.querySelector("#about .lead")?.textContent ?? "", () => this.begin())]);
  }

  showQueue(position) {
    if (this.phase === "opening" && this.drawn !== `queue ${position}`) {
      this.drawn = `queue ${position}`;
      announce(`The server is full. Your place in the queue: ${position}.`);
      this.pill.textContent = "waiting";
      this.setScreen([queue(position, () => this.session.giveUp())]);
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
      choose: canAct ? (value) => this.move.choose(value) : null,
      click: canAct ? (action) => this.step(action) : null,
      act: canAct ? (one) => this.move.act(one) : null,
      letter: canAct && this.move.takesText(view) ? (sign) => this.move.typed(sign) : null,
    }) : [h("p", { class: "quiet" }, "The picture of this step is not kept.")];
    this.setScreen([isNow ? this.ending(entry) : this.pastBanner(entry), ...parts].filter(Boolean));
    this.title.textContent = this.gameName();
    this.counter.textContent = isNow ? "" : `step ${this.history.indexOf(entry)}`;
    if (canAct) this.move.show(view);
    this.json.refresh();
    if (isNow) this.state.refresh();
    return undefined;
  }

  gameName() {
    const { game_name: one, env_id: two, task_name: three, gymnasium_id: four } = this.facts ?? {};
    const seed = this.options?.seed;
    return `${one || three || two || four || this.config.name}${seed === undefined ? "" : ` · seed ${seed}`}`;
  }

  pastBanner(entry) {
    const index = this.history.indexOf(entry);
    return past(index, index === 0 ? "the start" : this.named(entry.action, index), () => { this.back(); this.show(); });
  }

  back() {
    if (this.shown) this.shown = null;
  }

  ending(entry) {
    if (!entry.done && this.phase !== "lost") return null;
    const facts = { steps: this.history.length - 1, total: this.total(), why: this.phase === "lost" ? this.why : null };
    return ending(entry, facts, () => this.again());
  }

  /** The next game: of the next seed where one was given. */
  again() {
    this.start.next();
    return this.begin();
  }

  total() { return this.history.reduce((sum, entry) => sum + (Number(entry.reward) || 0), 0); }

  showScore() {
    const steps = Math.max(0, this.history.length - 1);
    this.score.replaceChildren(...score({ Return: number(this.total()), "Last reward": steps ? number(this.last.reward) : "–", Steps: String(steps) }));
  }

  showHistory() {
    const shown = this.shown ?? this.last;
    this.historyCard.hidden = this.history.length === 0;
    const from = Math.max(0, this.history.length - 200);
    this.list.replaceChildren(...this.history.slice(from).map((entry, offset) => {
      const index = from + offset;
      const button = step(index, entry, index === 0 ? "reset" : this.named(entry.action, index), entry === shown);
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
    return offered.find((one) => JSON.stringify(one.action) === key)?.name ?? inWords(action);
  }

  tellStep(isReset) {
    const entry = this.last;
    if (isReset) announce("A new episode has begun.");
    else announce(`Step ${this.history.length - 1}: reward ${number(entry.reward)}.${entry.done ? " The episode is over." : ""}`);
  }

  focusMove() {
    const input = this.move.textInput();
    const hasKeyboard = matchMedia("(hover: hover)").matches;
    if (input && this.phase === "running" && hasKeyboard) input.focus({ preventScroll: true });
    else if (this.phase === "running" && hasKeyboard && !this.controls.contains(document.activeElement)) this.screen.focus({ preventScroll: true });
    if (this.phase === "over") document.getElementById("again")?.focus({ preventScroll: true });
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.phase !== "running" || this.root.closest("[hidden]") || this.root.offsetParent === null) return;
    if (event.target.closest?.("input, textarea, select, summary, [contenteditable]")) return;
    if (event.key === " " && event.target.closest?.("button, a")) return;
    const found = this.view?.actions.find((one) => one.key === event.key);
    if (!found || this.shown) return;
    event.preventDefault();
    if (!event.repeat || !this.busy) this.move.act(found);
  }

  // What went wrong

  /** A refusal of a step: at the fields where it names them, else in words. Nothing is lost by it. */
  complain(error) {
    if (error.code === "SESSION_LOST") return;
    if (error.code === "EPISODE_NOT_STARTED" || error.code === "EPISODE_OVER") {
      this.setPhase("lost"); // a reset was refused, and took the running episode with it
      this.why = "This episode is over.";
      this.show();
      return;
    }
    const problems = error.details?.errors;
    if (Array.isArray(problems) && this.move.tell(problems)) {
      announce(error.message);
      return;
    }
    this.explain(error.message);
  }

  explain(text) {
    this.notice.textContent = text;
    this.notice.hidden = false;
    this.start.explain(this.phase === "running" ? null : text);
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
    if (!this.start.tell(error.details?.errors)) this.start.explain(error.message);
    this.show();
  }
}
