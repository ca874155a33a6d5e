"use strict";
// Charts over time: a drag or a key chooses a part, which is drawn in bins as fine as there are, from
// the counts that the drawing carries. Figures that are no counts are shown larger.
(function () {
  const HEIGHT = 30;

  charts.overTime.forEach(function (chart) { addZoom(chart.figure, chart.drawing, chart.readout); });

  // Counts by bucket; `~5` stands for five zeros.
  function unpack(text) {
    return text.split(" ").flatMap(function (token) {
      return token.startsWith("~") ? new Array(Number(token.slice(1))).fill(0) : [Number(token)];
    });
  }

  function addZoom(figure, drawing, readout) {
    const buckets = Number(figure.dataset.buckets);
    const bucketS = Number(figure.dataset.bucketS);
    const most = Number(figure.dataset.bins);
    const least = Math.min(buckets, 10);
    // Its width is that of every row.
    const grid = drawing.querySelector("svg.grid");
    const lanes = Array.from(drawing.querySelectorAll("svg[data-counts]")).map(function (svg) {
      const peak = svg.parentNode.querySelector(".figure");
      return { name: svg.dataset.lane, counts: unpack(svg.dataset.counts), area: svg.querySelector(".area"), peak };
    });
    const table = figure.querySelector("details table");
    const heads = table ? Array.from(table.tHead.rows[0].cells, function (cell) { return cell.textContent; }) : [];
    const rows = new Map();
    Array.from(table ? table.tBodies[0].rows : []).forEach(function (row) {
      rows.set(Math.round(Number(row.cells[0].textContent) / bucketS), row);
    });
    let from = 0;
    let count = buckets;
    let bin = 1;

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

    const selection = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    selection.setAttribute("class", "selection");
    selection.setAttribute("height", "100%");
    grid.append(selection);

    function zoom(factor, around) {
      const wanted = Math.max(least, Math.min(buckets, Math.round(count * factor)));
      const middle = around === undefined ? from + count / 2 : around;
      const share = (middle - from) / count;
      show(middle - wanted * share, wanted);
    }
    function move(share) { show(from + share * count, count); }

    // Buckets in a bin, so that there is room for all bins; a power of two.
    function binOf(width) {
      let wide = 1;
      while (lanes.length > 0 && Math.ceil(width / wide) > most) wide *= 2;
      return wide;
    }

    function show(start, width) {
      count = Math.max(least, Math.min(buckets, Math.round(width)));
      from = Math.max(0, Math.min(buckets - count, Math.round(start)));
      bin = binOf(count);
      // Bins are whole.
      const end = Math.min(buckets, Math.ceil((from + count) / bin) * bin);
      from = Math.floor(from / bin) * bin;
      count = end - from;
      drawing.querySelectorAll("svg.zoomed").forEach(function (part) {
        const height = part.viewBox.baseVal.height;
        part.setAttribute("viewBox", from + " 0 " + count + " " + height);
      });
      drawAxis();
      drawLanes();
      tabulate();
      const words = seconds(from * bucketS) + " s to " + seconds((from + count) * bucketS) + " s";
      shown.textContent = lanes.length ? words + ", in bins of " + duration(bin * bucketS) : words;
      buttons[0].disabled = count <= least;
      buttons[1].disabled = buttons[4].disabled = count === buckets;
      buttons[2].disabled = from === 0;
      buttons[3].disabled = from + count === buckets;
      readout.hide();
      const whole = count === buckets;
      const chosen = whole ? null : { fromS: from * bucketS, toS: (from + count) * bucketS };
      figure.dispatchEvent(new CustomEvent("time-chosen", { bubbles: true, detail: chosen }));
    }
    figure.addEventListener("show-all", function () { show(0, buckets); });

    // Nothing is counted after the last call or request: the axis may be longer.
    function sum(lane, start) {
      let all = 0;
      for (let at = start; at < Math.min(start + bin, buckets); at += 1) all += lane.counts[at] || 0;
      return all;
    }

    function shownBins() {
      return Array.from({ length: Math.ceil(count / bin) }, function (_, index) { return from + index * bin; });
    }

    // As the program draws the whole: steps, as high as the largest that is shown.
    function drawLanes() {
      const starts = shownBins();
      lanes.forEach(function (lane) {
        const sums = starts.map(function (start) { return sum(lane, start); });
        const peak = Math.max.apply(null, sums);
        const path = sums.map(function (value, position) {
          const height = value > 0 ? Math.max(1, value / peak * HEIGHT) : 0;
          return "V" + (HEIGHT - height).toFixed(1) + "H" + Math.min(buckets, starts[position] + bin);
        });
        lane.area.setAttribute("d", "M" + from + " " + HEIGHT + path.join("") + "V" + HEIGHT);
        lane.peak.textContent = peak > 0 ? "≤ " + grouped(peak) : "none";
      });
    }

    // The table has what the drawing shows.
    function tabulate() {
      if (lanes.length === 0) {
        rows.forEach(function (row, bucket) {
          row.classList.toggle("out-of-range", bucket < from || bucket >= from + count);
        });
        return;
      }
      // In the order of the lanes; those that were not measured carry no counts.
      const left = lanes.slice();
      const columns = heads.slice(1).map(function (head) {
        return left.length > 0 && left[0].name === head ? left.shift() : null;
      });
      const body = document.createElement("tbody");
      shownBins().forEach(function (start) {
        const sums = columns.map(function (lane) { return lane ? sum(lane, start) : null; });
        if (sums.every(function (value) { return value === 0; })) return;
        const row = body.insertRow();
        const head = document.createElement("th");
        head.scope = "row";
        head.textContent = seconds(start * bucketS);
        row.append(head);
        sums.forEach(function (value) {
          const cell = row.insertCell();
          cell.className = value === null ? "n none" : "n";
          cell.textContent = value === null ? "n/a" : grouped(value);
        });
      });
      table.tBodies[0].replaceWith(body);
      table.dispatchEvent(new Event("rows-changed"));
    }

    // The ticks that were drawn are moved to new places and named anew.
    function drawAxis() {
      const lines = Array.from(grid.querySelectorAll("line"));
      const names = Array.from(drawing.querySelectorAll(".axis text"));
      const start = from * bucketS;
      const length = count * bucketS;
      let step = roundStep(length / lines.length);
      // As many as were drawn, or fewer.
      const ticks = function () {
        return Math.floor((start + length) / step + 1e-9) - Math.ceil(start / step - 1e-9) + 1;
      };
      while (ticks() > lines.length) step = roundStep(step * 1.5);
      let tick = Math.ceil(start / step - 1e-9);
      lines.forEach(function (line, index) {
        const share = (tick * step - start) / length;
        const x = share * 100 + "%";
        line.setAttribute("visibility", share <= 1.001 ? "visible" : "hidden");
        names[index].setAttribute("visibility", share <= 1.001 ? "visible" : "hidden");
        line.setAttribute("x1", x);
        line.setAttribute("x2", x);
        names[index].setAttribute("x", x);
        names[index].textContent = seconds(tick * step);
        tick += 1;
      });
    }

    function bucketAt(event) {
      const plot = grid.getBoundingClientRect();
      const share = (event.clientX - plot.left) / plot.width;
      return share < 0 || share > 1 ? null : from + share * count;
    }

    // Name and figure of what is not nothing.
    function valuesAt(start) {
      if (lanes.length > 0) {
        return lanes.map(function (lane) { return [lane.name, sum(lane, start)]; })
          .filter(function (pair) { return pair[1] > 0; })
          .map(function (pair) { return pair[0] + " " + grouped(pair[1]); });
      }
      const row = rows.get(start);
      return Array.from(row ? row.cells : []).slice(1)
        .map(function (cell, position) { return [heads[position + 1], cell.textContent]; })
        .filter(function (pair) { return pair[1] !== "0"; })
        .map(function (pair) { return pair.join(" "); });
    }

    function read(bucket, x, y) {
      const start = Math.floor(Math.max(0, Math.min(buckets - 1, bucket)) / bin) * bin;
      const values = valuesAt(start);
      const words = values.length ? values.join(", ") : "nothing";
      readout.show(seconds(start * bucketS) + " s: " + words, x, y);
    }

    let pressed = null;
    drawing.addEventListener("pointerdown", function (event) {
      if (event.pointerType === "mouse" && event.button === 0) pressed = bucketAt(event);
    });
    drawing.addEventListener("pointermove", function (event) {
      const bucket = bucketAt(event);
      if (pressed !== null && bucket !== null) select(pressed, bucket);
      // A track has words of its own.
      if (pressed === null && event.target.closest(".mark")) return;
      if (bucket === null) return readout.hide();
      const origin = drawing.getBoundingClientRect();
      read(bucket, event.clientX - origin.left, event.clientY - origin.top);
    });
    drawing.addEventListener("pointerleave", function () {
      pressed = null;
      select(0, 0);
      readout.hide();
    });
    drawing.addEventListener("pointerup", function (event) {
      const bucket = bucketAt(event);
      const isDrag = pressed !== null && bucket !== null && Math.abs(bucket - pressed) > count / 100;
      if (isDrag) show(Math.min(pressed, bucket), Math.abs(bucket - pressed));
      else choose(event.target.closest(".mark"));
      pressed = null;
      select(0, 0);
    });
    drawing.addEventListener("dblclick", function () { show(0, buckets); });

    // A click on a track chooses its process or file.
    function choose(mark) {
      if (!mark || !("process" in mark.dataset || "file" in mark.dataset)) return;
      const detail = { process: mark.dataset.process, file: mark.dataset.file };
      figure.dispatchEvent(new CustomEvent("track-chosen", { bubbles: true, detail }));
    }

    // What is being chosen with the mouse.
    function select(one, other) {
      selection.setAttribute("x", (Math.min(one, other) - from) / count * 100 + "%");
      selection.setAttribute("width", Math.abs(one - other) / count * 100 + "%");
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

    // Starts of the bins in which something happened.
    function filled() {
      if (lanes.length === 0) return Array.from(rows.keys()).sort(function (a, b) { return a - b; });
      return Array.from({ length: Math.ceil(buckets / bin) }, function (_, index) { return index * bin; })
        .filter(function (start) { return lanes.some(function (lane) { return sum(lane, start) > 0; }); });
    }
    function step(direction) {
      const starts = filled();
      const ahead = starts.filter(function (start) {
        return direction > 0 ? start > cursor : start < cursor;
      });
      if (Math.abs(direction) > 1) cursor = direction > 0 ? starts[starts.length - 1] : starts[0];
      else if (ahead.length) cursor = direction > 0 ? ahead[0] : ahead[ahead.length - 1];
      if (cursor === undefined) return void (cursor = 0);
      if (cursor < from || cursor >= from + count) show(cursor - count / 2, count);
      const origin = drawing.getBoundingClientRect();
      const plot = grid.getBoundingClientRect();
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

  function grouped(value) { return value.toLocaleString("en-US"); }

  // Three digits and a unit.
  function duration(value) {
    const unit = [["s", 1], ["ms", 1e-3], ["µs", 1e-6]].find(function (unit) { return value >= unit[1]; });
    const [name, one] = unit || ["µs", 1e-6];
    return Number((value / one).toPrecision(3)) + " " + name;
  }
})();
