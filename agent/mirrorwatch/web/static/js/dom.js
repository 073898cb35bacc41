// Makes elements. Text is always set as text: what a broker or a config file
// says can never become markup.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Sets text only when it differs, so that selections survive a refresh. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets a name that may be broken behind its dots and underscores. */
export function setName(element, name) {
  if (element.textContent === name) return;
  const parts = name.split(/(?<=[._-])/);
  element.replaceChildren(...parts.flatMap((part, n) =>
    (n ? [document.createElement("wbr"), part] : [part])));
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
