// Style sheets of modules that come to every page with the bar, so that no page has to name them.

/** Load a style sheet, once. @param {string} href */
export function loadStyle(href) {
  if (!document.head || document.querySelector(`link[href="${href}"]`)) return;
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href }));
}
