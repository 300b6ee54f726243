// The address of the page holds the question, so that it can be shared. It stands behind the #, which browsers keep to themselves.

const MOST = 2000; // characters of a text

export function read() {
  const [view, values = ""] = location.hash.slice(1).split("?");
  return { view, values: Object.fromEntries(new URLSearchParams(values)) };
}

export function keep(view, values = {}) {
  const kept = Object.entries(values).filter(([, value]) => value).map(([name, value]) => [name, value.slice(0, MOST)]);
  const asked = new URLSearchParams(kept).toString();
  history.replaceState(null, "", `#${view}${asked ? `?${asked}` : ""}`);
}
