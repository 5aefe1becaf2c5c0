// Runs before the first paint, so that a chosen theme does not flash. Not a module: modules wait for the document.

(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try {
      return localStorage.getItem("tokenline-theme");
    } catch {
      return null; // storage is blocked
    }
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const theme = stored();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    show();
    system.addEventListener("change", show);
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try {
        localStorage.setItem("tokenline-theme", root.dataset.theme);
      } catch {
        // It lasts until the page is left.
      }
      show();
    });
  });
})();
