(() => {
  "use strict";
  const holders = [...document.querySelectorAll(".plot")];
  const config = {
    responsive: true, displaylogo: false, scrollZoom: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
  };
  const coarse = matchMedia("(pointer: coarse)");
  const paper = matchMedia("print");

  // colours are written as var(--name), so that one figure serves light, dark and paper
  const resolved = (value, style) => {
    if (typeof value === "string") {
      return value.startsWith("var(") ? style.getPropertyValue(value.slice(4, -1)).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => resolved(item, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, style)]));
    }
    return value;
  };

  // a narrow page has room for fewer ticks and shorter words; the hover label and the table have them whole
  const LETTER_PX = 6.4;
  const NARROW_PX = 900;
  const ruler = document.createElement("canvas").getContext("2d");
  const widthOf = (text) => {
    ruler.font = `bold 12px ${getComputedStyle(document.body).fontFamily}`;
    return ruler.measureText(text).width;
  };
  const cut = (text, room) => {
    const plain = text.replace(/<[^>]*>/g, "").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
    if (plain.length * LETTER_PX <= room && widthOf(plain) <= room) return text;
    let kept = plain.slice(0, Math.max(8, Math.floor(room / LETTER_PX)));
    while (kept.length > 4 && widthOf(`${kept}…`) > room) kept = kept.slice(0, Math.ceil(0.9 * kept.length) - 1);
    return `${kept}…`.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  };
  const fitted = (figure, width) => {
    const room = width - 80;
    for (const note of figure.layout.annotations || []) {
      if (note.name === "panel" || note.name === "half-panel") {
        const space = note.name === "panel" ? room : (width - 90) / 2;
        const [, label, more] = /^<b>(.*?)<\/b>(.*)$/.exec(note.text) || [null, note.text, ""];
        const moreLetters = more.replace(/<[^>]*>/g, "").length;
        const fits = (label.length + moreLetters) * LETTER_PX < space;
        note.text = fits ? note.text : `<b>${cut(label, space)}</b>`;
      } else if (note.name === "row") {
        note.text = cut(note.text, width - 30);
      }
    }
    for (const trace of figure.data) if (trace.name) trace.name = cut(trace.name, room - 30);
    // a word right of the last mark needs its room outside the axes
    if (width <= NARROW_PX) {
      const right = figure.data.filter((trace) => trace.mode === "text" && trace.textposition === "middle right");
      const letters = Math.max(0, ...right.flatMap((trace) => trace.text.map((text) => text.replace(/<[^>]*>/g, "").length)));
      for (const trace of right) trace.cliponaxis = false;
      figure.layout.margin.r = Math.max(figure.layout.margin.r, letters * LETTER_PX);
    }
    if (width > 620) return figure;
    for (const [key, axis] of Object.entries(figure.layout)) {
      if (!key.startsWith("xaxis") || axis.tickmode !== "array" || axis.tickvals.length <= 6) continue;
      const places = axis.tickvals.map((_, place) => place);
      const tens = places.filter((place) => Number.isInteger(Math.log10(axis.tickvals[place])));
      const every = Math.ceil(places.length / 5);
      const kept = tens.length >= 2 ? tens : places.filter((place) => place % every === 0);
      axis.tickvals = kept.map((place) => axis.tickvals[place]);
      axis.ticktext = kept.map((place) => axis.ticktext[place]);
    }
    return figure;
  };

  const draw = (holder, width) => {
    const style = getComputedStyle(document.documentElement);
    const figure = fitted(resolved(holder.drawing, style), width || holder.clientWidth);
    // a finger that moves over a figure scrolls the page
    if (coarse.matches) figure.layout.dragmode = false;
    if (width) Object.assign(figure.layout, { width, autosize: false });
    return Plotly.react(holder, figure.data, figure.layout, { ...config, filename: holder.dataset.key });
  };
  // a figure in a folded part has no width yet: it is drawn when the part is opened
  const isFolded = (holder) => holder.closest("details:not([open])") !== null;
  const drawAgain = (width) => {
    for (const holder of holders) if (holder.drawing && (width || !isFolded(holder))) draw(holder, width);
  };

  // gzip in Base64, as text or as whatever the type says
  const unpacked = (letters, type) => {
    const packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    const content = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(content, { headers: { "content-type": type } });
  };
  // what stands in a new element is run at once, and the page's policy knows its hash
  const loadPlotly = async () => {
    const script = document.createElement("script");
    script.textContent = await unpacked(document.getElementById("packed-plotly").textContent, "text/javascript").text();
    document.body.append(script);
  };

  const loading = window.DecompressionStream ? loadPlotly() : new Promise(() => {});

  // the first figures show while the later ones are still being drawn
  const drawInTurn = async () => {
    document.documentElement.dataset.figures = "drawing";
    for (const holder of holders) {
      if (holder.dataset.drawn || isFolded(holder)) continue;
      holder.dataset.drawn = "yes";
      holder.drawing = await unpacked(holder.dataset.packed, "application/json").json();
      await draw(holder);
      await new Promise((resume) => setTimeout(resume));
    }
    document.documentElement.dataset.figures = "drawn";
  };
  // what was drawn for another width or in other colours while it was folded is drawn again
  document.addEventListener("toggle", (event) => {
    if (!event.target.open) return;
    const inside = holders.filter((holder) => event.target.contains(holder) && !isFolded(holder));
    for (const holder of inside) if (holder.drawing) draw(holder);
    if (inside.some((holder) => !holder.dataset.drawn)) loading.then(drawInTurn);
  }, true);

  // a turned phone or a dragged window
  let drawnAt = innerWidth;
  addEventListener("resize", () => {
    if (Math.abs(innerWidth - drawnAt) < 120) return;
    drawnAt = innerWidth;
    drawAgain();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAgain());
  // paper has no folded tables; figures that nobody opened stay away, or a report of many runs fills a binder
  const PAPER_WIDTH_PX = 680;
  const PAPER_PARTS = "details.part:not(.run-figures)";
  let unfoldedForPaper = [];
  const toPaper = () => {
    if (!unfoldedForPaper.length) {
      unfoldedForPaper = [...document.querySelectorAll(PAPER_PARTS)].filter((part) => !part.open && !part.querySelector(".plot"));
      for (const part of unfoldedForPaper) part.open = true;
    }
    drawAgain(PAPER_WIDTH_PX);
  };
  const fromPaper = () => {
    for (const part of unfoldedForPaper) part.open = false;
    unfoldedForPaper = [];
    drawAgain();
  };
  paper.addEventListener("change", (event) => (event.matches ? toPaper() : fromPaper()));
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);

  // arrow keys walk over the points of a figure, and a screen reader hears what the label shows
  const spoken = document.getElementById("spoken");
  const walk = (holder, event) => {
    if (!holder._fullData) return;
    const lines = holder._fullData.map((trace, curve) => [trace, curve])
      .filter(([trace]) => trace.visible === true && trace.hoverinfo !== "skip" && (trace.text || trace.hovertext));
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (event.key === "Escape") { Plotly.Fx.unhover(holder); return; }
    if (!steps || !lines.length) return;
    event.preventDefault();
    const at = holder.walkedTo || { line: 0, point: -1 };
    const line = (at.line + steps[0] + lines.length) % lines.length;
    const [trace, curveNumber] = lines[line];
    const point = Math.max(0, Math.min(trace.x.length - 1, steps[0] ? 0 : at.point + steps[1]));
    holder.walkedTo = { line, point };
    Plotly.Fx.hover(holder, [{ curveNumber, pointNumber: point }], trace.xaxis + trace.yaxis);
    const words = (trace.hovertext || trace.text)[point] || "";
    spoken.textContent = words.replace(/<[^>]*>/g, " ").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  };
  holders.forEach((holder) => {
    holder.addEventListener("keydown", (event) => walk(holder, event));
    holder.addEventListener("blur", () => holder._fullLayout && Plotly.Fx.unhover(holder));
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
  loading.then(drawInTurn);
})();
