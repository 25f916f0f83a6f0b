// Tells the explorer on the same page what the address says: at once, and when the explorer comes later and asks.

let written;
const tell = () => document.dispatchEvent(new CustomEvent("headlight:choice", { detail: written }));

export default function ({ data }) {
  written = data;
  tell();
  document.addEventListener("headlight:asks", tell);
  return () => document.removeEventListener("headlight:asks", tell);
}
