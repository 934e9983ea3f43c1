
// The colors of a flame graph: for modules, and for changes between two tapes.
"use strict";

(function () {
  // Hues that color-blind readers distinguish best; names identify the rest.
  const HUES = [41, 202, 164, 327, 90, 265, 20, 225];

  function hash(text) {
    let sum = 2166136261;
    for (let i = 0; i < text.length; ++i) sum = Math.imul(sum ^ text.charCodeAt(i), 16777619);
    return (sum >>> 8) % 1000 / 1000;
  }

  // Orange for more, blue for less, gray for the same.
  function changeColour(part, isDark) {
    if (Math.abs(part) < 0.005) return isDark ? "hsl(210 6% 30%)" : "hsl(210 8% 88%)";
    const hue = part > 0 ? 27 : 205;
    const size = Math.abs(part);
    return isDark ? `hsl(${hue} ${35 + size * 35}% ${22 + size * 14}%)` : `hsl(${hue} 85% ${92 - size * 28}%)`;
  }

  heaptape.flameColours = {HUES, hash, changeColour};
})();
