// The page's HTML as a flat list: ["tag", {attributes}] opens an element, 0 closes it, a string is text. It is flat since
// what leaves a page must not nest as deep as pages do. Current values of fields are told in place of the written ones.
(() => {
  const page = window.__openenv;

  const attributesOf = (element) => {
    const attributes = {};
    for (const { name, value } of element.attributes) attributes[name] = value;
    if (element.namespaceURI !== "http://www.w3.org/1999/xhtml") return attributes;
    if (element.value !== undefined) attributes.value = String(element.value);
    if (element.checked === true) attributes.checked = "";
    if (element.checked === false) delete attributes.checked;
    return attributes;
  };

  const childrenOf = (element) => [...(element.shadowRoot?.childNodes ?? []), ...element.childNodes];

  page.markup = () => {
    const told = [];
    const waiting = [document.documentElement];
    while (waiting.length > 0) {
      const node = waiting.pop();
      if (node === null) {
        told.push(0);
      } else if (node.nodeType === Node.TEXT_NODE || node.nodeType === Node.CDATA_SECTION_NODE) {
        told.push(node.data);
      } else if (node.nodeType === Node.ELEMENT_NODE) {
        told.push([node.localName, attributesOf(node)]);
        waiting.push(null, ...childrenOf(node).reverse());
      }
    }
    return told;
  };
})();
