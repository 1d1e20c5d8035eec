// The CAPTCHAs of one document: by the widgets of their makers, and whether the widget has been given its token.
() => {
  const KINDS = [
    ['recaptcha', 'iframe[src*="/recaptcha/"], .g-recaptcha', 'textarea[name="g-recaptcha-response"], #g-recaptcha-response'],
    ['hcaptcha', 'iframe[src*="hcaptcha.com"], .h-captcha', 'textarea[name="h-captcha-response"]'],
    ['turnstile', 'iframe[src*="challenges.cloudflare.com"], .cf-turnstile', 'input[name="cf-turnstile-response"]'],
    ['cloudflare', '#challenge-form, #challenge-running, #challenge-stage', null],
    ['geetest', '.geetest_panel, .geetest_holder, .geetest_captcha', 'input[name="geetest_validate"]'],
    ['funcaptcha', 'iframe[src*="arkoselabs.com"], iframe[src*="funcaptcha.com"], #FunCaptcha', 'input[name="fc-token"]'],
    ['aws', '#captcha-container awswaf-captcha, awswaf-captcha', null],
    ['tencent', '#tcaptcha_iframe, iframe[src*="captcha.qq.com"], #tcaptcha_transform', null],
    ['image', 'img[src*="captcha" i], img[id*="captcha" i], input[name*="captcha" i]:not([type=hidden]), canvas[id*="captcha" i]', null],
  ];
  const shown = (element) => element.checkVisibility({visibilityProperty: true}) && element.getBoundingClientRect().width > 0;
  const found = [];
  for (const [kind, widget, token] of KINDS) {
    const widgets = [...document.querySelectorAll(widget)];
    if (!widgets.length) continue;
    const tokens = token ? [...document.querySelectorAll(token)] : [];
    const solved = tokens.some((field) => field.value);
    const box = (widgets.find(shown) ?? widgets[0]).getBoundingClientRect();
    found.push({kind, solved, frame: null, visible: widgets.some(shown), x: box.x, y: box.y, width: box.width, height: box.height});
  }
  return found;
}
