// Saves a part of the page as a PNG: draws its boxes, lines, texts and canvases as they are laid out.
// Works from the disk, because nothing is loaded.
"use strict";

(function () {
  const {element} = heaptape;
  const SCALE = 2;            // pixels of the picture for each of the page
  const MOST = 40_000_000;    // pixels
  const CONTROLS = "button:not(.key), select, input, .tools:not(.keys), .copying";
  const MARGIN = 8;
  const TITLE = 24;           // the height of the line above the parts

  function isClear(colour) {
    return colour === "transparent" || /^rgba\(.*, 0\)$/.test(colour);
  }

  // Draws on a canvas whose origin is a place of the window.
  class Painter {
    constructor(context, left, top) {
      this.context = context;
      this.left = left;
      this.top = top;
    }
    rectangle(box, colour) {
      this.context.fillStyle = colour;
      this.context.fillRect(box.left - this.left, box.top - this.top, box.width, box.height);
    }
    // Borders, or an outline, within the box.
    frame(box, width, colour) {
      this.context.strokeStyle = colour;
      this.context.lineWidth = width;
      this.context.strokeRect(box.left - this.left + width / 2, box.top - this.top + width / 2, box.width - width, box.height - width);
    }
    words(node, style) {
      const range = document.createRange();
      const {context} = this;
      context.fillStyle = style.color;
      context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      context.textBaseline = "middle";
      for (const {index, 0: word} of node.data.matchAll(/\S+/g)) {
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const box = range.getBoundingClientRect();
        if (box.width > 0) context.fillText(word, box.left - this.left, box.top + box.height / 2 - this.top);
      }
    }
    // The line of a run beside its name: dashSwatch().
    swatch(svg) {
      const {context} = this;
      const box = svg.getBoundingClientRect();
      const [line] = svg.children;
      const dash = (line.getAttribute("stroke-dasharray") || "").split(" ").filter(Boolean).map((part) => part * box.width / 24);
      const y = box.top + box.height / 2 - this.top;
      context.save();
      context.strokeStyle = getComputedStyle(line).stroke;
      context.lineWidth = Number(line.getAttribute("stroke-width"));
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(box.left - this.left, y);
      context.lineTo(box.right - this.left, y);
      context.stroke();
      context.restore();
    }
    paint(one) {
      const style = getComputedStyle(one);
      if (style.display === "none" || style.visibility === "hidden" || one.matches(CONTROLS)) return;
      const {context} = this;
      const box = one.getBoundingClientRect();
      context.save();
      context.globalAlpha *= Number(style.opacity);
      if (!isClear(style.backgroundColor)) this.rectangle(box, style.backgroundColor);
      const border = parseFloat(style.borderTopWidth);
      if (border > 0 && style.borderBottomStyle === "solid") this.frame(box, border, style.borderTopColor);
      if (style.outlineStyle === "solid") this.frame(box, parseFloat(style.outlineWidth), style.outlineColor);
      if (one instanceof HTMLCanvasElement && one.width > 0) context.drawImage(one, box.left - this.left, box.top - this.top, box.width, box.height);
      if (style.overflowX === "hidden" && box.width > 0) {
        context.beginPath();
        context.rect(box.left - this.left, box.top - this.top, box.width, box.height);
        context.clip();
      }
      for (const child of one.childNodes) {
        if (child instanceof Text) this.words(child, style);
        else if (child instanceof SVGElement) this.swatch(child);
        else this.paint(child);
      }
      context.restore();
    }
  }

  // The parts below each other, under a title: a canvas.
  function draw(title, parts) {
    const boxes = parts.map((one) => one.getBoundingClientRect());
    const ends = parts.map((one, i) => Math.max(...[...one.children].map((child) => child.getBoundingClientRect().right - boxes[i].left)));
    const width = Math.max(200, ...ends) + 2 * MARGIN;
    const height = boxes.reduce((sum, box) => sum + box.height + MARGIN, TITLE + MARGIN);
    const scale = Math.min(SCALE, Math.sqrt(MOST / (width * height)));
    const canvas = element("canvas", {width: Math.ceil(width * scale), height: Math.ceil(height * scale)});
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.fillStyle = heaptape.colour("paper");
    context.fillRect(0, 0, width, height);
    context.fillStyle = heaptape.colour("ink");
    context.font = "600 13px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillText(title, MARGIN, TITLE / 2, width - 2 * MARGIN);
    let top = TITLE;
    parts.forEach((one, i) => {
      new Painter(context, boxes[i].left - MARGIN, boxes[i].top - top).paint(one);
      top += boxes[i].height + MARGIN;
    });
    return canvas;
  }

  // A browser makes no picture that is too large for it.
  function download(name, blob) {
    if (!blob) return console.error("This picture is too large for the browser.");
    const link = element("a", {href: URL.createObjectURL(blob), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  // A button that saves the parts that `parts` returns, as heaptape-`name`.png, below the text that `title`
  // returns.
  function pngButton(name, title, parts) {
    return element("button", {type: "button", class: "save", text: "PNG", title: "Save as a picture", "aria-label": "Save " + name + " as a PNG",
                              onclick: () => draw(title(), parts().filter(Boolean)).toBlob((blob) => download("heaptape-" + name.replace(/\W+/g, "-") + ".png", blob))});
  }

  heaptape.picture = {draw, pngButton};
})();
