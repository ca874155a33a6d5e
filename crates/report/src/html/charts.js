"use strict";
// Adds to the drawings what paper does not have: words on pointing, keys, and zoom.
(function () {
  const figures = Array.from(document.querySelectorAll("figure.chart"));
  figures.forEach(function (figure) {
    const drawing = figure.querySelector(".drawing");
    const readout = addReadout(figure, drawing);
    addWords(figure, drawing, readout);
    if (figure.dataset.buckets) addZoom(figure, drawing, readout);
  });

  // What is pointed at, in words; announced to screen readers.
  function addReadout(figure, drawing) {
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

  function visibleSvg(drawing) {
    return Array.from(drawing.children).find(function (child) {
      return child.tagName === "svg" && child.getClientRects().length > 0;
    });
  }

  function marksOf(drawing) {
    const svg = visibleSvg(drawing);
    return svg ? Array.from(svg.querySelectorAll(".mark")) : [];
  }

  // The browser's own words would appear a second time.
  function takeWords(mark) {
    const title = mark.querySelector("title");
    if (title) {
      mark.dataset.words = title.textContent;
      title.remove();
    }
    return mark.dataset.words;
  }

  function addWords(figure, drawing, readout) {
    const all = Array.from(drawing.querySelectorAll(".mark"));
    if (all.length === 0) return;
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
    drawing.tabIndex = 0;
    drawing.setAttribute("role", "application");
    drawing.setAttribute("aria-roledescription", "chart: arrow keys read its values");
    drawing.addEventListener("blur", function () { point(null); });
    drawing.addEventListener("keydown", function (event) {
      const marks = marksOf(drawing);
      const at = marks.indexOf(current);
      const last = marks.length - 1;
      const next = {
        ArrowRight: Math.min(at + 1, last), ArrowDown: Math.min(at + 1, last),
        ArrowLeft: Math.max(at - 1, 0), ArrowUp: Math.max(at - 1, 0),
        Home: 0, End: last,
      }[event.key];
      if (event.key === "Escape") point(null);
      if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      point(marks[next]);
    });
  }

  // Zoom shows fewer buckets in the same room. The drawing holds all of them already.
  function addZoom(figure, drawing, readout) {
    const buckets = Number(figure.dataset.buckets);
    const bucketS = Number(figure.dataset.bucketS);
    const least = Math.min(buckets, 10);
    const heads = Array.from(figure.querySelectorAll("details thead th"));
    const rows = new Map();
    figure.querySelectorAll("details tbody tr").forEach(function (row) {
      rows.set(Math.round(Number(row.cells[0].textContent) / bucketS), row);
    });
    let from = 0;
    let count = buckets;

    const controls = document.createElement("div");
    controls.className = "controls";
    controls.setAttribute("role", "group");
    controls.setAttribute("aria-label", "zoom");
    const shown = document.createElement("output");
    const buttons = [
      ["+", "zoom in", function () { zoom(0.5); }],
      ["−", "zoom out", function () { zoom(2); }],
      ["←", "earlier", function () { move(-0.5); }],
      ["→", "later", function () { move(0.5); }],
      ["all", "show all", function () { show(0, buckets); }],
    ].map(function (entry) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = entry[0];
      button.setAttribute("aria-label", entry[1]);
      button.title = entry[1];
      button.addEventListener("click", entry[2]);
      controls.append(button);
      return button;
    });
    controls.append(shown);
    // A few seconds are all to be seen at once.
    if (buckets > 2 * least) drawing.before(controls);

    const selections = Array.from(drawing.querySelectorAll(":scope > svg")).map(function (svg) {
      const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      rect.setAttribute("class", "selection");
      svg.append(rect);
      return rect;
    });

    function zoom(factor, around) {
      const wanted = Math.max(least, Math.min(buckets, Math.round(count * factor)));
      const middle = around === undefined ? from + count / 2 : around;
      const share = (middle - from) / count;
      show(middle - wanted * share, wanted);
    }
    function move(share) { show(from + share * count, count); }

    function show(start, width) {
      count = Math.max(least, Math.min(buckets, Math.round(width)));
      from = Math.max(0, Math.min(buckets - count, Math.round(start)));
      drawing.querySelectorAll("svg.zoomed").forEach(function (part) {
        const height = part.viewBox.baseVal.height;
        part.setAttribute("viewBox", from + " 0 " + count + " " + height);
      });
      drawing.querySelectorAll(":scope > svg").forEach(drawAxis);
      // The table has what the drawing shows.
      rows.forEach(function (row, bucket) {
        row.classList.toggle("out-of-range", bucket < from || bucket >= from + count);
      });
      shown.textContent = seconds(from * bucketS) + " s to " + seconds((from + count) * bucketS) + " s";
      buttons[0].disabled = count === least;
      buttons[1].disabled = buttons[4].disabled = count === buckets;
      buttons[2].disabled = from === 0;
      buttons[3].disabled = from + count === buckets;
      readout.hide();
    }

    // The ticks that were drawn are moved to new places and named anew.
    function drawAxis(svg) {
      const plot = svg.querySelector("svg.zoomed, .ground-lane");
      const left = plot.x.baseVal.value;
      const width = plot.width.baseVal.value;
      const lines = Array.from(svg.querySelectorAll("line.time"));
      const names = Array.from(svg.querySelectorAll("text.time"));
      const start = from * bucketS;
      const length = count * bucketS;
      const step = roundStep(length / Math.max(1, lines.length - 1));
      let tick = Math.ceil(start / step - 1e-9);
      lines.forEach(function (line, index) {
        const x = left + (tick * step - start) / length * width;
        const inside = x <= left + width + 0.5;
        line.setAttribute("visibility", inside ? "visible" : "hidden");
        names[index].setAttribute("visibility", inside ? "visible" : "hidden");
        line.setAttribute("x1", x);
        line.setAttribute("x2", x);
        names[index].setAttribute("x", x);
        names[index].textContent = seconds(tick * step);
        tick += 1;
      });
    }

    function bucketAt(event) {
      const plot = visibleSvg(drawing).querySelector(".ground-lane").getBoundingClientRect();
      const share = (event.clientX - plot.left) / plot.width;
      return share < 0 || share > 1 ? null : from + share * count;
    }

    function read(bucket, x, y) {
      const index = Math.max(0, Math.min(buckets - 1, Math.floor(bucket)));
      const row = rows.get(index);
      const values = row ? Array.from(row.cells).slice(1).map(function (cell, position) {
        return [heads[position + 1].textContent, cell.textContent];
      }).filter(function (pair) { return pair[1] !== "0"; }).map(function (pair) {
        return pair[0] + " " + pair[1];
      }) : [];
      const words = values.length ? values.join(", ") : "nothing";
      readout.show(seconds(index * bucketS) + " s: " + words, x, y);
    }

    let pressed = null;
    drawing.addEventListener("pointerdown", function (event) {
      if (event.pointerType === "mouse" && event.button === 0) pressed = bucketAt(event);
    });
    drawing.addEventListener("pointermove", function (event) {
      const bucket = bucketAt(event);
      if (bucket === null) return readout.hide();
      const origin = drawing.getBoundingClientRect();
      read(bucket, event.clientX - origin.left, event.clientY - origin.top);
      if (pressed !== null) select(pressed, bucket);
    });
    drawing.addEventListener("pointerleave", function () {
      pressed = null;
      select(0, 0);
      readout.hide();
    });
    drawing.addEventListener("pointerup", function (event) {
      const bucket = bucketAt(event);
      if (pressed !== null && bucket !== null && Math.abs(bucket - pressed) > count / 100) {
        show(Math.min(pressed, bucket), Math.abs(bucket - pressed));
      }
      pressed = null;
      select(0, 0);
    });
    drawing.addEventListener("dblclick", function () { show(0, buckets); });

    // What is being chosen with the mouse.
    function select(one, other) {
      selections.forEach(function (rect) {
        const svg = rect.parentNode;
        const plot = svg.querySelector(".ground-lane");
        const scale = plot.width.baseVal.value / count;
        rect.setAttribute("x", plot.x.baseVal.value + (Math.min(one, other) - from) * scale);
        rect.setAttribute("width", Math.abs(one - other) * scale);
        rect.setAttribute("height", svg.viewBox.baseVal.height - 40);
      });
    }

    let cursor = 0;
    drawing.tabIndex = 0;
    drawing.setAttribute("role", "application");
    drawing.setAttribute("aria-roledescription", "timeline: arrow keys read it, plus and minus zoom");
    drawing.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = {
        "+": function () { zoom(0.5, cursor); }, "=": function () { zoom(0.5, cursor); },
        "-": function () { zoom(2, cursor); }, "0": function () { show(0, buckets); },
        PageUp: function () { move(-0.5); }, PageDown: function () { move(0.5); },
        ArrowLeft: function () { step(-1); }, ArrowRight: function () { step(1); },
        Home: function () { step(-buckets); }, End: function () { step(buckets); },
        Escape: function () { readout.hide(); },
      }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
    // The next bucket in which something happened.
    function step(direction) {
      const filled = Array.from(rows.keys()).sort(function (a, b) { return a - b; });
      const ahead = filled.filter(function (bucket) {
        return direction > 0 ? bucket > cursor : bucket < cursor;
      });
      if (Math.abs(direction) > 1) cursor = direction > 0 ? filled[filled.length - 1] : filled[0];
      else if (ahead.length) cursor = direction > 0 ? ahead[0] : ahead[ahead.length - 1];
      if (cursor === undefined) return void (cursor = 0);
      if (cursor < from || cursor >= from + count) show(cursor - count / 2, count);
      const origin = drawing.getBoundingClientRect();
      const plot = visibleSvg(drawing).querySelector(".ground-lane").getBoundingClientRect();
      read(cursor, plot.left - origin.left + (cursor + 0.5 - from) / count * plot.width, plot.top - origin.top + 40);
    }
    show(0, buckets);
  }

  function roundStep(least) {
    const decade = Math.pow(10, Math.floor(Math.log10(least)));
    const factor = [1, 2, 5, 10].find(function (factor) { return factor * decade >= least * 0.999999; });
    return factor * decade;
  }

  function seconds(value) { return String(Number(value.toFixed(6))); }
})();
