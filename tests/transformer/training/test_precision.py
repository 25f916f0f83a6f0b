"""Which precision a run on a CPU takes, and that finding it out leaves no trace."""

import logging
from dataclasses import replace

import pytest
import torch
from support.short_run import CPU, PAIRS, VALID, Killed, end_of, experiment, stop_at
from support.tiny import VOCABULARY, make_pairs

from transformer.checkpoint import load_checkpoint
from transformer.config import Experiment
from transformer.model.distributed import Processes
from transformer.training import precision
from transformer.training.precision import Trial, choose_precision, faster, has_bfloat16, try_precisions
from transformer.training.state import Progress
from transformer.training.trainer import Trainer, train


@pytest.mark.parametrize(
    ("float32", "bfloat16", "chosen"),
    [
        (1.7, 1.0, "bfloat16"),
        (1.1, 1.0, "bfloat16"),
        (1.09, 1.0, "float32"),
        (1.0, 1.0, "float32"),
        (1.0, 3.0, "float32"),
    ],
)
def test_bfloat16_is_taken_where_it_is_faster_by_a_tenth(float32, bfloat16, chosen):
    assert faster(float32, bfloat16) == chosen


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("flags\t\t: fpu sse2 avx512f avx512_bf16 amx_tile", True),
        ("flags\t\t: fpu avx2 amx_bf16 amx_tile amx_int8", True),
        ("Features\t: fp asimd i8mm bf16 sve", True),
        ("flags\t\t: fpu avx2 avx512f avx512_vnni amx_tile", False),
        ("bugs\t\t: avx512_bf16", False),
        ("flags\t\t:", False),
        ("", False),
    ],
)
def test_the_processors_flags_say_whether_it_has_bfloat16(tmp_path, line, found):
    path = tmp_path / "cpuinfo"
    path.write_text(f"processor\t: 0\nvendor_id\t: Some\n{line}\nbogomips\t: 5000\n\nprocessor\t: 1\n")
    assert has_bfloat16(path) is found


def test_where_no_flags_are_to_be_read_there_is_no_bfloat16(tmp_path):
    assert has_bfloat16(tmp_path / "cpuinfo") is False


@pytest.fixture
def in_hardware(monkeypatch):
    """Pretend that this CPU has bfloat16."""
    monkeypatch.setattr(precision, "has_bfloat16", lambda: True)


def left_open() -> Experiment:
    """The short run, with its dropout, the precision left to the machine."""
    return replace(experiment(), training=replace(experiment().training, precision="auto"))


def make_trainer(tokenizer, out) -> Trainer:
    open_one = left_open()
    model = replace(open_one.model, vocab_size=VOCABULARY)
    return Trainer(replace(open_one, model=model), tokenizer, PAIRS, make_pairs(9, 2), out, CPU)


def test_a_trial_times_both_and_leaves_weights_optimizer_and_random_numbers_as_they_were(
    tokenizer, tmp_path, in_hardware, caplog
):
    trainer = make_trainer(tokenizer, tmp_path)
    updates = [pair for pair, _ in zip(trainer.loader.remaining(Progress()), range(3), strict=False)]
    trainer.model.train()
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    random = torch.get_rng_state()
    found = try_precisions(trainer.model, trainer.settings, updates)
    assert found.float32 > 0 and found.bfloat16 > 0 and found.tokens == sum(u.tokens for u, _ in updates[1:])
    with caplog.at_level(logging.INFO):
        chosen = choose_precision(trainer.model, trainer.settings, iter(updates), Processes())
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert caplog.messages[0].startswith("tried: float32 ") and caplog.messages[0].endswith(f"training in {chosen}")
    assert torch.equal(torch.get_rng_state(), random)
    for parameter, old in zip(trainer.model.parameters(), before, strict=True):
        assert torch.equal(parameter, old) and parameter.grad is None
        assert not any(value.any() for value in trainer.updater.optimizer.state[parameter].values())
    assert trainer.model.training and not trainer.updater.objective.in_bfloat16


def test_without_the_hardware_nothing_is_tried(tokenizer, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(precision, "has_bfloat16", lambda: False)
    trainer = make_trainer(tokenizer, tmp_path)

    def never():
        pytest.fail("an update was asked for")
        yield

    assert choose_precision(trainer.model, trainer.settings, never(), Processes()) == "float32"
    assert not caplog.messages


def test_a_batch_that_cannot_be_learned_from_is_left_to_the_run(tokenizer, tmp_path, in_hardware):
    trainer = make_trainer(tokenizer, tmp_path)
    with torch.no_grad():
        trainer.model.encoder[0].feed_forward.inner.bias[0] = float("nan")
    updates = [next(trainer.loader.remaining(Progress()))]
    assert choose_precision(trainer.model, trainer.settings, updates, Processes()) == "float32"


def run_with(monkeypatch, out, float32: float, bfloat16: float, given: Experiment, resume: bool = False) -> None:
    """Train on a CPU whose trial really runs, but says that it took so many seconds in each precision."""
    trial = precision.try_precisions

    def timed(*arguments):
        return replace(trial(*arguments), float32=float32, bfloat16=bfloat16)

    with monkeypatch.context() as patch:
        patch.setattr(precision, "try_precisions", timed)
        train(given, PAIRS, VALID, out, CPU, resume=resume)


@pytest.mark.parametrize(("float32", "bfloat16", "chosen"), [(2.0, 1.0, "bfloat16"), (1.0, 2.0, "float32")])
def test_a_resumed_run_keeps_the_precision_that_it_began_with_bit_for_bit(
    tmp_path, monkeypatch, in_hardware, float32, bfloat16, chosen
):
    """It ends as the same run does that is told its precision; the second trial would have said the opposite."""
    told = replace(experiment(), training=replace(experiment().training, precision=chosen))
    train(told, PAIRS, VALID, tmp_path / "told", CPU)
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 8, Killed)
        with pytest.raises(Killed):
            run_with(patch, tmp_path / "open", float32, bfloat16, left_open())
    run_with(monkeypatch, tmp_path / "open", bfloat16, float32, left_open(), resume=True)
    open_end, told_end = end_of(tmp_path / "open"), end_of(tmp_path / "told")
    assert open_end["progress"].pop("precision") == chosen and told_end["progress"].pop("precision") == ""
    assert open_end == told_end
    assert load_checkpoint(tmp_path / "open").training["precision"] == chosen
    assert "precision" not in load_checkpoint(tmp_path / "told").training


def test_a_run_that_was_begun_before_there_were_trials_goes_on_in_float32(tmp_path, monkeypatch, in_hardware):
    """Its save has no precision, as one that was begun in float32 by its configuration."""
    told = experiment()
    assert told.training.precision == "float32"
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 8, Killed)
        with pytest.raises(Killed):
            train(told, PAIRS, VALID, tmp_path / "run", CPU)
    monkeypatch.setattr(precision, "try_precisions", lambda *_: Trial(1, 2.0, 1.0))
    train(left_open(), PAIRS, VALID, tmp_path / "run", CPU, resume=True)
    assert end_of(tmp_path / "run")["progress"]["precision"] == "float32"
