// Follows the system's theme until a person chooses another.

const THEMES = ["auto", "light", "dark"];
const KEY = "mirrorwatch-theme";

/** Wires the button; `changed` is called when colours are others. */
export function watchTheme(button, changed) {
  const root = document.documentElement;
  const show = () => {
    button.textContent = `Theme: ${root.dataset.theme ?? "auto"}`;
  };
  button.addEventListener("click", () => {
    const at = THEMES.indexOf(root.dataset.theme ?? "auto");
    root.dataset.theme = THEMES[(at + 1) % THEMES.length];
    try {
      localStorage.setItem(KEY, root.dataset.theme);
    } catch {
      // The choice then lasts as long as the page.
    }
    show();
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  show();
}
