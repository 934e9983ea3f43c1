// Copies the verdict as text and tables as text between tabs, for a spreadsheet.
"use strict";

(function () {
  const {element} = heaptape;

  // On one line, and never a formula.
  function field(text) {
    const line = text.replace(/[\t\r\n]+/g, " ").trim();
    return /^[=+\-@]/.test(line) && !/^-?[\d.]+(e-?\d+)?$/.test(line) ? "'" + line : line;
  }

  // Exact numbers without units, where there are some.
  function cellText(cell) {
    const figure = cell.dataset.value === undefined ? cell.querySelector("[data-value]:not(button)") : cell;
    return field(figure ? figure.dataset.value : cell.dataset.whole || cell.textContent);
  }

  // A heading has the group above it, and the unit of the exact numbers below.
  function headings(table) {
    const lines = [...table.tHead.rows].map((row) => [...row.cells].flatMap((cell) => new Array(cell.colSpan).fill(cell.textContent.trim())));
    const [first] = table.tBodies[0].rows;
    return lines[lines.length - 1].map((name, i) => {
      const cell = first && first.cells[i];
      const figure = cell && (cell.dataset.unit ? cell : cell.querySelector("[data-unit]"));
      const unit = figure && ["bytes", "ns"].includes(figure.dataset.unit) ? "(" + figure.dataset.unit + ")" : "";
      return field([...lines.slice(0, -1).map((line) => line[i]), name, unit].filter(Boolean).join(" "));
    });
  }

  function tableText(table) {
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map(cellText));
    return [headings(table), ...rows].map((row) => row.join("\t") + "\n").join("");
  }

  function verdictText(data) {
    if (data.kind === "explain") return [data.verdict, data.where].filter(Boolean).join("\n") + "\n";
    if (data.kind === "diff") return [data.verdict, data.headline, ...data.parts, ...data.reasons].filter(Boolean).join("\n") + "\n";
    const {headline, findings} = data.verdict;
    const lines = findings.flatMap(({evidence, action}, i) => [(i + 1) + ". " + evidence, action && "   " + action]);
    return [headline, ...lines, data.where].filter(Boolean).join("\n") + "\n";
  }

  // Browsers without a clipboard for pages copy a selection.
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch (error) {
      const area = element("textarea", {style: {position: "fixed", opacity: "0"}});
      area.value = text;
      document.body.append(area);
      area.select();
      const isDone = document.execCommand("copy");
      area.remove();
      return isDone;
    }
  }

  const said = element("div", {id: "said", role: "status"});

  // A button that copies the result of `text`, and says so for a moment.
  function button(words, text) {
    const press = async ({currentTarget: pressed}) => {
      const isDone = await copy(text());
      pressed.focus();  // selecting takes the focus
      said.textContent = isDone ? "copied" : "this browser does not let pages copy";
      setTimeout(() => { said.textContent = ""; }, 3000);
    };
    return element("div", {class: "copying"}, element("button", {type: "button", class: "save", text: words, onclick: press}));
  }

  // Once the page is there: below the verdict and below each table.
  function addButtons(data) {
    document.body.append(said);
    document.getElementById("head").append(button("Copy the verdict", () => verdictText(data)));
    for (const box of document.querySelectorAll(".scroll")) {
      const table = box.querySelector("table");
      if (table) box.after(button("Copy the table", () => tableText(table)));
    }
  }

  heaptape.copying = {addButtons, tableText, verdictText};
})();
