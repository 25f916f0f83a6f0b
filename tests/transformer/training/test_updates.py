"""Updates: several batches as one, and losses that are no number."""

from dataclasses import replace

import pytest
import torch
from support.tiny import make_pairs, tiny_experiment
from support.tolerance import near

from transformer.data.pairs import Pairs
from transformer.errors import DataError
from transformer.model.distributed import Processes
from transformer.training.loader import Update, load_updates
from transformer.training.trainer import Trainer

CPU = torch.device("cpu")
PAIRS = Pairs(make_pairs(60, 1), range(101, 161), "pairs.tsv")


def make_trainer(tokenizer, out, **training) -> Trainer:
    return Trainer(tiny_experiment(**training), tokenizer, PAIRS, make_pairs(9, 2), out, CPU)


def weights(trainer: Trainer) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trainer.model.parameters()])


def gradients(trainer: Trainer) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in trainer.model.parameters()])


def test_batches_that_are_accumulated_equal_one_big_batch(tokenizer, tmp_path):
    """Of different sizes and lengths, so that a mean of their means would be another one."""
    one, several = (make_trainer(tokenizer, tmp_path) for _ in range(2))
    examples = sorted(one.loader.examples, key=lambda example: example.length)
    parts = [examples[:4], examples[4:30], examples[30:33]]
    losses = []
    for trainer, batches in ((one, [sum(parts, [])]), (several, parts)):
        (tensors,) = load_updates([batches], 0, CPU, Processes())
        losses.append(trainer.updater.learn(tensors, Update(batches, 1, 1, 1).tokens, 1e-3))
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
    # Compared before Adam, which makes a gradient of 1e-9 as large as any other.
    assert gradients(several) == near(gradients(one))
    assert gradients(one).abs().max() > 1e-2


def test_a_run_accumulates_batches_in_a_row_within_an_epoch(tokenizer, tmp_path):
    plain, trainer = (make_trainer(tokenizer, tmp_path, accumulate=number, batch_tokens=100) for number in (1, 4))
    single = [batch for update, _ in zip_steps(plain, 9) for batch in update.batches]
    groups = [update for update, _ in zip_steps(trainer, 4)]
    taken = [batch for update in groups for batch in update.batches]
    assert taken[: len(single)] == single[: len(taken)] and len(taken) > 9
    sizes = [len(update.batches) for update in groups if update.epoch == 1]
    assert sizes[:-1] == [4] * (len(sizes) - 1) and 1 <= sizes[-1] <= 4 and len(sizes) < 4
    assert [update.first for update in groups if update.epoch == 1] == [1 + 4 * i for i in range(len(sizes))]
    assert groups[0].tokens == sum(len(e.target) - 1 for batch in groups[0].batches for e in batch)


def zip_steps(trainer: Trainer, steps: int):
    """The first updates of a run, none of them made."""
    for update, tensors in trainer.loader.remaining(trainer.progress):
        trainer.progress.step = update.step
        yield update, tensors
        if update.step == steps:
            return


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_loss_that_is_no_number_stops_the_run_and_names_its_batch(tokenizer, tmp_path, accumulate):
    """Where one token's source embedding is broken, only the batches with that token are to blame."""
    plain = tiny_experiment(accumulate=accumulate, batch_tokens=40)
    experiment = replace(plain, model=replace(plain.model, share_embeddings=False))
    trainer = Trainer(experiment, tokenizer, PAIRS, make_pairs(9, 2), tmp_path, CPU)
    updates = [update for update, _ in zip_steps(Trainer(experiment, tokenizer, PAIRS, PAIRS, tmp_path, CPU), 6)]
    batches = [(update, number) for update in updates for number in range(len(update.batches))]
    seen = set()
    for update, number in batches:  # the first batch, not the very first one, with a token that is new
        new = {id for example in update.batches[number] for id in example.source} - seen
        if seen and new:
            break
        seen |= new
    with torch.no_grad():
        trainer.model.source_embedding.weight[new.pop()] = float("inf")
    lines = sorted(line for example in update.batches[number] for line in example.lines)
    with pytest.raises(DataError) as caught:
        trainer.run()
    shown = ", ".join(map(str, lines[:8])) + (", …" if len(lines) > 8 else "")
    assert str(caught.value) == (
        f"The loss is nan at step {update.step} (epoch 1, batch {update.first + number}, lines {shown} of the corpus); "
        "training stopped."
    )
    assert trainer.progress.step == update.step - 1 and min(lines) > 100


def test_weights_stay_as_they_are_where_a_gradient_is_no_number(tokenizer, tmp_path):
    trainer = make_trainer(tokenizer, tmp_path)
    weight = trainer.model.encoder[0].feed_forward.inner.weight
    weight.register_hook(lambda gradient: gradient * float("nan"))
    before = weights(trainer)
    with pytest.raises(DataError, match=r"The gradient's norm is nan at step 1 \(epoch 1, batch 1, lines 1"):
        trainer.run()
    assert torch.equal(weights(trainer), before)


def test_without_known_lines_the_batch_alone_is_named(tokenizer, tmp_path):
    trainer = Trainer(tiny_experiment(), tokenizer, make_pairs(20, 1), make_pairs(3, 2), tmp_path, CPU)
    with torch.no_grad():
        trainer.model.encoder[0].feed_forward.inner.bias[0] = float("nan")
    with pytest.raises(DataError, match=r"The loss is nan at step 1 \(epoch 1, batch 1\); training stopped"):
        trainer.run()
