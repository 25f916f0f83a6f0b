"""A checkpoint as CTranslate2 (OpenNMT) runs it on the CPU, in float32 and with weights in int8.

Its converter of Marian's models starts the decoder from a zero embedding, as models of the Marian toolkit do, names
`</s>` as the start and takes the vocabulary's last entry for the padding. A model that starts with the embedding of
`<s>` and has its padding elsewhere would be read wrongly, so its loader for BART fills in the specification here.
"""

import multiprocessing
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from transformers import MarianMTModel

from transformer import Translator
from transformer.data.batching import Ids
from transformer.exchange.exporting import export_marian

try:
    import ctranslate2
    from ctranslate2.converters.transformers import BartLoader
except ImportError:
    ctranslate2 = None

WEIGHTS = "float32", "int8"
MISSING = "CTranslate2 is not installed (`pip install -r benchmarks/requirements.txt`): nothing is compared with it."


def is_installed() -> bool:
    """Whether there is anything to measure against."""
    return ctranslate2 is not None


class CTranslate2Peer:
    """The model of a Marian export with this kind of weights, as many threads as PyTorch has, one batch at a time.

    It runs in a process of its own: where it has run once, every multiplication of a few rows by PyTorch in the same
    process takes twice its time. What goes to it and comes back are ids, a tenth of a millisecond for a sentence.
    """

    def __init__(self, translator: Translator, weights: str):
        self.weights = weights
        tokenizer, config = translator.tokenizer, translator.model.config
        self._tokens = [tokenizer.piece_text(id) for id in range(len(tokenizer))]
        self._ids = {token: id for id, token in enumerate(self._tokens)}
        self._length = config.max_length
        with tempfile.TemporaryDirectory() as folder:
            export_marian(translator.checkpoint, Path(folder) / "marian")
            model = MarianMTModel.from_pretrained(Path(folder) / "marian")
            specification = _specification(model, self._tokens, begin=self._tokens[config.begin_id])
            specification.config.eos_token = self._tokens[config.end_id]
            specification.config.unk_token = self._tokens[tokenizer.unknown_id]
            specification.validate()
            specification.optimize(quantization=weights)
            specification.save(folder)
            options = {"compute_type": weights, "inter_threads": 1, "intra_threads": torch.get_num_threads()}
            spawned = multiprocessing.get_context("spawn")
            self._process, theirs = spawned.Pipe()
            spawned.Process(target=_serve, args=(theirs, folder, options), daemon=True).start()
            self._process.recv()  # it has read the folder

    def translate(self, sources: Sequence[Ids]) -> list[tuple[int, ...]]:
        """The greedy translation of each source, as ids with the end of sentence, all in one batch."""
        self._process.send(([[self._tokens[id] for id in source] for source in sources], self._length))
        return [tuple(self._ids[token] for token in each) for each in self._process.recv()]


def _serve(parent: Connection, folder: str, options: dict) -> None:
    """Translate each batch of tokens that the parent sends; what the child process runs."""
    run = ctranslate2.Translator(folder, **options)
    parent.send(None)
    while True:
        try:
            batch, length = parent.recv()
        except EOFError:  # the parent has ended
            return
        found = run.translate_batch(
            batch,
            beam_size=1,
            max_batch_size=0,
            max_input_length=0,
            max_decoding_length=length,
            return_end_token=True,
        )
        parent.send([each.hypotheses[0] for each in found])


def _specification(model: MarianMTModel, tokens: list[str], begin: str):
    """CTranslate2's description of the model with its weights, whose decoder starts with the token `begin`."""
    loader = BartLoader()
    model.config.normalize_before = model.config.normalize_embedding = False
    specification = loader.get_model_spec(model)
    loader.set_vocabulary(specification, tokens)
    specification.config.decoder_start_token = begin
    specification.config.add_source_eos = False
    return specification
