"""Sentences of the page on positions: templates by name."""

WORDS = {
    "no_positions": "This model adds no positions: its encoder reads a multiset.",
    "no_positions_more": "So there is nothing to draw. Its decoder can learn something of the order from the causal "
    "mask alone (Haviv et al. 2022).",
    "multiplied": "This model's table is made with a slip: its positions are multiplied by 10,000^(2i / d_model), by "
    "which the formula divides them, as if the base were 1 / 10,000. Both laws still hold, but the farther right a "
    "pair, the faster it turns: neighbours are hardly more alike than positions far apart.",
    "first_position": "This model's position 0 has the formula's vector of position {first}. What depends on distances "
    "is the same.",
    "size": "d_model {d_model}, positions 0 to {last}, base {base}",
    "why": "Attention without a mask reads a multiset: it does not know the order of the words. (Under a causal mask "
    "the order is not lost altogether: Haviv et al. 2022.) So a vector that depends on the position alone is added to "
    "each embedding (Vaswani et al. 2017, 3.5), made of waves from fast to slow:",
    # Curves
    "curves": "Single dimensions over position",
    "pairs": "Even ones are sines, odd ones cosines; 2i and 2i + 1 are pair i and share a colour.",
    "joined": "Positions are whole numbers; the lines only join them.",
    "wave": "{whose} dimension {dimension} repeats every {wave} positions.",
    "in_model": "In this model",
    "with_settings": "With these settings",
    "ahead": "A pair's cosine runs a quarter wave ahead of its sine.",
    # Matrix
    "matrix": "The whole matrix: one row for each position",
    "still": "In this model {still} of {d_model} columns change by less than {least}.",
    "still_over": "That is over its positions 0 to {last}{beside}. The farther right a column, the slower it "
    "changes{but}.",
    "still_settings": "; with these settings {still} of {d_model} do over positions 0 to {last}",
    "but_faster": " (in this model, the faster)",
    # Similarity
    "similarity": "How alike are two positions? PE(p) · PE(q)",
    "products": "The dot product of two positions depends on their distance alone.",
    "products_more": "So every diagonal has one colour. The largest deviation from the mean of a distance is "
    "{deviation}{beside}: rounding. At distance 0 it is d_model / 2 = {half}, {fading}.",
    "products_model": " (this model: {deviation})",
    "distance": "The same over the distance",
    "distance_more": "as a share of its value at distance 0: the cosine of two positions",
    "half_lost": "half is lost at distance {distance}",
    "half_remains": "half remains up to distance {distance}",
    # Learned tables
    "learned": "This model's positions are learned: no formula made them.",
    "learned_more": "Each side has {length} rows of {d_model} numbers: there are no wavelengths, and no rotation leads "
    "from one to the next. {told}",
    "norms": "The {stack}'s rows have norms from {least} to {most}, the longest at position {longest}.",
    "likeness": "Neighbouring rows of the {stack} have a cosine of {near} on average, rows {gap} apart {distant}.",
    # Word order
    "order_other_tokens": "The sentences have different tokens: only shared ones can be compared.",
    "order_same": "Both sentences are the same: exchange two of their words.",
    "order_one_translation": "Without positions both sentences get the same translation.",
    "order_same_vectors": "Without positions the encoder is given the same vectors in both.",
    "order_none_moved": "No token of both stands at another position.",
    "order_moved": "{token} stands at position {first} in the first and {second} in the second.",
    "order_nothing_added": "{moved} This model adds no positions: the two are {after} apart.",
    "order_more": "{moved} Its embeddings are {before} apart; with the positions added, {after}. Attention without a "
    "mask reads a multiset of vectors: without positions the encoder cannot know who stands where. With them the "
    "translation is {same}.",
    "one_translation": "the same",
    "two_translations": "a different one for each",
    "order_try": "a sentence of your own, and other words exchanged.",
    "reordered": "The same words in another order",
    "without": "without positions",
    "copies": "A word at its two places",
    "copies_more": "the same embedding, two sums",
}

# What stands beside what is drawn, and what is read out of it.
LABELS = {
    "positions": "Show",
    "dims": "Dimensions",
    "position": "position",
    "distance": "q − p",
    "curves": "Curves over position, dimensions",
    "sine": "sin",
    "cosine": "cos",
    "cell": "position {row}, dimension {dimension}: {value}",
    "pair": "p = {p}, q = {q}: {value}",
    "copy": "{part} of {token} at position {place}, dimension {dimension}: {value}",
}


def said(name: str, **fields: object) -> str:
    """Fill in a template."""
    return WORDS[name].format(**fields)
