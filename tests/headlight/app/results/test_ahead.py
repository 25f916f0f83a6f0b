"""What is translated ahead of its owner's turn, by a process of its own, is what its owner would have got."""

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from multiprocessing import Pipe
from pathlib import Path

import numpy as np
import pytest
import torch
from headlight.app.results.ahead import AHEAD, BATCH, CROWD, Ahead
from headlight.app.results.model_process import EARLY_LAYERS, TRACE, DecodingRequest
from headlight.app.results.turn_taking import Wish
from support.until import until

from headlight.app import results
from headlight.app.results import TranslationRequest, ahead, model_process, what_if
from transformer import Beam, Trace, Translator
from transformer.data.tokenizer import source_ids
from transformer.interpret.residual import MORE_TOKENS, decoder_lens

# Says that it can be asked, and reads what it is asked for; then does what stands at the end.
SPEECHLESS = """
import sys, time
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
connection.send(None)
connection.recv()
"""


def same(one: Trace, other: Trace) -> bool:
    """Whether two traces have the same fields, bit by bit, and neither can be written to."""
    for field in fields(Trace):
        first, second = getattr(one, field.name), getattr(other, field.name)
        if isinstance(first, np.ndarray):
            if first.dtype != second.dtype or not np.array_equal(first, second) or second.flags.writeable:
                return False
        elif first != second:
            return False
    return True


def with_text(request: DecodingRequest, text: str) -> DecodingRequest:
    what, folder, written, _, *languages = request
    return what, folder, written, text, *languages


@pytest.fixture(scope="module")
def crowd(trained_folder) -> list[DecodingRequest]:
    """What those in a line want; some of it cannot be had."""
    texts = ("big old tree.", "old tree.", "", "big tree.", "old dog.")
    written = model_process.last_written(trained_folder)
    there = [(TRACE, str(trained_folder), written, text, "", "") for text in texts]
    early = [(EARLY_LAYERS, *request[1:]) for request in there[1:4]]
    return [*there[:2], *early, *there[2:], (TRACE, "/nowhere", (1,), "old tree.", "", "")]


@pytest.fixture(scope="module")
def real(crowd) -> Ahead:
    """One that works, with its process, for those tests that leave it working; nobody is in its line."""
    line = list(crowd)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_DEVICE", "cpu")
        patch.setattr(ahead.os, "sched_getaffinity", lambda process: {0, 1})
        own = Ahead(lambda: line, kept=8)
        own.look()
        until(lambda: own.works, 60)
        until(lambda: len(own._asked) == len(crowd) and all(asked.made.done() for asked in own._asked.values()), 60)
        own.line = line
        yield own
    own._process.kill()
    until(lambda: not own.works)


@pytest.fixture
def processes(monkeypatch, tmp_path):
    """Lets a test say what its processes do once they have read what they are asked for; counts their starts."""
    started, start = [], ahead._process

    def does(what: str) -> list[subprocess.Popen]:
        (tmp_path / "process.py").write_text(SPEECHLESS + what)
        monkeypatch.setattr(ahead, "_PROCESS", tmp_path / "process.py")
        monkeypatch.setattr(ahead, "_process", lambda connection: started.append(start(connection)) or started[-1])
        monkeypatch.setattr(ahead, "is_wanted", lambda: True)
        return started

    return does


def test_each_gets_bit_by_bit_what_the_own_turn_would_have_made(real, crowd, trained_folder):
    own = Translator.load(trained_folder)
    for request in crowd:
        what, folder, _, text, *_ = request
        made = real.take(request)
        if not text or folder != str(trained_folder):
            assert made is None, "the reason is told to who tries himself"
        elif what == TRACE:
            assert same(own.trace(text), made)
        else:
            alone = decoder_lens(own.model, source_ids(own.tokenizer, text), more=MORE_TOKENS)
            assert [layer.ids for layer in made] == [layer.ids for layer in alone]
    assert real.works and real.take(crowd[0]) is None, "what was taken is its owner's to keep"


def test_what_has_been_taken_is_not_made_again(real, crowd):
    for request in crowd:
        real.take(request)
    real.look()
    assert not real._asked


