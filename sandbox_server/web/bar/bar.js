// <tandem-bar>: the bar of every page. Who drives, what the agent asks, what one can do about it, who watches, the other pages, and the
// language and the theme. Attributes: `page`, the name of the page in the navigation; `screen`, where the page shows the screen.

import { call } from "/static/api.js";
import { fill, person } from "/static/strings.js";
import { Account } from "./account.js";
import { showButtons } from "./action_buttons.js";
import { controlActions } from "./control_actions.js";
import { driverHint, driverOf, driverText } from "./driver.js";
import { Lease } from "./lease.js";
import { followEvents } from "./live_events.js";
import { BAR } from "./markup.js";
import { showNavigation } from "./navigation.js";
import { Notices } from "./notices.js";
import { OpenRequests } from "./open_requests.js";
import { showPreferences } from "./preferences.js";
import { Shortcuts } from "./shortcuts.js";
import { translate } from "./strings.js";
import { TitleBadge } from "./title_badge.js";
import { mayInvite, ViewerList } from "./viewer_list.js";

/** @typedef {import("./lease.js").Control} Control */
/** @typedef {import("./action_buttons.js").Action} Action */
/** @typedef {import("../requests/handoff.js").Handoff} Handoff */

const COUNTDOWN_MS = 500;
const RETRY_MS = 4000;

