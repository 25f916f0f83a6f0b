"""Interventions on vectors, units and weights: each in float64 against the model by hand, changed there."""

import numpy as np
import pytest
import torch
from support.by_hand import ByHand
from support.models import mark_end, random_sources, small_config, small_model, unlike_model

from transformer import Beam, Greedy, Sampling
from transformer.checkpoint import Checkpoint, build_model, save_checkpoint
from transformer.decoding.beam import beam_search
from transformer.decoding.sampling import decode
from transformer.files import load_tensors
from transformer.interpret.activations import Request, record
from transformer.interpret.what_if.custom import Apply, Patch
from transformer.interpret.what_if.intervention import Mean, Rows, Zero
from transformer.interpret.what_if.running import Means, apply_interventions, apply_interventions_side_by_side

SOURCE, OTHER = random_sources(7, 7, seed=5)
FED = [2, 9, 8, 5, 11]
WIDTHS = {"heads": 6, "attention": 24, "feed_forward": 40, "stream": 24}
RANDOM = np.random.default_rng(3)
VECTORS = {width: RANDOM.normal(size=(9, width)) for width in WIDTHS.values()}
MEANS = Means(
    *(torch.tensor(RANDOM.normal(size=(n, 4, 6))) for n in (2, 3, 3)), *torch.tensor(RANDOM.normal(size=(2, 3, 40)))
)


def halved(weights):
    """Halve the weights, and let each query read the first key besides: neither sums to 1."""
    weights = weights / 2
    weights[..., 0] += 0.25
    return weights


def turned(vectors):
    return vectors[..., ::-1] * 1.5 if isinstance(vectors, np.ndarray) else vectors.flip(-1) * 1.5


class Changed(ByHand):
    """The model by hand, with one part of one layer changed by a function."""

    def __init__(self, folder, table, part, layer, change):
        super().__init__(folder)
        self.table, self.at, self.change = table, (part, layer), change

    def changed(self, part, layer, x):
        return self.change(x.copy()) if (part, layer) == self.at else x

    def embed(self, ids):
        """Add the model's table of positions, which is rounded to float32."""
        embedded = self.weights["source_embedding.embedding.weight"][list(ids)]
        return embedded * self.config["d_model"] ** 0.5 + self.table[: len(ids)]


@pytest.fixture(scope="module", params=["post", "pre"])
def both(request, tmp_path_factory, tokenizer):
    """Return a model in float64, and the function that computes its logits by hand with something changed."""
    folder = tmp_path_factory.mktemp(request.param)
    save_checkpoint(folder, Checkpoint(small_model(norm=request.param), tokenizer), torch.float32)
    config = small_config(norm=request.param)
    model = build_model(config, load_tensors(folder / "model.safetensors"), folder).double().eval()
    table = model.positions.table.numpy()
    return model, lambda *change: Changed(folder, table, *change).run(tuple(SOURCE), tuple(FED))


def put(rows, columns, values):
    def change(x):
        x[rows, columns] = values
        return x

    return change


def on_head(head, rows, change):
    def changed(x):
        x[head, rows] = change(x[head].copy())[rows]
        return x

    return changed


def on_rows(rows, change):
    def changed(x):
        x[rows] = change(x.copy())[rows]
        return x

    return changed


