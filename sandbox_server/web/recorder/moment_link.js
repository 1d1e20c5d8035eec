// Links to a moment: the time stands in the fragment, `#t=2026-01-02T03:04:05.678Z`; seconds since the epoch are read, too.

const LATEST = 8.64e12;

/** The moment that a fragment names, in seconds since the epoch; null for none. @param {string} hash */
export function momentOf(hash) {
  const text = new URLSearchParams(hash.replace(/^#/, "")).get("t");
  if (!text) return null;
  const at = /^\d+(\.\d+)?$/.test(text) ? Number(text) : /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) / 1000 : NaN;
  return Number.isFinite(at) && at >= 0 && at < LATEST ? at : null;
}

/** The address of the page with a moment. @param {string} address @param {number} at seconds since the epoch */
export function linkTo(address, at) {
  const url = new URL(address);
  url.hash = `t=${new Date(at * 1000).toISOString()}`;
  return url.href;
}
