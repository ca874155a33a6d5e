// Contrast of every text with what is behind it, by WCAG 2.2, 1.4.3; returns what is too low.
(() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map();
  // Any notation of a colour, as red, green, blue and how much it covers.
  const parsed = (colour) => {
    if (!known.has(colour)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = (upper, lower) => {
    const share = upper[3];
    const mixed = [0, 1, 2].map((index) => upper[index] * share + lower[index] * (1 - share));
    return [...mixed, 1];
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const grounds = new Map([[null, parsed("canvas")]]);
  const behind = (element) => {
    if (!grounds.has(element)) {
      const own = parsed(getComputedStyle(element).backgroundColor);
      grounds.set(element, over(own, behind(element.parentElement)));
    }
    return grounds.get(element);
  };
  const wrong = new Map();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (!own || element.getClientRects().length === 0 || element.closest("title")) continue;
    // What cannot be used need not be read (WCAG: inactive components).
    if (element.disabled) continue;
    const style = getComputedStyle(element);
    if (style.visibility === "hidden") continue;
    const drawn = element instanceof SVGElement;
    const ground = behind(drawn ? element.closest(".drawing, figure") : element);
    const ink = over(parsed(drawn ? style.fill : style.color), ground);
    const [light, dark] = [luminance(ink), luminance(ground)].sort((one, other) => other - one);
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) {
      const what = `${element.tagName}.${element.getAttribute("class")}`;
      wrong.set(what, `${what} ${ratio.toFixed(2)}: ${element.textContent.slice(0, 40)}`);
    }
  }
  return [...wrong.values()];
})()
