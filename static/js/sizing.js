// The sizing form beyond plain HTML: folding on narrow screens, one way of naming the model, entries kept when the
// server's form replaces ours, focus after a submit, and a word when the server does not answer. Without this file the
// page works by full loads.
(() => {
  "use strict";
  const narrow = window.matchMedia("(max-width: 59.99rem)");
  const byId = (id) => document.getElementById(id);
  const hasAnswer = () => byId("result").dataset.state === "answer";

  // wide screens always show the form; narrow ones fold it once there is an answer
  const fold = () => {
    const job = byId("job");
    if (job) job.open = !(narrow.matches && hasAnswer());
  };
  narrow.addEventListener("change", fold);
  fold();

  // A known model and a parameter count exclude each other: taking one empties the other, and giving the model up
  // brings the count back. Capturing, so that it has happened when htmx hears of the change.
  const counts = ["parameters", "active_parameters"];
  const drafts = ["config_text", "config_file"];
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (!form || form.id !== "sizing-form") return;
    const { name, value } = event.target;
    if (drafts.includes(name)) {
      event.stopPropagation(); // nothing of the case has changed before the file is read
      return;
    }
    // a config.json in force gives way to another model, and takes its place when it is ticked again
    const config = form.elements.config;
    if (config && (name === "preset" || counts.includes(name)) && value.trim()) config.checked = false;
    if (name === "config" && event.target.checked) {
      for (const other of ["preset", ...counts]) form.elements[other].value = "";
    }
    if (name === "preset") {
      for (const field of counts.map((count) => form.elements[count])) {
        if (value && field.value) field.dataset.before = field.value;
        field.value = value ? "" : field.value || field.dataset.before || "";
      }
    } else if (counts.includes(name) && value.trim()) {
      form.elements.preset.value = "";
    }
  }, true);

  // The file is read by a full load of the page. Whoever pasted one and pressed another button means it as well.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.id !== "sizing-form") return;
    const reader = form.querySelector("[formaction]");
    const hasDraft = drafts.some((name) => form.elements[name].value.trim());
    if (event.submitter === reader) {
      event.stopPropagation();
    } else if (hasDraft && !form.querySelector(".job__config [aria-invalid]")) {
      event.stopPropagation();
      event.preventDefault();
      setTimeout(() => form.requestSubmit(reader)); // a form does not submit while it is asked whether it may
    }
  }, true);

  let wasSubmitted = false;
  let typed = null;

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.elt.id !== "sizing-form") return;
    const trigger = event.detail.requestConfig.triggeringEvent;
    wasSubmitted = Boolean(trigger && trigger.type === "submit");
    byId("result").setAttribute("aria-busy", "true");
  });

  // the rest of an answer follows by itself, perhaps while the next answer is under way
  const isRest = (event) => event.detail.requestConfig?.headers["HX-Target"] === "result-rest";
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!isRest(event)) byId("result").removeAttribute("aria-busy");
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id === "sizing-form") typed = new FormData(byId("sizing-form"));
  });

  // whatever was typed while the request was under way outlives the new form
  const restore = (form) => {
    if (!typed) return;
    for (const field of form.elements) {
      if (field.name && !["checkbox", "radio", "file"].includes(field.type) && !field.multiple && typed.has(field.name)) {
        field.value = typed.get(field.name);
      }
    }
    typed = null;
  };

  const clearErrors = (form) => {
    form.querySelectorAll("#error-summary, .field__error").forEach((node) => node.remove());
    form.querySelectorAll(".field--error").forEach((node) => node.classList.remove("field--error"));
    form.querySelectorAll("[aria-invalid]").forEach((node) => node.removeAttribute("aria-invalid"));
  };

  document.addEventListener("htmx:afterSettle", (event) => {
    const form = byId("sizing-form");
    if (event.detail.target.id === "sizing-form") {
      restore(form);
      if (wasSubmitted) byId("error-summary")?.focus();
      return;
    }
    if (event.detail.target.id !== "result") return;
    loss(byId("result"));
    clearErrors(form);
    if (wasSubmitted) {
      fold();
      byId("result-heading")?.focus();
      if (narrow.matches) byId("result").scrollIntoView();
    }
  });

  // The loss of virtualization: slider and number follow each other, and the days follow both before anything is sent.
  const loss = (root) => {
    const form = root.querySelector("[data-loss]");
    if (!form) return;
    const range = form.querySelector("[type=range]");
    const text = form.querySelector("[name=throughput_loss]");
    const days = form.querySelector("output");
    const bare = Number(form.dataset.bareSeconds) / 86400;
    const unit = document.documentElement.lang.startsWith("zh") ? "天" : "d";
    const show = (percent) => {
      days.textContent = bare && percent >= 0 && percent < 95 ? `${(bare / (1 - percent / 100)).toPrecision(3)} ${unit}` : "";
    };
    const typedPercent = () => {
      const value = Number.parseFloat(text.value);
      return text.value.includes("%") || value >= 1 ? value : value * 100;
    };
    range.hidden = false;
    range.addEventListener("input", () => {
      text.value = `${range.value}%`;
      show(Number(range.value));
    });
    text.addEventListener("input", () => {
      range.value = typedPercent();
      show(typedPercent());
    });
    show(typedPercent());
  };
  loss(document);

  // a link to a row of the calculation opens it, and the group that it stands in
  const openTarget = () => {
    const row = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    if (!row || !row.closest("#result")) return;
    let fold = row.closest("details");
    if (!fold) return;
    for (; fold; fold = fold.parentElement.closest("details")) fold.open = true;
    row.scrollIntoView();
  };
  window.addEventListener("hashchange", openTarget);
  openTarget();

  const failed = (event) => {
    const id = event.detail.xhr && event.detail.xhr.getResponseHeader("X-Request-Id");
    const notice = byId("result-failed");
    notice.hidden = false;
    notice.querySelector("[data-request-id]").textContent = id || "";
  };
  document.addEventListener("htmx:responseError", failed);
  document.addEventListener("htmx:sendError", failed);
  document.addEventListener("htmx:timeout", failed);
  document.addEventListener("htmx:afterSwap", () => {
    byId("result-failed").hidden = true;
  });
})();
