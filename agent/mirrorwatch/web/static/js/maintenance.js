// Says which flows are in maintenance: verdicts go on, notices are held.

import { el, setText } from "./dom.js";
import { age, moment } from "./format.js";

export function showMaintenance(windows, now) {
  const banner = document.getElementById("maintenance");
  const list = banner.querySelector("ul");
  banner.hidden = windows.length === 0;
  windows.forEach((window, at) => {
    const item = list.children[at] ?? list.appendChild(el("li"));
    setText(item, words(window, now));
  });
  while (list.children.length > windows.length) list.lastElementChild.remove();
}

function words({ flow, until, reason }, now) {
  const end = new Date(until);
  return `${flow}: notifications are silenced until ${moment(end, now)} UTC `
    + `(${age((end - now) / 1000)} more). ${reason}`;
}
