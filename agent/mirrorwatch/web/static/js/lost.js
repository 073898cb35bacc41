// Records lost for good within a day, above everything that may pass.

import { title } from "./answer.js";
import { el, setText } from "./dom.js";
import { icon } from "./health.js";

export function showLost(flows) {
  const losing = flows.filter(({ lost }) => lost?.title);
  const block = document.getElementById("lost");
  block.hidden = losing.length === 0;
  const list = block.querySelector("ul");
  losing.forEach((flow, at) => {
    const row = list.children[at] ?? list.appendChild(el("li", {},
      icon("critical"), el("p", {}, el("strong"), " ", el("span"), " ",
        el("span", { class: "lost-known" }, "Known: ", el("code")), " ",
        el("a", {}, "What to do",
          el("span", { class: "sr-only" }, " about lost records")))));
    const which = flows.length === 1 ? "" : `${title(flow)}: `;
    setText(row.querySelector("strong"), `${which}${flow.lost.title}.`);
    setText(row.querySelector("span"), `${flow.lost.detail}.`);
    row.querySelector(".lost-known").hidden = !flow.lost.acknowledge;
    setText(row.querySelector("code"), flow.lost.acknowledge ?? "");
    row.querySelector("a").href = flow.lost.runbook.slice(1);
  });
  while (list.children.length > losing.length) list.lastElementChild.remove();
}
