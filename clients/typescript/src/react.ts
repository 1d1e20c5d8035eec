import { type CSSProperties, createElement, useEffect, useRef } from "react";
import { TandemView } from "./view.js";

export interface TandemViewerProps {
  /** Where the stream's socket is, such as `wss://sandbox.example/stream/socket?ticket=...`. */
  readonly src: string;
  /** Do not act, even if allowed. */
  readonly watch?: boolean;
  readonly sound?: boolean;
  /** Fingers move the pointer, as on a trackpad. */
  readonly trackpad?: boolean;
  /** Give the desktop the size of this element while this viewer drives. */
  readonly resize?: boolean;
  readonly className?: string;
  readonly style?: CSSProperties;
  /** `connecting`, `connected`, `slow`, `stalled`, `lost` or `blocked`; `reason` is a sentence. */
  readonly onState?: (detail: { state: string; code?: number; reason?: string }) => void;
  readonly onRights?: (detail: { control: boolean; driving: boolean; hidden: boolean }) => void;
}

/** The desktop, live. It connects anew when `src` changes. */
export function TandemViewer(props: TandemViewerProps) {
  const view = useRef<TandemView>(null);
  const { onState, onRights } = props;
  useEffect(() => listen(view.current, "state", onState), [onState, props.src]);
  useEffect(() => listen(view.current, "rights", onRights), [onRights, props.src]);
  const switches = { watch: props.watch, sound: props.sound, trackpad: props.trackpad, resize: props.resize };
  const on = Object.entries(switches).filter(([, value]) => value);
  const attributes = Object.fromEntries(on.map(([name]) => [name, ""]));
  const look = { class: props.className, style: props.style };
  return createElement("tandem-view", { ref: view, key: props.src, src: props.src, ...attributes, ...look });
}

function listen<T>(view: TandemView | null, name: string, told: ((detail: T) => void) | undefined): (() => void) | undefined {
  if (!view || !told) return undefined;
  const heard = (event: Event) => told((event as CustomEvent<T>).detail);
  view.addEventListener(name, heard);
  return () => view.removeEventListener(name, heard);
}
