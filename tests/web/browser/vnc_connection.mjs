// Stands for the VNC connection, which needs noVNC and a canvas.

export class VncConnection {
  /** @type {VncConnection[]} */
  static made = [];

  constructor(screen, options, listener) {
    Object.assign(this, { screen, options, listener });
    VncConnection.made.push(this);
  }

  connect() {
    this.connected = true;
  }
  paste() {}
  type() {}
  focus() {}
}
