// What pages can do beyond HTML: copy, jump to the search box, and stream a run into the page.
// Every page works without this file.
"use strict";

function copyButtons(root) {
  for (const pre of root.querySelectorAll(".fix pre, .fixes pre, details > pre, .pair pre, pre[data-copy]")) {
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
    holder.append(button, pre);
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

// Results while one types; arrows choose, Enter opens, Escape closes.
function suggest(box, list, seen) {
  let newest = 0;
  let chosen = -1;
  let timer;
  const links = () => [...list.querySelectorAll("a")];
  const close = () => { list.hidden = true; chosen = -1; box.removeAttribute("aria-activedescendant"); };
  box.setAttribute("aria-controls", list.id);
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 90);
  });
  async function ask() {
    const mine = ++newest;
    const text = box.value;
    if (text.trim().length < 2) { close(); if (seen) seen.textContent = ""; return; }
    const answer = await fetch("/api/ask", { method: "POST", headers: { "Content-Type": "text/plain" }, body: text.slice(0, 200000) });
    if (mine !== newest || !answer.ok) return;
    const found = await answer.json();
    if (seen) seen.textContent = found.said;
    list.replaceChildren(...found.records.map(hit));
    list.hidden = found.records.length === 0;
    chosen = -1;
  }
  box.addEventListener("keydown", (event) => {
    const all = links();
    if (event.key === "Escape") close();
    if (list.hidden || !all.length) return;
    const several = box.tagName === "TEXTAREA" && box.value.includes("\n");
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !several) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      chosen = (chosen + step + all.length + 1) % (all.length + 1);
      if (chosen === all.length) chosen = step > 0 ? 0 : all.length - 1;
      all.forEach((link, i) => link.classList.toggle("chosen", i === chosen));
      box.setAttribute("aria-activedescendant", all[chosen].id);
      all[chosen].scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      location.href = all[chosen].href;
    } else if (event.key === "Enter" && box.tagName === "TEXTAREA" && !event.shiftKey && !several) {
      event.preventDefault();
      box.form.requestSubmit();
    }
  });
  box.addEventListener("blur", () => setTimeout(() => { if (box.matches("[data-find]")) close(); }, 200));
}

function hit(row, i) {
  const link = document.createElement("a");
  link.href = `/errors/${row.slug || row.id}`;
  link.id = `hit-${row.id}-${i}`;
  link.setAttribute("role", "option");
  const message = document.createElement("span");
  message.className = "msg";
  message.textContent = row.errorMessage || row.condition;
  const about = document.createElement("small");
  about.textContent = [row.errorClass, row.title, row.filePath].filter(Boolean).join(" · ");
  link.append(message, about);
  return link;
}

function suggestions() {
  const box = document.querySelector("[data-box] [data-ask]");
  const list = document.querySelector("[data-hits]");
  if (box && list) suggest(box, list, document.querySelector("[data-seen]"));
  const find = document.querySelector("[data-find]");
  if (find) {
    const below = document.createElement("div");
    below.className = "hits below";
    below.id = "find-hits";
    below.hidden = true;
    below.setAttribute("role", "listbox");
    below.setAttribute("aria-label", "Errors that fit");
    find.form.append(below);
    suggest(find, below, null);
  }
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
  searchKey();
  suggestions();
  runButton();
  followPage();
  watchScan();
});
