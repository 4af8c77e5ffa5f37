// Watch: what runs on this server, and one session step by step while its client plays.

import { ask } from "./api.js";
import { bars, lineChart } from "./charts.js";
import { announce, h, inWords, number, span } from "./dom.js";
import { tree } from "./tree.js";
import { draw, release } from "./view.js";

const PAUSE_MS = 2000;
const KEPT_FRAMES = 200;
const KEPT_SAMPLES = 300;

export class Watch {
  constructor(root, config) {
    this.root = root;
    this.config = config;
    this.samples = [];
    this.cards = new Map();
    document.addEventListener("visibilitychange", () => { if (!document.hidden && this.on) this.poll(); });
  }

  show(session) {
    this.hide();
    this.on = true;
    if (session) this.follow(session);
    else this.overview();
  }

  hide() {
    this.on = false;
    clearTimeout(this.timer);
    this.events?.close();
    this.events = null;
    release(this.root);
  }

  // All sessions

  overview() {
    this.following = null;
    this.tiles = h("dl", { class: "tiles" });
    this.charts = h("div", { class: "charts" });
    this.losses = h("div", { class: "pair" });
    this.list = h("div", { class: "sessions" });
    this.notice = h("p", { class: "banner", hidden: true });
    this.heading = h("h3", { id: "sessions-heading" }, "Sessions");
    this.cards.clear();
    this.root.replaceChildren(this.notice, this.tiles, this.charts, h("section", { "aria-labelledby": "sessions-heading" }, this.heading, this.list), this.losses);
    this.poll();
  }

  async poll() {
    clearTimeout(this.timer);
    if (!this.on || this.following !== null || document.hidden) return;
    try {
      const since = this.samples.at(-1)?.at;
      const [sessions, totals] = await Promise.all([ask("api/sessions?limit=60"), ask(`api/totals${since ? `?since=${since}` : ""}`)]);
      if (!this.on || this.following !== null) return;
      this.notice.hidden = true;
      this.samples = [...this.samples, ...totals.samples].slice(-KEPT_SAMPLES);
      this.drawTotals(totals, sessions);
      this.drawSessions(sessions);
    } catch (error) {
      if (!this.on || this.following !== null) return;
      this.notice.hidden = false;
      this.notice.textContent = error.status === 401 || error.status === 403
        ? "Watching is for whoever runs this server: set OPENENV_TOKEN there and open this page with it, or open it on the server's own machine."
        : `${error.message} Trying again.`;
      if (error.status === 401 || error.status === 403) return;
    }
    this.timer = setTimeout(() => this.poll(), PAUSE_MS);
  }

  drawTotals(totals, sessions) {
    const now = this.samples.at(-1) ?? totals.now; // the newest that is whole
    const tile = (name, value, more) => h("div", { class: "tile card" }, h("dt", {}, name), h("dd", {}, value, more ? h("span", { class: "quiet" }, ` ${more}`) : null));
    this.tiles.replaceChildren(
      tile("Sessions", number(sessions.active), `of ${number(sessions.max)}`), tile("Waiting", number(sessions.queued)),
      tile("Steps a second", number(now?.steps_per_s ?? 0, 1)), tile("Step, median", span(now?.step_p50_s ?? null)),
      tile("Mean return", number(now?.reward_mean ?? null)), tile("Steps in all", number(totals.steps)),
    );
    const times = this.samples.map((sample) => sample.at);
    const of = (name) => this.samples.map((sample) => sample[name] ?? null);
    this.charts.replaceChildren(
      lineChart("Throughput, steps a second", [{ name: "", values: of("steps_per_s") }], times, { format: (value) => number(value, 1) }),
      lineChart("Latency of a step", [{ name: "p50", values: of("step_p50_s") }, { name: "p99", values: of("step_p99_s") }], times, { format: span, log: true }),
      lineChart("Return of finished episodes", [{ name: "", values: of("reward_mean") }], times, { format: (value) => number(value, 2) }),
    );
    this.losses.replaceChildren(bars("Sessions that ended, by reason", totals.ended ?? {}, "None has ended yet."), bars("Errors by code", totals.errors ?? {}, "No errors."));
  }

