// Where a text occurs in one frame, whatever its case, through open shadow roots, with what stands around it.
({keyword, limit, around}) => {
  const wanted = keyword.toLowerCase();
  const found = [];
  let total = 0;

  const take = (node, start) => {
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, Math.min(start + keyword.length, node.data.length));
    const box = range.getBoundingClientRect();
    const shown = box.width > 0 && node.parentElement?.checkVisibility({visibilityProperty: true}) === true;
    if (!shown) return;
    total++;
    if (found.length >= limit) return;
    const text = node.data.slice(Math.max(0, start - around), start + keyword.length + around).replace(/\s+/g, ' ').trim();
    found.push({text, frame: null, x: box.x, y: box.y, width: box.width, height: box.height,
      in_viewport: box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth});
  };

  const search = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.currentNode; node; node = walker.nextNode()) {
      if (node.shadowRoot) search(node.shadowRoot);
      if (node.nodeType !== Node.TEXT_NODE || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(node.parentElement?.tagName)) continue;
      const text = node.data.toLowerCase();
      for (let start = text.indexOf(wanted); start >= 0; start = text.indexOf(wanted, start + wanted.length)) take(node, start);
    }
  };

  if (document.body) search(document.body);
  return {found, total};
}