EVERY = slice(None)
CASES = [
    (Zero("encoder.feed_forward", 1, units=[5, 17]), put(EVERY, [5, 17], 0)),
    (Zero("decoder.feed_forward", 2), put(EVERY, EVERY, 0)),
    (Zero("decoder.feed_forward", 0, units=[3], rows=Rows(1, 2)), put(slice(1, 3), 3, 0)),
    (Mean("encoder.feed_forward", 0, units=[7, 2]), put(EVERY, [7, 2], MEANS.encoder_feed_forward[0][[7, 2]].numpy())),
    (Mean("decoder.feed_forward", 2, rows=Rows(2)), put(slice(2, 9), EVERY, MEANS.decoder_feed_forward[2].numpy())),
    *(
        (Patch(f"{stack}.stream", layer, position=3, value=VECTORS[24][0]), put(3, EVERY, VECTORS[24][0]))
        for stack, layers in (("encoder", 3), ("decoder", 4))
        for layer in range(layers)
    ),
    (Patch("encoder.stream", 1, value=VECTORS[24][:7]), put(EVERY, EVERY, VECTORS[24][:7])),
    (Patch("decoder.stream", 2, value=VECTORS[24][:2], rows=Rows(1)), put(slice(1, 3), EVERY, VECTORS[24][:2])),
    (Patch("decoder.stream", 1, value=VECTORS[24][4]), put(EVERY, EVERY, VECTORS[24][4])),
    (Patch("cross.attention", 1, position=4, value=VECTORS[24][1]), put(4, EVERY, VECTORS[24][1])),
    (Patch("decoder.feed_forward", 0, position=0, value=VECTORS[40][1]), put(0, EVERY, VECTORS[40][1])),
    (Apply("encoder.stream", turned, 2), turned),
    (Apply("decoder.stream", turned, 0, rows=Rows(1, 2)), on_rows([1, 2], turned)),
    (Apply("decoder.attention", turned, 1), turned),
    (Apply("encoder.feed_forward", turned, 0), turned),
    (Apply("encoder", halved, 1, 2), on_head(2, EVERY, halved)),
    (Apply("cross", halved, 2, 0, rows=Rows(2)), on_head(0, slice(2, 9), halved)),
    (Apply("cross", halved, 0), halved),
    (Apply("decoder", lambda weights: weights + 0.1, 1), lambda x: np.where(np.tri(5, dtype=bool), x + 0.1, 0)),
    *(
        (Patch(kind, 1, 3, value=VECTORS[6][:rows]), put(3, EVERY, VECTORS[6][:rows]))
        for kind, rows in (("encoder", 7), ("decoder", 5), ("cross", 5))
    ),
]


@pytest.mark.parametrize(
    "intervention, change", CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)]
)
def test_each_is_what_is_computed_by_hand(both, intervention, change):
    model, by_hand = both
    with apply_interventions(model, [intervention], MEANS):
        result = record(model, [SOURCE], [FED], Request(keep=())).logits[0].numpy()
    part = f"{intervention.kind}{'.heads' * (isinstance(intervention, Patch) and intervention.kind.is_heads)}"
    np.testing.assert_allclose(result, by_hand(part, intervention.layer, change), atol=1e-11)
    plain = by_hand("none", 0, None)
    assert np.abs(result - plain).max() > 1e-3, "and it is another run"


@pytest.fixture(scope="module", params=["post", "pre"])
def model(request):
    return mark_end(unlike_model(norm=request.param), {"post": 1.5, "pre": -2.0}[request.param])


def logits(model, source, fed=FED):
    with torch.inference_mode():
        return model(torch.tensor([source]), torch.tensor([fed]))[0]


@pytest.mark.parametrize("intervention", [case[0] for case in CASES], ids=lambda each: str(each))
def test_a_sentence_runs_in_a_batch_as_alone_and_with_a_cache_as_all_rows_at_once(model, intervention):
    sources, feds = [SOURCE, OTHER[3:], [*SOURCE[:4], *OTHER[:5], 3]], [FED, FED[:2], [*FED, 7]]
    means = Means(*(None if each is None else each.float() for each in vars(MEANS).values()))
    with apply_interventions(model, [intervention], means):
        together = record(model, sources, feds, Request(keep=())).logits
        for number, (source, fed) in enumerate(zip(sources, feds, strict=True)):
            torch.testing.assert_close(together[number, : len(fed)], logits(model, source, fed), atol=2e-5, rtol=2e-5)
        greedy = decode(model, sources, Greedy())
        (beam, *_), sampled = beam_search(model, [SOURCE], Beam(3))[0], decode(model, sources, Sampling(1.2, seed=4))
        for source, one in zip([*sources, *sources, SOURCE], [*greedy, *sampled, beam], strict=True):
            replayed = logits(model, source, [2, *one.ids[:-1]]).log_softmax(dim=-1)
            assert replayed[range(len(one.ids)), one.ids].sum().item() == pytest.approx(one.log_probability, abs=2e-3)
            if one in greedy:
                replayed[:, list(model.config.never_chosen)] = -torch.inf
                assert tuple(replayed.argmax(dim=-1).tolist()) == one.ids
    with apply_interventions_side_by_side(model, [(), [intervention], ()], means):
        beside = record(model, sources, feds, Request(keep=())).logits
    torch.testing.assert_close(beside[1], together[1], atol=2e-5, rtol=2e-5)
    torch.testing.assert_close(beside[0, :5], logits(model, SOURCE), atol=2e-5, rtol=2e-5)
