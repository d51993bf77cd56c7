// The arithmetic of two sides of runs, as drivelab compare does it, by the rules that stand in the data.
const twoSides = (() => {
  const LANCZOS = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
  const logGamma = (x) => {
    const sum = LANCZOS.slice(1).reduce((all, one, place) => all + one / (x + place), LANCZOS[0]);
    const at = x + 6.5;
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(at) - at + Math.log(sum);
  };
  const awayFromZero = (value) => (Math.abs(value) > 1e-300 ? value : 1e-300);
  // the continued fraction of the incomplete beta function, by the modified method of Lentz
  const fraction = (a, b, x) => {
    let numerator = 1;
    let denominator = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1));
    let value = denominator;
    for (let m = 1; m < 20000; m += 1) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      denominator = 1 / awayFromZero(1 + even * denominator);
      numerator = awayFromZero(1 + even / numerator);
      value *= denominator * numerator;
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      denominator = 1 / awayFromZero(1 + odd * denominator);
      numerator = awayFromZero(1 + odd / numerator);
      const change = denominator * numerator;
      value *= change;
      if (Math.abs(change - 1) < 1e-13) break;
    }
    return value;
  };
  const incompleteBeta = (a, b, x) => {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
    const front = logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x);
    return (Math.exp(front) * fraction(a, b, x)) / a;
  };
  // Student's t, two-sided
  const chance = (middle, error, degrees) =>
    incompleteBeta(degrees / 2, 0.5, degrees / (degrees + (middle / error) ** 2));
  const holm = (chances) => {
    const order = chances.map((_, place) => place).sort((one, other) => chances[one] - chances[other]);
    const adjusted = [];
    let highest = 0;
    order.forEach((place, rank) => {
      highest = Math.max(highest, Math.min(1, (chances.length - rank) * chances[place]));
      adjusted[place] = highest;
    });
    return adjusted;
  };

  // derivatives of the logarithm of the gamma function: the series from 8 on, below it a step at a time
  const digamma = (x) => {
    if (x < 8) return digamma(x + 1) - 1 / x;
    const square = 1 / (x * x);
    const series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))));
    return Math.log(x) - 0.5 / x - series;
  };
  const trigamma = (x) => {
    if (x < 8) return trigamma(x + 1) + 1 / (x * x);
    const square = 1 / (x * x);
    const series = 1 / 6 - square * (1 / 30 - square * (1 / 42 - square * (1 / 30 - (square * 5) / 66)));
    return 1 / x + square / 2 + (square / x) * series;
  };
  const inverseTrigamma = (value) => {
    let [low, high] = [-40, 40];
    for (let step = 0; step < 100; step += 1) {
      const middle = (low + high) / 2;
      [low, high] = trigamma(Math.exp(middle)) > value ? [middle, high] : [low, middle];
    }
    return Math.exp((low + high) / 2);
  };
  const mean = (values) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const variance = (values) => {
    const middle = mean(values);
    return values.reduce((sum, one) => sum + (one - middle) ** 2, 0) / (values.length - 1);
  };
  // Smyth's d0: what one variance is worth in telling another
  const priorDegrees = (variances, degrees) => {
    if (variances.length < 2) return 0;
    const halves = degrees.map((one) => one / 2);
    const logs = variances.map((one, place) => Math.log(one) - digamma(halves[place]) + Math.log(halves[place]));
    const beyond = variance(logs) - mean(halves.map(trigamma));
    return beyond <= 0 ? Infinity : 2 * inverseTrigamma(beyond);
  };
  const moderated = (rules, found, degrees) => {
    const own = found.map((one) => Math.max(one, rules.variance_min));
    const kept = own.map((_, place) => place).sort((one, other) => own[one] - own[other]);
    kept.length -= Math.trunc(rules.left_out * own.length);
    const weight = kept.reduce((sum, place) => sum + degrees[place], 0);
    const pooled = kept.reduce((sum, place) => sum + own[place] * degrees[place], 0) / weight;
    const prior = Math.min(priorDegrees(own, degrees), rules.prior_max, (own.length - 1) / rules.numbers_a_degree);
    const drawn = own.map((one, place) => (prior * pooled + degrees[place] * one) / (degrees[place] + prior));
    return { variances: drawn.map((one) => Math.max(pooled, one)), prior };
  };

  // one number of one side, of the runs that have its combination: their geometric mean
  const valuesOf = (side, number, combination) => {
    const runs = side.runs.filter((run) => (run.way[combination] ?? null) !== null);
    const own = runs.map((run) => run.value[number] ?? null);
    if (!own.length || own.some((value) => value === null)) return null;
    const ends = runs.flatMap((run) => [run.lowest, run.highest].map((end) => end[number] ?? run.value[number]));
    const logs = own.map(Math.log);
    const repeats = runs.reduce((sum, run) => sum + run.repeats[number], 0);
    const [lowest, highest] = [Math.min(...ends), Math.max(...ends)];
    return { logs, log: mean(logs), value: Math.exp(mean(logs)), lowest, highest, repeats };
  };
  // ratios of numbers that lend each other their scatter
  const shift = (rules, family) => {
    for (const row of family) {
      row.log = row.new.log - row.base.log;
      row.ratio = Math.exp(row.log);
    }
    const enough = family.filter((row) => Math.min(row.base.logs.length, row.new.logs.length) >= rules.runs_min);
    if (!enough.length) return;
    const counts = ["base", "new"].map((side) => enough.map((row) => row[side].logs.length));
    const scatter = ["base", "new"].map((side, which) => moderated(
      rules, enough.map((row) => variance(row[side].logs)), counts[which].map((count) => count - 1)));
    const borrowed = Math.min(scatter[0].prior, scatter[1].prior);
    enough.forEach((row, place) => {
      const square = [0, 1].reduce((sum, side) => sum + scatter[side].variances[place] / counts[side][place], 0);
      const error = Math.max(rules.error_min, Math.sqrt(square));
      const own = Math.min(counts[0][place], counts[1][place]) - 1;
      const [outer, inner] = rules.t[own];
      row.ends = [row.log - outer * error, row.log + outer * error];
      row.inner = [row.log - inner * error, row.log + inner * error];
      row.chance = chance(row.log, error, own + borrowed);
    });
  };
  const verdict = (rules, row) => {
    if (row.why.length) return "not comparable";
    if (!row.ends || !row.isJudged) return "seen only";
    const bound = Math.log1p(rules.margin);
    if (-bound < row.inner[0] && row.inner[1] < bound) return "equivalent";
    const isApart = row.adjusted <= rules.significance && (row.ends[0] > 0 || row.ends[1] < 0);
    if (!isApart) return "no difference shown";
    return row.log > 0 === row.isMoreWorse ? "slower" : "faster";
  };
  const reasonsOf = (rules, reasons, ways) => {
    if (ways.some((way) => way === rules.ways_max)) return reasons.beyond;
    return reasons[ways.join(",")] ?? [];
  };

  // every number that both sides have: what changed first, as drivelab compare has it
  const compared = (rules, experiment, base, next) => {
    const rows = [];
    experiment.numbers.forEach(([combination, metric, title, unit, isMoreWorse, isJudged], number) => {
      const row = { number, combination, title, unit, isMoreWorse, isJudged };
      [row.base, row.new] = [base, next].map((side) => valuesOf(side, number, combination));
      if (!row.base || !row.new) return;
      const ways = [base.way[combination], next.way[combination]];
      row.why = reasonsOf(rules, experiment.reasons[combination] ?? {}, ways);
      row.family = `${isJudged ? "" : metric} ${row.why.length > 0}`;
      rows.push(row);
    });
    for (const family of new Set(rows.map((row) => row.family))) {
      shift(rules, rows.filter((row) => row.family === family));
    }
    const judged = rows.filter((row) => row.isJudged && !row.why.length && row.ends);
    holm(judged.map((row) => row.chance)).forEach((one, place) => { judged[place].adjusted = one; });
    for (const row of rows) {
      row.verdict = verdict(rules, row);
      row.isRegression = row.verdict === "slower" && Math.abs(row.log) > Math.log1p(rules.margin);
    }
    const place = (row) => [!row.isRegression, rules.verdicts.indexOf(row.verdict), !row.isJudged,
      ["slower", "faster"].includes(row.verdict) ? -Math.abs(row.log) : row.number];
    return rows.map((row) => [place(row), row]).sort(([one], [other]) => {
      const at = one.findIndex((part, which) => Number(part) !== Number(other[which]));
      return at < 0 ? 0 : Number(one[at]) - Number(other[at]);
    }).map(([, row]) => row);
  };
  return { compared, valuesOf };
})();
