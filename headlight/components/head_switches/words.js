// Sentences of the head switches.

import { movedText, shareText } from "../lib/losses.js";
import { invite } from "../lib/screen.js";
import { kindHeadName } from "../lib/words.js";

export function headText(head, losses, tokens, turned) {
  const end = turned ? " Greedy decoding then finds another translation." : "";
  const moved = `${movedText(losses)}${shareText(losses, tokens)}`;
  return `Without ${kindHeadName(head)} log P of the translation ${moved}.${end}`;
}

export const invitation = () => invite("Each cell is a head, brown where the translation becomes less likely without " +
  "it. A dot: another translation comes. Click to switch it off.");

export const limitText = (limit) => `0 to ${limit.toFixed(2)} nats of log P lost without it`;

export const captionText = (ablation, limit) => "What the translation loses of its log P, in nats, without each head " +
  `alone, ablated by ${ablation}: brown, a loss; teal, a gain; the full colours stand for ${limit.toFixed(2)}. ` +
  "A dot: without the head another translation comes.";
