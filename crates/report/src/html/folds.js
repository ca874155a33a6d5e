// Opens what a link leads to, marks every row that a list of rows names, and offers a choice
// where a table has many groups of rows.
(() => {
  "use strict";

  // Fewer groups are seen at a glance.
  const CHOSEN = 4;

  const unfold = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      if (at instanceof HTMLDetailsElement) {
        at.open = true;
      }
    }
  };

  const target = (hash) => {
    try {
      return document.getElementById(decodeURIComponent(hash.slice(1)));
    } catch {
      return null;
    }
  };

  const follow = (hash) => {
    const element = target(hash);
    if (element === null) {
      return;
    }
    if (element.hidden || element.closest("tbody[hidden]") !== null) {
      const choice = element.closest(".table")?.querySelector(".choice select");
      if (choice) {
        choice.value = "";
        choice.dispatchEvent(new Event("change"));
      }
    }
    unfold(element);
    element.scrollIntoView({ block: element.matches("tr") ? "center" : "start" });
  };

  // Rows are named by their number behind a common beginning: `sync-row-3`.
  const mark = (list) => {
    for (const row of document.querySelectorAll("tr.named")) {
      row.classList.remove("named");
    }
    for (const link of list.querySelectorAll("a[data-first]")) {
      const { first, last } = link.dataset;
      const begin = link.getAttribute("href").slice(1, -first.length);
      for (let number = Number(first); number <= Number(last); number += 1) {
        const row = document.getElementById(begin + number);
        if (row !== null) {
          row.classList.add("named");
          unfold(row);
        }
      }
    }
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (!link) {
      return;
    }
    const list = link.closest(".rows");
    if (list !== null) {
      mark(list);
    }
    // The address may be there already: then nothing tells of the click but this.
    follow(link.getAttribute("href"));
  });

  window.addEventListener("hashchange", () => follow(location.hash));
  if (location.hash !== "") {
    follow(location.hash);
  }

  const choose = (table) => {
    const bodies = [...table.tBodies].filter((body) => body.querySelector(":scope > .group"));
    if (bodies.length < CHOSEN) {
      return;
    }
    const label = document.createElement("label");
    label.className = "choice";
    const select = document.createElement("select");
    select.setAttribute("aria-controls", table.id);
    const all = new Option(`all ${bodies.length}`, "");
    select.append(all);
    bodies.forEach((body, place) => {
      const text = body.querySelector(":scope > .group").textContent;
      select.append(new Option(text, String(place)));
    });
    select.addEventListener("change", () => {
      bodies.forEach((body, place) => {
        body.hidden = select.value !== "" && String(place) !== select.value;
      });
    });
    label.append("Show ", select);
    let tools = table.closest(".table").querySelector(".tools");
    if (tools === null) {
      tools = document.createElement("div");
      tools.className = "tools";
      table.closest(".table").prepend(tools);
    }
    tools.prepend(label);
    select.value = "0";
    select.dispatchEvent(new Event("change"));
  };

  for (const table of document.querySelectorAll("table")) {
    choose(table);
  }
})();
