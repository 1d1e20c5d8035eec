/** A server-sent event: its name, its data, and the id after which a stream goes on. */
export interface SandboxEvent {
  readonly name: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each stream has its own
  readonly data: any;
  readonly id: string;
}

/** Puts server-sent events together from text (WHATWG HTML, "Server-sent events"). */
export class EventParser {
  /** The id of the last whole event. */
  last = "";
  #text = "";
  #id = "";
  #name = "";
  #data: string[] = [];

  /** Drop an event whose end did not come: it comes again, whole. */
  begin(): void {
    this.#text = "";
    this.#clear();
  }

  /** The events that a piece of text ends. */
  take(text: string): SandboxEvent[] {
    const lines = (this.#text + text).split(/\r\n|\n|\r(?!$)/);
    this.#text = lines.pop() ?? "";
    return lines.map((line) => this.#line(line)).filter((event) => event !== null);
  }

  #line(line: string): SandboxEvent | null {
    if (line !== "") {
      const colon = line.indexOf(":");
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (name === "data") this.#data.push(value);
      else if (name === "event") this.#name = value;
      else if (name === "id") this.#id = value;
      return null;
    }
    const event = { name: this.#name || "message", data: parsed(this.#data.join("\n")), id: this.#id };
    const empty = this.#data.length === 0;
    this.last = this.#id;
    this.#clear();
    return empty ? null : event;
  }

  #clear(): void {
    this.#id = this.last;
    this.#name = "";
    this.#data = [];
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
