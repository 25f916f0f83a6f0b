import { say } from "./texts.toml";

// The room that a window has for what stands in it, in the pixels of an element: a presented page is zoomed.

export function windowHeight(element) {
  return window.innerHeight / (element.currentCSSZoom ?? 1);
}

// From the top of an element to the bottom of the window, with the page scrolled to its beginning.
export function heightBelow(element) {
  const page = element.getRootNode().host?.closest("[data-testid=stMain]");
  const top = element.getBoundingClientRect().top + (page?.scrollTop ?? 0);
  return (window.innerHeight - top) / (element.currentCSSZoom ?? 1);
}

// The verb for choosing, with a finger or with a mouse.
export const press = () => (window.matchMedia("(pointer: coarse)").matches ? "tap" : "click");

// A sentence on clicking or hovering, for whom it is: with a finger both are a tap.
export const invite = (text) => {
  if (press() === "click") return text;
  return say("taps").split(", ").map((pair) => pair.split(" > ")).reduce((all, pair) => all.replaceAll(...pair), text);
};