  drawSessions({ sessions, total }) {
    this.heading.textContent = `Sessions${total > sessions.length ? ` (the ${sessions.length} most recent of ${total})` : ""}`;
    const seen = new Set(sessions.map((session) => session.id));
    for (const [id, card] of this.cards) {
      if (!seen.has(id)) {
        card.remove();
        this.cards.delete(id);
      }
    }
    // A card stays the element that it is: whoever has the keyboard on it, or reads it, keeps their place.
    for (const session of sessions) {
      let card = this.cards.get(session.id);
      if (!card) {
        card = h("a", { class: "session card", href: `#watch/${session.id}` });
        this.cards.set(session.id, card);
        this.list.append(card);
      }
      this.fill(card, session);
    }
    this.list.querySelector(":scope > .quiet")?.remove();
    if (sessions.length === 0) this.list.append(h("p", { class: "quiet" }, "Nobody plays at the moment. A session shows up here as soon as a client opens one."));
  }

  fill(card, session) {
    if (card.dataset.picture !== (session.picture ?? session.text ?? "")) {
      card.dataset.picture = session.picture ?? session.text ?? "";
      const thumb = session.picture ? h("img", { src: `api/${session.picture}`, alt: "" }) : h("pre", {}, session.text ?? "");
      card.thumb?.remove();
      card.thumb = h("div", { class: "thumb" }, thumb);
    }
    const facts = h("div", { class: "session-facts" },
      h("strong", {}, session.caller), h("span", { class: `pill ${session.state === "detached" ? "warn" : session.episode}` }, session.state === "detached" ? "client away" : session.episode.replace("_", " ")),
      h("span", { class: "quiet" }, `${session.steps} step${session.steps === 1 ? "" : "s"} · return ${number(session.reward)} · ${span(session.age_s)} old · ${session.door}${session.recorded ? " · recorded" : ""}`));
    card.replaceChildren(card.thumb, facts);
  }

  // One session

  follow(id) {
    this.following = id;
    this.frames = [];
    this.paused = false;
    this.screen = h("div", { class: "screen" }, h("p", { class: "quiet" }, "Waiting for its next step …"));
    this.log = h("ol", { class: "history", tabIndex: 0, "aria-label": "Steps" });
    this.pill = h("span", { class: "pill" }, "connecting");
    this.facts = h("p", { class: "quiet" });
    this.detail = h("details", { class: "card panel" }, h("summary", {}, "Frame as JSON"), h("div", { class: "panel-body" }));
    this.detail.addEventListener("toggle", () => this.showDetail());
    this.pause = h("button", { type: "button", class: "small-button", onclick: () => this.togglePause() }, "Pause");
    const end = h("button", { type: "button", class: "small-button", onclick: () => this.end(id, end) }, "End this session");
    this.root.replaceChildren(
      h("p", {}, h("a", { href: "#watch" }, "← All sessions")),
      h("div", { class: "play-grid" },
        h("section", { class: "card stage", "aria-label": "What its client sees" }, h("div", { class: "stage-head" }, h("h3", { class: "stage-title" }, `Session ${id.slice(0, 8)}`), this.pill), this.screen),
        h("div", { class: "side-column" }, h("section", { class: "card" }, this.facts, h("p", { class: "button-row" }, this.pause, end)), h("section", { class: "card" }, h("h3", {}, "Steps"), this.log), this.detail)));
    this.listen(id);
  }

