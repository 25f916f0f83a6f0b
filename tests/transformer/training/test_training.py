"""Training: its updates, and runs end to end on a tiny language."""

import copy
import json
import logging
import shutil
from dataclasses import replace

import pytest
import torch
from support.models import BATCH, TARGET, random_ids, small_config
from support.short_run import Killed, stop_at
from support.tiny import make_pairs, tiny_experiment
from support.tolerance import near
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from transformer.checkpoint import load_checkpoint
from transformer.config import ReplayConfig, TrainingConfig
from transformer.data.batching import collate, epoch_batches, make_examples
from transformer.data.pairs import Pairs
from transformer.errors import CheckpointError, ConfigError, DataError
from transformer.evaluation import Score
from transformer.model.distributed import Processes
from transformer.model.transformer import Transformer
from transformer.training import fused_loss, updates
from transformer.training import loader as loading
from transformer.training.loader import Update, load_updates
from transformer.training.optimization import Adam, learning_rate, noam_rate, smoothed_cross_entropy
from transformer.training.replay import load_replay
from transformer.training.trainer import Trainer, train
from transformer.training.updates import Objective, Updater
from transformer.training.validation import validation_loss, validation_score

CPU = torch.device("cpu")
PAIRS = Pairs(make_pairs(60, 1), range(101, 161), "pairs.tsv")


def make_trainer(tokenizer, out, **training) -> Trainer:
    return Trainer(tiny_experiment(**training), tokenizer, PAIRS, make_pairs(9, 2), out, CPU)


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


def test_gradients_are_those_of_the_mean_loss_per_token_clipped_and_weights_move_by_the_rate(tokenizer, tmp_path):
    trainer = make_trainer(tokenizer, tmp_path, clip_norm=0.5)
    ((update, tensors),) = zip_steps(trainer, 1)
    ((source, fed, predicted),) = tensors
    loss = smoothed_cross_entropy(trainer.model.eval()(source, fed), predicted, 0, 0.1) / (predicted != 0).sum()
    expected = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(trainer.model.parameters()))])
    before = [p.detach().clone() for p in trainer.model.parameters()]
    assert trainer.updater.learn(tensors, update.tokens, 1e-3) == pytest.approx(loss.item(), rel=1e-5)
    assert gradients(trainer) == near(expected * 0.5 / expected.norm(), scale=expected) and expected.norm() > 0.5
    moved = max((p - old).abs().max().item() for p, old in zip(trainer.model.parameters(), before, strict=True))
    assert moved == pytest.approx(1e-3, rel=1e-2), "Adam's first step is as long as its rate"


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


def test_a_loss_that_is_not_finite_stops_the_run_and_names_its_batch(tokenizer, tmp_path):
    """Break one token's source embedding: only the batches with that token have such a loss."""
    plain = tiny_experiment(accumulate=3, batch_tokens=40)
    experiment = replace(plain, model=replace(plain.model, share_embeddings=False))
    trainer, other = (Trainer(experiment, tokenizer, PAIRS, make_pairs(9, 2), tmp_path, CPU) for _ in range(2))
    (update, _), *_ = zip_steps(other, 1)
    ids = [{id for example in batch for id in example.source} for batch in update.batches]
    number = 1 if ids[1] - ids[0] else 2
    new = ids[number] - set().union(*ids[:number])
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


def test_a_gradient_that_is_not_finite_stops_the_run_before_the_update(tokenizer, tmp_path):
    trainer = make_trainer(tokenizer, tmp_path)
    weight = trainer.model.encoder[0].feed_forward.inner.weight
    weight.register_hook(lambda gradient: gradient * float("nan"))
    before = weight.detach().clone()
    with pytest.raises(DataError, match=r"The gradient's norm is nan at step 1 \(epoch 1, batch 1, lines 1"):
        trainer.run()
    assert torch.equal(weight, before)


