// The measures that this page can do by itself, by the names that lessons' files have for them; what is measured is
// told in headlight/lessons/measures.

import {
  aligning_layer, best_aligner, better_reading, fed_in_row, input_head, read_when_fed,
} from "./measures/alignment.js";
import {
  harmless_words, lines_cross, mean_of_heads, most_read, most_spread, without_word,
} from "./measures/attention.js";
import {
  after_forcing, best_of_beam, hardest_token, longer_translation, perplexity, second_candidate, tempered,
  winner_with_penalty,
} from "./measures/decoding.js";
import {
  break_with_few, head_of_dimension, heads_that_change, most_missed, neighbour_head, without_neighbour_head,
} from "./measures/heads.js";
import {
  best_key, masked_weight, open_cells, quiet_head, reads_later, root_of_d_k, row_without_root, shifted_row,
} from "./measures/inside.js";

export const MEASURES = {
  after_forcing, aligning_layer, best_aligner, best_key, best_of_beam, better_reading, break_with_few,
  fed_in_row, hardest_token, harmless_words, head_of_dimension, heads_that_change, input_head,
  lines_cross, longer_translation, masked_weight, mean_of_heads, most_missed, most_read, most_spread,
  neighbour_head, open_cells, perplexity, quiet_head, read_when_fed, reads_later, root_of_d_k,
  row_without_root, second_candidate, shifted_row, tempered, winner_with_penalty,
  without_neighbour_head, without_word,
};