  listen(id) {
    const events = new EventSource(`api/sessions/${id}/events?view=true`);
    this.events = events;
    const on = (name, take) => events.addEventListener(name, (event) => { if (events === this.events) take(JSON.parse(event.data)); });
    on("snapshot", ({ session, frame }) => {
      this.tell("live", "running");
      this.session = session;
      this.showFacts();
      if (frame) this.take(frame);
    });
    on("frame", (frame) => this.take(frame));
    on("ended", ({ message }) => {
      events.close();
      this.tell("ended", "over");
      this.facts.textContent = `This session has ended: ${message}`;
      announce("The session has ended.");
    });
    on("shutdown", () => {
      events.close();
      this.tell("server stops", "lost");
    });
    events.addEventListener("error", () => {
      if (events !== this.events) return;
      if (events.readyState === EventSource.CLOSED) this.tell("not there", "lost");
      else this.tell("reconnecting …", "warn");
      if (events.readyState === EventSource.CLOSED && !this.frames.length) this.facts.textContent = "There is no such session any more, or you may not watch it.";
    });
  }

  tell(text, kind) {
    this.pill.textContent = text;
    this.pill.className = `pill ${kind}`;
  }

  take(frame) {
    if (frame.kind === "reset") this.frames = [];
    this.frames.push(frame);
    if (this.frames.length > KEPT_FRAMES) this.frames.shift();
    if (frame.kind === "step" || frame.kind === "reset") {
      Object.assign(this.session ?? {}, { steps: frame.steps, reward: frame.total_reward });
      this.showFacts();
    }
    if (!this.paused) this.draw();
  }

  showFacts() {
    const { session } = this;
    if (session) this.facts.textContent = `${session.caller}, by ${session.door}. ${session.steps} steps, return ${number(session.reward)}.`;
  }

  draw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = null;
      const shown = this.frames.findLast((frame) => frame.view);
      if (shown) {
        release(this.screen);
        this.screen.replaceChildren(...draw(shown.view, { observation: shown.observation }));
      }
      this.drawLog();
      this.showDetail();
    });
  }

  drawLog() {
    const from = Math.max(0, this.frames.length - 80);
    const before = (index) => this.frames.slice(0, index).findLast((frame) => frame.observation)?.observation;
    this.log.replaceChildren(...this.frames.slice(from).map((frame, offset) => h("li", { class: "log-row" },
      h("span", { class: "index" }, String(frame.steps ?? "")),
      h("span", { class: "what" }, frame.dropped ? `(${frame.dropped} left out) ` : "", wordsOf(frame, before(from + offset))),
      h("span", { class: `reward ${frame.reward > 0 ? "good" : frame.reward < 0 ? "bad" : ""}` }, frame.kind === "step" ? number(frame.reward) : ""))));
    this.log.scrollTop = this.log.scrollHeight;
  }

  showDetail() {
    if (!this.detail.open || !this.frames.length) return;
    const { view, ...rest } = this.frames.at(-1);
    this.detail.lastElementChild.replaceChildren(tree(rest));
  }

  togglePause() {
    this.paused = !this.paused;
    this.pause.textContent = this.paused ? "Go on" : "Pause";
    if (!this.paused) this.draw();
  }

  async end(id, button) {
    if (button.dataset.sure !== "yes") {
      button.dataset.sure = "yes";
      button.textContent = "Really end it?";
      setTimeout(() => {
        button.dataset.sure = "";
        button.textContent = "End this session";
      }, 4000);
      return;
    }
    try {
      await ask(`../sessions/${id}`, { method: "DELETE" });
    } catch (error) {
      this.facts.textContent = error.message;
    }
  }
}

/** A frame in words; `before` is the observation to which it answers, which may name what can be done. */
export function wordsOf(frame, before) {
  if (frame.kind === "reset") return frame.options && Object.keys(frame.options).length ? `reset, ${inWords(frame.options, { named: true })}` : "reset";
  if (frame.kind === "step") {
    const words = inWords(frame.action);
    const place = before?.legal_actions?.findIndex?.((action) => String(action) === words) ?? -1;
    return before?.legal_action_names?.[place] ?? words;
  }
  if (frame.kind === "error") return `${frame.error?.code ?? "error"}: ${frame.error?.message ?? ""}`;
  return frame.kind;
}
