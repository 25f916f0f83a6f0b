// Motion of a quarter of a second that shows an origin; none for visitors who prefer reduced motion.

export const MOMENT = { duration: 250, easing: "ease-out" };

export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Let an image of something, which nobody can hit, go from one place to another of its frame, and be gone. Places are
// as getBoundingClientRect() has them, and the frame's position is not static.
export function fly(image, from, to, frame) {
  if (isStill() || !from.width) return;
  const zoom = frame.currentCSSZoom ?? 1, origin = frame.getBoundingClientRect();
  const placeOf = ({ left, top }) => [(left - origin.left) / zoom, (top - origin.top) / zoom];
  const [[left, top], [endLeft, endTop]] = [placeOf(from), placeOf(to)];
  image.setAttribute("aria-hidden", "true");
  image.tabIndex = -1;
  Object.assign(image.style, {
    position: "absolute", left: `${left}px`, top: `${top}px`, zIndex: 3, pointerEvents: "none",
    width: `${from.width / zoom}px`, height: `${from.height / zoom}px`,
  });
  frame.append(image);
  const transform = `translate(${endLeft - left}px, ${endTop - top}px)`, width = `${to.width / zoom}px`;
  image.animate([{}, { transform, width, opacity: 0.6 }], MOMENT).onfinish = () => image.remove();
}
