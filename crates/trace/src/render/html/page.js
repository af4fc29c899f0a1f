"use strict";
(() => {
  const units = 1e6;
  const plots = [...document.querySelectorAll(".plot")];
  const charts = [...document.querySelectorAll(".chart")];
  const wholeNs = Math.max(Number(document.body.dataset.durationNs), 1);

  // 1, 2 or 5 and zeros.
  const step = (ns) => {
    const decade = 10 ** Math.floor(Math.log10(Math.max(ns, 1)));
    return decade * [1, 2, 5, 10].find((part) => decade * part >= ns);
  };

  const label = (ns, stepNs) => {
    const all = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];
    const [unit, name] = all.find(([unit]) => wholeNs >= unit);
    return (ns / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / stepNs) - 1e-9))) + " " + name;
  };

  const show = (from, to) => {
    for (const plot of plots) {
      plot.setAttribute("viewBox", `${from} 0 ${to - from} ${plot.viewBox.baseVal.height}`);
    }
    const [fromNs, toNs] = [from, to].map((at) => (wholeNs * at) / units);
    for (const chart of charts) {
      const frame = chart.querySelector(".frame");
      const [left, width] = ["x", "width"].map((name) => Number(frame.getAttribute(name)));
      const ticks = [...chart.querySelectorAll(".tick")];
      const stepNs = step((toNs - fromNs) / (ticks.length - 1));
      const first = Math.ceil(fromNs / stepNs - 1e-9);
      ticks.forEach((tick, index) => {
        const ns = (first + index) * stepNs;
        const x = left + (width * (ns - fromNs)) / (toNs - fromNs);
        tick.setAttribute("transform", `translate(${Math.min(x, left + width)} 0)`);
        tick.setAttribute("visibility", ns > toNs ? "hidden" : "visible");
        tick.querySelector("text").textContent = label(ns, stepNs);
      });
    }
  };

  for (const zoom of document.querySelectorAll(".zoom")) zoom.hidden = plots.length === 0;
  document.getElementById("all").addEventListener("click", () => show(0, units));

  for (const plot of plots) {
    let first = null;
    let chosen = null;
    const at = (event) => {
      const box = plot.querySelector(".ground").getBoundingClientRect();
      const part = (event.clientX - box.left) / Math.max(box.width, 1);
      const view = plot.viewBox.baseVal;
      return Math.min(Math.max(part * units, view.x), view.x + view.width);
    };
    const forget = () => {
      if (chosen) chosen.remove();
      first = chosen = null;
    };
    plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      first = at(event);
      plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener("pointermove", (event) => {
      if (first === null) return;
      if (!chosen) {
        chosen = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        chosen.setAttribute("class", "chosen");
        chosen.setAttribute("height", plot.viewBox.baseVal.height);
        plot.append(chosen);
      }
      const now = at(event);
      chosen.setAttribute("x", Math.min(first, now));
      chosen.setAttribute("width", Math.abs(now - first));
    });
    plot.addEventListener("pointerup", (event) => {
      if (first === null) return;
      const [from, to] = [Math.min(first, at(event)), Math.max(first, at(event))];
      const enough = to - from > plot.viewBox.baseVal.width / 200;
      forget();
      // Not more than two thousand times: coordinates are whole numbers.
      if (enough && to - from > units / 2000) show(from, to);
    });
    plot.addEventListener("pointercancel", forget);
    plot.addEventListener("dblclick", () => show(0, units));
  }

  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });

  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const code = button.previousElementSibling;
      const range = document.createRange();
      range.selectNodeContents(code);
      const selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      const done = (copied) => {
        button.textContent = copied ? "Copied" : "Selected";
      };
      const old = () => done(document.execCommand("copy"));
      if (navigator.clipboard) {
        navigator.clipboard.writeText(code.textContent).then(() => done(true), old);
      } else {
        old();
      }
    });
  }
})();
