// What the start of a file can be shown as: a picture of a known raster format, text, or nothing. Never markup.

/** The first bytes of the raster formats that every browser shows, each byte a character. @type {[string, RegExp][]} */
const PICTURES = [
  ["image/png", /^\x89PNG\r\n[^]\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
  ["image/bmp", /^BM[^]{4}\0{4}/],
  ["image/avif", /^[^]{4}ftypavi[fs]/],
];
const HEAD = 16;
/** What cannot be seen or turns the direction of text, but for line breaks, tabs, and the joiners that scripts and emoji need. */
const INVISIBLE = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/** Marks that stack on one letter. */
const STACKED = /(\p{M}{4})\p{M}+/gu;
const REPLACED = "\u{fffd}";
/** A text in which more than this share could not be read is none. */
const UNREADABLE = 0.1;

/** The type of a picture; empty if it is none that is shown. @param {Uint8Array} bytes the start of a file */
export function pictureType(bytes) {
  const head = String.fromCharCode(...bytes.subarray(0, HEAD));
  return PICTURES.find(([, start]) => start.test(head))?.[0] ?? "";
}

/** The text of a file; undefined if it is none. @param {Uint8Array} bytes its start @returns {string | undefined} */
export function textOf(bytes) {
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe && "utf-16le") || (bytes[0] === 0xfe && bytes[1] === 0xff && "utf-16be") || "";
  if (!utf16 && bytes.includes(0)) return undefined;
  const read = new TextDecoder(utf16 || "utf-8").decode(bytes, { stream: true }); // a letter that the end cuts is left out
  if (read.split(REPLACED).length - 1 > read.length * UNREADABLE) return undefined;
  return read.replace(/\r\n?/g, "\n").replace(INVISIBLE, REPLACED).replace(STACKED, "$1");
}
