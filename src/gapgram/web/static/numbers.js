// How figures are written.

export function percent(p) {
  if (p === 0) return "0\u00a0%";
  const value = 100 * p;
  if (value >= 10) return `${value.toFixed(1)}\u00a0%`;
  return value >= 0.01 ? `${value.toPrecision(2)}\u00a0%` : "<\u00a00.01\u00a0%";
}

export function probability(p) {
  if (p === 0) return "0";
  return p >= 0.001 ? p.toPrecision(4) : p.toExponential(2).replace("e-", " · 10^−");
}

export const whole = (n) => n.toLocaleString("en");

export const bits = (log10) => -log10 / Math.log10(2);

// The model's own words as people say them.
export const said = (word) => ({ "<s>": "‹start›", "</s>": "‹end of the sentence›" })[word] ?? word;

// "1 in 20": what a probability means for people.
export function oneIn(p) {
  const times = 1 / p;
  return `1 in ${times < 9.95 ? times.toFixed(1) : whole(Number(times.toPrecision(3)))}`;
}
