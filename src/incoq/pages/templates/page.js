"use strict";
// Hover, tap or focus an edge: its filtered relation is shown below the graph.
for (const edge of document.querySelectorAll(".edge[data-edge]")) {
  const show = () => {
    const figure = edge.closest("figure");
    for (const other of figure.querySelectorAll(".on")) other.classList.remove("on");
    edge.classList.add("on");
    const info = figure.querySelector(`[data-info="${CSS.escape(edge.dataset.edge)}"]`);
    if (info) info.classList.add("on");
  };
  for (const event of ["pointerenter", "click", "focus"]) edge.addEventListener(event, show);
}
// A link into a folded part unfolds it.
const unfold = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target && target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();
