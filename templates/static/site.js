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

document.addEventListener("DOMContentLoaded", () => {
  copyButtons(document);
  searchKey();
});
