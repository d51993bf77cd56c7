(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const body = byId("rows");
  const rows = [...body.rows].map((element) => {
    const cells = [...element.cells].slice(1).map((cell) => cell.textContent);
    const text = `${cells.join("\n")}\n${element.dataset.run}`.toLowerCase();
    return { element, cells, text, box: element.querySelector("input") };
  });

  // a row is shown that holds every word, and has the level of every choice
  // more rows than anybody reads would be laid out anew with every letter
  let shownMax = rows.filter((row) => !row.element.hidden).length;
  const choices = [...document.querySelectorAll("#filters select")];
  const runCount = new Set(rows.map((row) => row.element.dataset.run)).size;
  const filter = () => {
    const words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = choices.filter((choice) => choice.value).map((choice) => [choice.dataset.column, choice.value]);
    let count = 0;
    const runs = new Set();
    for (const row of rows) {
      const isShown = words.every((word) => row.text.includes(word))
        && chosen.every(([column, level]) => row.cells[column] === level);
      count += isShown;
      if (isShown) runs.add(row.element.dataset.run);
      row.element.hidden = !isShown || count > shownMax;
    }
    byId("more").hidden = count <= shownMax;
    byId("more").textContent = `show all ${count}`;
    // a run of several drives has a row for each
    const told = (part, all, what) => `${part === all ? all : `${part} of ${all}`} ${what}`;
    const ofRows = runCount < rows.length ? `, ${told(count, rows.length, "rows")}` : "";
    byId("count").textContent = `${told(runs.size, runCount, "runs")}${ofRows}`;
  };
  byId("filters").addEventListener("input", filter);
  byId("more").addEventListener("click", () => { shownMax = rows.length; filter(); });
  byId("filters").addEventListener("reset", () => setTimeout(filter));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());

  const collator = new Intl.Collator("en", { numeric: true });
  const sort = (button) => {
    const head = button.closest("th");
    const isUp = head.getAttribute("aria-sort") !== "ascending";
    document.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
    const column = button.dataset.column;
    rows.sort((one, other) => (isUp ? 1 : -1) * collator.compare(one.cells[column], other.cells[column]));
    body.append(...rows.map((row) => row.element));
    filter();
  };
  document.querySelectorAll("button.sort").forEach((button) => button.addEventListener("click", () => sort(button)));

  // of a third tick the oldest is taken back
  let ticked = [];
  const tick = (row) => {
    ticked = row.box.checked ? [...ticked, row] : ticked.filter((other) => other !== row);
    while (ticked.length > 2) ticked.shift().box.checked = false;
    name();
  };
  const name = () => {
    byId("bar").hidden = !ticked.length;
    const names = ticked.map((one, place) => `${["BASE", "NEW"][place]} ${one.element.dataset.run}`);
    byId("ticked").textContent = names.join(" · ");
    byId("compare").disabled = ticked.length < 2;
  };
  rows.forEach((row) => row.box?.addEventListener("change", () => tick(row)));
  byId("clear").addEventListener("click", () => {
    for (const row of [...ticked]) { row.box.checked = false; tick(row); }
  });

  // three digits, in the unit in which people know a value of that size
  const UNITS = {
    ns: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
    "B/s": [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]],
  };
  const digits = (value) => {
    const rounded = Number(value.toPrecision(3));
    return rounded >= 100 ? rounded.toLocaleString("en").replaceAll(",", "\u202f") : value.toPrecision(3);
  };
  const quantity = (value, unit) => {
    const [scale, name] = (UNITS[unit] ?? []).find(([one]) => value >= one) ?? [1, unit === "1/s" ? "/s" : ""];
    return `${digits(value / scale)}${name.startsWith("/") ? "" : "\u00a0"}${name}`.trim();
  };
  const endsText = (side, unit) => (side.repeats === 1 ? ""
    : `${quantity(side.lowest, unit)} to ${quantity(side.highest, unit)}, ${side.repeats}×`);

  const ALIKE_WITHIN = 0.005;
  let data = null;
  const placeOf = (row) => row.element.dataset.place.split(",").map(Number);
  const sideOf = (row, isOfDrive) => {
    const [experiment, run, drive] = placeOf(row);
    const of = data.experiments[experiment];
    const all = of.drives[drive];
    if (!isOfDrive || all.runs.length < 2) return { runs: [of.runs[run]], way: of.runs[run].way };
    return { ...all, runs: all.runs.map((place) => of.runs[place]) };
  };
  const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
  const answer = (found, sides) => {
    const judged = found.filter((row) => row.isJudged);
    const counts = sides.map((side) => side.runs.length);
    if (!found.length) return "These two have no number in common.";
    if (Math.min(...counts) < data.rules.runs_min) {
      const few = counts.every((one) => one === 1) ? "one run each" : `${counts[0]} and ${counts[1]} runs`;
      return `Nothing is judged: ${few}, and another run may differ. It takes ${data.rules.runs_min} a side.`;
    }
    const of = (verdict) => judged.filter((row) => row.verdict === verdict).length;
    const parts = data.rules.verdicts.map((verdict) => [verdict, of(verdict)]);
    const words = parts.filter(([, count]) => count).map(([verdict, count]) => `${count} ${verdict}`);
    return `Of ${counted(judged.length, "judged number")} of NEW: ${words.join(", ")}.`;
  };
  // what a comparison of numbers that both sides have does not show
  const unjudged = (of, sides, found) => {
    const judged = new Set(found.filter((row) => row.isJudged).map((row) => row.combination));
    const have = (place) => sides.every((side) => (side.way[place] ?? null) !== null);
    const count = of.combinations.filter((_, place) => have(place) && !judged.has(place)).length;
    return count ? [`Of ${counted(count, "combination")} the judged number is left out: only one side has it.`] : [];
  };
  // numbers of combinations that both have, beside the judged ones: another one may be judged there
  const alone = (of, sides) => sides.flatMap((side, which) => {
    const has = (one, [combination, metric]) => of.numbers.some(([place, its], number) =>
      place === combination && its === metric && twoSides.valuesOf(one, number, combination));
    const counts = new Map();
    for (const number of of.numbers) {
      const [combination, , title] = number;
      if ((sides[1 - which].way[combination] ?? null) === null || has(sides[1 - which], number)) continue;
      if (has(side, number)) counts.set(title, (counts.get(title) ?? 0) + 1);
    }
    const words = [...counts].map(([title, count]) => `${title} (${counted(count, "combination")})`);
    return words.length ? [`Only ${which ? "NEW" : "BASE"} has ${words.join(", ")}.`] : [];
  });
  const NAMED_MAX = 3;
  const lacking = (of, sides) => sides.flatMap((side, which) => {
    const [own, its] = [side, sides[1 - which]].map((one) => one.way.map((way) => (way ?? null) !== null));
    const missing = of.combinations.filter((_, place) => own[place] && !its[place]);
    const [name, other] = which ? ["NEW", "BASE"] : ["BASE", "NEW"];
    const more = missing.length > NAMED_MAX ? [`and ${missing.length - NAMED_MAX} more`] : [];
    const named = [...missing.slice(0, NAMED_MAX), ...more].join("; ");
    return named ? [`${name} has ${counted(missing.length, "combination")} that ${other} lacks: ${named}.`] : [];
  });
  const made = (name, properties) => Object.assign(document.createElement(name), properties);
  const cell = (textContent, className = "", title = "") => made("td", { textContent, className, title });
  const withEnds = (element, ends) => {
    if (ends) element.append(made("span", { className: "interval", textContent: ends }));
    return element;
  };
  const verdictText = (row) => {
    if (row.verdict !== "seen only") return [row.verdict, row.why.join("; ")].filter(Boolean).join(": ");
    const isAlike = Math.abs(row.log) < Math.log1p(ALIKE_WITHIN);
    return `seen only, looks ${isAlike ? "alike" : row.log > 0 === row.isMoreWorse ? "slower" : "faster"}`;
  };
  const line = (row, words) => {
    const element = document.createElement("tr");
    const ends = row.ends ? row.ends.map((end) => digits(Math.exp(end))).join(" to ") : "–";
    const exact = [row.ratio, ...(row.ends ?? []).map(Math.exp)].join(" ");
    element.className = row.isJudged ? "" : "beside";
    const sides = [row.base, row.new].map((side) =>
      withEnds(cell(quantity(side.value, row.unit), "n"), endsText(side, row.unit)));
    const chance = row.adjusted === undefined ? "" : `p = ${row.adjusted.toPrecision(3)}, of all judged numbers`;
    element.append(withEnds(made("th", { scope: "row", textContent: words }), row.title), ...sides,
      cell(row.why.length ? "–" : digits(row.ratio), "n", exact), cell(row.why.length ? "–" : ends, "n"),
      cell(verdictText(row), row.verdict, chance));
    return element;
  };
  const heads = () => {
    const element = document.createElement("tr");
    for (const textContent of ["number", "BASE", "NEW", "NEW/BASE", "95 % interval", "verdict"]) {
      const className = /BASE|NEW|interval/.test(textContent) ? "n" : "";
      element.append(made("th", { scope: "col", textContent, className }));
    }
    return element;
  };

  const names = [...document.querySelectorAll("button.sort")].map((button) => button.textContent);
  const factsOf = (row, other) => row.cells.map((text, column) => [names[column], text, other.cells[column]])
    .filter(([called, text, its]) => text && text !== its && called !== "answer")
    .map(([called, text]) => `${called} ${text}`).join(", ");
  const show = () => {
    const places = ticked.map(placeOf);
    const of = data.experiments[places[0][0]];
    const isAlike = places[0][0] === places[1][0];
    const counts = isAlike ? places.map((place) => of.drives[place[2]].runs.length) : [1, 1];
    byId("of-drives").hidden = places[0][2] === places[1][2] || Math.max(...counts) < 2;
    byId("of-drives").querySelector("span").textContent = `all runs of both drives (${counts.join(" and ")})`;
    const isOfDrives = byId("all-runs").checked && !byId("of-drives").hidden;
    const sides = ticked.map((row) => sideOf(row, isOfDrives));
    const found = isAlike ? twoSides.compared(data.rules, of, ...sides) : [];
    byId("told").textContent = isAlike ? [answer(found, sides), ...unjudged(of, sides, found), ...alone(of, sides),
      ...lacking(of, sides)].join(" ")
      : "These are runs of different experiments: they have no number in common.";
    byId("sides").replaceChildren(...ticked.flatMap((row, place) => [
      made("dt", { textContent: `${["BASE", "NEW"][place]}: ${row.element.dataset.run}` }),
      made("dd", { textContent: factsOf(row, ticked[1 - place]) })]));
    const [head, numbers] = ["thead", "tbody"].map((name) => made(name));
    head.append(heads());
    numbers.append(...found.map((row) => line(row, of.combinations[row.combination])));
    byId("ratios").replaceChildren(...(found.length ? [head, numbers] : []));
    const isMeant = (row, place) => row.box && placeOf(row)[0] === place[0] && placeOf(row)[2] === place[2];
    const words = ticked.flatMap((row, which) => {
      const meant = isOfDrives ? rows.filter((one) => isMeant(one, places[which])) : [row];
      return meant.map((one) => `${["--base", "--new"][which]} ${one.element.dataset.run}`);
    });
    byId("command").textContent = `drivelab compare ${words.join(" ")}`;
  };
  byId("compare").addEventListener("click", async () => {
    data ??= await unpacked(byId("pairwise").dataset.packed, "application/json").json();
    const counts = ticked.map(placeOf).map(([of, , drive]) => data.experiments[of].drives[drive].runs.length);
    byId("all-runs").checked = Math.min(...counts) >= data.rules.runs_min;
    show();
    byId("comparison").showModal();
  });
  byId("all-runs").addEventListener("change", show);
  byId("swap").addEventListener("click", () => { ticked.reverse(); name(); show(); });

  byId("cannot-unpack").hidden = Boolean(window.DecompressionStream);
  byId("how").hidden = !rows.length;
  filter();
})();