def test_what_was_made_for_someone_who_left_is_dropped(real, crowd, monkeypatch):
    left = with_text(crowd[0], "big dog.")
    real.line.append(left)
    real.look()
    until(lambda: left in real._asked and real._asked[left].made.done())
    real.line.remove(left)
    real.look()
    assert left in real._asked, "its owner may be on the way"
    monkeypatch.setattr(ahead, "_FORGOTTEN", 0.0)
    real.look()
    assert left not in real._asked


def test_a_page_takes_what_was_made_and_decodes_no_more(real, crowd, monkeypatch):
    request = with_text(crowd[0], "old big tree.")
    choice = TranslationRequest(results.CheckpointFiles(*request[1:3]), request[3])
    real.line.append(request)
    monkeypatch.setattr(results, "made_ahead", real)
    monkeypatch.setattr(results.greedy, "_compute", lambda requests: pytest.fail("decoded"))
    real.look()
    try:
        made = results.trace(choice)
        again, activations = results.recorded(choice)
    finally:
        real.line.remove(request)
    assert made.source_text == choice.text and same(again, made) and activations.logits.shape[1] == len(made.target_ids)


def test_early_layers_are_taken_with_the_trace(real, crowd, monkeypatch):
    choice = TranslationRequest(results.CheckpointFiles(*crowd[0][1:3]), "old big dog.")
    wanted = [results.as_request(what, choice) for what in (EARLY_LAYERS, TRACE)]
    real.line.extend(wanted)
    monkeypatch.setattr(what_if, "made_ahead", real)
    monkeypatch.setattr(results, "made_ahead", real)
    for together in (results.greedy, what_if._early):
        monkeypatch.setattr(together, "_compute", lambda requests: pytest.fail("decoded"))
    real.look()
    try:
        found = what_if.early_translations(choice)
    finally:
        real.line[:] = real.line[:-2]
    assert found[-1].ids == results.trace(choice).target_ids and len(found) == 3


def test_beams_and_prefixes_are_left_to_their_owners(crowd, monkeypatch):
    greedy = TranslationRequest(results.CheckpointFiles(*crowd[0][1:3]), crowd[0][3])
    wanted = [replace(greedy, prefix=(5,)), greedy, replace(greedy, strategy=Beam(2))]
    monkeypatch.setattr(results.turns, "wishes", lambda: [Wish(choice) for choice in wanted])
    assert results.made_ahead._line() == crowd[:1]


@pytest.mark.parametrize("why_not", ["few wait", "forbidden", "one core", "a GPU"])
def test_no_process_is_started_where_it_would_not_help(why_not, processes, crowd, monkeypatch):
    is_wanted, started = ahead.is_wanted, processes("")
    monkeypatch.setattr(ahead, "is_wanted", is_wanted)
    monkeypatch.setattr(ahead.os, "sched_getaffinity", lambda process: {0} if why_not == "one core" else {0, 1})
    monkeypatch.setenv(ahead.SWITCH, "0" if why_not == "forbidden" else "")
    device = "cuda" if why_not == "a GPU" else "cpu"
    monkeypatch.setattr(ahead, "choose_device", lambda: torch.device(device))
    traces = [request for request in crowd if request[0] == TRACE]
    few = [*traces[: CROWD - 1], traces[0], (EARLY_LAYERS, *traces[1][1:])]  # who want the same are no crowd
    own = Ahead(lambda: few if why_not == "few wait" else crowd, kept=8)
    own.look()
    assert not own._starts and not started
    if why_not == "few wait":
        own._line = lambda: traces[:CROWD]
        own.look()
        until(lambda: len(started) == 1)


def test_it_is_asked_for_those_next_in_the_line_and_for_a_batch_at_a_time(processes, crowd):
    processes("time.sleep(60)")
    line = [with_text(crowd[0], f"tree {number}.") for number in range(3 * AHEAD)]
    line[1], line[2] = with_text(crowd[0], "😀" * 80), line[0]
    line[3] = (TRACE, "/nowhere", *crowd[0][2:])  # of another checkpoint: not in the same batch
    next_ones = [line[0], *line[4:AHEAD]]
    next_ones.insert(BATCH, line[3])
    own = Ahead(lambda: line, kept=8)
    own.look()
    until(lambda: len(own._asked) == BATCH)
    own.look()
    assert list(own._asked) == next_ones[:BATCH]
    own._under_way.clear()  # as if they had come
    for _ in range(3):
        own.look()
        own._under_way.clear()
    assert list(own._asked) == next_ones
    own._process.kill()
    until(lambda: not own.works)


