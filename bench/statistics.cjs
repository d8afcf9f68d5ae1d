/*
 * From the figures of the rounds to verdicts. CommonJS, so that jest can load it.
 *
 * The figures of a round are measured one shortly after the other, so what the machine does besides hits all of
 * them; that is why ratios are made within a round, and only then compared with those of other rounds. Of the
 * paired ratios the median is told, with the interval of the sign test: between the k-th smallest and the k-th
 * largest, where k is the largest for which that holds the true median with at least 90 % probability, by the
 * binomial distribution. It assumes nothing about how the ratios are distributed (they have outliers to one side
 * here, so an interval from their variance would be wrong), it is exact for few rounds, and it can be checked by
 * hand: 5 rounds give the smallest and the largest, 15 the 4th from either end. Fewer than 5 give no interval.
 */

/** Probability that the interval has to hold the true median with. */
const confidence = 0.9;

/** Of an even number of values the mean of the middle two. */
function median(values) {
  return quantile(values, 0.5);
}

/** Between two values the one in proportion. */
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  // Two infinities have no difference.
  return below === above ? below : below + (above - below) * (at - Math.floor(at));
}

/** Median and 90 % interval; with fewer than 5 values the interval is everything. */
function interval(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const count = sorted.length;
  let outside = 0;
  let rank = 0;
  for (let ways = 1; rank < count / 2; ways *= (count - rank) / (rank + 1), rank++) {
    outside += (2 * ways) / 2 ** count;
    if (outside > 1 - confidence) break;
  }
  const isKnown = rank > 0;
  return {
    median: median(sorted),
    low: isKnown ? sorted[rank - 1] : -Infinity,
    high: isKnown ? sorted[count - rank] : Infinity,
  };
}

/**
 * What a budget is about, one value a round. `figures` are those of one metric by contender, a list with one a
 * round each. `compare`: `ratio` of `of` and `to`; `difference` of them; `added`: what `of` adds to `over`,
 * as a multiple of what `to` adds to it; `value`: the figure itself.
 */
function compared(figures, { compare, of, to, over }) {
  return figures[of].map((own, round) => {
    const other = figures[to]?.[round];
    switch (compare) {
      case 'ratio':
        return own / other;
      case 'difference':
        return own - other;
      case 'added':
        return addedRatio(own - figures[over][round], other - figures[over][round]);
      case 'value':
        return own;
      default:
        throw new Error(`unknown comparison ${compare}`);
    }
  });
}

/** Where the other adds nothing, whatever is added is infinitely more. */
function addedRatio(own, other) {
  if (other > 0) return own / other;
  return own > 0 ? Infinity : 1;
}

/**
 * `pass` if the whole interval keeps the limit, `fail` if none of it does, else `inconclusive`, which is not a
 * pass.
 */
function verdict({ low, high }, { atLeast = -Infinity, atMost = Infinity }) {
  if (low >= atLeast && high <= atMost) return 'pass';
  return high < atLeast || low > atMost ? 'fail' : 'inconclusive';
}

/** The list, beginning with another of its elements each round. */
function rotated(list, round) {
  const first = round % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}

module.exports = { median, quantile, interval, compared, verdict, rotated };
