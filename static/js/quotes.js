// The quote editor beyond plain HTML: a warning before unsaved entries are left behind, and the first wrong entry in
// view. Without this file the page works by full loads.
(() => {
  "use strict";
  const form = document.getElementById("editor");
  if (!form) return;
  let isDirty = form.hasAttribute("data-unsaved");
  let isLeaving = false;

  form.addEventListener("input", () => { isDirty = true; });
  form.addEventListener("submit", () => { isLeaving = true; });
  window.addEventListener("pageshow", () => { isLeaving = false; });
  window.addEventListener("beforeunload", (event) => {
    if (isDirty && !isLeaving) event.preventDefault();
  });

  document.getElementById("error-summary")?.focus();
  document.getElementById("merge")?.scrollIntoView({ block: "start" });

  const live = () => document.getElementById("editor-live");
  form.addEventListener("htmx:beforeRequest", () => live().setAttribute("aria-busy", "true"));
  form.addEventListener("htmx:afterRequest", () => live().removeAttribute("aria-busy"));
  form.addEventListener("htmx:afterSettle", () => {
    const total = document.querySelector("#live-part .row--total td");
    const status = document.getElementById("live");
    if (total && status) status.textContent = `${live().dataset.announce}${total.textContent}`;
  });
})();
