/** The element, which this module defines as `tandem-view`. */
export class TandemView extends HTMLElement {
  /** Of the desktop's screen, in pixels. */
  readonly size: { readonly width: number; readonly height: number };
  /** Whether this viewer's input counts, or takes control when it is used. */
  readonly control: boolean;
  /** Whether it counts now. */
  readonly driving: boolean;
  /** Whether the desktop's microphone can hear this viewer. */
  readonly microphone: boolean;
  /** Why this browser shows or plays less. */
  readonly lacks: Promise<"insecure" | "codec" | undefined>;
  paste(text: string): void;
  type(text: string): void;
}
