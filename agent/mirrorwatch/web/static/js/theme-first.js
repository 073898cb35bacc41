// Runs before the first paint, so that a chosen theme does not flash.
try {
  const theme = localStorage.getItem("mirrorwatch-theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden; the system's theme serves.
}
