// Shows only the parts of a trace about one file, and says of the parts that are not kept by file that
// they are of the whole run.
(() => {
  "use strict";

  // Parts whose figures are by file; the others stay as they are.
  const BY_FILE = ["files", "below", "file-calls", "sites", "findings"];

  // A renamed file is called by its old name elsewhere, and several of one path by that.
  const name = (text) => text.split(" → ")[0].replace(/ \([0-9,]+ files\)$/, "").trim();

  const words = (element) => element.textContent.split("·").map((word) => word.trim());

  // Each thing that is of one file, with a test of the file's name.
  const things = (root) => {
    const found = [];
    for (const path of root.querySelectorAll("section:is(.files, .below) tbody .path")) {
      found.push([path.closest("tr"), (file) => name(path.textContent) === file]);
    }
    for (const title of root.querySelectorAll("section.file-calls .group")) {
      found.push([title.parentElement, (file) => name(title.textContent) === file]);
    }
    for (const line of root.querySelectorAll("section.sites > details > p")) {
      const is = (file) => words(line).at(-1) === file;
      found.push([line, is]);
      if (line.nextElementSibling?.tagName === "DL") {
        found.push([line.nextElementSibling, is]);
      }
    }
    for (const entry of root.querySelectorAll("section.findings dl > div")) {
      const head = entry.querySelector("dd > p");
      found.push([entry, (file) => head !== null && words(head).includes(file)]);
    }
    return found;
  };

  const offer = (findings) => {
    const root = findings.parentElement;
    const paths = root.querySelectorAll("section.files tbody .path");
    const files = [...new Set([...paths].map((path) => name(path.textContent)))];
    if (files.length < 2) {
      return;
    }
    const found = things(root);
    const tools = document.createElement("div");
    tools.className = "tools one-file";
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.append(new Option("all files", ""));
    select.append(...files.map((file) => new Option(file, file)));
    label.append("Show ", select);
    const said = document.createElement("output");
    tools.append(label, said);
    findings.after(tools);
    select.addEventListener("change", () => {
      const file = select.value;
      for (const choice of root.querySelectorAll(".choice select")) {
        choice.value = "";
        choice.dispatchEvent(new Event("change"));
      }
      for (const [element, is] of found) {
        element.classList.toggle("of-another-file", file !== "" && !is(file));
      }
      for (const part of root.querySelectorAll(":scope > section > details.part")) {
        const isByFile = BY_FILE.includes(part.parentElement.className);
        part.classList.toggle("of-the-run", file !== "" && !isByFile);
      }
      for (const chart of root.querySelectorAll("figure")) {
        chart.classList.toggle("of-the-run", file !== "");
      }
      said.textContent = file === ""
        ? ""
        : "Findings, calls and call sites are of this file; what is marked is of the whole run.";
    });
  };

  for (const findings of document.querySelectorAll("section.findings")) {
    offer(findings);
  }
})();
