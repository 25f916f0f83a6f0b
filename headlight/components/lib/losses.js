// Sentences on what the tokens of a translation lose of their log-probability, in nats.

import { sum } from "./trace.js";
import { LEAST_SHOWN, distinct, grouped, quotedAt, signed } from "./words.js";

const ALIKE_LIKELY = 1.05; // times: less is no other likelihood in words
const MOST_NATS = 20; // more is not told apart

export function movedText(losses) {
  const total = sum(losses);
  if (Math.abs(total) < LEAST_SHOWN) return "stays as it is";
  return `${total > 0 ? "falls" : "rises"} by ${Math.abs(total).toFixed(2)} nats`;
}

// The token that moved most in the direction of the whole, and the sum of all others; of a whole that stays, the token
// that moved most either way. "" where no token moved by what two digits show.
export function shareText(losses, tokens) {
  const total = sum(losses), stays = Math.abs(total) < LEAST_SHOWN;
  const toward = losses.map((loss) => (stays ? Math.abs(loss) : loss * Math.sign(total)));
  const at = toward.indexOf(Math.max(...toward));
  if (toward[at] < LEAST_SHOWN) return "";
  const most = losses[at], rest = total - most, moves = (loss) => (loss > 0 ? "lose" : "gain");
  const text = `: ${quotedAt(tokens, at, "output token")} ${moves(most)}s most, ${Math.abs(most).toFixed(2)} nats`;
  if (signed(most, 2) === signed(total, 2)) return text;
  return `${text}, and all others together ${moves(rest)} ${distinct([Math.abs(rest), 0])[0]}`;
}

export function likelihoodText(losses) {
  const lost = sum(losses), times = Math.exp(Math.min(Math.abs(lost), MOST_NATS));
  if (times < ALIKE_LIKELY) return "about as likely as before";
  const whole = times < 10_000 ? grouped(Number(times.toPrecision(2))) : "over 10,000";
  return `${times < 10 ? times.toFixed(1) : whole} times ${lost > 0 ? "less" : "more"} likely`;
}
