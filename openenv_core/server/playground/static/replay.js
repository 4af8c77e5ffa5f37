// Replay: recorded episodes, step by step, one or two at a time.

import { ask } from "./api.js";
import { h, number, span } from "./dom.js";
import { tree } from "./tree.js";
import { draw, release } from "./view.js";
import { wordsOf } from "./watch.js";

const PAGE = 50;
const COUNT = 200;
const RATE_MS = 700;

export class Replay {
  constructor(root) {
    this.root = root;
    this.offset = 0;
    this.chosen = [];
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  show(names) {
    this.hide();
    if (names) this.open(names.split("/").map(decodeURIComponent).slice(0, 2));
    else this.overview();
  }

  hide() {
    clearInterval(this.timer);
    this.players = null;
    release(this.root);
  }

  // The list

  overview() {
    const field = (label, control) => h("div", { class: "field" }, h("label", { for: control.id }, label), control);
    this.low = h("input", { id: "min-reward", type: "text", inputmode: "decimal", autocomplete: "off", placeholder: "any" });
    this.high = h("input", { id: "max-reward", type: "text", inputmode: "decimal", autocomplete: "off", placeholder: "any" });
    this.success = h("select", { id: "success" }, [["", "any"], ["true", "solved"], ["false", "not solved"]].map(([value, name]) => h("option", { value }, name)));
    const form = h("form", { class: "card filter", novalidate: true, "aria-label": "Filter" }, field("Return from", this.low), field("to", this.high), field("Success", this.success), h("button", { type: "submit", class: "primary" }, "Filter"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.offset = 0;
      this.load();
    });
    this.compare = h("button", { type: "button", onclick: () => { location.hash = `#replay/${this.chosen.map(encodeURIComponent).join("/")}`; } }, "Compare two");
    this.place = h("div", { class: "recordings" });
    this.chosen = [];
    this.root.replaceChildren(form, this.place);
    this.load();
  }

  async load() {
    const query = new URLSearchParams({ limit: PAGE, offset: this.offset });
    for (const [name, control] of [["min_reward", this.low], ["max_reward", this.high]]) {
      const value = control.value.trim();
      const isWrong = value !== "" && !Number.isFinite(Number(value));
      control.toggleAttribute("aria-invalid", isWrong);
      if (isWrong) control.setAttribute("aria-invalid", "true");
      if (value !== "" && !isWrong) query.set(name, value);
    }
    if (this.success.value) query.set("success", this.success.value);
    try {
      this.fill(await ask(`api/recordings?${query}`));
    } catch (error) {
      this.place.replaceChildren(h("p", { class: "banner" }, error.status === 401 || error.status === 403
        ? "Recordings are for whoever runs this server: set OPENENV_TOKEN there and open this page with it, or open it on the server's own machine."
        : error.message));
    }
  }

  fill({ folder, total, episodes }) {
    if (folder === null) {
      this.place.replaceChildren(h("div", { class: "card" }, h("h3", {}, "This server records nothing"), h("p", {}, "Start it with a folder for recordings, and every episode is kept there as it happens:"), h("pre", {}, h("code", {}, "openenv serve … --web --record recordings/"))));
      return;
    }
    if (episodes.length === 0) {
      this.place.replaceChildren(h("p", { class: "card" }, this.offset || this.low.value || this.high.value || this.success.value ? "No episode fits." : "Nothing is recorded yet. Play an episode, and it is here."));
      return;
    }
    const head = ["", "Started", "Seed", "Steps", "Return", "Success", "End", "Took"];
    const table = h("table", { class: "list" }, h("caption", { class: "hidden-visually" }, "Recorded episodes"), h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name || h("span", { class: "hidden-visually" }, "Compare"))))), h("tbody", {}, episodes.map((episode) => this.row(episode))));
    const page = (by, label, isThere) => h("button", { type: "button", disabled: !isThere, onclick: () => { this.offset += by; this.load(); } }, label);
    this.place.replaceChildren(
      h("div", { class: "button-row" }, h("span", { class: "quiet" }, `${number(total)} episode${total === 1 ? "" : "s"}`), this.compare),
      h("div", { class: "card table-scroll", tabIndex: 0, role: "region", "aria-label": "Recorded episodes" }, table),
      total > PAGE ? h("div", { class: "button-row" }, page(-PAGE, "Newer", this.offset > 0), page(PAGE, "Older", this.offset + PAGE < total)) : "");
    this.showChosen();
  }

  row(episode) {
    const box = h("input", { type: "checkbox", "aria-label": `Compare the episode of ${episode.started}` });
    box.checked = this.chosen.includes(episode.name);
    box.addEventListener("change", () => {
      this.chosen = box.checked ? [...this.chosen, episode.name].slice(-2) : this.chosen.filter((name) => name !== episode.name);
      for (const other of this.place.querySelectorAll("input[type=checkbox]")) other.checked = this.chosen.includes(other.name);
      this.showChosen();
    });
    box.name = episode.name;
    const link = h("a", { href: `#replay/${encodeURIComponent(episode.name)}` }, new Date(episode.started).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" }));
    const cells = [box, link, episode.seed ?? "–", number(episode.steps), number(episode.reward), episode.success === null ? "–" : episode.success ? "yes" : "no", episode.damaged ? "damaged" : episode.end ?? "running", span(episode.seconds)];
    return h("tr", {}, cells.map((cell) => h("td", {}, cell)));
  }

  showChosen() { this.compare.disabled = this.chosen.length !== 2; }

  // Episodes

  async open(names) {
    const back = h("p", {}, h("a", { href: "#replay" }, "← All episodes"));
    this.root.replaceChildren(back, h("p", { class: "quiet" }, "Loading …"));
    try {
      const players = await Promise.all(names.map((name) => Player.load(name)));
      this.players = players;
      const most = Math.max(...players.map((player) => player.total)) - 1;
      this.range = h("input", { type: "range", min: "0", max: String(most), value: "0", step: "1", "aria-label": "Step", id: "step" });
      this.range.addEventListener("input", () => this.go(Number(this.range.value)));
      this.counter = h("output", { for: "step", class: "quiet" });
      this.playing = h("button", { type: "button", onclick: () => this.togglePlay() }, "Play");
      const controls = h("div", { class: "card player-controls" },
        h("button", { type: "button", "aria-label": "Step back", onclick: () => this.go(this.at - 1) }, "←"), this.playing,
        h("button", { type: "button", "aria-label": "Step forward", onclick: () => this.go(this.at + 1) }, "→"), this.range, this.counter);
      this.root.replaceChildren(back, controls, h("div", { class: players.length > 1 ? "pair" : "single" }, players.map((player) => player.element)));
      this.go(0);
    } catch (error) {
      this.root.replaceChildren(back, h("p", { class: "banner" }, error.message));
    }
  }

  go(at) {
    if (!this.players) return;
    const most = Number(this.range.max);
    this.at = Math.min(most, Math.max(0, at));
    this.range.value = String(this.at);
    this.counter.textContent = `${this.at} of ${most}`;
    this.players.forEach((player) => player.show(this.at));
  }

  togglePlay() {
    if (this.timer) return this.stop();
    this.playing.textContent = "Pause";
    if (this.at >= Number(this.range.max)) this.go(0);
    this.timer = setInterval(() => {
      this.go(this.at + 1);
      if (!this.players || this.at >= Number(this.range.max)) this.stop();
    }, RATE_MS);
    return undefined;
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    if (this.playing) this.playing.textContent = "Play";
  }

  pressed(event) {
    if (!this.players || this.root.offsetParent === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, textarea, select, summary")) return;
    if (event.key === "ArrowRight") this.go(this.at + 1);
    else if (event.key === "ArrowLeft") this.go(this.at - 1);
    else return;
    event.preventDefault();
  }
}

/** One recorded episode on the screen. */
class Player {
  static async load(name) {
    const first = await ask(`api/recordings/${encodeURIComponent(name)}?first=0&count=${COUNT}&view=true`);
    return new Player(name, first);
  }

  constructor(name, { episode, frames, total }) {
    this.name = name;
    this.frames = frames;
    this.total = total;
    this.options = { ...(episode.seed === null ? {} : { seed: episode.seed }), ...episode.options };
    this.screen = h("div", { class: "screen" });
    this.told = h("div", { class: "step-told", "aria-live": "polite" });
    this.json = h("details", { class: "panel" }, h("summary", {}, "As JSON"), h("div", { class: "panel-body" }));
    this.json.addEventListener("toggle", () => this.showJson());
    const seed = episode.seed === null ? "" : `seed ${episode.seed} · `;
    this.element = h("section", { class: "card stage player", "aria-label": `Episode ${name}` },
      h("div", { class: "stage-head" }, h("h3", { class: "stage-title" }, `${episode.environment}`), h("span", { class: "quiet" }, `${seed}${episode.steps} steps · return ${number(episode.reward)}`)),
      this.told, this.screen, h("div", { class: "player-foot" }, this.json));
  }

  async show(at) {
    const index = Math.min(at, this.total - 1);
    this.wanted = index;
    while (index >= this.frames.length && this.frames.length < this.total) {
      const more = await ask(`api/recordings/${encodeURIComponent(this.name)}?first=${this.frames.length}&count=${COUNT}&view=true`);
      if (more.frames.length === 0) break;
      this.frames.push(...more.frames);
    }
    if (this.wanted !== index) return;
    this.frame = this.frames[index];
    const seen = this.frame?.view ? this.frame : this.frames.slice(0, index).findLast((frame) => frame.view);
    release(this.screen);
    this.screen.replaceChildren(...(seen ? draw(seen.view, {
      observation: seen.observation, picture: (file) => `api/recordings/${encodeURIComponent(this.name)}/pictures/${file}`,
    }) : [h("p", { class: "quiet" }, "Nothing to see.")]));
    const before = this.frames.slice(0, index).findLast((frame) => frame.observation)?.observation;
    this.told.replaceChildren(h("strong", {}, wordsOf({ options: this.options, ...this.frame }, before)), h("span", { class: "quiet" }, this.frame.kind === "step" ? `reward ${number(this.frame.reward)} · return ${number(this.frame.total_reward)}${this.frame.done ? " · the end" : ""}` : ""));
    this.showJson();
  }

  showJson() {
    if (!this.json.open || !this.frame) return;
    const { view, ...rest } = this.frame;
    this.json.lastElementChild.replaceChildren(tree(rest));
  }
}
