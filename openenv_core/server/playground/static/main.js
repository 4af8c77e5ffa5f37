// The page comes to life: which part is shown, dark or light, snippets that know where this server is.

import { copyButton, learnDefaults } from "./dom.js";
import { Play } from "./play.js";

const config = JSON.parse(document.getElementById("config").textContent);
const sections = [...document.querySelectorAll("section[data-view]")];
const links = [...document.querySelectorAll("a[data-tab]")];
const opened = {};

const LAZY = {
  watch: () => import("./watch.js").then(({ Watch }) => new Watch(document.getElementById("watch-root"), config)),
  replay: () => import("./replay.js").then(({ Replay }) => new Replay(document.getElementById("replay-root"), config)),
};

async function show(name) {
  for (const section of sections) section.classList.toggle("current", section.dataset.view === name);
  for (const link of links) {
    if (link.dataset.tab === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.documentElement.dataset.tab = name;
  for (const [other, made] of Object.entries(opened)) if (other !== name) (await made).hide?.();
  if (LAZY[name]) {
    opened[name] ??= LAZY[name]();
    (await opened[name]).show?.(location.hash.slice(name.length + 2));
  }
}

function route() {
  const [name] = location.hash.slice(1).split("/");
  const found = sections.some((section) => section.dataset.view === name) ? name : "play";
  scrollTo(0, 0);
  show(found);
}

function theme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (wanted) => {
    if (wanted) document.documentElement.dataset.theme = wanted;
    const dark = (wanted ?? (system.matches ? "dark" : "light")) === "dark";
    button.setAttribute("aria-label", dark ? "Light colours" : "Dark colours");
    button.dataset.next = dark ? "light" : "dark";
  };
  let kept = null;
  try {
    kept = localStorage.getItem("openenv-theme");
  } catch { /* not allowed here: then it is as the system says */ }
  apply(kept === "dark" || kept === "light" ? kept : null);
  button.addEventListener("click", () => {
    const wanted = button.dataset.next;
    apply(wanted);
    try {
      localStorage.setItem("openenv-theme", wanted);
    } catch { /* as above */ }
  });
}

/** A proxy may have put this server anywhere: only the browser knows the address by which it was reached. */
function snippets() {
  const base = new URL("..", document.baseURI).href.replace(/\/$/, "");
  for (const code of document.querySelectorAll("pre > code.code")) {
    if (code.dataset.language) code.textContent = code.textContent.replaceAll(config.base, base);
    code.parentElement.before(copyButton(() => code.textContent));
  }
}

learnDefaults(config.action);
theme();
snippets();
window.addEventListener("hashchange", route);
route();
new Play(document.getElementById("play-root"), config).ready.then(() => {
  document.documentElement.dataset.ready = "true";
});