export class TandemBar extends HTMLElement {
  lease = new Lease((control, kind, by) => this.#changed(control, kind, by));
  /** The open requests. @type {Handoff[]} */
  handoffs = [];
  /** The open ports, where the caller may see them. @type {import("/static/home/port_list.js").Port[] | undefined} */
  ports;
  /** What one does about them, once there was one. @type {import("/static/requests/request_actions.js").RequestActions | undefined} */
  requests;
  /** @type {import("/static/requests/hand_back.js").HandBack | undefined} */
  handBack;
  /** @type {import("./invite.js").InviteDialog | undefined} */
  invite;
  /** @type {import("/static/network/blocked_pages.js").BlockedPages | undefined} */
  blocked;
  #badge = new TitleBadge();

  connectedCallback() {
    if (this.childElementCount) return this.shortcuts?.listen();
    if (isFramedHere()) document.documentElement.classList.add("framed");
    this.setAttribute("role", "banner");
    this.innerHTML = BAR;
    fill(this, translate);
    this.notices = new Notices(this.#placeOfNotices(), this.lease);
    this.account = new Account({ caller: this.#find("#caller"), signedIn: this.#find("#signed-in"), signOut: this.#find("#sign-out") });
    this.asked = new OpenRequests(
      {
        place: this.#find("#asked"),
        count: this.#find("#asked-count"),
        text: this.#find("#asked-text"),
        claimed: this.#find("#asked-claimed"),
        answer: this.#find("#asked-answer"),
        yes: this.#find("#asked-yes"),
        no: this.#find("#asked-no"),
        panel: this.#find("#answers"),
      },
      async (handoff, outcome) => (await this.#loadRequests()).answer(handoff, { outcome }),
    );
    this.viewers = new ViewerList(this.#find("#bar-viewers"), (error) => this.notify(translate("failed", { reason: error.message })));
    this.#addInvite();
    showPreferences(this.#find("#preferences"));
    this.shortcuts = this.#shortcuts();
    this.shortcuts.listen();
    this.#find("#preferences").append(this.shortcuts.button());
    this.#find("#bar-menu").onclick = () => this.#toggleMenu();
    this.#showConnection("connecting");
    this.#begin();
  }

  disconnectedCallback() {
    this.shortcuts?.close();
  }

  /** Show a message for a moment. @param {string} text */
  notify(text) {
    this.notices?.notify(text);
  }

  /** Do something, and tell if it fails. @param {Pick<Action, "act">} action */
  run(action) {
    return this.notices?.run(action);
  }

  /** What the page's shortcut does: take control, or hand it back. */
  primaryAction() {
    return this.lease.now && this.#actions(this.lease.now)[0];
  }

  /** What there is to say of who drives. */
  get driverText() {
    return this.#find("#driver").textContent ?? "";
  }

  #shortcuts() {
    const page = this.getAttribute("page") ?? "";
    return new Shortcuts({ page, signedIn: true, screen: this.hasAttribute("screen") }, {
      take: () => {
        this.#leaveScreen();
        const first = this.primaryAction();
        if (first) this.run(first);
      },
      leave: () => this.#leaveScreen(),
      asked: () => this.#focusAsked(),
      hide: () => void this.notices?.run({ act: () => this.lease.do(this.lease.now?.private && this.lease.now.you.sees ? "public" : "private") }),
    });
  }

  /** Move the focus from what takes every key to the first button, or to the product's name where there is none. */
  #leaveScreen() {
    const first = /** @type {HTMLElement | null} */ (this.querySelector("#actions button"));
    (first ?? this.#find(".brand")).focus();
  }

  /** Move the focus to the first answer. */
  #focusAsked() {
    if (!this.handoffs.length) return;
    const own = /** @type {HTMLElement | null} */ (document.querySelector("main tandem-requests"));
    if (!own) this.#find("#answers").togglePopover(true); // it may be open
    const answers = /** @type {NodeListOf<HTMLButtonElement | HTMLInputElement>} */ ((own ?? this.#find("#answers")).querySelectorAll(".request button, .request input"));
    [...answers].find(({ disabled }) => !disabled)?.focus();
  }

  /** Start, and try again where the sandbox does not answer yet. */
  async #begin() {
    try {
      await this.#start();
    } catch (error) {
      const refused = [401, 403].includes(/** @type {{status?: number}} */ (error).status ?? 0);
      this.#showConnection(refused ? "refused" : "disconnected");
      if (!refused) setTimeout(() => this.#begin(), RETRY_MS);
    }
  }

  async #start() {
    const { caller, scopes } = await call("GET", "/auth", { whole: true });
    const allowed = scopes.split(" ");
    showNavigation(this.#find("#navigation"), this.getAttribute("page") ?? "", allowed);
    this.account?.show(caller);
    if (!allowed.includes("view")) return this.#showConnection("noView");
    followEvents(caller, {
      control: (change, age) => {
        this.lease.show(change, age);
        this.#announce(change);
      },
      handoffs: (open) => this.#asked(open),
      ports: (open) => this.#listening(open),
      egress: (told) => this.#connected(told),
      broken: (reason) => this.#showConnection(reason === "lost" ? "disconnected" : "refused"),
    });
    setInterval(() => this.lease.now && this.#countDown(this.lease.now), COUNTDOWN_MS);
  }

  /** @param {Control} control @param {string} kind @param {string} by */
  #changed(control, kind, by) {
    this.#showDriver(control);
    showButtons(this.#find("#actions"), this.#actions(control), (action) => this.run(action));
    this.#showViewers(control);
    this.asked?.show(this.handoffs, control.you);
    this.notices?.show(control);
    this.dispatchEvent(new CustomEvent("control", { detail: { control, kind, by } }));
  }

  /** Tell who made a checkpoint or went back to one. @param {import("./lease.js").Change} change */
  async #announce(change) {
    if (!change.kind.startsWith("checkpoint:")) return;
    const { announcement } = await import("/static/checkpoints/announcement.js");
    this.notify(await announcement(change, change.control.you.name));
  }

  /** @param {Control} control */
  #showDriver(control) {
    const said = this.#find("#driver");
    said.textContent = driverText(control);
    said.title = driverHint(control);
    said.className = "driver";
    this.dataset.driver = control.private && control.you.sees ? "private" : driverOf(control, { shells: true });
    document.body.dataset.driver = driverOf(control, { shells: false });
    this.#find("#bar-connect").hidden = control.state !== "agent" || control.agent_seen || control.you.role === "view";
    this.#countDown(control);
  }

  /** @param {Control} control */
  #countDown(control) {
    const mine = control.requests.find((request) => request.subject === control.you.name);
    if (mine) this.#find("#driver").textContent = `${driverText(control)} · ${translate("asked", { seconds: this.lease.secondsLeft(mine.ends_in) })}`;
    this.notices?.update();
  }

  /** @param {Control} control @returns {Action[]} */
  #actions(control) {
    return controlActions(control, this.lease, {
      screen: this.hasAttribute("screen"),
      handBack: () => this.#handBack(),
    });
  }

  /** @param {Control} control */
  #showViewers(control) {
    const { viewers, you } = control;
    const button = this.#find("#viewers");
    const names = viewers.map((viewer) => (viewer.you ? translate("me", { name: person(viewer.name) }) : person(viewer.name)));
    button.hidden = false;
    this.#find("#viewers-count").textContent = String(viewers.length);
    button.title = names.length ? translate("viewersNow", { count: names.length, names: names.join(", ") }) : translate("nobody");
    button.setAttribute("aria-label", button.title);
    this.#find("#view-only").hidden = you.role !== "view";
    for (const id of ["#bar-invite-open", "#people-invite"]) this.#find(id).hidden = !mayInvite(you);
    this.viewers?.show(control);
  }

  #addInvite() {
    for (const id of ["#bar-invite-open", "#people-invite"]) {
      this.#find(id).onclick = () => {
        this.#find("#people").hidePopover();
        this.run({ act: () => this.#showInvite() });
      };
    }
  }

  /** The dialog is loaded with its first use. */
  async #showInvite() {
    const { InviteDialog } = await import("./invite.js");
    this.invite ??= new InviteDialog({
      dialog: this.#find("#invite"),
      form: this.#find("#bar-invite"),
      made: this.#find("#invite-made"),
      link: this.#find("#bar-link"),
      copy: this.#find("#bar-copy"),
      told: this.#find("#invite-told"),
      open: this.#find("#invite-open"),
      list: this.#find("#invite-list"),
      close: this.#find("#invite-close"),
    });
    await this.invite.show();
  }

  /** @param {Handoff[]} open */
  #asked(open) {
    if (open.length && !this.requests) this.#loadRequests().catch(() => {}); // the next change tries again
    this.handoffs = open;
    this.asked?.show(open, this.lease.now?.you);
    this.#badge.show(open.length);
    this.dispatchEvent(new CustomEvent("handoffs", { detail: { open } }));
  }

  /** Load what answers requests, with the first one. */
  async #loadRequests() {
    const [{ RequestActions }, { lineOf }] = await Promise.all([import("/static/requests/request_actions.js"), import("/static/requests/requests.js")]);
    if (this.requests) return this.requests;
    if (this.asked) this.asked.line = lineOf;
    this.asked?.show(this.handoffs, this.lease.now?.you);
    this.requests = new RequestActions(this.lease, (text) => this.notify(text));
    this.dispatchEvent(new CustomEvent("handoffs", { detail: { open: this.handoffs } }));
    return this.requests;
  }

