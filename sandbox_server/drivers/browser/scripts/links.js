// The links of one frame, through open shadow roots, each address once.
() => {
  const found = new Map();
  const search = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) search(element.shadowRoot);
      if (element.matches('a[href]') && !found.has(element.href)) found.set(element.href, (element.innerText || element.title || '').replace(/\s+/g, ' ').trim().slice(0, 200));
    }
  };
  search(document);
  const bounded = (href) => href.length > 8192 ? `${href.slice(0, 8192)}…` : href;
  const links = [...found].slice(0, 1000).map(([href, text]) => ({text, href: bounded(String(href))}));
  return {found: links, left: found.size - links.length};
}
