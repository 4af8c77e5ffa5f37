// A MiniWoB episode: start it from a seed, keep what the page ends it with.
(() => {
  const page = window.__openenv;
  // What the pages show to people only: scores, a drawing of clicks, a cover that starts the next episode.
  const DISPLAY = ["reward-display", "click-canvas", "sync-task-cover"];
  const parts = {};
  let query = "";
  let verdict = null;
  let isStarted = false;

  const hideDisplay = () => {
    core.clearTimer();
    document.body.removeEventListener("click", core.canvasDrawClick);
    const shown = document.getElementById("query");
    query = shown.innerHTML;
    shown.innerHTML = "";
    for (const id of DISPLAY) {
      parts[id] = document.getElementById(id);
      parts[id].remove();
    }
  };

  const showDisplay = () => {
    document.getElementById("query").innerHTML = query;
    for (const id of DISPLAY) document.body.appendChild(parts[id]);
    core.createDisplay();
  };

  // The page's own functions need the display: it is there while they run, and never else.
  const withDisplay = (inner) =>
    function (...args) {
      showDisplay();
      try {
        return inner.apply(this, args);
      } finally {
        hideDisplay();
      }
    };

  const keepVerdict = (inner) =>
    function (...args) {
      inner.apply(this, args);
      if (isStarted && verdict === null && WOB_DONE_GLOBAL) {
        verdict = { raw: Number(WOB_RAW_REWARD_GLOBAL), reason: String(WOB_REWARD_REASON ?? "") };
      }
    };

  const ready = async () => {
    while (!WOB_TASK_READY) await new Promise((resolve) => setTimeout(resolve, 5));
  };

  // Gives the goal. A page may say it as an object, for programs that parse goals.
  page.start = async (seed, longest) => {
    if (typeof core === "undefined") throw new Error("this is not a MiniWoB page: it has no `core`");
    for (const name of ["getUtterance", "startEpisodeReal"]) core[name] = withDisplay(core[name]);
    core.endEpisode = keepVerdict(withDisplay(core.endEpisode));
    hideDisplay();
    Math.seedrandom(seed);
    core.EPISODE_MAX_TIME = longest;
    core.startEpisodeReal();
    isStarted = true;
    await ready();
    const goal = core.getUtterance();
    return String(typeof goal === "object" ? goal.utterance : goal);
  };

  // Everything about the page at one moment.
  page.look = (withNotes, withMarkup) => {
    const marked = page.mark();
    const markup = withMarkup ? page.markup() : null;
    if (withNotes) page.note(marked);
    return { url: location.href, started: isStarted, verdict, focused: page.focused(), markup };
  };
})();