@pytest.mark.parametrize("workers", [0, 2])
def test_every_batch_arrives_as_it_is_collated_and_no_random_number_is_drawn(tokenizer, monkeypatch, workers):
    """Also from the processes that prepare batches for a GPU, here without pinned memory."""

    class Prefetching(loading.DataLoader):
        def __init__(self, *arguments, num_workers, **named):
            super().__init__(*arguments, num_workers=workers, **named)

    monkeypatch.setattr(loading, "DataLoader", Prefetching)
    batches = epoch_batches(make_examples(make_pairs(60, 4), tokenizer, 24), 60, 0.0, 24, seed=1)
    some_updates = [batches[:1], batches[1:4], batches[4:6]]
    before = torch.get_rng_state()
    loaded = list(load_updates(some_updates, 0, CPU, Processes()))
    assert torch.equal(torch.get_rng_state(), before)
    for update, together in zip(some_updates, loaded, strict=True):
        for batch, tensors in zip(update, together, strict=True):
            assert all(map(torch.equal, tensors, collate(batch, 0)))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_loss_is_the_sum_over_real_tokens_of_the_smoothed_targets_cross_entropy(smoothing):
    logits = torch.randn(BATCH, TARGET, 31, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    target, log_p, expected = random_ids(BATCH, TARGET), logits.log_softmax(-1), 0.0
    target[1, 3:], target[4, 1:] = 0, 0
    for row, step in (target != 0).nonzero().tolist():
        q = torch.full((31,), smoothing / 31, dtype=torch.float64)
        q[target[row, step]] += 1 - smoothing
        expected -= (q * log_p[row, step]).sum().item()
    assert smoothed_cross_entropy(logits, target, 0, smoothing).item() == pytest.approx(expected)
    assert smoothed_cross_entropy(logits, torch.zeros_like(target), 0, smoothing) == 0


def test_adam_is_pytorchs_with_the_papers_constants():
    ours = torch.nn.Linear(5, 3, dtype=torch.float64)
    theirs = copy.deepcopy(ours)
    adam, expected = Adam(ours), torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for rate in (0.02, 0.01, 0.1):
        expected.param_groups[0]["lr"] = rate
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            one.grad = other.grad = torch.randn_like(one)
        adam.step(rate)
        expected.step()
        assert all(map(torch.allclose, ours.parameters(), theirs.parameters()))


def test_a_constant_schedule_warms_up_stays_and_cools_down_linearly_to_almost_zero():
    settings = {"schedule": "constant", "rate_factor": 0.002, "warmup_steps": 10, "max_steps": 100}
    training = TrainingConfig(**settings, cooldown_steps=20, save_every=1)
    expected = {5: 1 / 2, 10: 1, 80: 1, 81: 20 / 21, 90: 11 / 21, 100: 1 / 21}
    for step, share in expected.items():
        assert learning_rate(step, 256, training) == pytest.approx(0.002 * share)


def test_the_noam_rate_rises_to_its_peak_and_falls_with_the_root_of_the_step():
    assert noam_rate(4000, 512, 4000) == pytest.approx(6.99e-4, rel=1e-3), "the paper's base model"
    training = TrainingConfig(rate_factor=2.0, warmup_steps=400)
    for step, share in ((1, 1 / 400), (100, 1 / 4), (400, 1), (401, (400 / 401) ** 0.5), (1600, 1 / 2)):
        assert noam_rate(step, 128, 400) == pytest.approx(share * 128**-0.5 / 20)
        assert learning_rate(step, 128, training) == pytest.approx(share * 128**-0.5 / 10)
    with pytest.raises(ValueError, match="count from 1, got 0"):
        noam_rate(0, 256, 400)


SETTINGS = TrainingConfig(precision="float32")


@pytest.fixture(params=[7, 512])
def block(request, monkeypatch) -> int:
    """Set the positions of a block: blocks that end within a sentence, and one for all."""
    monkeypatch.setattr(fused_loss, "_POSITIONS_AT_ONCE", request.param)
    return request.param


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return source, decoder input and target, with padding in all of them and a sentence without a target."""
    source, target = random_ids(BATCH, 9), random_ids(BATCH, TARGET + 1, seed=2)
    source[1, 4:], target[1, 3:], target[2, 2:], target[5, 1:] = 0, 0, 0, 0
    return source, target[:, :-1], target[:, 1:]


@pytest.mark.parametrize("scale", [1.0, 0.3])
@pytest.mark.parametrize("changes", [{}, {"share_embeddings": False, "output_bias": True}, {"norm": "pre"}])
def test_an_update_has_the_loss_and_every_gradient_of_the_plain_path(block, changes, scale):
    torch.manual_seed(1)
    model = Transformer(small_config(dropout=0.0, **changes)).double().train()
    model.output_projection.scale = scale
    source, fed, predicted = batch()
    plain = smoothed_cross_entropy(model(source, fed), predicted, 0, SETTINGS.label_smoothing)
    fused = Objective(model, SETTINGS)(source, fed, predicted)
    torch.testing.assert_close(fused, plain, rtol=1e-12, atol=0)
    expected, gradients = (torch.autograd.grad(loss, list(model.parameters())) for loss in (plain, fused))
    for (name, _), one, other in zip(model.named_parameters(), expected, gradients, strict=True):
        torch.testing.assert_close(other, one, atol=1e-10, rtol=0, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "auto"])
def test_only_float32_on_a_cpu_takes_the_one_pass(precision, monkeypatch):
    calls, original = [], updates.projected_cross_entropy
    monkeypatch.setattr(updates, "projected_cross_entropy", lambda *arguments: calls.append(1) or original(*arguments))
    model = Transformer(small_config()).train()
    Updater(model, replace(SETTINGS, precision=precision), Processes()).learn([batch()], 20, 1e-3)
    assert len(calls) == (precision != "bfloat16")


def test_the_loss_falls_and_the_translations_become_good(trained_folder):
    history = load_checkpoint(trained_folder).history
    assert [row["step"] for row in history] == [100, 200, 250]
    losses = [row["valid_loss"] for row in history]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.5
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    assert history[-1]["valid_bleu"] > 60
    experiment = tiny_experiment()
    for row in history:
        rate = learning_rate(int(row["step"]), experiment.model.d_model, experiment.training)
        assert row["rate"] == pytest.approx(rate, rel=1e-4)


def test_the_checkpoint_records_its_training(trained_folder):
    training = json.loads((trained_folder / "training.json").read_text())
    configuration = tiny_experiment().as_dict()
    assert training["configuration"] == configuration and training["data"] == configuration["data"]
    assert (training["steps"], training["seed"], training["training_pairs"]) == (250, 1, 1500)
    assert training["device"].startswith("CPU (")
    assert set(training["scores"]) == {"valid_loss", "validation greedy"}
    assert "tok:13a" in training["scores"]["validation greedy"]["signature"]
    checkpoint, pairs = load_checkpoint(trained_folder), make_pairs(40, 2)[:30]
    again = validation_score(checkpoint.model, checkpoint.tokenizer, pairs)
    assert again.bleu == pytest.approx(training["scores"]["validation greedy"]["bleu"], abs=3)


def test_the_saved_weights_are_the_mean_of_the_last_validations(tokenizer, tmp_path, monkeypatch):
    seen = []
    settings = {"max_steps": 6, "validate_every": 2, "save_every": 2, "average_last": 2, "cooldown_steps": 0}
    trainer = make_trainer(tokenizer, tmp_path, **settings)

    def look(*_) -> Score:
        seen.append({name: p.detach().clone() for name, p in trainer.model.named_parameters()})
        return Score(float(len(seen)), chrf=0.0, signature="", sentences=1)

    monkeypatch.setattr("transformer.training.validation.validation_score", look)
    trainer.run()
    for name, parameter in trainer.validator.model.named_parameters():
        torch.testing.assert_close(parameter.detach(), (seen[1][name] + seen[2][name]) / 2)
    assert load_checkpoint(tmp_path).training["averaged_steps"] == [4, 6]
    assert len(list((tmp_path / "resume").glob("snapshot-*"))) == 2


def test_a_validation_leaves_long_pairs_out_and_its_loss_is_the_mean_of_all_tokens(trained_folder, tokenizer, tmp_path):
    pairs = [("red " * 60, "rot."), *make_pairs(5, 2)]
    trainer = Trainer(tiny_experiment(), tokenizer, make_pairs(20, 1), pairs, tmp_path, CPU)
    assert trainer.validator.pairs == pairs[1:] and len(trainer.validator.examples) == 5
    model, examples = load_checkpoint(trained_folder).model, trainer.loader.examples
    assert validation_loss(model, examples, 50) == pytest.approx(validation_loss(model, examples, 5000), rel=1e-4)
    with pytest.raises(DataError, match="No pair of the corpus fits a model of 24 tokens a side: 1 line"):
        Trainer(tiny_experiment(), tokenizer, pairs[:1], make_pairs(3, 2), tmp_path, CPU)


@pytest.mark.parametrize("finished", [True, False])
def test_an_existing_run_and_a_checkpoint_without_its_run_are_not_overwritten(tmp_path, finished):
    experiment = tiny_experiment(max_steps=2, validate_every=2 if finished else 1, cooldown_steps=0, save_every=1)
    train(experiment, make_pairs(400, 1), make_pairs(5, 2), tmp_path / "run", CPU)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match="already holds a run; give --resume"):
        train(experiment, make_pairs(400, 1), make_pairs(5, 2), tmp_path / "run", CPU)
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before
    shutil.rmtree(tmp_path / "run" / "resume")  # as in a fresh clone
    for resume in (False, True):
        with pytest.raises(ConfigError, match="already holds a checkpoint and no unfinished run"):
            train(experiment, make_pairs(400, 1), make_pairs(5, 2), tmp_path / "run", CPU, resume=resume)
    assert all(path.read_bytes() == before[path] for path in (tmp_path / "run").rglob("*"))


CORPUS, VALID = make_pairs(400, 1), make_pairs(5, 2)


def experiment(**training):
    settings = {"max_steps": 20, "validate_every": 2, "save_every": 3, "cooldown_steps": 0, **training}
    return replace(tiny_experiment(**settings), replay=ReplayConfig([["red dog.", "rot Hund."]]))


def test_a_run_ends_early_after_so_many_validations_without_a_better_one(tmp_path, monkeypatch, caplog):
    scores = (Score(bleu, chrf=0.0, signature="", sentences=1) for bleu in (5.0, 9.0, 9.0, 7.0, 8.0, 20.0))
    monkeypatch.setattr("transformer.training.validation.validation_score", lambda *_: next(scores))
    with caplog.at_level(logging.INFO):
        train(experiment(patience=3), CORPUS, VALID, tmp_path / "run", CPU)
    assert "no better BLEU in 3 validations: stopped early, at step 10" in caplog.messages
    checkpoint = load_checkpoint(tmp_path / "run")
    assert checkpoint.training["steps"] == 4
    assert checkpoint.training["stopped_early"] == {"step": 10, "patience": 3}
    assert load_replay(tmp_path / "run" / "replay.safetensors").steps[-1] == 10


def test_a_warm_start_begins_with_the_weights_and_the_tokenizer_of_a_checkpoint(trained_folder, tmp_path, caplog):
    """With so small a rate that the weights are still those of the checkpoint."""
    settings = {"max_steps": 2, "rate_factor": 1e-6}
    with caplog.at_level(logging.INFO):
        train(experiment(**settings), make_pairs(400, 99), VALID, tmp_path / "warm", CPU, warm_start=trained_folder)
    start, warm = load_checkpoint(trained_folder), load_checkpoint(tmp_path / "warm")
    assert warm.tokenizer.model == start.tokenizer.model and "learning a tokenizer" not in caplog.text
    for ours, theirs in zip(warm.model.parameters(), start.model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)
    assert warm.training["warm_start"] == str(trained_folder)
    assert warm.history[0]["valid_loss"] < 0.5
    for changes, message in (
        ({"num_heads": 2, "norm": "pre"}, "num_heads is 4 there, 2 here; norm is post there, pre here"),
        ({"share_embeddings": False}, "share_embeddings is True there, False here"),
    ):
        other = replace(experiment(), model=replace(experiment().model, **changes))
        with pytest.raises(CheckpointError, match=message):
            train(other, CORPUS, VALID, tmp_path / "run", CPU, warm_start=trained_folder)
        assert not (tmp_path / "run").exists()


def read_events(folder) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder)).Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_event_files_hold_the_curves_and_go_on_where_a_killed_run_is_resumed(tmp_path, monkeypatch):
    """Killed after step 11, saved at step 10: both sessions write step 11, which must count once."""
    out, events = tmp_path / "run", tmp_path / "events"
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 12, Killed)
        with pytest.raises(Killed):
            train(experiment(validate_every=4, save_every=5), CORPUS, VALID, out, CPU, tensorboard=events)
    train(experiment(validate_every=4, save_every=5), CORPUS, VALID, out, CPU, resume=True, tensorboard=events)
    curves, history = read_events(events), load_checkpoint(out).history
    assert [step for step, _ in curves["loss/training"]] == list(range(1, 21))
    assert [step for step, _ in curves["rate"]] == list(range(1, 21))
    assert [step for step, _ in curves["BLEU/validation"]] == [4, 8, 12, 16, 20]
    losses = dict(curves["loss/validation"])
    assert history and all(losses[row["step"]] == pytest.approx(row["valid_loss"], rel=1e-4) for row in history)
