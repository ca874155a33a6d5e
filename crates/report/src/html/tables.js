// Adds sorting and filtering to the tables of a page. Without it everything can be read.
(() => {
  "use strict";

  // Tables with fewer rows are seen at a glance.
  const FILTERED = 20;

  const UNITS = new Map(Object.entries({
    ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600,
    B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50, EiB: 2 ** 60,
    kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, "%": 1, "×": 1,
  }));

  // The number that a cell begins with, in its unit; NaN where it has none.
  const number = (text) => {
    const found = /^[<≈×+]?\s*([−-]?)([\d,]*\.?\d+(?:e[+-]?\d+)?)\s*([^\s\d(/–]*)/u.exec(text);
    if (!found) {
      return NaN;
    }
    const [, sign, digits, unit] = found;
    const value = Number(digits.replaceAll(",", "")) * (UNITS.get(unit) ?? 1);
    return sign ? -value : value;
  };

  const words = new Intl.Collator("en", { numeric: true });

  // What is not known comes last, whichever way the rest is sorted.
  const order = (direction) => (one, other) => {
    if (Number.isNaN(one.number) !== Number.isNaN(other.number)) {
      return Number.isNaN(one.number) ? 1 : -1;
    }
    const by = Number.isNaN(one.number)
      ? words.compare(one.text, other.text)
      : one.number - other.number;
    return by * direction || one.place - other.place;
  };

  const isGroup = (row) => row.classList.contains("group");

  const rowsOf = (table) =>
    [...table.querySelectorAll("tbody tr")].filter((row) => !isGroup(row));

  const sort = (table, index, direction) => {
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !isGroup(row));
      const keyed = rows.map((row) => {
        const text = row.cells[index].textContent.trim();
        return { row, text, number: number(text), place: places.get(row) };
      });
      keyed.sort(direction === 0 ? (one, other) => one.place - other.place : order(direction));
      body.append(...keyed.map(({ row }) => row));
    }
  };

  const places = new WeakMap();

  const numberRows = (table) => {
    let place = 0;
    for (const row of table.querySelectorAll("tbody tr")) {
      places.set(row, place);
      place += 1;
    }
  };

  const makeSortable = (table) => {
    numberRows(table);
    table.addEventListener("rows-changed", () => {
      numberRows(table);
      for (const head of table.tHead.rows[0].cells) {
        head.removeAttribute("aria-sort");
      }
    });
    for (const head of table.tHead.rows[0].cells) {
      const text = head.textContent;
      if (text === "") {
        continue;
      }
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      head.replaceChildren(button);
      // Of figures the largest matter, of names the order.
      const first = head.classList.contains("n") ? -1 : 1;
      button.addEventListener("click", () => {
        const now = { ascending: 1, descending: -1 }[head.getAttribute("aria-sort")] ?? 0;
        const next = now === 0 ? first : now === first ? -first : 0;
        for (const other of table.tHead.rows[0].cells) {
          other.removeAttribute("aria-sort");
        }
        if (next !== 0) {
          head.setAttribute("aria-sort", next > 0 ? "ascending" : "descending");
        }
        sort(table, head.cellIndex, next);
      });
    }
  };

  const makeFilterable = (table) => {
    const tools = document.createElement("div");
    tools.className = "tools";
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "search";
    input.autocomplete = "off";
    input.spellcheck = false;
    label.append("Filter rows ", input);
    const count = document.createElement("output");
    tools.append(label, count);
    table.closest(".table").prepend(tools);
    input.setAttribute("aria-controls", table.id);
    const texts = new WeakMap();
    // Cells stand side by side without a space between them: look at each on its own.
    const textOf = (row) => {
      if (!texts.has(row)) {
        const group = row.parentElement.querySelector(":scope > .group")?.textContent ?? "";
        const cells = [...row.cells].map((cell) => cell.textContent);
        texts.set(row, [group, ...cells].join("\n").toLowerCase());
      }
      return texts.get(row);
    };
    const filter = () => {
      const rows = rowsOf(table);
      const wanted = input.value.toLowerCase().split(/\s+/u).filter((word) => word !== "");
      let shown = 0;
      for (const row of rows) {
        row.hidden = !wanted.every((word) => textOf(row).includes(word));
        shown += row.hidden ? 0 : 1;
      }
      for (const body of table.tBodies) {
        const found = [...body.rows].some((row) => !isGroup(row) && !row.hidden);
        for (const row of body.rows) {
          if (isGroup(row)) {
            row.hidden = !found;
          }
        }
      }
      count.textContent = wanted.length === 0 ? "" : `${shown} of ${rows.length} rows`;
    };
    input.addEventListener("input", filter);
    table.addEventListener("rows-changed", filter);
  };

  // Only what scrolls needs a stop for the keyboard.
  const stops = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const scrolls =
        target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
      target.tabIndex = scrolls ? 0 : -1;
    }
  });

  for (const table of document.querySelectorAll("table")) {
    const rows = rowsOf(table);
    if (rows.length > 1) {
      makeSortable(table);
    }
    if (rows.length >= FILTERED) {
      makeFilterable(table);
    }
    stops.observe(table.parentElement);
  }
})();
