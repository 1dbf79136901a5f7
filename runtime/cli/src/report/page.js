"use strict";
(() => {
  const collator = new Intl.Collator(undefined, { numeric: true });
  const value = (cell) => (cell.dataset.k === undefined ? cell.textContent : Number(cell.dataset.k));
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    // Numbers before words, so that what is unknown stands last.
    if (typeof a === "number") return -1;
    if (typeof b === "number") return 1;
    return collator.compare(a, b);
  };

  const sort = (table, head) => {
    const index = [...head.parentElement.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [value(row.cells[index]), row]);
    rows.sort(([a], [b]) => (down && typeof a === typeof b ? -compare(a, b) : compare(a, b)));
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows.map(([, row]) => row));
  };

  // Numbers are copied with all their digits.
  const text = (table) =>
    [...table.rows]
      .map((row) => [...row.cells].map((cell) => cell.dataset.k ?? cell.textContent).join("\t"))
      .join("\n") + "\n";

  const copy = async (words) => {
    try {
      await navigator.clipboard.writeText(words);
    } catch {
      const area = document.createElement("textarea");
      area.value = words;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };

  for (const table of document.querySelectorAll("table")) {
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.title = "sort";
      button.addEventListener("click", () => sort(table, head));
      head.replaceChildren(button);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy as TSV";
    button.addEventListener("click", async () => {
      await copy(text(table));
      button.textContent = "copied";
      setTimeout(() => (button.textContent = "copy as TSV"), 1200);
    });
    table.parentElement.append(button);
  }

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  document.body.append(tip);
  document.addEventListener("pointerover", (event) => {
    const shape = event.target.closest?.("svg path, svg rect");
    const title = shape?.querySelector("title");
    if (title) {
      // The browser would show it a second time.
      shape.dataset.tip = title.textContent;
      title.remove();
    }
    tip.textContent = shape?.dataset.tip ?? "";
    if (!tip.textContent) return;
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 12, innerWidth - box.width - 8);
    const below = event.clientY + 16;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below + box.height > innerHeight ? event.clientY - box.height - 10 : below}px`;
  });

  // A link into a closed part opens it.
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    target?.closest("details")?.setAttribute("open", "");
    target?.querySelector("details.whole")?.setAttribute("open", "");
    target?.scrollIntoView();
  };
  addEventListener("hashchange", open);
  if (location.hash) open();
})();
