// What a button opens over the page: it closes on Escape and on a click elsewhere.

export class Popover {
  constructor(details) {
    this.details = details;
    details.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !details.open) return;
      event.stopPropagation(); // what is chosen stays
      details.open = false;
      details.querySelector("summary").focus();
    });
    this.elsewhere = (event) => {
      if (!event.composedPath().includes(details)) details.open = false;
    };
    document.addEventListener("pointerdown", this.elsewhere);
  }

  leave() {
    document.removeEventListener("pointerdown", this.elsewhere);
  }
}
