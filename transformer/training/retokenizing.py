"""A model with another tokenizer, as a start for training: what both vocabularies have keeps its vectors."""

import dataclasses

import torch

from ..checkpoint import Checkpoint
from ..data.tokenizer import SPACE, Tokenizer
from ..errors import CheckpointError
from ..model.transformer import Transformer

_A_ROW_A_PIECE = {"source_embedding.embedding.weight", "output_projection.bias"}  # the first is the output's, too


def retokenize(checkpoint: Checkpoint, tokenizer: Tokenizer) -> Checkpoint:
    """Return a checkpoint of the same layers that reads and writes the pieces of `tokenizer`.

    A piece that the old vocabulary has, the special ones among them, keeps its vector; a new one gets the mean of the
    vectors of the old pieces that its text is cut into. So the model knows nothing new, and little less, until it is
    trained on: use it with `--warm-start`. Only models with one vocabulary for both languages, as trained here.
    Raises CheckpointError for others.
    """
    model, old = checkpoint.model, checkpoint.tokenizer
    if not isinstance(old, Tokenizer) or not model.config.ties_output or model.config.target_vocab_size:
        raise CheckpointError("Only a model with one vocabulary for both languages can be given another tokenizer.")
    changed = Transformer(dataclasses.replace(model.config, vocab_size=len(tokenizer)))
    weights: dict[str, torch.Tensor] = dict(model.named_parameters())
    for name in _A_ROW_A_PIECE & weights.keys():
        weights[name] = _rows(weights[name].detach(), old, tokenizer)
    changed.set_weights(weights)
    return Checkpoint(changed.eval(), tokenizer, checkpoint.training, checkpoint.history)


def _rows(weight: torch.Tensor, old: Tokenizer, new: Tokenizer) -> torch.Tensor:
    """Return a row for each new piece: [new pieces, ...] of [old pieces, ...]."""
    kept = {getattr(new, name): getattr(old, name) for name in ("pad_id", "unknown_id", "begin_id", "end_id")}
    rows = []
    for number in range(len(new)):
        text = new.piece_text(number)
        same = kept.get(number, old.id_of(text))
        is_new = number not in kept and same == old.unknown_id
        rows.append(weight[_cut(text, old)].mean(0) if is_new else weight[same])
    return torch.stack(rows)


def _cut(piece: str, old: Tokenizer) -> list[int]:
    """Return the old pieces of a new piece's text; one from inside a word is not cut as if it began a word."""
    ids = old.encode(piece.removeprefix(SPACE))
    if ids and not piece.startswith(SPACE):
        first = old.piece_text(ids[0]).removeprefix(SPACE)
        inside = old.id_of(first) if first else old.unknown_id
        ids = ids[1:] if not first else [inside if inside != old.unknown_id else ids[0], *ids[1:]]
    return ids or [old.unknown_id]
