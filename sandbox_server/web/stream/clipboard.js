// This computer's clipboard: text, HTML and pictures, as far as the browser hands them over.

const MAX_BYTES = 1 << 22;
const PNG = "image/png";

/**
 * What is pasted, in the forms that the desktop knows too.
 * @param {DataTransfer | null} pasted
 * @returns {Promise<Record<string, Uint8Array>>}
 */
export async function readable(pasted) {
  /** @type {Record<string, Uint8Array>} */
  const found = {};
  for (const form of ["text/plain", "text/html"]) {
    const text = pasted?.getData(form);
    if (text) found[form] = new TextEncoder().encode(text);
  }
  const picture = [...(pasted?.files ?? [])].find((file) => file.type === PNG); // now: after this turn it is gone
  if (picture) found[PNG] = new Uint8Array(await picture.arrayBuffer());
  return fitting(found);
}

/** @param {Record<string, Uint8Array>} forms @returns {Record<string, Uint8Array>} as many as one message holds, the text first */
function fitting(forms) {
  let left = MAX_BYTES;
  return Object.fromEntries(Object.entries(forms).filter(([, { length }]) => length <= left && (left -= length) >= 0));
}

/**
 * Put what was copied on the desktop on this computer's clipboard, where the browser lets us: on encrypted pages that have the focus.
 * @param {{text: string, html?: string, png?: Blob}} copied
 * @returns {Promise<boolean>} whether it is there
 */
export async function keep({ text, html, png }) {
  if (!document.hasFocus() || !navigator.clipboard) return false;
  const kept = html || png ? navigator.clipboard.write([item({ text, html, png })]) : navigator.clipboard.writeText(text);
  return kept.then(() => true, () => false);
}

/** @param {{text: string, html?: string, png?: Blob}} copied */
function item({ text, html, png }) {
  return new ClipboardItem({
    ...(text && { "text/plain": new Blob([text], { type: "text/plain" }) }),
    ...(html && { "text/html": new Blob([html], { type: "text/html" }) }),
    ...(png && { [PNG]: png }),
  });
}
