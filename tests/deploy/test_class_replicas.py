"""A class of two replicas behind nginx: phones ask whichever answers, and the teacher sees them all."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.classes import Phone, crowd
from support.deployment import Deployment, container_folder, deployed
from support.server import until

from headlight.classroom import FILE_VARIABLE, Question, Teacher, Truth, open_class
from headlight.classroom.admission import hash_participant
from headlight.classroom.routes import WRONG_CODES
from headlight.classroom.sqlite_store import SqliteStore

BASE = "/school/headlight"
PHONES = 300


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[tuple[SqliteStore, Deployment]]:
    """A store, and a deployment whose replicas share its file."""
    file = tmp_path_factory.mktemp("classes") / "classes.sqlite3"
    store, app = SqliteStore(file), container_folder(tmp_path_factory.mktemp("container") / "app")
    with deployed(app, tmp_path_factory.mktemp("nginx"), BASE, **{FILE_VARIABLE: str(file)}) as deployment:
        yield store, deployment
    store.close()


@pytest.fixture
def teacher(shared) -> Teacher:
    return open_class(shared[0])


def test_three_hundred_phones_join_and_answer_at_once(shared, teacher):
    store, deployment = shared
    teacher.ask(Question("Same?", ("yes", "no")), Truth("No.", right=(1,)))
    phones = [Phone(deployment.address, teacher.code, source=f"10.0.0.{at % 30}") for at in range(PHONES)]

    def visit(phone: Phone) -> list[int]:
        """Four requests: those of all phones are fewer than nginx lets through at once."""
        page, (joined, state) = phone.ask(f"/{phone.code}")[0], phone.state()
        return [page, joined, phone.answer(1, 1)[0], phone.state(state["v"])[0]]

    with ThreadPoolExecutor(30) as threads:
        statuses = list(threads.map(visit, phones))
    assert statuses == [[200, 200, 200, 204]] * PHONES
    tally = teacher.look().tally
    assert (tally.answered, tally.counts) == (PHONES, (0, PHONES))
    until(lambda: teacher.look().here == PHONES)


def test_the_page_below_a_base_path_leads_nowhere_else_and_gives_no_cookie_of_a_replica(shared, teacher):
    _, deployment = shared
    phone = Phone(deployment.address, teacher.code)
    for path in ("", f"/{teacher.code}"):
        status, page = phone.ask(path)
        assert status == 200 and f'action="{BASE}/c"' in page.decode()
        assert phone.response.headers["Set-Cookie"] is None
    teacher.ask(Question("Same?", ("yes", "no")), Truth(link="decoding?lesson=mask.1"))
    teacher.reveal()
    assert phone.ask(f"/{teacher.code}/try")[0] == 303
    assert phone.response.headers["Location"] == f"{BASE}/decoding?lesson=mask.1"
    assert phone.ask(f"/{teacher.code}/answer", "POST", "x" * 2000, participant=phone.number)[0] == 413


def test_who_types_wrong_codes_has_to_wait_and_others_have_not(shared, teacher):
    _, deployment = shared
    joker, other = Phone(deployment.address, "22222"), Phone(deployment.address, "22222")
    limit = len(deployment.replicas) * WRONG_CODES
    statuses = [joker.ask("/22222", **{"X-Forwarded-For": "192.0.2.1"})[0] for _ in range(4 * limit)]
    assert statuses[:WRONG_CODES] == [404] * WRONG_CODES and statuses.count(404) == limit
    assert statuses[-1] == 429
    assert other.ask("/22222", **{"X-Forwarded-For": "192.0.2.2"})[0] == 404
    assert joker.ask(f"/{teacher.code}", **{"X-Forwarded-For": "192.0.2.1"})[0] == 200


def test_a_killed_replica_takes_no_acknowledged_answer_with_it_and_phones_go_on(shared, teacher):
    store, deployment = shared
    teacher.ask(Question("Same?", ("yes", "no")))
    with crowd(deployment.address, teacher.code) as phones:
        until(lambda: len(phones.acknowledged) > 60)
        deployment.replicas[0].kill()
        before = len(phones.acknowledged)
        until(lambda: len(phones.acknowledged) > before + 60)
        deployment.replicas[0].start()
        deployment.replicas[0].wait()
    classroom, kept = store.read(teacher.code), [each.participant for each in store.answers(teacher.code, 1)]
    assert {hash_participant(classroom, number) for number in phones.acknowledged} <= set(kept)
    assert len(kept) == len(set(kept)) and teacher.look().tally.answered == len(kept)


def test_nothing_of_a_class_stands_in_the_log(shared, teacher):
    _, deployment = shared
    phone = Phone(deployment.address, teacher.code)
    assert phone.state()[0] == 200 == phone.ask("")[0]
    assert deployment.get("/_stcore/health")[0] == 200
    until(lambda: f"{BASE}/_stcore/health" in deployment.log)
    assert not re.search(rf"{BASE}/c\b|{teacher.code}|{phone.number}", deployment.log)
