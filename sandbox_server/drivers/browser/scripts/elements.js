// What can be acted on in one frame, in the order in which it is shown, through open shadow roots. An element keeps its number for as long as
// the document lives. `store` is held by the caller: {numbers: WeakMap, elements: [WeakRef]}.
(store, {texts, limit}) => {
  const ROLES = new Set(['button', 'link', 'checkbox', 'radio', 'switch', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option',
    'combobox', 'listbox', 'textbox', 'searchbox', 'slider', 'spinbutton', 'treeitem', 'gridcell']);
  const NATIVE = 'a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, label[for], [contenteditable=""], ' +
    '[contenteditable=true], [onclick], audio[controls], video[controls]';
  const BUTTONS = new Set(['button', 'submit', 'reset', 'image']);
  const TEXT = 200;
  const LONG = 8192;
  const found = [];
  let left = 0;

  const squeezed = (text) => (text ?? '').replace(/\s+/g, ' ').trim().slice(0, TEXT);
  const bounded = (text) => text?.length > LONG ? `${text.slice(0, LONG)}…` : text;
  const shown = (element) => element.checkVisibility({visibilityProperty: true}) && element.getClientRects().length > 0;
  const points = (element) => getComputedStyle(element).cursor === 'pointer';

  const interactive = (element) => {
    if (element.matches(NATIVE) || ROLES.has(element.getAttribute('role'))) return true;
    if (element.hasAttribute('tabindex') && element.tabIndex >= 0) return true;
    return points(element) && !(element.parentElement && points(element.parentElement));
  };

  const labelled = (element) => {
    const ids = element.getAttribute('aria-labelledby');
    if (ids) return ids.split(/\s+/).map((id) => element.getRootNode().getElementById?.(id)?.textContent ?? '').join(' ');
    return element.getAttribute('aria-label') || [...(element.labels ?? [])].map((label) => label.innerText).join(' ');
  };

  const nameOf = (element) => squeezed(labelled(element) ||
    (element.tagName === 'INPUT' && BUTTONS.has(element.type) ? element.value || element.alt : '') ||
    (element.tagName === 'INPUT' || element.tagName === 'SELECT' || element.tagName === 'TEXTAREA' ? '' : element.innerText) ||
    element.getAttribute('alt') || element.getAttribute('title') || element.getAttribute('placeholder') ||
    element.querySelector?.('img[alt]')?.alt || element.getAttribute('name'));

  const numberOf = (element) => {
    let number = store.numbers.get(element);
    if (number === undefined) {
      number = store.elements.push(new WeakRef(element)) - 1;
      store.numbers.set(element, number);
    }
    return number;
  };

  const valueOf = (element) => {
    if (element.type === 'password') return element.value ? '(hidden)' : '';
    if (element.tagName === 'SELECT') return squeezed([...element.selectedOptions].map((option) => option.label).join(', '));
    return 'value' in element && typeof element.value === 'string' && element.tagName !== 'BUTTON' ? squeezed(element.value) : null;
  };

  const described = (element) => {
    const box = element.getBoundingClientRect();
    return {
      number: numberOf(element),
      tag: bounded(element.tagName.toLowerCase()),
      role: bounded(element.getAttribute('role')),
      type: typeof element.type === 'string' && element.tagName !== 'A' ? element.type : null,
      name: nameOf(element),
      value: valueOf(element),
      href: typeof element.href === 'string' ? bounded(element.href) : null,
      placeholder: bounded(element.getAttribute('placeholder')),
      checked: element.type === 'checkbox' || element.type === 'radio' ? element.checked : null,
      disabled: element.matches(':disabled') || element.getAttribute('aria-disabled') === 'true',
      options: element.tagName === 'SELECT' ? [...element.options].slice(0, 100).map((option) => squeezed(option.label)) : null,
      x: box.x, y: box.y, width: box.width, height: box.height,
      in_viewport: box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth,
    };
  };

  const add = (item) => { found.length < limit ? found.push(item) : left++; };
  const nodesOf = (node) => node.shadowRoot ? node.shadowRoot.childNodes
    : node.localName === 'slot' && node.assignedNodes().length ? node.assignedNodes() : node.childNodes;

  const walk = (node, inside) => {
    if (node.nodeType === Node.TEXT_NODE) {
      if (texts && !inside && node.parentElement && shown(node.parentElement) && squeezed(node.data)) add({text: squeezed(node.data)});
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE || ['script', 'style', 'noscript', 'template'].includes(node.localName)) return;
    const acted = (shown(node) || node.type === 'file') && interactive(node);
    if (acted) add(described(node));
    for (const child of nodesOf(node)) walk(child, inside || acted);
  };

  if (document.body) walk(document.body, false);
  return {found, left};
}
