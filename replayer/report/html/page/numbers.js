
// Numbers for people, in the format of base/number_text.cc, so that the page and the terminal's
// tables agree.
"use strict";

(function () {
  // A number beyond 2^53 comes as a string of digits.
  function grouped(value) {
    return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  }

  // "1 block", "2,000 blocks".
  function counted(number, word) {
    return grouped(number) + " " + word + (Number(number) === 1 ? "" : "s");
  }

  // Rounds like printf: ties to even, where toFixed rounds up.
  function fixed(number, digits) {
    const halves = number * 2 ** (digits + 1);
    if (!Number.isInteger(halves) || halves % 2 === 0) return number.toFixed(digits);
    const below = Math.floor(number * 10 ** digits);
    return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
  }

  function scaled(number, step, units) {
    let unit = 0;
    while (unit + 1 < units.length && number >= step - 0.05) {
      number /= step;
      ++unit;
    }
    return fixed(number, number < 9.995 ? 2 : 1) + " " + units[unit];
  }

  function bytes(value) {
    const number = Number(value);
    if (number < 0) return "-" + bytes(-number);
    if (number < 1024) return number + " B";
    return scaled(number, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
  }

  // Short, for axes: "1.5M", "200k".
  function short(value, digits = 3) {
    const units = ["", "k", "M", "G", "T"];
    let number = Math.abs(value);
    let unit = 0;
    while (unit + 1 < units.length && number >= 1000) {
      number /= 1000;
      ++unit;
    }
    return (value < 0 ? "-" : "") + Number(number.toPrecision(digits)) + units[unit];
  }

  // The same for bytes, in powers of two: "1.5 MiB", "0".
  function shortBytes(value, digits = 3) {
    if (value === 0) return "0";
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let number = Math.abs(value);
    let unit = 0;
    while (unit + 1 < units.length && number >= 1024) {
      number /= 1024;
      ++unit;
    }
    return (value < 0 ? "-" : "") + Number(number.toPrecision(digits)) + " " + units[unit];
  }

  function duration(ns) {
    return scaled(Number(ns), 1000, ["ns", "us", "ms", "s"]);
  }

  function value(number, unit) {
    if (number === null || number === undefined) return "-";
    if (unit === "bytes") return bytes(number);
    if (unit === "ns") return duration(number);
    if (unit === "ratio") return fixed(Number(number), 4);
    if (unit === "percent") return fixed(Number(number) * 100, 4) + "%";
    if (unit === "share") return share(number, 1);
    return grouped(number);
  }

  // Without rounding.
  function exact(number, unit) {
    if (number === null || number === undefined) return "";
    const whole = typeof number === "string" || Number.isInteger(number);
    const suffix = unit === "bytes" ? " B" : unit === "ns" ? " ns" : "";
    return (whole ? grouped(number) : String(Number(Number(number).toPrecision(9)))) + suffix;
  }

  // Like share_text of metric_text.cc.
  function share(part, whole) {
    if (!Number(whole)) return "-";
    const percent = Number(part) / Number(whole) * 100;
    return Number(part) !== 0 && percent < 0.05 ? "<0.1%" : fixed(percent, 1) + "%";
  }

  Object.assign(heaptape, {grouped, counted, bytes, short, shortBytes, duration, value, exact, share});
})();
