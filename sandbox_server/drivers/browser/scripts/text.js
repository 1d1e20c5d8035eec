// The visible text of one frame; what stands in open shadow roots follows that of the document.
() => {
  const roots = (node) => [...node.querySelectorAll('*')].flatMap((element) => element.shadowRoot ? [element.shadowRoot, ...roots(element.shadowRoot)] : []);
  const shadows = document.body ? roots(document.body) : [];
  const parts = shadows.map((root) => [...root.children].filter((child) => !['STYLE', 'SCRIPT', 'SLOT'].includes(child.tagName)).map((child) => child.innerText).join('\n'));
  return [document.body?.innerText ?? document.documentElement?.textContent ?? '', ...parts].filter((part) => part && part.trim()).join('\n');
}
