// Sentences of the head switches.

import { likelihoodText, shareText } from "../lib/losses.js";
import { kindHeadName } from "../lib/names.js";
import { invite } from "../lib/screen.js";

export function headText(head, losses, tokens, turned) {
  const end = turned ? " Another translation comes." : "";
  const moved = `${likelihoodText(losses)}${shareText(losses, tokens)}`;
  return `Without ${kindHeadName(head)} the translation is ${moved}.${end}`;
}

export const invitation = () => invite("Each cell is a head. The browner, the more this translation needs it. Click " +
  "to switch it off.");

export const limitText = (limit) => `without it: up to ${likelihoodText([limit])}`;

export const captionText = (ablation, limit) => "What the translation loses of its log P, in nats, without each head " +
  `alone, ablated by ${ablation}: brown, a loss; teal, a gain; the full colours stand for ${limit.toFixed(2)}. ` +
  "A dot: without the head another translation comes.";
