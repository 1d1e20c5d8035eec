// Scroll what a wheel in the middle of the window would scroll, and say where it stands then.
({x, y}) => {
  const root = document.scrollingElement ?? document.documentElement;
  const goes = (element) => {
    const style = getComputedStyle(element);
    const free = (overflow) => element === root || overflow === 'auto' || overflow === 'scroll' || overflow === 'overlay';
    return (y > 0 && free(style.overflowY) && element.scrollTop + element.clientHeight < element.scrollHeight - 1) ||
      (y < 0 && free(style.overflowY) && element.scrollTop > 0) ||
      (x > 0 && free(style.overflowX) && element.scrollLeft + element.clientWidth < element.scrollWidth - 1) ||
      (x < 0 && free(style.overflowX) && element.scrollLeft > 0);
  };
  let target = root;
  if (!goes(root)) {
    for (let element = document.elementFromPoint(innerWidth / 2, innerHeight / 2); element; element = element.parentElement) {
      if (goes(element)) { target = element; break; }
    }
  }
  target.scrollBy({left: x, top: y, behavior: 'instant'});
  return {x: Math.round(target.scrollLeft), y: Math.round(target.scrollTop),
    width: target.scrollWidth, height: target.scrollHeight,
    at_end: target.scrollTop + target.clientHeight >= target.scrollHeight - 1};
}
