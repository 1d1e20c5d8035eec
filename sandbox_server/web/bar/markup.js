// The bar's elements. Their words come from strings.js.

const LOGO =
  '<svg viewBox="0 0 32 32" aria-hidden="true"><path d="M9 6a7 7 0 1 0 4.9 12h4.2A7 7 0 1 0 18.1 8h-4.2A7 7 0 0 0 9 6Zm0 4a3 3 0 1 1 0 6 3 3 0 0 1 0-6Zm14 0a3 3 0 1 1 0 6 3 3 0 0 1 0-6Z"></path></svg>';

/** The name of the product, as a link home. */
export function brand() {
  return `<a class="brand" href="/" aria-label="Tandem">${LOGO}<span>Tandem</span></a>`;
}

/** The bar where somebody is signed in. */
export const BAR = `
  <div id="bar-row">
  ${brand()}
  <p id="driver" class="driver" role="status"></p>
  <a id="bar-connect" class="button small" href="/#connect" data-says="connect" hidden></a>
  <div id="actions" class="tools" role="group" data-says-aria-label="tools"></div>
  <span id="view-only" class="badge" data-says="watching" hidden></span>
  <button id="viewers" type="button" class="button quiet" popovertarget="people" hidden><span class="eye" aria-hidden="true"></span><span id="viewers-count"></span></button>
  <button id="bar-invite-open" type="button" class="button quiet" data-says="invite" hidden></button>
  <button id="bar-menu" type="button" class="button quiet" aria-expanded="false" aria-controls="bar-more" data-says-aria-label="menu">☰</button>
  <div id="bar-more">
    <nav id="navigation"></nav>
    <div id="preferences"></div>
    <button id="caller" type="button" class="button quiet" popovertarget="account" hidden></button>
  </div>
  </div>
  <p id="asked" hidden>
    <b id="asked-count"></b><span id="asked-text"></span><span id="asked-claimed" class="muted"></span>
    <button id="asked-yes" type="button" class="button small" data-says="yes" hidden></button>
    <button id="asked-no" type="button" class="button small quiet" data-says="no" hidden></button>
    <button id="asked-answer" type="button" class="button small" popovertarget="answers"></button>
  </p>
  <div id="answers" popover><tandem-requests></tandem-requests></div>
  <div id="account" class="card" popover>
    <p id="signed-in"></p>
    <button id="sign-out" type="button" class="button quiet" data-says="signOut"></button>
  </div>
  <div id="people" class="card" popover data-says-aria-label="viewers">
    <h2 data-says="viewers"></h2>
    <ul id="bar-viewers"></ul>
    <button id="people-invite" type="button" class="button quiet" data-says="invite" hidden></button>
  </div>
  <dialog id="invite" class="card" aria-labelledby="invite-title">
    <h2 id="invite-title" data-says="invite"></h2>
    <p data-says="inviteAbout"></p>
    <form id="bar-invite">
      <label><span data-says="may"></span>
        <select name="access"><option value="watch" data-says="roleView"></option><option value="control" data-says="roleControl"></option></select></label>
      <label><span data-says="guestName"></span>
        <input name="name" maxlength="40" autocomplete="off" spellcheck="false" data-says-placeholder="guestAsked"></label>
      <label><span data-says="within"></span>
        <select name="minutes"><option value="10" data-says="tenMinutes"></option><option value="60" data-says="oneHour" selected></option><option value="1440" data-says="oneDay"></option></select></label>
      <label><span data-says="uses"></span>
        <select name="uses"><option value="1">1</option><option value="5">5</option><option value="25">25</option></select></label>
      <button class="button" data-says="makeLink"></button>
    </form>
    <p id="invite-made" hidden><input id="bar-link" readonly data-says-aria-label="link"><button type="button" class="button quiet" id="bar-copy" data-says="copy"></button></p>
    <p id="invite-told" role="status"></p>
    <div id="invite-open" hidden>
      <h2 data-says="openInvitations"></h2>
      <ul id="invite-list"></ul>
    </div>
    <button id="invite-close" type="button" class="button quiet" data-says="close"></button>
  </dialog>
  <div id="bar-notices" class="notices" role="region" aria-live="polite"></div>`;
