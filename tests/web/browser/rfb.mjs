// Stands for noVNC's RFB, which draws on a canvas.

export default class RFB extends EventTarget {
  /** @type {RFB[]} */
  static made = [];
  /** @type {any[]} */
  done = [];

  constructor(screen, socket, options) {
    super();
    Object.assign(this, { screen, socket, options });
    RFB.made.push(this);
  }
  static get last() {
    return /** @type {any} */ (RFB.made.at(-1));
  }
  clipboardPasteFrom(text) {
    this.done.push(["paste", text]);
  }
  sendKey(keysym, _, down) {
    this.done.push(down === undefined ? keysym : [keysym, down]);
  }
  disconnect() {
    this.done.push("disconnect");
  }
  focus() {
    this.done.push("focus");
  }
}
