// Sentences of the beam tree.

import { chanceText, quoted, signed } from "../lib/words.js";

export const readerText = ({ layer, head }) => `Cross-attention layer ${layer + 1}, head ${head + 1} reads: `;

export function branchText({ ids, token, logProbability, place, outcome, rank, score }, chance) {
  const fates = {
    ended: ` It ended, rank ${rank} with the score ${signed(score ?? 0, 2)}.`,
    "fell out": " None of its continuations was kept.",
    open: " Unfinished when the search stopped.",
  };
  const inBeam = place ? `, place ${place} in the beam` : "";
  return (
    `${quoted(token)}, step ${ids.length}: ${chanceText(chance)} after what came before; ` +
    `log P of all so far ${signed(logProbability, 2)}${inBeam}.${fates[outcome] ?? ""}`
  );
}

const ATTEMPT = "a branch that fell out: how well could it have ended?";

// counts: branches by their outcome; worst: the farthest place of the best translation on its way, { step, place }, or
// null where none ended.
export function treeFinding(branches, counts, worst) {
  const grown =
    `Of ${branches} branches ${counts.ended} ended, ${counts["fell out"]} fell out of the beam, ${counts.open} ` +
    "stayed open.";
  if (!worst) return finding("No translation had ended when the search stopped.", grown);
  if (worst.place === null) return finding("The best translation ended with its first token.", grown);
  if (worst.place === 1) return finding("The best translation led the unfinished ones at every step.", grown);
  const headline = `Close! After step ${worst.step} the best translation was only in place ${worst.place}.`;
  return finding(headline, `At no step was it further back. ${grown}`);
}

const finding = (headline, more) => ({ headline, more, attempt: ATTEMPT });
