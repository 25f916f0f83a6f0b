// A component alone on a page of its own: it is given the data that the page brings along, and reports to nobody.

import { bytes } from "../lib/format.js";

// Bytes travel as base64 in an object of this one name (see standalone.py).
const BYTES = "base64 bytes";

function revived(_, value) {
  const text = value?.[BYTES];
  return text === undefined ? value : bytes(text);
}

// Hand on a choice, in place of an address, when the component requests it.
function answer(choice) {
  document.addEventListener("headlight:asks", () => {
    document.dispatchEvent(new CustomEvent("headlight:choice", { detail: choice }));
  });
}

export default function start(component) {
  const { data, choice } = JSON.parse(document.getElementById("page_data").textContent, revived);
  if (choice) answer(choice);
  component({ parentElement: document.getElementById("page_component"), data, setTriggerValue: () => {} });
}
