// The component without anything to be seen: it hands on what the address says, at once, and when the explorer on the
// same page comes later and asks.

let address;
const handOn = () => document.dispatchEvent(new CustomEvent("headlight:choice", { detail: address }));

export default function ({ data }) {
  address = data;
  handOn();
  document.addEventListener("headlight:asks", handOn);
  return () => document.removeEventListener("headlight:asks", handOn);
}
