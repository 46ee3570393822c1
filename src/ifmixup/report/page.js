"use strict";
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const config = { responsive: true, displaylogo: false, displayModeBar: false };
  const drawn = [];

  // Figures have no colours for text and lines: the page sets them.
  function themed(layout) {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    const axis = (given) => Object.assign({}, given, {
      gridcolor: value("--grid"), linecolor: value("--line"), zerolinecolor: value("--soft"),
    });
    return Object.assign({}, layout, {
      font: { color: value("--ink"), size: 12, family: "system-ui, sans-serif" },
      hoverlabel: Object.assign({}, layout.hoverlabel, {
        bgcolor: value("--card"), bordercolor: value("--line"), font: { color: value("--ink") },
      }),
      xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
    });
  }

  function draw(div, data, layout) {
    drawn.push({ div, layout });
    return Plotly.newPlot(div, data, themed(layout), config);
  }

  function explorer() {
    const source = document.getElementById("explorer-data");
    if (!source) return function () {};
    const values = JSON.parse(source.textContent);
    const slider = document.getElementById("explorer-lam");
    const show = function () {
      const step = Number(slider.value);
      document.getElementById("explorer-value").textContent = (step / values.steps).toFixed(3);
      document.getElementById("explorer-says").textContent = values.texts[step];
      const order = values.order[step];
      const at = (div, data, name) =>
        Plotly.react("explorer-" + div, data, themed(values.layouts[name]), config);
      at(0, values.mixed[step], "mixed");
      for (const index of [0, 1]) {
        const name = order ? order[index] : "AB"[index];
        at(index + 1, order ? values.apart[name] : [], name);
      }
    };
    slider.addEventListener("input", show);
    show();
    return show;
  }

  function methods() {
    const source = document.getElementById("methods-data");
    if (!source) return function () {};
    const values = JSON.parse(source.textContent);
    const name = document.getElementById("methods-name");
    const slider = document.getElementById("methods-draw");
    const show = function () {
      const state = values[name.value][Number(slider.value) - 1];
      document.getElementById("methods-value").textContent = slider.value;
      document.getElementById("methods-says").textContent = state.text;
      Plotly.react("methods-0", state.data, themed(state.layout), config);
    };
    name.addEventListener("change", show);
    slider.addEventListener("input", show);
    show();
    return show;
  }

  const showExplorer = explorer();
  const showMethods = methods();
  dark.addEventListener("change", function () {
    for (const each of drawn) Plotly.react(each.div, each.div.data, themed(each.layout), config);
    showExplorer();
    showMethods();
  });

  // A table that is cut fades out where it goes on.
  function shade(scroll) {
    const rest = scroll.scrollWidth - scroll.clientWidth - scroll.scrollLeft;
    scroll.parentElement.classList.toggle("more", rest > 1);
    scroll.parentElement.classList.toggle("before", scroll.scrollLeft > 1);
  }
  const tables = Array.from(document.querySelectorAll(".scroll"));
  const watch = new ResizeObserver((entries) => entries.forEach((each) => shade(each.target)));
  for (const each of tables) {
    each.addEventListener("scroll", () => shade(each), { passive: true });
    watch.observe(each);
    shade(each);
  }

  const waiting = Array.from(document.querySelectorAll("script.figure"));
  const target = (source) => document.getElementById(source.dataset.of);
  const isSeen = function (source) {
    const box = target(source).getBoundingClientRect();
    return box.bottom > 0 && box.top < window.innerHeight;
  };
  (function next() {
    if (!waiting.length) { document.body.dataset.drawn = "all"; return; }
    // Plots that are in view are drawn first.
    const [source] = waiting.splice(Math.max(0, waiting.findIndex(isSeen)), 1);
    const values = JSON.parse(source.textContent);
    draw(target(source), values.data, values.layout);
    setTimeout(next, 0); // the page stays responsive
  })();
})();
