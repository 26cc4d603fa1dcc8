// Taking a result along: a button that copies its link, and a list of recent sizings that never leaves this browser.
// Without this file the link can be marked and copied by hand, and there is no list.
(() => {
  "use strict";
  const KEY = "recent-sizings";
  const LIMIT = 12;
  const WAIT = 5000; // answers that one only passes through while typing are not kept

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const told = button.parentElement.querySelector("[data-copied]");
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      told.hidden = false;
    } catch {
      const link = button.closest("dd").querySelector("a"); // not allowed: mark it, so that one key copies it
      getSelection().selectAllChildren(link);
    }
  });
  const showButtons = () => document.querySelectorAll("[data-script]").forEach((tool) => { tool.hidden = false; });

  const list = document.querySelector("[data-recent]");
  const read = () => {
    try {
      const found = JSON.parse(localStorage.getItem(KEY) || "[]");
      return Array.isArray(found) ? found.filter((item) => typeof item?.query === "string" && typeof item.title === "string") : [];
    } catch {
      return [];
    }
  };
  const write = (items) => {
    try {
      if (items.length) localStorage.setItem(KEY, JSON.stringify(items.slice(0, LIMIT)));
      else localStorage.removeItem(KEY);
    } catch {
      // storage is switched off or full: there is no list then
    }
  };
  const two = (number) => String(number).padStart(2, "0");
  const day = (text) => {
    const at = new Date(text);
    return Number.isNaN(at.getTime()) ? "" : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  };
  const link = (path, name, value, text) => {
    const found = document.createElement("a");
    const address = new URL(path, location.origin);
    if (name) address.searchParams.append(name, value);
    else address.search = value;
    found.href = address.href;
    found.textContent = text;
    return found;
  };
  const draw = () => {
    if (!list) return;
    const items = read();
    list.hidden = !items.length;
    list.querySelector("ul").replaceChildren(...items.map((item) => {
      const row = document.createElement("li");
      const at = document.createElement("small");
      at.className = "muted";
      at.textContent = ` ${day(item.at)} `;
      row.append(link(list.dataset.sizing, "", item.query, item.title), at);
      if (list.dataset.compare) row.append(link(list.dataset.compare, "s", item.query, list.dataset.add));
      return row;
    }));
  };

  let timer = 0;
  let shown = null;
  const keep = () => {
    clearTimeout(timer);
    if (!list || !shown) return;
    const { recentQuery: query, recentTitle } = shown.dataset;
    const title = recentTitle.replace(/\s+/g, " ").trim();
    write([{ query, title, at: new Date().toISOString() }, ...read().filter((item) => item.query !== query)]);
    shown = null;
    draw();
  };
  const look = () => {
    showButtons();
    const found = document.querySelector("[data-recent-query]");
    if (!found || found === shown) return;
    shown = found;
    clearTimeout(timer);
    timer = setTimeout(keep, WAIT);
  };
  document.addEventListener("htmx:afterSettle", look);
  window.addEventListener("pagehide", keep);
  list?.querySelector("[data-clear]").addEventListener("click", () => {
    shown = null;
    clearTimeout(timer);
    write([]);
    draw();
  });
  draw();
  look();
})();
