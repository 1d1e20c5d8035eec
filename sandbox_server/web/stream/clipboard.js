// This computer's clipboard: reads what is pasted, and writes what was copied on the desktop, as text, HTML and PNG.

const MAX_BYTES = 1 << 22;
const PNG = "image/png";

/**
 * Read what is pasted, in the types that the desktop knows too.
 * @param {DataTransfer | null} pasted
 * @returns {Promise<Record<string, Uint8Array>>}
 */
export async function readPasted(pasted) {
  /** @type {Record<string, Uint8Array>} */
  const found = {};
  for (const form of ["text/plain", "text/html"]) {
    const text = pasted?.getData(form);
    if (text) found[form] = new TextEncoder().encode(text);
  }
  const picture = [...(pasted?.files ?? [])].find((file) => file.type === PNG); // before any await, after which the browser takes it away
  if (picture) found[PNG] = new Uint8Array(await picture.arrayBuffer());
  return fitting(found);
}

/** @param {Record<string, Uint8Array>} forms @returns {Record<string, Uint8Array>} those that fit in one message, text first */
function fitting(forms) {
  let left = MAX_BYTES;
  return Object.fromEntries(Object.entries(forms).filter(([, { length }]) => length <= left && (left -= length) >= 0));
}

/**
 * Write what was copied on the desktop to this computer's clipboard. Browsers allow it on https and at localhost, to a page that has the focus.
 * @param {{text: string, html?: string, png?: Blob}} copied
 * @returns {Promise<boolean>} whether it was written
 */
export async function writeClipboard({ text, html, png }) {
  if (!document.hasFocus() || !navigator.clipboard) return false;
  const written = html || png ? navigator.clipboard.write([item({ text, html, png })]) : navigator.clipboard.writeText(text);
  return written.then(() => true, () => false);
}

/** @param {{text: string, html?: string, png?: Blob}} copied */
function item({ text, html, png }) {
  return new ClipboardItem({
    ...(text && { "text/plain": new Blob([text], { type: "text/plain" }) }),
    ...(html && { "text/html": new Blob([html], { type: "text/html" }) }),
    ...(png && { [PNG]: png }),
  });
}
