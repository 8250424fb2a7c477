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
    holder.append(pre, button);
  }
}

// A launch-line difference is copied as what to type: its added lines.
function copied(pre) {
  const text = pre.innerText.replace(/\n$/, "");
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
  runButton();
  followPage();
  watchScan();
});
