(() => {
  "use strict";
  const holders = [...document.querySelectorAll(".plot")];

  // each figure is drawn twice, for wide pages and for telephones; colours are the page's own
  const NARROW_PX = 560;
  const draw = (shown) => {
    // every width is asked for before anything is drawn: each one asked for after it would lay out the whole page anew
    const places = shown.map((holder) => (holder.clientWidth < NARROW_PX ? 1 : 0));
    shown.forEach((holder, number) => {
      const drawing = holder.drawings[places[number]];
      if (holder.drawing === drawing) return;
      holder.drawing = drawing;
      holder.innerHTML = drawing.svg;
      holder.style.minHeight = "";
      holder.dataset.drawn = "yes";
    });
  };
  // a figure in a folded part has no width yet: it is drawn when the part is opened
  const isFolded = (holder) => holder.closest("details:not([open])") !== null;

  const unpack = async (holder) => {
    holder.isBegun = true;
    const [wide, narrow] = await unpacked(holder.dataset.packed, "application/json").json();
    narrow.told.forEach((line, place) => { line.text ??= wide.told[place].text; });
    holder.drawings = [wide, narrow];
  };
  const drawShown = async () => {
    if (!window.DecompressionStream) return;
    document.documentElement.dataset.figures = "drawing";
    const shown = holders.filter((holder) => !holder.isBegun && !isFolded(holder));
    await Promise.all(shown.map(unpack));
    draw(shown);
    document.documentElement.dataset.figures = "drawn";
  };
  // what was drawn for another width while it was folded is drawn again
  document.addEventListener("toggle", (event) => {
    if (!event.target.open) return;
    const inside = holders.filter((holder) => event.target.contains(holder) && !isFolded(holder));
    draw(inside.filter((holder) => holder.drawings));
    if (inside.some((holder) => !holder.isBegun)) drawShown();
  }, true);

  // a turned phone or a dragged window
  addEventListener("resize", () => {
    draw(holders.filter((holder) => holder.drawings && !isFolded(holder)));
  });
  // paper has no folded tables; figures that nobody opened stay away, or a report of many runs fills a binder
  const PAPER_PARTS = "details.part:not(.run-figures)";
  let unfoldedForPaper = [];
  const toPaper = () => {
    if (!unfoldedForPaper.length) {
      unfoldedForPaper = [...document.querySelectorAll(PAPER_PARTS)].filter((part) => !part.open && !part.querySelector(".plot"));
      for (const part of unfoldedForPaper) part.open = true;
    }
  };
  const fromPaper = () => {
    for (const part of unfoldedForPaper) part.open = false;
    unfoldedForPaper = [];
  };
  const paper = matchMedia("print");
  paper.addEventListener("change", (event) => (event.matches ? toPaper() : fromPaper()));
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);

  // what is pointed at tells its numbers, and a ring shows which it is
  const hide = (holder) => holder.querySelectorAll(".told, .ring").forEach((part) => part.remove());
  const tell = (holder, line, point) => {
    hide(holder);
    const scale = holder.clientWidth / holder.drawing.width;
    const [x, y] = [line.x[point] * scale, line.y[point] * scale];
    const ring = Object.assign(document.createElement("i"), { className: "ring" });
    const told = Object.assign(document.createElement("div"), { className: "told", innerHTML: line.text[point] });
    Object.assign(ring.style, { left: `${x}px`, top: `${y}px` });
    holder.append(...(line.half ? [told] : [ring, told]));
    const left = x + 12 + told.offsetWidth > holder.clientWidth ? Math.max(0, x - 12 - told.offsetWidth) : x + 12;
    Object.assign(told.style, { left: `${left}px`, top: `${Math.max(0, y - told.offsetHeight - 12)}px` });
    return told.innerText;
  };
  const REACH_PX = 40;
  const nearest = (holder, event) => {
    const box = holder.getBoundingClientRect();
    const scale = holder.clientWidth / holder.drawing.width;
    const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    let found = null;
    let least = REACH_PX;
    for (const line of holder.drawing.told) {
      line.x.forEach((at, point) => {
        const [half, high] = line.half ? line.half[point] : [0, 0];
        const across = Math.max(0, Math.abs(x - at) - half);
        const up = line.span ? Math.max(line.span[0] - y, y - line.span[1], Math.abs(y - line.y[point]) / 20, 0)
          : Math.max(0, Math.abs(y - line.y[point]) - high);
        const away = Math.hypot(across, up);
        if (away < least) [least, found] = [away, [line, point]];
      });
    }
    return found;
  };
  const point = (holder, event) => {
    if (!holder.drawing) return;
    const found = nearest(holder, event);
    if (found) tell(holder, ...found);
    else hide(holder);
  };

  // arrow keys walk over the points of a figure, and a screen reader hears what the label shows
  const spoken = document.getElementById("spoken");
  const walk = (holder, event) => {
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (event.key === "Escape") { hide(holder); return; }
    const lines = holder.drawing ? holder.drawing.told : [];
    if (!steps || !lines.length) return;
    event.preventDefault();
    const at = holder.walkedTo || { line: 0, point: -1 };
    const line = (at.line + steps[0] + lines.length) % lines.length;
    const point = Math.max(0, Math.min(lines[line].x.length - 1, steps[0] ? 0 : at.point + steps[1]));
    holder.walkedTo = { line, point };
    spoken.textContent = tell(holder, lines[line], point);
  };
  holders.forEach((holder) => {
    holder.addEventListener("keydown", (event) => walk(holder, event));
    holder.addEventListener("blur", () => hide(holder));
    holder.addEventListener("pointermove", (event) => point(holder, event));
    holder.addEventListener("pointerdown", (event) => point(holder, event));
    // a finger leaves as soon as it is lifted
    holder.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(holder); });
  });

  // a finding leads to a trial, and the trials may be folded, in a part of the page that is folded too
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.closest("details:not([open])")) return;
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  // the CSV of a long table is packed: it is saved as it was, where the browser can unpack it
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a[href^='data:application/gzip']");
    if (!link || !window.DecompressionStream) return;
    event.preventDefault();
    const table = unpacked(link.href.slice(link.href.indexOf(",") + 1), "text/csv");
    const saved = document.createElement("a");
    saved.href = URL.createObjectURL(await table.blob());
    saved.download = link.download.replace(/\.gz$/, "");
    saved.click();
    setTimeout(() => URL.revokeObjectURL(saved.href), 60_000);
  });

  document.getElementById("cannot-unpack").hidden = Boolean(window.DecompressionStream);
  drawShown();
})();