  /** Hand control back, and ask what becomes of a request that the person has taken on. */
  async #handBack() {
    if (!this.handoffs.some(({ claimed_by: by }) => by && by === this.lease.now?.you.name)) return this.lease.do("release");
    const [{ HandBack }, requests] = await Promise.all([import("/static/requests/hand_back.js"), this.#loadRequests()]);
    this.handBack ??= new HandBack(this, requests);
    return this.handBack.begin(this.handoffs);
  }

  /** @param {import("/static/home/port_list.js").Port[]} ports */
  #listening(ports) {
    this.ports = ports;
    this.dispatchEvent(new CustomEvent("ports", { detail: { ports } }));
  }

  /** @param {import("../network/network_client.js").EgressNews} told */
  async #connected(told) {
    this.dispatchEvent(new CustomEvent("egress", { detail: told }));
    const seesPages = this.hasAttribute("screen") || this.getAttribute("page") === "home";
    if (!this.notices || !seesPages || (!this.blocked && !told.connections.some(isNews))) return;
    const { BlockedPages } = await import("/static/network/blocked_pages.js");
    this.blocked ??= new BlockedPages(this.notices);
    await this.blocked.take(told);
  }

  /** @param {"connecting" | "disconnected" | "refused" | "noView"} reason */
  #showConnection(reason) {
    const said = this.#find("#driver");
    said.textContent = translate(reason);
    said.className = `driver state ${reason === "refused" ? "bad" : "waiting"}`;
    this.dataset.driver = "none";
    this.dispatchEvent(new CustomEvent("connection", { detail: { reason } }));
  }

  #toggleMenu() {
    const open = this.toggleAttribute("data-open");
    this.#find("#bar-menu").setAttribute("aria-expanded", String(open));
  }

  /** A page may have a place of its own for notices, where they cover nothing. @returns {HTMLElement} */
  #placeOfNotices() {
    const own = /** @type {HTMLElement | null} */ (document.querySelector("[data-notices]"));
    if (own) this.#find("#bar-notices").remove();
    const place = own ?? this.#find("#bar-notices");
    place.setAttribute("aria-label", translate("notices"));
    return place;
  }

  /** @template {HTMLElement} T @param {string} selector @returns {T} */
  #find(selector) {
    return /** @type {T} */ (this.querySelector(selector));
  }
}

/** Seconds that a refusal is news. */
const NEWS_SECONDS = 20;

/** Whether the desktop was just refused something. @param {import("../network/network_client.js").Connection} connection */
const isNews = ({ action, rule, session, at }) => action === "deny" && session === "desktop" && rule !== "unreachable" && at > Date.now() / 1000 - NEWS_SECONDS;

/** Whether another page of this sandbox frames this one: then that page has the bar. */
function isFramedHere() {
  try {
    return parent !== window && parent.location.origin === location.origin;
  } catch {
    return false; // a page of elsewhere frames it
  }
}

customElements.define("tandem-bar", TandemBar);
