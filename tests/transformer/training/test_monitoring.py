"""Lines of progress of a training run."""

import logging

from transformer.training.monitoring import ProgressLog
from transformer.training.state import Progress


def test_a_line_has_mean_loss_rate_speed_and_remaining_time_since_the_line_before(monkeypatch, caplog):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    progress = Progress(seconds=50.0)
    log = ProgressLog(progress, max_steps=12)
    with caplog.at_level(logging.INFO):
        for loss in (9.0, 5.0, 3.0, 1.0):
            now[0] += 10
            progress.step += 1
            log.count(loss, tokens=250, rate=1e-3)
    assert log.seconds() == 90
    assert caplog.messages == [
        "step 2/12  epoch 1  loss 7.000  rate 1.00e-03  25 target tokens/s  2 min left",
        "step 4/12  epoch 1  loss 2.000  rate 1.00e-03  25 target tokens/s  1 min left",
    ]
