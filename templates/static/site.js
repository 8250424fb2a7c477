// What pages can do beyond HTML and htmx: copy, the keyboard, and a run streamed into the page.
// Every page works without this file.
"use strict";

const COPIED = ".fix pre, .fixes pre, details > pre, .pair pre, pre[data-copy]";

// The room for a button is kept by the style sheet, so that nothing moves when it comes.
function copyButtons(root) {
  for (const pre of root.querySelectorAll(COPIED)) {
    if (pre.parentElement.classList.contains("holds-copy")) continue;
    const holder = document.createElement("div");
    holder.className = "holds-copy";
    pre.replaceWith(holder);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(copied(pre));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
    holder.append(pre, button);
  }
}

// A region that can be scrolled can be reached by keyboard; one that cannot is no stop on the way.
function scrollable(root) {
  for (const region of root.querySelectorAll("pre, .log")) {
    const over = region.scrollWidth > region.clientWidth + 1 || region.scrollHeight > region.clientHeight + 1;
    if (over && !region.hasAttribute("tabindex")) region.tabIndex = 0;
  }
}

// A launch-line difference is copied as what to type: its added lines.
function copied(pre) {
  const plain = pre.cloneNode(true);
  for (const number of plain.querySelectorAll(".ln")) number.remove();
  const text = plain.textContent.replace(/\n$/, "");
  if (!pre.classList.contains("diff")) return text;
  const lines = text.split("\n");
  return lines.filter((l) => !/^-/.test(l)).map((l) => l.replace(/^[+ ] ?/, "")).join("\n");
}

function searchKey() {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const box = document.querySelector("[data-ask]") || document.querySelector("[data-find]");
    if (!box) return;
    event.preventDefault();
    box.focus();
    if (box.select) box.select();
  });
}

// Results while one types come through htmx; here: arrows choose, Enter opens, Escape closes.
const SENT = 20000; // characters of a long text that are asked about while it is typed

function suggest(box) {
  const list = document.getElementById(box.dataset.suggest);
  let chosen = -1;
  const links = () => [...list.querySelectorAll("[role=option]")];
  const choose = (index) => {
    const all = links();
    chosen = all.length ? (index + all.length) % all.length : -1;
    all.forEach((link, i) => {
      link.classList.toggle("chosen", i === chosen);
      link.setAttribute("aria-selected", String(i === chosen));
    });
    if (chosen < 0) { box.removeAttribute("aria-activedescendant"); return; }
    box.setAttribute("aria-activedescendant", all[chosen].id);
    all[chosen].scrollIntoView({ block: "nearest" });
  };
  const close = () => { list.replaceChildren(); choose(0); told(); };
  const told = () => { if (box.hasAttribute("role")) box.setAttribute("aria-expanded", String(links().length > 0)); };
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-controls", list.id);
  if (box.tagName === "INPUT") { box.setAttribute("role", "combobox"); told(); }
  box.addEventListener("htmx:config:request", (event) => {
    const body = event.detail.ctx.request.body;
    body.set(box.name, box.value.slice(0, SENT));
  });
  box.addEventListener("htmx:after:swap", () => { chosen = -1; box.removeAttribute("aria-activedescendant"); told(); });
  box.addEventListener("keydown", (event) => {
    const many = box.tagName === "TEXTAREA" && box.value.includes("\n");
    if (event.key === "Escape") { close(); return; }
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !many && links().length) {
      event.preventDefault();
      choose(chosen < 0 && event.key === "ArrowUp" ? -1 : chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      location.href = links()[chosen].href;
    } else if (event.key === "Enter" && box.tagName === "TEXTAREA" && !event.shiftKey && !many) {
      event.preventDefault();
      box.form.requestSubmit();
    }
  });
  document.addEventListener("click", (event) => { if (!box.form.contains(event.target)) close(); });
  box.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !box.form.contains(event.relatedTarget)) close();
  });
}

// The Run button starts the runs here and streams what happens; without this it is a plain form.
function runButton() {
  const form = document.querySelector("form[data-run]");
  const live = document.querySelector("[data-live]");
  if (!form || !live) return;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    live.hidden = false;
    live.textContent = "";
    try {
      const answer = await fetch(form.dataset.run, { method: "POST", headers: { Accept: "application/json" } });
      const said = await answer.json();
      if (!answer.ok) throw new Error(said.detail);
      await followRuns(said.runs.map((run) => run.id), live);
    } catch (error) {
      say(live, error.message);
    }
    button.disabled = false;
  });
}

function say(live, text) {
  live.append(text + "\n");
  live.scrollTop = live.scrollHeight;
}

// Follows runs one after the other, then shows their cards.
async function followRuns(ids, live) {
  for (const id of ids) await followRun(id, live);
  const cards = await fetch(`/runs/${ids[0]}/cards`);
  const place = document.querySelector("[data-runs]");
  if (place && cards.ok) {
    place.innerHTML = await cards.text();
    copyButtons(place);
    scrollable(place);
  }
  live.append(permalink(ids[0]));
}

function permalink(id) {
  const link = document.createElement("a");
  link.href = `/runs/${id}`;
  link.textContent = "The permanent link of this run";
  return link;
}

function followRun(id, live) {
  return new Promise((resolve) => {
    const source = new EventSource(`/api/runs/${id}/events`);
    const tell = (event) => {
      const said = JSON.parse(event.data);
      const value = event.type === "value" ? ` = ${JSON.stringify(said.data.value)}` : "";
      if (said.text) say(live, said.text.trim() + value);
    };
    for (const kind of ["queued", "started", "progress", "output", "value", "check"]) source.addEventListener(kind, tell);
    source.addEventListener("done", (event) => {
      source.close();
      const run = JSON.parse(event.data);
      say(live, `${run.step} ${run.passed ? (run.step === "fix" ? "passes" : "raises") : run.outcome}${run.reason ? ": " + run.reason : ""}`);
      resolve();
    });
  });
}

// The page of a run that is not done yet.
async function followPage() {
  const live = document.querySelector("[data-follow]");
  if (!live) return;
  live.textContent = "";
  for (const id of [live.dataset.follow, live.dataset.then]) if (id) await followRun(id, live);
  location.reload();
}

// The first scan: show how far it is, and reload once when it is there.
async function watchScan() {
  const box = document.querySelector("[data-scan]");
  if (!box || box.hidden) return;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 700));
    const state = (await (await fetch("/api/status")).json()).scanning;
    if (!state) break;
    box.textContent = state.said;
    if (state.failed) return;
  }
  const typed = document.querySelector("[data-ask]");
  if (!typed || !typed.value) location.reload();
  else box.hidden = true;
}

document.addEventListener("DOMContentLoaded", () => {
  copyButtons(document);
  scrollable(document);
  searchKey();
  document.querySelectorAll("[data-suggest]").forEach(suggest);
  runButton();
  followPage();
  watchScan();
});
