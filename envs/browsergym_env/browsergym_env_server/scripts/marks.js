// Element ids: every element of a listed kind gets a number in document order, and keeps it in its attribute `bid`.
(() => {
  const page = {};
  Object.defineProperty(window, "__openenv", { value: page });

  // The kinds that BrowserGym numbers. What is not listed (custom elements, what is drawn inside an svg) has no id.
  const KINDS = new Set(
    (
      "html head title base link meta style script noscript template body header footer main nav section article " +
      "aside address hgroup search h1 h2 h3 h4 h5 h6 p hr pre blockquote ol ul menu dir li dl dt dd figure " +
      "figcaption div center a em strong small s strike cite q dfn abbr acronym ruby rt rp data time code var samp " +
      "kbd sub sup i b u big tt font basefont mark bdi bdo span br wbr ins del picture source img iframe frame " +
      "frameset noframes embed object applet param video audio track map area canvas svg table caption colgroup col " +
      "tbody thead tfoot tr td th form label input button select datalist optgroup option textarea output progress " +
      "meter fieldset legend details summary dialog"
    ).split(" "),
  );
  const LETTERS = "abcdefghijklmnopqrstuvwxyz";
  const NOTES = ["aria-roledescription", "aria-description"];
  let elements = 0;
  let frames = 0;
  let noted = [];

  // A host is followed by what its shadow root holds.
  function* everyElement(root) {
    for (const element of root.querySelectorAll("*")) {
      yield element;
      if (element.shadowRoot) yield* everyElement(element.shadowRoot);
    }
  }

  // a … z, then aA, aB …: the last letters are capitals, so that ids inside frames can be told apart.
  const frameLetters = (number) => {
    let text = "";
    while (number >= LETTERS.length) {
      text = LETTERS[number % LETTERS.length].toUpperCase() + text;
      number = Math.floor(number / LETTERS.length) - 1;
    }
    return LETTERS[number] + text;
  };

  const newId = (element) =>
    element.localName === "iframe" || element.localName === "frame" ? frameLetters(frames++) : String(elements++);

  const number = (element, taken) => {
    let id = element.getAttribute("bid");
    // A copy of a numbered element carries its id too: the first one keeps it.
    if (id === null || taken.has(id)) {
      id = newId(element);
      element.setAttribute("bid", id);
    }
    taken.add(id);
    return id;
  };

  // The accessibility tree tells these two attributes, and with them whose node it is.
  const note = (element, id) => {
    noted.push([element, NOTES.map((name) => element.getAttribute(name))]);
    for (const name of NOTES) element.setAttribute(name, `bid:${id}`);
  };

  // Gives every element that has an id, with it.
  page.mark = () => {
    const taken = new Set();
    const marked = [];
    for (const element of everyElement(document)) {
      if (KINDS.has(element.localName)) marked.push([element, number(element, taken)]);
    }
    return marked;
  };

  page.note = (marked) => marked.forEach(([element, id]) => note(element, id));

  page.removeNotes = () => {
    for (const [element, values] of noted) {
      NOTES.forEach((name, index) =>
        values[index] === null ? element.removeAttribute(name) : element.setAttribute(name, values[index]),
      );
    }
    noted = [];
  };

  page.find = (id) => {
    for (const element of everyElement(document)) if (element.getAttribute("bid") === id) return element;
    return null;
  };

  // Where what can be seen is, by id, in pixels of the page.
  page.boxes = () => {
    const boxes = {};
    for (const [element, id] of page.mark()) {
      const { left, top, width, height } = element.getBoundingClientRect();
      const isIn = left < innerWidth && top < innerHeight && left + width > 0 && top + height > 0;
      if (isIn && width > 0 && height > 0) boxes[id] = [left, top, width, height];
    }
    return boxes;
  };

  page.isThere = (id) => page.find(id) !== null;

  page.focused = () => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element?.getAttribute("bid") ?? "";
  };
})();
