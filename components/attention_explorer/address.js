// Tells the explorer on the same page what the address says; it may be mounted before this or after.

export default function ({ data }) {
  const tell = () => document.dispatchEvent(new CustomEvent("headlight:choice", { detail: data }));
  tell();
  const late = setTimeout(tell, 300); // an explorer that was not there yet
  return () => clearTimeout(late);
}
