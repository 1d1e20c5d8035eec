import type { Connection } from "./connection.js";
import { TandemError } from "./errors.js";
import type { SandboxEvent } from "./events.js";
import type { components, paths } from "./schema.js";

/** The models of the API by name. */
export type Schemas = components["schemas"];

type Verb = "get" | "post" | "put" | "patch" | "delete";
type Verbs<P extends keyof paths> = { [V in Verb]: paths[P][V] extends { responses: unknown } ? V : never }[Verb];

/** An operation by verb and path, as in the API's description: `"POST /v1/bash/exec"`. */
export type Route = { [P in keyof paths & string]: `${Uppercase<Verbs<P>>} ${P}` }[keyof paths & string];

type OperationOf<R extends Route> = R extends `${infer V} ${infer P}`
  ? P extends keyof paths
    ? Lowercase<V> extends keyof paths[P]
      ? paths[P][Lowercase<V>]
      : never
    : never
  : never;

type Content<T> = T extends { content: infer C } ? C[keyof C] : undefined;
type Success<O> = O extends { responses: infer S } ? (S extends { 200: infer A } ? A : S extends { 201: infer A } ? A : never) : never;
type Json<A> = A extends { content: { "application/json": infer T } } ? T : A extends { content: infer C } ? BytesOf<keyof C> : undefined;
type BytesOf<M> = M extends `text/${string}` ? string : Uint8Array;
type Data<D> = Exclude<D, undefined | Schemas["FileOperationError"]>;
type Unwrapped<T> = "success" extends keyof T ? (T extends { data?: infer D } ? Data<D> : T) : T;

/** An operation's answer. */
export type Whole<R extends Route> = Json<Success<OperationOf<R>>>;

/** The data of an operation's answer. */
export type Answer<R extends Route> = Unwrapped<Whole<R>>;

type Named<O, K extends string> = O extends { parameters: infer S } ? (K extends keyof S ? NonNullable<S[K]> : never) : never;
type Field<K extends string, T> = [T] extends [never] ? object : object extends T ? { readonly [N in K]?: T } : { readonly [N in K]: T };
type BodyOf<O> = O extends { requestBody: infer B } ? Content<B> : O extends { requestBody?: infer B } ? Content<NonNullable<B>> | undefined : undefined;
type BodyField<B> = [Exclude<B, undefined>] extends [never]
  ? object
  : undefined extends B
    ? { readonly body?: B | FormData | Uint8Array }
    : { readonly body: B | FormData | Uint8Array };

/** What an operation takes: the values of its path and query, and its body. */
export type Arguments<R extends Route> = Field<"path", Named<OperationOf<R>, "path">> &
  Field<"query", Named<OperationOf<R>, "query">> &
  BodyField<BodyOf<OperationOf<R>>> & { readonly signal?: AbortSignal };

interface AnyArguments {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** All operations of a sandbox, typed by the API's description. */
export class Operations {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Call an operation; the data of its answer. Throws ApiError and Unreachable. */
  async call<R extends Route>(route: R, ...given: object extends Arguments<R> ? [Arguments<R>?] : [Arguments<R>]): Promise<Answer<R>> {
    const [verb, path, sent] = resolved(route, given[0] as AnyArguments | undefined);
    return (await this.#connection.call(verb, path, sent)) as Answer<R>;
  }

  /** Call an operation that answers JSON; all of its answer, which may have a `hint`, or fields beside `data`. */
  async whole<R extends Route>(route: R, ...given: object extends Arguments<R> ? [Arguments<R>?] : [Arguments<R>]): Promise<Whole<R>> {
    const [verb, path, sent] = resolved(route, given[0] as AnyArguments | undefined);
    return (await this.#connection.whole(verb, path, sent)) as Whole<R>;
  }

  /** Follow the events of an operation. Where the connection breaks it goes on behind the event that came last. */
  events<R extends Route>(route: R, ...given: object extends Arguments<R> ? [Arguments<R>?] : [Arguments<R>]): AsyncGenerator<SandboxEvent> {
    const [verb, path, sent] = resolved(route, given[0] as AnyArguments | undefined);
    return this.#connection.stream(verb, path, sent);
  }
}

function resolved(route: string, given: AnyArguments = {}): [string, string, AnyArguments] {
  const [verb = "", path = ""] = route.split(" ");
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(given.path?.[name] ?? "");
    // `fetch` would take these for steps in the path, to another operation.
    if (["", ".", ".."].includes(value)) throw new TandemError(`${JSON.stringify(value)} is no ${name} for ${route}`);
    return encodeURIComponent(value);
  });
  return [verb, filled, given];
}
