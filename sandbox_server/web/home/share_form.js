// The form that shares a port: it says what a link opens, for whom and how long, before it is made.

import { call } from "/static/api.js";
import { copyOf, element, quiet, times } from "/static/home/elements.js";
import { translate } from "/static/home/folded_strings.js";

const HOUR = 3600;
const DAY = 24 * HOUR;

/** Open or close the form in a port's row. @param {HTMLElement} row @param {number} port @param {() => void} shared when there is a new link */
export function toggleShareForm(row, port, shared) {
  const open = row.querySelector("form");
  row.querySelector("[data-share]")?.remove();
  if (open) return open.remove();
  const program = row.querySelector("small")?.textContent || translate("someProgram");
  const choices = /** @type {[number, string][]} */ ([[HOUR, translate("hours", { count: 1 })], [8 * HOUR, translate("hours", { count: 8 })], [DAY, translate("days", { count: 1 })], [7 * DAY, translate("days", { count: 7 })]]);
  const within = times("ttl", choices, HOUR);
  const said = element("p", { className: "problem" });
  said.setAttribute("role", "alert");
  const form = element("form", { className: "share" }, element("p", { textContent: translate("shareAbout", { port, program }) }));
  const make = element("button", { className: "button small", textContent: translate("makeLink") });
  const cancel = quiet(translate("cancel"), () => form.remove());
  form.append(element("div", { className: "line" }, element("label", {}, `${translate("expiresIn")} `, within), make, cancel), said);
  form.onsubmit = (event) => {
    event.preventDefault();
    share(form, port, Number(within.value)).then(shared, (error) => (said.textContent = error.message));
  };
  row.append(form);
  within.focus();
  return undefined;
}

/** @param {HTMLFormElement} form @param {number} port @param {number} ttl */
async function share(form, port, ttl) {
  const { share_id: id, url } = await call("POST", `/v1/ports/${port}/share`, { body: { ttl } });
  const field = element("input", { value: url, readOnly: true });
  field.setAttribute("aria-label", translate("linkTo", { port }));
  const said = element("span", { className: "muted" });
  said.setAttribute("role", "status");
  const copy = async () => (said.textContent = translate((await copyOf(field)) ? "copied" : "selected"));
  const made = element("div", { className: "line link" }, field, quiet(translate("copy"), copy), said);
  made.dataset.share = id;
  form.replaceWith(made);
  await copy();
}
