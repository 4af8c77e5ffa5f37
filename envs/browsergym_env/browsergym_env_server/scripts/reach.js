// Whether an element can take an action. Patience is measured here, inside the page, so that a machine that is busy with
// other sessions does not make an element look as if it would not take it.
(() => {
  const page = window.__openenv;
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));

  const isShown = (element) => {
    if (!element.isConnected || !element.checkVisibility({ checkVisibilityCSS: true })) return false;
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
  };

  const isDisabled = (element) => element.matches(":disabled");

  // Two frames tell whether an element moves; where nothing at all has moved for a while they need not be waited for.
  const isAtRest = async (element) => {
    if (page.isCalm(100, true)) return true;
    await frame();
    const before = element.getBoundingClientRect();
    await frame();
    const after = element.getBoundingClientRect();
    return ["x", "y", "width", "height"].every((side) => before[side] === after[side]);
  };

  // The middle of the first box that lies in the viewport; an element that spans lines has a box for each.
  const middle = (element) => {
    for (const box of element.getClientRects()) {
      const left = Math.max(box.left, 0);
      const top = Math.max(box.top, 0);
      const right = Math.min(box.right, innerWidth);
      const bottom = Math.min(box.bottom, innerHeight);
      if (right > left && bottom > top && (right - left) * (bottom - top) > 0.99) {
        return { x: (left + right) / 2, y: (top + bottom) / 2 };
      }
    }
    return null;
  };

  const topmost = ({ x, y }) => {
    let root = document;
    let found = null;
    while (root) {
      const element = root.elementFromPoint(x, y);
      if (!element || element === found) break;
      found = element;
      root = element.shadowRoot;
    }
    return found;
  };

  // A click on any part of a button or link counts as one on what it holds.
  const takesHit = (element, hit) => {
    const target = element.closest("button, a, [role=button], [role=link]") ?? element;
    for (let node = hit; node; node = node.parentElement ?? node.getRootNode().host) {
      if (node === target || node === element) return true;
    }
    return false;
  };

  const tagOf = (element) => {
    const id = element.getAttribute("bid");
    return `<${element.localName}${id === null ? "" : ` bid="${id}"`}>`;
  };

  // For the pointer: shown, enabled, at rest, in view and not covered. Gives the point to aim at.
  const aim = async (element) => {
    if (!isShown(element)) return { cause: "is hidden" };
    if (isDisabled(element)) return { cause: "is disabled" };
    if (!(await isAtRest(element))) return { cause: "is moving" };
    element.scrollIntoViewIfNeeded();
    const point = middle(element);
    if (point === null) return { cause: "is outside the visible part of the page" };
    const hit = topmost(point);
    if (hit === null || !takesHit(element, hit)) return { cause: `is covered by ${hit ? tagOf(hit) : "nothing"}` };
    return point;
  };

  // For a text: shown, enabled and not read-only.
  const edit = (element) => {
    if (!isShown(element)) return { cause: "is hidden" };
    if (isDisabled(element)) return { cause: "is disabled" };
    return element.readOnly ? { cause: "is read-only" } : {};
  };

  // For a choice: shown, enabled, and it offers what is wanted; of several wants of a single choice, any.
  const choose = (element, wanted) => {
    if (!isShown(element)) return { cause: "is hidden" };
    if (isDisabled(element)) return { cause: "is disabled" };
    if (element.localName !== "select") return {};
    const isOffered = (text) => [...element.options].some((option) => option.value === text || option.label === text);
    const missing = wanted.filter((text) => !isOffered(text));
    const isLacking = element.multiple ? missing.length > 0 : missing.length === wanted.length;
    return isLacking && wanted.length > 0 ? { cause: `has no option ${JSON.stringify(missing[0])}` } : {};
  };

  const WAYS = { aim, edit, choose };

  // Tries for `patience` milliseconds, once at least. Gives what the way found, or the cause that stood in it last.
  page.ready = async (way, id, patience, ...wanted) => {
    const element = page.find(id);
    if (element === null) return { missing: true };
    const end = performance.now() + patience;
    let found = await WAYS[way](element, ...wanted);
    while (found.cause && performance.now() < end) {
      await frame();
      found = await WAYS[way](element, ...wanted);
    }
    return found;
  };
})();
