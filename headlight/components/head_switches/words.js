// Sentences of the head switches.

import { likelihoodText, shareText } from "../lib/losses.js";
import { kindHeadName } from "../lib/names.js";
import { invite } from "../lib/screen.js";
import { say } from "./texts.toml";

export function headText(head, losses, tokens, turned) {
  const moved = likelihoodText(losses) + shareText(losses, tokens);
  return say(turned ? "head_turned" : "head", { head: kindHeadName(head), moved });
}

export const invitation = () => invite(say("invitation"));
export const limitText = (limit) => say("limit", { moved: likelihoodText([limit]) });
export const captionText = (ablation, limit) => say("caption", { ablation, limit });
