import type { Connection } from "./connection.js";
import type { Operations, Schemas } from "./operations.js";

const MOST_LISTED = 50_000;

/** Files, by absolute paths or such that begin with `~/`. What does not exist throws NotFound. */
export class Files {
  readonly #api: Operations;
  readonly #connection: Connection;

  constructor(api: Operations, connection: Connection) {
    this.#api = api;
    this.#connection = connection;
  }

  /** What a file holds. */
  read(path: string): Promise<Uint8Array> {
    return this.#connection.read("GET", "/v1/file/download", { query: { path } });
  }

  /** What a file holds, as UTF-8. Throws TypeError where it is none. */
  async readText(path: string): Promise<string> {
    return new TextDecoder("utf-8", { fatal: true }).decode(await this.read(path));
  }

  /** Make a file, or replace it in one step. Missing directories are made. */
  async write(path: string, data: string | Uint8Array | Blob): Promise<void> {
    const body = new FormData();
    body.set("path", path);
    body.set("file", data instanceof Blob ? data : new Blob([data as BlobPart]), path.slice(path.lastIndexOf("/") + 1) || "file");
    await this.#api.call("POST /v1/file/upload", { body });
  }

  /** What a directory holds, at most 50,000 entries. */
  async entries(path: string): Promise<Schemas["ListedFile"][]> {
    return (await this.#api.call("POST /v1/file/list", { body: { path, limit: MOST_LISTED } })).files;
  }
}
