// How long to wait after an action, and what a page must not share with others.
(() => {
  const page = window.__openenv;
  const OWN = new Set(["bid", "aria-roledescription", "aria-description"]);
  let changedAt = 0;

  const change = () => {
    changedAt = performance.now();
  };
  const observer = new MutationObserver((records) => {
    if (records.some((record) => !OWN.has(record.attributeName))) change();
  });
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  document.addEventListener("scroll", change, { capture: true, passive: true });

  // jQuery's animations, and those of style sheets; of the latter, endless ones where they are asked for.
  const isAnimated = (orEndless) =>
    window.jQuery?.timers?.length > 0 ||
    document
      .getAnimations()
      .some(
        (animation) =>
          animation.playState === "running" && (orEndless || animation.effect.getComputedTiming().endTime < Infinity),
      );

  page.isCalm = (quiet, orEndless) => performance.now() - changedAt >= quiet && !isAnimated(orEndless);

  // Resolves once nothing has changed for `quiet` milliseconds and nothing is animated, at the latest after `limit`.
  page.settle = async (quiet, limit) => {
    const start = performance.now();
    await new Promise((resolve) => requestAnimationFrame(resolve));
    while (!page.isCalm(quiet, false) && performance.now() - start < limit) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };

  page.hasStoredNothing = async () =>
    document.cookie === "" &&
    localStorage.length === 0 &&
    sessionStorage.length === 0 &&
    window.name === "" &&
    (await indexedDB.databases()).length === 0;

  // The browser has one clipboard for all its pages: each document gets one of its own instead.
  let clipboard = "";
  const selected = () => {
    const field = document.activeElement;
    if (field && typeof field.selectionStart === "number" && field.type !== "password") {
      return field.value.slice(field.selectionStart, field.selectionEnd);
    }
    return String(getSelection());
  };
  const keep = (event) => {
    if (event.defaultPrevented) return;
    event.preventDefault();
    const text = selected();
    if (text === "") return;
    clipboard = text;
    if (event.type === "cut") document.execCommand("delete");
  };
  window.addEventListener("copy", keep);
  window.addEventListener("cut", keep);
  window.addEventListener("paste", (event) => {
    if (event.defaultPrevented) return;
    event.preventDefault();
    if (clipboard !== "") document.execCommand("insertText", false, clipboard);
  });
})();
