// Sets the theme that was chosen in the bar. A page loads it in its head, before anything is painted.

document.documentElement.dataset.theme = (() => {
  try {
    return localStorage.getItem("theme") ?? "auto";
  } catch {
    return "auto";
  }
})();
