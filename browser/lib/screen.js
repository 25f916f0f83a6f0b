// How high the window is for what stands in it, in the pixels of this element: a presented page is zoomed.

export function windowHeight(element) {
  return window.innerHeight / (element.currentCSSZoom ?? 1);
}
