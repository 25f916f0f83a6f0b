"""Training end to end on a tiny language."""

import csv
import json
import logging

import pytest
import torch
from support.tiny import make_pairs, tiny_experiment

from transformer.checkpoint import load_checkpoint
from transformer.errors import ConfigError, DataError
from transformer.evaluation import Score
from transformer.training.optimization import learning_rate, smoothed_cross_entropy
from transformer.training.trainer import Trainer, train
from transformer.training.validation import validation_loss, validation_score

CPU = torch.device("cpu")


def make_trainer(tokenizer, out, **training) -> Trainer:
    return Trainer(tiny_experiment(**training), tokenizer, make_pairs(60, 1), make_pairs(9, 2), out, CPU)


@pytest.fixture(scope="module")
def history(trained_folder) -> list[dict]:
    with open(trained_folder / "history.csv", newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def test_the_loss_falls_and_the_translations_become_good(history):
    assert [row["step"] for row in history] == [100, 200, 250]
    losses = [row["valid_loss"] for row in history]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.5
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    assert history[-1]["valid_bleu"] > 60


def test_history_has_the_rate_of_its_step(history):
    experiment = tiny_experiment()
    for row in history:
        expected = learning_rate(int(row["step"]), experiment.model.d_model, experiment.training)
        assert row["rate"] == pytest.approx(expected, rel=1e-4)


def test_the_checkpoint_says_how_it_came_to_be(trained_folder):
    training = json.loads((trained_folder / "training.json").read_text())
    assert training["data"] == {
        "name": "Tiny pairs",
        "source_language": "Plain",
        "target_language": "Schlicht",
        "licence": "CC0",
        "attribution": "made up by the tests",
    }
    assert training["configuration"] == tiny_experiment().as_dict()
    assert (training["steps"], training["seed"], training["training_pairs"]) == (250, 1, 1500)
    assert training["device"].startswith("CPU (")
    assert set(training["scores"]) == {"valid_loss", "validation greedy"}
    assert "tok:13a" in training["scores"]["validation greedy"]["signature"]


def made_up_score(bleu: float) -> Score:
    return Score(bleu=bleu, chrf=0.0, signature="none", sentences=1)


def test_the_checkpoint_scores_what_it_says(trained_folder):
    checkpoint = load_checkpoint(trained_folder)
    scores = checkpoint.training["scores"]
    pairs = make_pairs(40, 2)[:30]
    again = validation_score(checkpoint.model, checkpoint.tokenizer, pairs)
    assert again.bleu == pytest.approx(scores["validation greedy"]["bleu"], abs=3)


def test_the_best_validation_is_kept_and_not_the_last(tokenizer, tmp_path, monkeypatch):
    scores = iter([5.0, 20.0, 10.0])
    monkeypatch.setattr("transformer.training.validation.validation_score", lambda *_: made_up_score(next(scores)))
    make_trainer(tokenizer, tmp_path, max_steps=6, validate_every=2, save_every=2, cooldown_steps=0).run()
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint.training["steps"] == 4
    assert [row["valid_bleu"] for row in checkpoint.history] == [5.0, 20.0, 10.0]


def test_the_kept_weights_are_the_mean_of_the_last_validations(tokenizer, tmp_path, monkeypatch):
    seen = []
    settings = {"max_steps": 6, "validate_every": 2, "save_every": 2, "average_last": 2, "cooldown_steps": 0}
    trainer = make_trainer(tokenizer, tmp_path, **settings)

    def look(*_) -> Score:
        seen.append({name: p.detach().clone() for name, p in trainer.model.named_parameters()})
        return made_up_score(float(len(seen)))

    monkeypatch.setattr("transformer.training.validation.validation_score", look)
    trainer.run()
    for name, parameter in trainer.validator.model.named_parameters():
        torch.testing.assert_close(parameter.detach(), (seen[1][name] + seen[2][name]) / 2)
    assert load_checkpoint(tmp_path).training["averaged_steps"] == [4, 6]
    assert len(list((tmp_path / "resume").glob("snapshot-*"))) == 2


def test_a_step_is_one_clipped_adam_update_at_the_schedules_rate(tokenizer, tmp_path):
    """The first update, recomputed with PyTorch's Adam and the mean loss a target token."""
    trainer = make_trainer(tokenizer, tmp_path, clip_norm=0.5)
    update, tensors = next(trainer.loader.remaining(trainer.progress))
    ((source, fed, predicted),) = tensors
    before = [p.detach().clone() for p in trainer.model.parameters()]
    logits = trainer.model.eval()(source, fed)
    loss = smoothed_cross_entropy(logits, predicted, 0, 0.1) / (predicted != 0).sum()
    gradients = torch.autograd.grad(loss, list(trainer.model.parameters()))
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    rate = learning_rate(1, 48, trainer.settings)
    assert trainer.updater.learn(tensors, update.tokens, rate) == pytest.approx(loss.item(), rel=1e-5)
    assert update.tokens == int((predicted != 0).sum())
    replicas = [torch.nn.Parameter(p) for p in before]
    for replica, gradient in zip(replicas, gradients, strict=True):
        replica.grad = gradient * min(1.0, 0.5 / norm.item())
    torch.optim.Adam(replicas, lr=rate, betas=(0.9, 0.98), eps=1e-9).step()
    for (name, parameter), replica in zip(trainer.model.named_parameters(), replicas, strict=True):
        found, expected = parameter.detach(), replica.detach()
        if name.endswith("query_key_value.bias"):
            # A key's changes no weight of attention: its gradient is rounding, which Adam makes as large as any other.
            found, expected = (each.view(3, -1)[[0, 2]] for each in (found, expected))
        torch.testing.assert_close(found, expected, atol=rate * 1e-2, rtol=0)


def test_two_runs_of_one_seed_are_equal_and_another_seed_differs(tokenizer, tmp_path):
    weights = []
    for number, seed in enumerate([3, 3, 4]):
        trainer = make_trainer(tokenizer, tmp_path / str(number), seed=seed, max_steps=4, cooldown_steps=0)
        trainer.run()
        weights.append(torch.cat([p.detach().flatten() for p in trainer.model.parameters()]))
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_validation_loss_is_the_mean_a_token_whatever_the_batches(trained_folder, tokenizer, tmp_path):
    model = load_checkpoint(trained_folder).model
    examples = make_trainer(tokenizer, tmp_path).loader.examples
    assert validation_loss(model, examples, 50) == pytest.approx(validation_loss(model, examples, 5000), rel=1e-4)


def test_bfloat16_trains_too(tokenizer, tmp_path):
    trainer = make_trainer(tokenizer, tmp_path, precision="bfloat16", max_steps=3, cooldown_steps=0)
    trainer.run()
    assert trainer.progress.step == 3 and next(trainer.model.parameters()).dtype == torch.float32


def test_validation_pairs_that_are_too_long_are_left_out(tokenizer, tmp_path):
    pairs = [("red " * 60, "rot."), *make_pairs(5, 2)]
    trainer = Trainer(tiny_experiment(), tokenizer, make_pairs(20, 1), pairs, tmp_path, CPU)
    assert trainer.validator.pairs == pairs[1:] and len(trainer.validator.examples) == 5


def test_a_corpus_without_a_short_enough_pair_is_refused(tokenizer, tmp_path):
    with pytest.raises(DataError, match="No pair of the corpus fits a model of 24 tokens a side: 1 line"):
        Trainer(tiny_experiment(), tokenizer, [("red " * 60, "rot.")], make_pairs(3, 2), tmp_path, CPU)


def test_progress_is_logged_with_rate_speed_and_remaining_time(tokenizer, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("transformer.training.monitoring._REPORT_SECONDS", 0)
    with caplog.at_level(logging.INFO):
        make_trainer(tokenizer, tmp_path, max_steps=3, cooldown_steps=0).run()
    for word in ("parameters", "step 2/3", "loss ", "rate ", "target tokens/s", "min left", "validation at step 3"):
        assert word in caplog.text


@pytest.mark.parametrize("finished", [True, False])
def test_an_existing_run_is_not_overwritten_without_resume(tmp_path, finished):
    experiment = tiny_experiment(max_steps=2, validate_every=2 if finished else 1, cooldown_steps=0, save_every=1)
    train(experiment, make_pairs(400, 1), make_pairs(5, 2), tmp_path / "run", CPU)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match="already holds a run; give --resume"):
        train(experiment, make_pairs(400, 1), make_pairs(5, 2), tmp_path / "run", CPU)
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


def test_a_checkpoint_without_its_run_is_not_overwritten_either(checkpoint_folder):
    """A shipped checkpoint has no resume folder; training into it by mistake must not destroy it."""
    before = {path.name: path.read_bytes() for path in checkpoint_folder.iterdir()}
    with pytest.raises(ConfigError, match="already holds"):
        train(
            tiny_experiment(max_steps=1, cooldown_steps=0), make_pairs(400, 1), make_pairs(5, 2), checkpoint_folder, CPU
        )
    assert {path.name: path.read_bytes() for path in checkpoint_folder.iterdir()} == before
