// Sentences of the beam tree.

import { say } from "./texts.toml";

export const readerText = ({ layer, head }) => say("reader", { layer: layer + 1, head: head + 1 });

export function branchText({ ids, token, logProbability, place, outcome, rank, score }, chance) {
  return say("branch", {
    token, step: ids.length, chance, sum: logProbability, place: place ? say("place", { place }) : "",
    outcome: outcome === "ended" ? say("ended", { rank, score: score ?? 0 })
      : outcome ? say(outcome === "open" ? "fate_open" : "fate_fell_out") : "",
  });
}

// counts: branches by their outcome; worst: the farthest place of the best translation on its way, { step, place }, or
// null where none ended.
export function treeFinding(branches, { ended, open, "fell out": fellOut }, worst) {
  const more = say("grown", { branches, ended, fell_out: fellOut, open }), attempt = say("attempt");
  if (worst?.place > 1) return { headline: say("close", worst), more: say("grown_close", { grown: more }), attempt };
  return { headline: say(!worst ? "none_ended" : worst.place === null ? "first_token" : "led"), more, attempt };
}