def test_who_waits_for_a_process_that_dies_goes_on_alone_and_it_is_not_started_for_ever(
    processes, crowd, monkeypatch, tmp_path
):
    started = processes(f"""
import os
while not os.path.exists({str(tmp_path / "die")!r}):
    time.sleep(0.01)
os.remove({str(tmp_path / "die")!r})
""")
    monkeypatch.setattr(ahead, "_WAIT", 60.0)
    line: list[DecodingRequest] = []
    own = Ahead(lambda: line, kept=8)
    for text in ("tree.", "dog."):
        line[:] = [with_text(request, text + str(number)) for number, request in enumerate(crowd)]
        until(lambda: not own._starts)
        own.look()
        until(lambda: line[0] in own._asked)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(own.take, line[0])
            line.clear()
            assert not waiting.done()
            (tmp_path / "die").touch()
            assert waiting.result(60) is None
    until(lambda: not own._starts)
    assert len(started) == 2 and all(process.poll() is not None for process in started)
    line[:] = [with_text(request, f"big tree {number}.") for number, request in enumerate(crowd)]
    own.look()
    assert not own._starts and len(started) == 2 and own.take(line[0]) is None


def test_who_waits_for_a_process_that_hangs_goes_on_alone(processes, crowd, monkeypatch):
    started = processes("time.sleep(60)")
    monkeypatch.setattr(ahead, "_WAIT", 0.1)
    own = Ahead(lambda: crowd, kept=8)
    own.look()
    until(lambda: own._asked)
    assert own.take(crowd[0]) is None and started[0].poll() is None, "it may only be slow"
    monkeypatch.setattr(ahead, "_PATIENCE", 0.0)
    own.look()
    until(lambda: started[0].poll() == -signal.SIGKILL)


def test_a_process_that_dies_before_it_can_be_asked_is_not_started_for_ever(processes, crowd, monkeypatch, caplog):
    monkeypatch.setattr("test_ahead.SPEECHLESS", "import sys\n")
    started = processes("sys.exit(1)")
    own = Ahead(lambda: crowd, kept=8)
    for _ in range(4):
        own.look()
        until(lambda: not own._starts)
    assert len(started) == 2 and "could not be started" in caplog.text


@pytest.mark.parametrize("what", ["Pipe", "_process"])
def test_a_machine_with_nothing_to_spare_goes_on_as_before(what, crowd, monkeypatch):
    def refuse(*_):
        raise BlockingIOError

    monkeypatch.setattr(ahead, what, refuse)
    monkeypatch.setattr(ahead, "is_wanted", lambda: True)
    own = Ahead(lambda: crowd, kept=8)
    for _ in range(3):
        own.look()
        until(lambda: not own._starts)
    assert own._failures == 2 and own.take(crowd[0]) is None


def test_what_nobody_takes_is_not_kept_when_the_process_has_ended(processes, crowd):
    processes("sys.exit(1)")
    own = Ahead(lambda: crowd, kept=8)
    own.look()
    until(lambda: own._failures)
    assert not own._asked and not own._under_way


def test_a_checkpoint_that_was_written_anew_gives_no_answer_under_its_old_name(crowd):
    what, folder, written, *rest = crowd[0]
    old = (what, folder, (written[0] - 1, *written[1:]), *rest)
    assert list(model_process.answers([old])) == [None]
    (answer,) = model_process.answers([crowd[0]])
    assert answer.source_text == crowd[0][3]


@pytest.mark.parametrize("end", ["the server ends", "nobody asks"])
def test_the_process_ends(end, monkeypatch):
    ours, theirs = Pipe()
    monkeypatch.setattr(model_process, "IDLE", 0.1 if end == "nobody asks" else 60.0)
    thread = threading.Thread(target=model_process.main, args=(theirs,), daemon=True)
    thread.start()
    assert ours.recv() is None
    if end == "the server ends":
        ours.close()
    thread.join(10)
    assert not thread.is_alive()


def test_the_process_reads_of_the_app_nothing_but_the_model():
    code = ahead._RUN.replace("'__main__'", "'imported'") + "; print(*{name.split('.')[0] for name in sys.modules})"
    command = [sys.executable, "-P", "-c", code, str(Path(__file__).parents[4]), str(ahead._PROCESS)]
    read = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "transformer" in read and not {"session", "streamlit", "plotly", "pandas"} & set(read)
