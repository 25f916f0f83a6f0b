// Finding heads: sorted and filtered by what Python measured of them (WORDS.measures says what, and in which unit).

// The heads of a kind in the order that is asked for, each with the measured value and whether the filter leaves it.
function findHeads(attention, name, { label, sort, least }) {
  const kind = attention.kind(name), values = kind.measures[sort], limit = limitOf(kind, sort, least);
  const found = attention.everyHead(name).map((each, number) => {
    const value = values ? values[number] : null, own = kind.labels[number];
    const fits = limit === null || (value !== null && (asksForMost(sort) ? value <= limit : value >= limit));
    return { ...each, value, label: own, stays: fits && (label === "all" || (own ?? "none") === label) };
  });
  if (!values) return found;
  const far = asksForMost(sort) ? Infinity : -Infinity, sign = asksForMost(sort) ? 1 : -1;
  return found.sort((one, other) => sign * ((one.value ?? far) - (other.value ?? far)) || 0);
}

const asksForMost = (measure) => WORDS.measures[measure][2] === "at most";

// The filter's limit: a share of the way, for entropy from the largest that a head of this kind has down to 0.
function limitOf(kind, sort, least) {
  const values = kind.measures[sort];
  if (!values || !least) return null;
  return asksForMost(sort) ? ((100 - least) / 100) * Math.max(...values) : least / 100;
}

function measureText(measure, value) {
  if (value === null || value === undefined) return "–";
  const unit = WORDS.measures[measure][1];
  return unit === "%" ? `${Math.round(100 * value)} %` : unit ? `${value.toFixed(2)} ${unit}` : value.toFixed(2);
}
