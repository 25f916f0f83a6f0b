// A caption as LaTeX reads it.

const SIGNS = {
  "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}",
  ">": "\\textgreater{}", "▁": "\\_", "√": "$\\surd$", "−": "$-$", "×": "$\\times$", "·": "$\\cdot$", "∞": "$\\infty$",
  "→": "$\\to$", "←": "$\\gets$", "≤": "$\\le$", "≥": "$\\ge$", "Σ": "$\\Sigma$", "β": "$\\beta$", "γ": "$\\gamma$",
  "ε": "$\\varepsilon$", "π": "$\\pi$", "′": "$'$", "⁻": "$^{-}$",
};
for (const [high, digit] of [..."⁰¹²³⁴⁵⁶⁷⁸⁹"].entries()) SIGNS[digit] = `$^{${high}}$`;
for (const [low, digit] of [..."₀₁₂₃₄₅₆₇₈₉"].entries()) SIGNS[digit] = `$_{${low}}$`;

// \caption{…} with the text: what is a command to LaTeX, a token such as "%", stands for itself; what pdflatex has no
// letter for is written as mathematics.
export function latexCaption(text) {
  const ofLatex = (sign) => ("{}#$%&_".includes(sign) ? `\\${sign}` : sign);
  const escaped = text.replace(/[{}#$%&_]|[\\~^<>]|\P{ASCII}/gu, (sign) => SIGNS[sign] ?? ofLatex(sign));
  return `\\caption{${escaped.replace(/\s+/g, " ").trim()}}`;
}
