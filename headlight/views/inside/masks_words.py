"""Sentences of the page on masks: templates by name."""

VIEWS = ("without the mask", "the three masks", "one head")
DISABLED, READERS = ("causal", "padding"), ("encoder", "cross")
WORDS = {
    # The three masks
    "three": "The mask of the decoder's self-attention: rows are queries, columns keys. Blue is unmasked; an empty "
    "cell is masked: its score becomes minus infinity, its weight exactly 0.",
    "padding_mask": "⟨pad⟩ fills up the shorter sentences of a batch and means nothing, so nothing may read it.",
    "causal_mask": "A row predicts the next token. In training the whole target is there: without this mask a row "
    "could read the answer.",
    "target_mask": "Unmasked only where both are: what every head of the decoder's self-attention gets.",
    "begins_with_pad": "This model's decoder begins with ⟨pad⟩: the first one may be read.",
    "begins_with_end": "This model's decoder begins with ⟨end⟩, where the paper's has a begin.",
    "covered": "The causal mask covers {causal} of {cells} cells, the padding mask {padding}.",
    "no_row_padded": "None of its rows is padding: compare with a longer or shorter sentence.",
    "covered_together": "Both together cover {together}. In the first {rows}, of real tokens, the causal mask alone "
    "decides: padding is always later. Only rows of padding could attend to it, and their output is discarded.",
    "try_masks": "the first sentence as the second one too: no padding is left. Then “one head”, with real scores.",
    "source_mask_of": "Encoder self-attention and cross-attention",
    "source_mask": "have the padding mask of the source, and no other.",
    "source_covered": "The whole source is there from the start, so nothing in it is “later”. It covers {masked} of "
    "{source} columns for sentence {sentence}: {of_encoder} of {encoder} cells in every encoder head, {of_cross} of "
    "{cross} in every cross-attention head.",
    # One head
    "scores": "QKᵀ / √d_k, how well a key suits a query: any number, in masked cells too.",
    "after_mask": "Masked cells become minus infinity; the others stay as they are.",
    "softmax": "exp of each score over its row's sum: every row sums to 1, masked cells are exactly 0.",
    "all_unmasked": "All {cells} cells are unmasked.",
    "try_all_unmasked": "The other sentence has masked ones if it is shorter, and so has the decoder's self-attention.",
    "share": "The masked cells would get {mean} of their rows' weight.",
    "share_more": "That is what softmax of the same scores gives to {masked} of {cells} cells without the mask, most "
    "in row {row}{named}: {most}. With it they get exactly 0.",
    "try_head": "the first row: a single cell is unmasked, so its weight is 1 whatever its score.",
    "row_of_encoder": " ({fed})",
    "row_of_decoder": " (input {fed}, output {predicted})",
    "by_hand": "Row {row}, {what}: exp(score) summed over {cells} is {total}. The largest term, {key}, is exp({score}) "
    "= {largest}, so its weight is {largest} / {total} = {share}; the model has {weight}.",
    "line_score": "score",
    "line_mask": "after the mask",
    "line_exp": "exp",
    "line_share": "exp / {total}",
    "line_weight": "the model's weight",
    "padding_row": "padding, whose output is discarded",
    # Without the mask
    "leak": "Without the mask {mean} of a row's weight leaks to {to}.",
    "leak_more": "That is in this head, averaged over rows with masked cells; in row {row}{named} it is {most}.",
    "later": "later tokens",
    "answer": " The next token itself, right of the diagonal, gets {answer} on average.",
    "leaks_most": " No head of this kind leaks more.",
    "try_leakiest": "{head}, where the most leaks of all heads of this kind: {mean} on average.",
    "next_tokens": "Without the mask the next tokens' mean probability is {now}, not {was}.",
    "next_tokens_stay": "Without the mask the next tokens' mean probability stays at {was}.",
    "never_learned": "The model never learned to read {unread}: mean probability {now}, not {was}.",
    "means": "Both are means over the next tokens, without the mask and with it. {why}",
    "changes_most": "Step {step} changes most: {token} has {now} without the mask, {was} with it. ",
    "others": "The top-1 prediction is another one at {others} of {steps}.",
    "why_causal": "These tokens are the model's own choices, made with the mask, and it never learned to copy from "
    "later ones. A model trained without the mask would learn to, and be useless for decoding, where there are none "
    "yet.",
    "why_padding": "The model never attended to padding in training.",
    "unread_causal": "ahead",
    "unread_padding": "padding",
    "try_causal": "",
    "try_padding": "a longer second sentence, then a shorter one: without the padding mask the probabilities depend on "
    "the rest of the batch.",
    "no_padding": "The source of sentence {sentence} has no padding: nothing changes.",
    "rounding": "The largest difference of a probability, {change}, is rounding.",
    "try_no_padding": "the other sentence if it is shorter, or make it longer.",
    "without": "Rows of real tokens only. {colours} The mask is removed in every layer, so from the {changed} layer on "
    "a head also reads changed vectors.",
    "coloured": "Orange cells are the masked ones; the last column is what leaks to them in all.{outlined}",
    "outlined": " Outlined is the token that the row is to predict.",
    "framed": "Framed cells are the masked ones; the number behind a row is what leaks to them in all.",
    "changed_cross": "first decoder",
    "changed": "second",
    "unused_second": "The second sentence cannot be used. {error}",
}

# What stands beside and above what is drawn.
LABELS = {
    "masks": "Show",
    "disabled_mask": "Mask to remove",
    "reader": "Kind of attention",
    "kind": "Attention",
    "layer": "Layer",
    "head": "Head",
    "query": "Row by hand",
    "row": "Sentence shown",
    "second": "Second sentence of the batch",
    "padding_mask": "Padding mask",
    "causal_mask": "Causal mask",
    "target_mask": "Both: the target mask",
    "open": "unmasked",
    "closed": "masked",
    "scores": "1. Scores",
    "after_mask": "2. After the mask",
    "softmax": "3. After softmax",
    "by_hand": "One row by hand",
    "without": "Without the mask",
    "with": "The same head with the mask",
    "without_column": "without the mask",
    "with_column": "with the mask",
    "leaked": "leaked: masked with the mask",
    "next": "Each next token",
    "top": "top-1 “{token}” {chance}",
    "batch": "The batch",
    "sentence": "sentence",
    "source": "source",
    "target": "target fed",
    "translated": "Translation of the second sentence:",
}


def said(name: str, **fields: object) -> str:
    """Fill in a template."""
    return WORDS[name].format(**fields)
