// Returns words whose colour has a contrast below 4.5 with what is behind.
const parse = (text) => {
  const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
  return { rgb: [r, g, b], a };
};
const mix = (over, under, a) => over.map((v, n) => v * a + under[n] * (1 - a));
const luminance = (rgb) => rgb
  .map((v) => v / 255)
  .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
const behind = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const { rgb, a } = parse(getComputedStyle(at).backgroundColor);
    if (a > 0) layers.push({ rgb, a });
    if (a === 1) break;
  }
  return layers.reverse().reduce((under, { rgb, a }) => mix(rgb, under, a),
    [255, 255, 255]);
};
const found = new Set();
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement;
  if (!texts.currentNode.textContent.trim()) continue;
  if (!element.checkVisibility() || element.closest(".sr-only, script, canvas, noscript")) continue;
  const { rgb, a } = parse(getComputedStyle(element).color);
  const back = behind(element);
  const [low, high] = [luminance(mix(rgb, back, a)), luminance(back)]
    .sort((x, y) => x - y);
  const contrast = (high + 0.05) / (low + 0.05);
  if (contrast < 4.5) {
    found.add(`${contrast.toFixed(2)}: ${texts.currentNode.textContent.trim().slice(0, 40)}`
      + ` (${element.className || element.tagName})`);
  }
}
return [...found];
