// Sentences on what the tokens of a translation lose of their log-probability, in nats.

import { local } from "./language.js";
import { say } from "./texts.toml";
import { sum } from "./trace.js";
import { LEAST_SHOWN, distinct, grouped, quotedAt, signed } from "./words.js";

const ALIKE_LIKELY = 1.05; // times: less is no other likelihood in words
const MOST_NATS = 20; // more is not told apart

export function movedText(losses) {
  const total = sum(losses), nats = Math.abs(total);
  if (nats < LEAST_SHOWN) return say("stays");
  return total > 0 ? say("falls", { nats }) : say("rises", { nats });
}

// The token that moved most in the direction of the whole, and the sum of all others; of a whole that stays, the token
// that moved most either way. "" where no token moved by what two digits show.
export function shareText(losses, tokens) {
  const total = sum(losses), stays = Math.abs(total) < LEAST_SHOWN;
  const toward = losses.map((loss) => (stays ? Math.abs(loss) : loss * Math.sign(total)));
  const at = toward.indexOf(Math.max(...toward));
  if (toward[at] < LEAST_SHOWN) return "";
  const most = losses[at], rest = total - most, verb = (loss) => (loss > 0 ? "lose" : "gain");
  const text = say(`most_${verb(most)}`, { token: quotedAt(tokens, at, "output token"), nats: Math.abs(most) });
  if (signed(most, 2) === signed(total, 2)) return text;
  return text + say(`others_${verb(rest)}`, { nats: distinct([Math.abs(rest), 0])[0] });
}

export function likelihoodText(losses) {
  const lost = sum(losses), ratio = Math.exp(Math.min(Math.abs(lost), MOST_NATS));
  if (ratio < ALIKE_LIKELY) return say("alike");
  const whole = ratio < 10_000 ? grouped(Number(ratio.toPrecision(2))) : say("many");
  return say(lost > 0 ? "less" : "more", { times: ratio < 10 ? local(ratio.toFixed(1)) : whole });
}
