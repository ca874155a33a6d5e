"use strict";
// Adds to the drawings what paper does not have: words on pointing, and keys.
const charts = (() => {
  // What is pointed at, in words; announced to screen readers.
  function addReadout(drawing) {
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.setAttribute("role", "status");
    tip.hidden = true;
    drawing.append(tip);
    return {
      show(words, x, y) {
        tip.textContent = words;
        tip.hidden = false;
        const room = drawing.clientWidth - tip.offsetWidth;
        tip.style.left = Math.max(0, Math.min(room, x - tip.offsetWidth / 2)) + "px";
        const above = y - tip.offsetHeight - 10;
        tip.style.top = (above < 0 ? y + 14 : above) + "px";
      },
      hide() { tip.hidden = true; },
    };
  }

  // The browser's own words would appear a second time.
  function takeWords(mark) {
    const title = mark.querySelector("title");
    mark.dataset.words = title ? title.textContent : mark.title;
    if (title) title.remove();
    else mark.removeAttribute("title");
  }

  // Returns what points at a mark of the drawing.
  function addWords(drawing, readout) {
    const all = Array.from(drawing.querySelectorAll(".mark"));
    all.forEach(takeWords);
    let current = null;
    function point(mark) {
      if (current) current.classList.remove("current");
      current = mark;
      if (!mark) return readout.hide();
      mark.classList.add("current");
      const box = mark.getBoundingClientRect();
      const origin = drawing.getBoundingClientRect();
      readout.show(mark.dataset.words, box.left + box.width / 2 - origin.left, box.top - origin.top);
    }
    drawing.addEventListener("pointerover", function (event) {
      const mark = event.target.closest(".mark");
      if (mark !== current) point(mark);
    });
    drawing.addEventListener("pointerleave", function () { point(null); });
    drawing.addEventListener("blur", function () { point(null); });
    return { point, at: function () { return all.indexOf(current); }, all };
  }

  function addKeys(drawing, words) {
    if (words.all.length === 0) return;
    drawing.tabIndex = 0;
    drawing.setAttribute("role", "application");
    drawing.setAttribute("aria-roledescription", "chart: arrow keys read its values");
    drawing.addEventListener("keydown", function (event) {
      const at = words.at();
      const last = words.all.length - 1;
      const next = {
        ArrowRight: Math.min(at + 1, last), ArrowDown: Math.min(at + 1, last),
        ArrowLeft: Math.max(at - 1, 0), ArrowUp: Math.max(at - 1, 0),
        Home: 0, End: last,
      }[event.key];
      if (event.key === "Escape") words.point(null);
      if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      words.point(words.all[next]);
    });
  }

  // Those over time have keys of their own.
  const overTime = [];
  document.querySelectorAll("figure.chart").forEach(function (figure) {
    const drawing = figure.querySelector(".drawing");
    const readout = addReadout(drawing);
    const words = addWords(drawing, readout);
    if (figure.dataset.buckets) overTime.push({ figure, drawing, readout });
    else addKeys(drawing, words);
  });
  return { overTime };
})();
