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
  const cut = (text, room) => {
    const plain = text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
    const letters = Math.max(8, Math.floor(room / LETTER_PX));
    if (plain.length <= letters) return text;
    return (plain.slice(0, letters - 1) + "…").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  };
  const fitted = (figure, width) => {
    const room = width - 80;
    for (const note of figure.layout.annotations || []) {
      if (note.name === "panel") {
        const [, label, more] = /^<b>(.*?)<\/b>(.*)$/.exec(note.text) || [null, note.text, ""];
        const moreLetters = more.replace(/<[^>]*>/g, "").length;
        const fits = (label.length + moreLetters) * LETTER_PX < room;
        note.text = fits ? note.text : `<b>${cut(label, room)}</b>`;
      } else if (note.name === "row") {
        note.text = cut(note.text, width - 30);
      }
    }
    for (const trace of figure.data) if (trace.name) trace.name = cut(trace.name, room - 30);
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
    const source = document.getElementById(holder.dataset.source);
    const style = getComputedStyle(document.documentElement);
    const figure = fitted(resolved(JSON.parse(source.textContent), style), width || holder.clientWidth);
    // a finger that moves over a figure scrolls the page
    if (coarse.matches) figure.layout.dragmode = false;
    if (width) Object.assign(figure.layout, { width, autosize: false });
    return Plotly.react(holder, figure.data, figure.layout, { ...config, filename: holder.dataset.key });
  };
  const drawAll = (width) => holders.forEach((holder) => draw(holder, width));

  // the first figures show while the later ones are still being drawn
  const drawInTurn = async () => {
    for (const holder of holders) {
      await draw(holder);
      holder.dataset.drawn = "yes";
      await new Promise((resume) => setTimeout(resume));
    }
    document.documentElement.dataset.figures = "drawn";
  };

  // a turned phone or a dragged window
  let drawnAt = innerWidth;
  addEventListener("resize", () => {
    if (Math.abs(innerWidth - drawnAt) < 120) return;
    drawnAt = innerWidth;
    drawAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  const PAPER_WIDTH_PX = 680;
  paper.addEventListener("change", (event) => drawAll(event.matches ? PAPER_WIDTH_PX : 0));
  addEventListener("beforeprint", () => drawAll(PAPER_WIDTH_PX));
  addEventListener("afterprint", () => drawAll());

  // arrow keys walk over the points of a figure, and a screen reader hears what the label shows
  const spoken = document.getElementById("spoken");
  const walk = (holder, event) => {
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

  // a finding leads to a trial, and the trials may be folded
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.closest("details:not([open])");
    if (!folded) return;
    folded.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  drawInTurn();
})();
