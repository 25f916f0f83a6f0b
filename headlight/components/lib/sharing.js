// A teacher's rights in an address: the secret of her class stands behind the "#", which no browser sends to a server,
// and the class's code before it. Neither is in what is shared.

const CODE = "class", SECRET = /^#teach=([\w-]{8,100})$/;

export const secretIn = (hash) => SECRET.exec(hash)?.[1];

// An address as others may have it.
export function shared(address) {
  const url = new URL(address);
  if (secretIn(url.hash)) url.hash = "";
  if (!url.searchParams.has(CODE)) return url.href;
  const left = url.search.slice(1).split("&").filter((each) => !each.startsWith(`${CODE}=`)); // the rest to the letter
  url.search = left.join("&");
  return url.href;
}

// page: the name of the page in the address, "home" for the first.
export function teacherLink(address, page, code, secret) {
  const url = new URL(address);
  const base = url.pathname.replace(/\/$/, "").replace(new RegExp(`/${page}$`), "");
  return `${url.origin}${base}/lessons?lessons=a+class&${CODE}=${code}#teach=${secret}`;
}
