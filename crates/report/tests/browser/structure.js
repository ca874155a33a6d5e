// What assistive technology relies on; returns what is wrong, in words.
(() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (element) => element.getClientRects().length > 0;
  const name = (element) => element.outerHTML.slice(0, 120);

  if (document.documentElement.lang === "") wrong.push("the page has no language");
  if (document.title === "") wrong.push("the page has no title");
  if (all("h1").length !== 1) wrong.push(`${all("h1").length} first headings`);
  for (const part of ["header", "main", "footer"]) {
    if (all(`body > ${part}`).length !== 1) wrong.push(`not one ${part}`);
  }
  let level = 0;
  for (const heading of all("h1, h2, h3, h4, h5, h6")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) wrong.push(`after level ${level} comes ${name(heading)}`);
    if (heading.textContent.trim() === "") wrong.push(`empty ${name(heading)}`);
    level = next;
  }
  for (const table of all("table")) {
    if (table.caption === null) wrong.push(`without a caption: ${name(table)}`);
    if (table.tHead === null) wrong.push(`without a head: ${name(table)}`);
  }
  for (const cell of all("th")) {
    if (!["col", "row", "colgroup", "rowgroup"].includes(cell.scope)) {
      wrong.push(`without a scope: ${name(cell)}`);
    }
  }
  const ids = new Set();
  for (const { id } of all("[id]")) {
    if (ids.has(id)) wrong.push(`twice the id ${id}`);
    ids.add(id);
  }
  for (const link of all("a[href]")) {
    const target = link.getAttribute("href");
    if (!target.startsWith("#") || !ids.has(target.slice(1))) {
      wrong.push(`leads nowhere: ${name(link)}`);
    }
    if (link.textContent.trim() === "") wrong.push(`without a text: ${name(link)}`);
  }
  for (const reference of ["aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const element of all(`[${reference}]`)) {
      for (const id of element.getAttribute(reference).split(" ")) {
        if (!ids.has(id)) wrong.push(`${reference} of nothing: ${name(element)}`);
      }
    }
  }
  for (const input of all("input, select, textarea")) {
    if (input.labels.length === 0 && !input.ariaLabel) wrong.push(`no label: ${name(input)}`);
  }
  for (const button of all("button")) {
    if (!button.ariaLabel && button.textContent.trim() === "") {
      wrong.push(`without a name: ${name(button)}`);
    }
  }
  for (const image of all("[role=img], [role=application]")) {
    if (!image.ariaLabel && !image.hasAttribute("aria-labelledby")) {
      wrong.push(`without words: ${name(image)}`);
    }
  }
  if (all("[tabindex]").some((element) => element.tabIndex > 0)) {
    wrong.push("an order of stops that is not that of the page");
  }
  for (const element of all("[style], [onclick], [onload], [onerror]")) {
    // Only scripts set styles, and only where something is placed.
    if (!element.classList.contains("tip")) wrong.push(`inline: ${name(element)}`);
  }
  const drawings = all("figure .drawing > .plots").filter(shown);
  for (const text of all("svg text, svg line, svg rect, svg circle, svg path")) {
    if (/NaN|Infinity|undefined/.test(name(text))) wrong.push(`no number: ${name(text)}`);
  }
  const folded = all("summary").filter((summary) => summary.textContent.trim() === "");
  if (folded.length > 0) wrong.push(`without a name: ${name(folded[0])}`);
  const drawn = all("figure").filter((figure) => figure.querySelector("svg") !== null);
  if (drawings.length !== drawn.length) wrong.push(`${drawings.length} of ${drawn.length} drawings shown`);
  return wrong;
})()
