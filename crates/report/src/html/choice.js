// Shows only what is of one file, of one process, or of a part of the run that was chosen in the chart
// over time; says of everything that is not kept that way what it is of.
(() => {
  "use strict";

  // By what the rows of a part can be told; the others stay as they are.
  const KEPT = {
    findings: ["file", "time"],
    "over-time": ["time"],
    files: ["file", "time"],
    below: ["file", "time"],
    calls: ["time"],
    "file-calls": ["file", "time"],
    sites: ["file", "time"],
    processes: ["process", "time"],
    threads: ["process", "time"],
  };

  const ALL = { file: "all files", process: "all processes", time: "the whole run" };

  // A renamed file is called by its old name elsewhere, and several of one path by that.
  const name = (text) => text.split(" → ")[0].replace(/ \([0-9,]+ files\)$/, "").trim();

  const words = (element) => element.textContent.split("·").map((word) => word.trim());

  const span = (row) =>
    "from" in row.dataset ? [Number(row.dataset.from), Number(row.dataset.to)] : null;

  // Each thing that can be hidden: whether it is of a file, its process, and its time.
  const things = (root, spans) => {
    const found = [];
    const rows = (part) =>
      root.querySelectorAll(`:scope > section.${part} > details > .table tbody tr:not(.group)`);
    for (const row of [...rows("files"), ...rows("below")]) {
      const own = name(row.querySelector(".path")?.textContent ?? "");
      found.push({ element: row, isOf: (file) => own === file, time: span(row) });
    }
    for (const row of rows("calls")) {
      found.push({ element: row, time: span(row) });
    }
    for (const row of rows("file-calls")) {
      const own = name(row.parentElement.querySelector(".group")?.textContent ?? "");
      found.push({ element: row, isOf: (file) => own === file, time: span(row) });
    }
    for (const row of [...rows("processes"), ...rows("threads")]) {
      found.push({ element: row, process: row.cells[0].textContent, time: span(row) });
    }
    for (const line of root.querySelectorAll("section.sites > details > p")) {
      const own = words(line).at(-1);
      const thing = { isOf: (file) => own === file, time: spans.get(own) ?? null };
      found.push({ element: line, ...thing });
      if (line.nextElementSibling?.tagName === "DL") {
        found.push({ element: line.nextElementSibling, ...thing });
      }
    }
    for (const entry of root.querySelectorAll("section.findings dl > div")) {
      const head = entry.querySelector("dd > p");
      const own = head === null ? [] : words(head);
      const known = own.find((word) => spans.has(word));
      const time = known === undefined ? null : spans.get(known);
      found.push({ element: entry, isOf: (file) => own.includes(file), time });
    }
    return found;
  };

  const isHidden = (thing, chosen) => {
    const { file, process, time } = chosen;
    return (file !== "" && thing.isOf !== undefined && !thing.isOf(file))
      || (process !== "" && thing.process !== undefined && thing.process !== process)
      || (time !== null && thing.time !== null
        && (thing.time[1] < time.fromS || thing.time[0] > time.toS));
  };

  // Says of what more than was chosen a part or a chart is.
  const mark = (element, kept, active) => {
    const more = active.filter((kind) => !kept.includes(kind)).map((kind) => ALL[kind]);
    element.classList.toggle("of-more", more.length > 0);
    element.dataset.of = `of ${more.join(", ")}`;
  };

  const seconds = (value) => `${Number(value.toFixed(6))} s`;

  const sentence = ({ file, process, time }) => {
    const chosen = [];
    if (file !== "") {
      chosen.push(`of ${file}`);
    }
    if (process !== "") {
      chosen.push(`of process ${process}`);
    }
    if (time !== null) {
      chosen.push(`in use between ${seconds(time.fromS)} and ${seconds(time.toS)}`);
    }
    return `Shown: what is ${chosen.join(", ")}. The figures of each row are of the whole run; `
      + "what is marked was not narrowed.";
  };

  const select = (tools, text, all, options) => {
    const label = document.createElement("label");
    const list = document.createElement("select");
    list.append(new Option(all, ""));
    list.append(...options.map(([value, shown]) => new Option(shown, value)));
    label.append(text, list);
    if (options.length > 1) {
      tools.append(label);
    }
    return list;
  };

  const filesOf = (root) => {
    const paths = root.querySelectorAll("section.files tbody .path");
    return [...new Set([...paths].map((path) => name(path.textContent)))];
  };

  const processesOf = (root) => {
    const rows = root.querySelectorAll("section.processes tbody tr");
    const named = [...rows].map((row) => {
      const number = row.cells[0].textContent;
      return [number, `${row.querySelector("th").textContent} ${number}`];
    });
    return [...new Map(named)];
  };

  const spansOf = (root) => {
    const spans = new Map();
    for (const row of root.querySelectorAll("section.files tbody tr[data-from]")) {
      spans.set(name(row.querySelector(".path").textContent), span(row));
    }
    return spans;
  };

  const offer = (findings) => {
    const root = findings.parentElement;
    const hasTime = root.querySelector("figure[data-buckets]") !== null;
    const chooser = document.createElement("div");
    chooser.className = "chooser";
    const tools = document.createElement("div");
    tools.className = "tools";
    const files = filesOf(root).map((file) => [file, file]);
    const file = select(tools, "Show ", "all files", files);
    const process = select(tools, "and ", "all processes", processesOf(root));
    const whole = document.createElement("button");
    whole.type = "button";
    whole.textContent = "show the whole run";
    const said = document.createElement("p");
    said.setAttribute("role", "status");
    chooser.append(tools, said);
    let time = null;

    if (tools.children.length === 0 && !hasTime) {
      return;
    }
    findings.after(chooser);
    const found = things(root, spansOf(root));
    const groups = [...root.querySelectorAll("section.file-calls .group")];
    const tracks = root.querySelectorAll("figure .mark:is([data-file], [data-process])");

    // A part whose rows have no time cannot be told by it.
    const kept = (part) => {
      const kinds = KEPT[part.classList[0]] ?? [];
      const timed = part.classList.contains("over-time")
        || found.some((thing) => thing.time !== null && part.contains(thing.element));
      return timed ? kinds : kinds.filter((kind) => kind !== "time");
    };

    const apply = () => {
      const chosen = { file: file.value, process: process.value, time };
      const active = Object.keys(chosen).filter((kind) => chosen[kind] !== "" && chosen[kind] !== null);
      for (const list of root.querySelectorAll(".choice select")) {
        list.value = "";
        list.dispatchEvent(new Event("change"));
      }
      for (const thing of found) {
        thing.element.classList.toggle("not-chosen", isHidden(thing, chosen));
      }
      for (const group of groups) {
        const rows = [...group.parentElement.querySelectorAll("tr:not(.group)")];
        group.classList.toggle("not-chosen", rows.every((row) => row.classList.contains("not-chosen")));
      }
      for (const track of tracks) {
        const isOther = (chosen.file !== "" && "file" in track.dataset && track.dataset.file !== chosen.file)
          || (chosen.process !== "" && "process" in track.dataset && track.dataset.process !== chosen.process);
        track.classList.toggle("other", isOther);
      }
      for (const part of root.querySelectorAll(":scope > section")) {
        mark(part.querySelector(":scope > details.part") ?? part, kept(part), active);
      }
      for (const chart of root.querySelectorAll("figure")) {
        mark(chart, "buckets" in chart.dataset ? ["time"] : [], active);
      }
      chooser.classList.toggle("active", active.length > 0);
      said.textContent = active.length === 0 ? "" : sentence(chosen);
      if (time === null) {
        whole.remove();
      } else {
        tools.append(whole);
      }
    };

    file.addEventListener("change", apply);
    process.addEventListener("change", apply);
    root.addEventListener("time-chosen", (event) => {
      const before = time;
      time = event.detail;
      if (before !== null || time !== null) {
        apply();
      }
    });
    root.addEventListener("track-chosen", (event) => {
      for (const [list, value] of [[file, event.detail.file], [process, event.detail.process]]) {
        if (value !== undefined) {
          const isKnown = [...list.options].some((option) => option.value === value);
          list.value = isKnown && list.value !== value ? value : "";
        }
      }
      apply();
    });
    whole.addEventListener("click", () => {
      for (const chart of root.querySelectorAll("figure[data-buckets]")) {
        chart.dispatchEvent(new Event("show-all"));
      }
    });
  };

  for (const findings of document.querySelectorAll("section.findings")) {
    offer(findings);
  }
})();
