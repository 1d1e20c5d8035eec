// <tandem-view>: a custom element that shows the desktop live and takes input. docs/stream-protocol.md is its reference.

import { TandemView } from "./web/stream/tandem-view.js";

export { TandemView };

declare global {
  interface HTMLElementTagNameMap {
    "tandem-view": TandemView;
  }
}
