// What Play shows around an observation: before the game, while it waits, when it is over, and how it went.

import { h, number } from "./dom.js";

export function hero(name, description, start) {
  return h("div", { class: "hero" },
    h("p", { class: "hero-title" }, name), h("p", {}, description),
    h("p", {}, h("button", { type: "button", class: "primary big", onclick: start }, "Start playing")),
    h("p", { class: "quiet" }, "You get an environment of your own, as an agent does."));
}

export function queue(position, stop) {
  return h("div", { class: "hero queue" },
    h("p", { class: "queue-place" }, String(position)),
    h("p", { class: "hero-title" }, position === 1 ? "You are next." : "Your place in the queue"),
    h("p", {}, "All places are taken. The game starts by itself when one is free."),
    h("p", {}, h("button", { type: "button", onclick: stop }, "Stop waiting")));
}

/** What stands above a step of before. */
export function past(index, words, back) {
  return h("p", { class: "banner past" }, `Step ${index}: ${words} `,
    h("button", { type: "button", class: "small-button", onclick: back }, "Back to now"));
}

export function ending(entry, { steps, total, why }, again) {
  const told = why ?? (entry.success === true ? "Solved!" : entry.truncated ? "A limit cut the episode short."
    : entry.success === false ? "Not solved." : "The episode is over.");
  const more = entry.observation?.end_reason || "";
  return h("div", { class: `ending ${entry.success === true && why === null ? "good" : ""}` },
    h("p", { class: "ending-title" }, told), h("p", {}, `${steps} step${steps === 1 ? "" : "s"}, return ${number(total)}.`, more ? ` ${more}` : ""),
    h("button", { type: "button", class: "primary", id: "again", onclick: again }, "Play again"));
}

export function score(values) {
  return Object.entries(values).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
}

/** One line of the history: a button that shows that step again. */
export function step(index, { reward }, words, isShown) {
  const told = index === 0 ? "" : reward === null ? "–" : reward > 0 ? `+${number(reward)}` : number(reward);
  return h("button", { type: "button", class: isShown ? "current" : "", "aria-current": isShown ? "step" : null },
    h("span", { class: "index" }, String(index)), h("span", { class: "what" }, words),
    h("span", { class: `reward ${reward > 0 ? "good" : reward < 0 ? "bad" : ""}` }, told));
}
