// Where in a JSON text a JSON pointer (RFC 6901) points to, and where a text stops being JSON (RFC 8259).

/** @typedef {{start: number, end: number}} Place offsets in the text */

const MAX_DEPTH = 64;
const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[ !\u0023-\u005b\u005d-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** A text that is no JSON, and where that shows. */
export class JsonSyntaxError extends Error {
  /** @param {number} at */
  constructor(at) {
    super(`not JSON at ${at}`);
    this.at = at;
  }
}

/** The place of each value by its pointer; of an object's field the place begins at its name. @param {string} text @returns {Map<string, Place>} throws JsonSyntaxError */
export function placesOf(text) {
  /** @type {Map<string, Place>} */
  const places = new Map();
  let at = 0;
  const take = (/** @type {RegExp} */ pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found === undefined) throw new JsonSyntaxError(at);
    at += found.length;
    return found;
  };
  const skip = () => take(SPACE);
  const expect = (/** @type {string} */ sign) => {
    if (text[at] !== sign) throw new JsonSyntaxError(at);
    at += 1;
  };
  const value = (/** @type {string} */ pointer, /** @type {number} */ depth, start = at) => {
    if (depth > MAX_DEPTH) throw new JsonSyntaxError(at);
    if (text[at] === "{") members("{", "}", (index) => field(pointer, depth, index));
    else if (text[at] === "[") members("[", "]", (index) => value(`${pointer}/${index}`, depth + 1));
    else take(text[at] === '"' ? STRING : SCALAR);
    places.set(pointer, { start, end: at });
  };
  const field = (/** @type {string} */ pointer, /** @type {number} */ depth, /** @type {number} */ _index) => {
    const start = at;
    const name = JSON.parse(take(STRING));
    skip();
    expect(":");
    skip();
    value(`${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1, start);
  };
  const members = (/** @type {string} */ open, /** @type {string} */ close, /** @type {(index: number) => void} */ member) => {
    expect(open);
    skip();
    for (let index = 0; text[at] !== close; index++) {
      if (index) {
        expect(",");
        skip();
      }
      member(index);
      skip();
    }
    expect(close);
  };
  skip();
  value("", 0);
  skip();
  if (at < text.length) throw new JsonSyntaxError(at);
  return places;
}

/** Where a pointer points to, or what is nearest around it; the whole text where that is no JSON. @param {string} text @param {string} pointer @returns {Place} */
export function placeOf(text, pointer) {
  try {
    const places = placesOf(text);
    for (let near = pointer; near; near = near.slice(0, near.lastIndexOf("/"))) {
      const found = places.get(near);
      if (found) return found;
    }
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
  }
  return { start: 0, end: text.length };
}

/** @param {string} text @param {number} at */
export function lineOf(text, at) {
  return text.slice(0, at).split("\n").length;
}
