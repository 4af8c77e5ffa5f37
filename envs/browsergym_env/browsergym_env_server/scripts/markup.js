// The page's HTML as nested lists: ["tag", {attributes}, [children]], text as strings. Current values of fields are
// told in place of the ones that they were written with.
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

  const told = (node) => {
    if (node.nodeType === Node.TEXT_NODE || node.nodeType === Node.CDATA_SECTION_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE) return null;
    return [node.localName, attributesOf(node), childrenOf(node).map(told).filter((child) => child !== null)];
  };

  page.markup = () => told(document.documentElement);
})();
