"""Small imported models with random weights, one per difference from the paper's model."""

import pytest
import torch
from support.families import write_family
from support.marian import make_opus_like, write_model
from support.t5 import write_t5

from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.exchange.exporting import export_marian
from transformer.exchange.importing import import_checkpoint


@pytest.fixture(scope="session")
def imported(checkpoints, tmp_path_factory):
    """A folder of imported checkpoints: en-de after a journey through an opus-like folder, and small ones."""
    made, folder = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("imported")
    export_marian(load_checkpoint(checkpoints / "en-de"), made / "marian")
    make_opus_like(made / "marian", made / "opus")
    for name in ("random", "bart-cnn", "nllb", "byt5", "t5", "flan-t5"):
        (made / name).mkdir()
        if name == "random":
            write_model(made / name, activation_function="swish", scale_embedding=False, _name_or_path="Helsinki/x")
        else:
            (write_family if name in ("bart-cnn", "nllb") else write_t5)(made / name, name)
    for name in ("opus", "random", "bart-cnn", "nllb", "byt5", "t5", "flan-t5"):
        save_checkpoint(folder / name, import_checkpoint(made / name), torch.float32)
    return folder
