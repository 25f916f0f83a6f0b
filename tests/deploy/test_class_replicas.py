"""A class on two replicas behind nginx: phones reach either, and the teacher sees all answers."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.classes import Phone
from support.deployment import Deployment, container_folder, deployed
from support.server import until

from headlight.classroom import FILE_VARIABLE, Question, Teacher, Truth, open_class
from headlight.classroom.routes import WRONG_CODES

BASE = "/school/headlight"
PHONES = 300


@pytest.fixture(scope="module")
def deployment(store, tmp_path_factory) -> Iterator[Deployment]:
    """Replicas that share the file of the store."""
    app, folder = container_folder(tmp_path_factory.mktemp("container") / "app"), tmp_path_factory.mktemp("nginx")
    with deployed(app, folder, BASE, **{FILE_VARIABLE: str(store._path)}) as deployment:
        yield deployment


@pytest.fixture
def teacher(store) -> Teacher:
    return open_class(store)


def test_three_hundred_phones_join_and_answer_at_once(deployment, teacher):
    teacher.ask(Question("Same?", ("yes", "no")), Truth("No.", right=(1,)))
    phones = [Phone(deployment.address, teacher.code, source=f"10.0.0.{number % 30}") for number in range(PHONES)]

    def visit(phone: Phone) -> list[int]:
        """Send four requests, for all phones fewer than nginx lets through at once."""
        page, (joined, state) = phone.ask(f"/{phone.code}")[0], phone.state()
        return [page, joined, phone.answer(1, 1)[0], phone.state(state["v"])[0]]

    with ThreadPoolExecutor(30) as threads:
        assert list(threads.map(visit, phones)) == [[200, 200, 200, 204]] * PHONES
    tally = teacher.look().tally
    assert (tally.answered, tally.counts) == (PHONES, (0, PHONES))
    until(lambda: teacher.look().here == PHONES)


def test_the_class_stays_below_the_base_path_without_cookies_and_out_of_the_log(deployment, teacher):
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
    assert deployment.get("/_stcore/health")[0] == 200
    until(lambda: f"{BASE}/_stcore/health" in deployment.log)
    assert not re.search(rf"{BASE}/c\b|{teacher.code}|{phone.number}", deployment.log)


def test_only_the_address_that_tries_wrong_codes_has_to_wait(deployment, teacher):
    joker, other = Phone(deployment.address, "22222"), Phone(deployment.address, "22222")
    limit = len(deployment.replicas) * WRONG_CODES
    statuses = [joker.ask("/22222", **{"X-Forwarded-For": "192.0.2.1"})[0] for _ in range(4 * limit)]
    assert statuses[:WRONG_CODES] == [404] * WRONG_CODES and statuses.count(404) == limit and statuses[-1] == 429
    assert other.ask("/22222", **{"X-Forwarded-For": "192.0.2.2"})[0] == 404
    assert joker.ask(f"/{teacher.code}", **{"X-Forwarded-For": "192.0.2.1"})[0] == 200
