
"use strict";
// Draws the charts of the page in its colors, light or dark, and anew when these change.
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const places = Array.from(document.getElementsByClassName("chart"));
  const runs = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#8a8f98", "#7b61c4"];

  function template() {
    const styles = getComputedStyle(document.documentElement);
    const colour = (name) => styles.getPropertyValue(name).trim();
    const axis = {gridcolor: colour("--line"), zerolinecolor: colour("--soft"), linecolor: colour("--line"), automargin: true};
    return {
      layout: {
        paper_bgcolor: colour("--paper"),
        plot_bgcolor: colour("--paper"),
        font: {color: colour("--ink"), family: "system-ui, Segoe UI, Roboto, DejaVu Sans, sans-serif", size: 12},
        colorway: runs,
        hoverlabel: {bgcolor: colour("--panel"), bordercolor: colour("--line"), font: {color: colour("--ink")}, namelength: -1},
        margin: {t: 30, r: 10},
        xaxis: axis,
        yaxis: axis,
      },
    };
  }

  function draw() {
    figures.forEach((figure, i) => {
      const layout = Object.assign({}, figure.layout, {template: template()});
      Plotly.react(places[i], figure.data, layout, {responsive: true, displayModeBar: false});
    });
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  for (const folded of document.getElementsByTagName("details")) {
    folded.addEventListener("toggle", () => Array.from(folded.getElementsByClassName("chart")).forEach((place) => Plotly.Plots.resize(place)));
  }
})();
