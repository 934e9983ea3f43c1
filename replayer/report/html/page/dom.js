
// Makes elements. Text from the report enters the page only through `text`, which cannot create
// markup.
"use strict";

const heaptape = {};

// element("p", {class: "note", text: "...", onclick: f, "aria-label": "..."}, child, ...)
heaptape.element = function (tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null) continue;
    if (name === "text") {
      made.textContent = value;
    } else if (name === "style") {
      for (const [property, setting] of Object.entries(value)) made.style.setProperty(property, setting);
    } else if (name.startsWith("on")) {
      made.addEventListener(name.slice(2), value);
    } else {
      made.setAttribute(name, value);
    }
  }
  for (const child of children) if (child) made.append(child);
  return made;
};

// Properties of an element for a long name: shows it without its middle, and the whole on hover.
heaptape.named = function (name) {
  const MOST = 48;
  const letters = [...name];
  if (letters.length <= MOST) return {text: name};
  const kept = Math.floor((MOST - 1) / 2);
  return {text: letters.slice(0, kept).join("") + "\u2026" + letters.slice(-kept).join(""), title: name};
};

// Splits the text so that lines do not break between a number and its unit. Each term explains itself at its first place.
const explained = new Set();
heaptape.prose = function (text) {
  return text.split(/(\d[\d.,]* (?:B|KiB|MiB|GiB|TiB|ns|us|ms|s)\b)/).flatMap((piece, i) =>
    i % 2 === 0 ? heaptape.terms(piece, explained) : heaptape.element("span", {class: "unbroken", text: piece}));
};

// A part of the page, under a heading.
heaptape.section = function (id, heading, ...children) {
  const {element} = heaptape;
  return element("section", {id, "aria-labelledby": id + "-heading"},
                 element("h2", {id: id + "-heading", text: heading}), ...children);
};

// Shows a button of a row of choices as pressed.
heaptape.press = function (row, value) {
  for (const button of row.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.value === value));
};

// A row of buttons, one of them pressed. `choices`: [value, text]; calls chosen(value). `name`: that
// of the choice in the page's address; null keeps it out.
heaptape.choice = function (label, choices, first, chosen, name = null) {
  const {element} = heaptape;
  const row = element("div", {class: "tools", role: "group", "aria-label": label});
  for (const [value, text] of choices) {
    row.append(element("button", {
      type: "button",
      ...heaptape.named(text),
      "data-value": value,
      "aria-pressed": String(value === first),
      onclick: () => {
        heaptape.press(row, value);
        chosen(value);
      },
    }));
  }
  if (name) {
    heaptape.state.keep(name, () => row.querySelector('[aria-pressed="true"]').dataset.value, (value) => {
      const button = [...row.children].find((one) => one.dataset.value === value);
      if (button) button.click();
    });
  }
  return row;
};

// A color of page.css by its name.
heaptape.colour = function (name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
};

// Between two parts of long work, lets the reader's input go first.
heaptape.breath = function () {
  return new Promise((go) => setTimeout(go));
};

// Calls `change` whenever the page's colors change.
heaptape.onTheme = function (change) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", change);
  matchMedia("print").addEventListener("change", change);
};
