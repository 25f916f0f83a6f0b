// A finding: its headline, and behind "more" the rest and something to try.

import { element } from "./canvas.js";
import { inWords } from "./tokens.js";
import { say } from "./texts.toml";

export function findingElement({ headline, more = "", attempt = "" }) {
  const parts = [element("p", "headline", inWords(headline))];
  const folded = element("details", "", element("summary", "", say("more")));
  if (more) folded.append(element("p", "", inWords(more)));
  if (attempt) folded.append(element("p", "", element("strong", "", say("attempt")), ` ${inWords(attempt)}`));
  if (more || attempt) parts.push(folded);
  return element("div", "finding", ...parts);
}
