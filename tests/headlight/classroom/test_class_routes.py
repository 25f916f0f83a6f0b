"""Routes of phones over HTTP: their answers, their refusals, and the size of both."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from streamlit import config
from support.classes import Phone, served
from support.source_files import ROOT
from support.texts import awkward_texts

from headlight.classroom import Kind, Question, Truth, open_class
from headlight.classroom.admission import hash_participant, network_of
from headlight.classroom.routes import (
    MOST_BYTES,
    WRONG_CODES,
    state_of,
)
from headlight.classroom.sqlite_store import SqliteStore
from headlight.classroom.store import MOST_OPTIONS, StoreError
from headlight.classroom.teaching import Tally, sign_of
from headlight.language import speaking, texts_of

FOLDER = ROOT / "headlight/classroom"
PAGE_BYTES = 14_000  # with the words of its language
WORD = Question("Which word is read most?", ("cat", "dog", "bird"))
# Each part can be told from all that may be sent before it is revealed.
TRUTH = Truth(
    "sentence-told", right=(1,), feedback=("told-of-cat", "told-of-dog", "told-of-bird"), link="attention?a=1"
)


@pytest.fixture
def address(store) -> Iterator[str]:
    """Yield the address of a server of this store."""
    with served(lambda: store) as address:
        yield address


@pytest.fixture
def phone(address, teacher) -> Phone:
    return Phone(address, teacher.code)


def test_a_phone_goes_from_the_door_to_the_apps_page(phone, teacher):
    sign = sign_of(hash_participant(teacher.look().classroom, phone.number))
    assert phone.state() == (200, {"v": 1, "phase": "lobby", "me": sign})
    assert phone.state(1) == (204, {}) and teacher.look().here == 1
    teacher.ask(WORD, TRUTH)
    first = {"v": 2, "phase": "asking", "me": sign, "round": 1, "yours": None, "kind": "one", "text": WORD.text}
    assert phone.state(1) == (200, first | {"options": list(WORD.options)})
    assert phone.answer(1, 0) == (200, {"choice": "0"}) and teacher.look().tally.counts == (1, 0, 0)
    assert phone.state(2) == (204, {}), "answers do not wake the class"
    assert phone.ask(f"/{phone.code}/try")[0] == 404
    teacher.close_round()
    closed = {"v": 3, "phase": "closed", "me": sign, "round": 1, "yours": 0}
    assert phone.state(2) == (200, closed) and phone.answer(1, 1)[0] == 409
    teacher.reveal()
    result = {"counts": [1, 0, 0], "n": 1, "right": [1], "near": 0, "feedback": TRUTH.feedback[0], "try": True}
    assert phone.state(3) == (200, closed | {"v": 4, "phase": "revealed"} | result)
    assert phone.ask(f"/{phone.code}/try")[0] == 303 and phone.response.headers["Location"] == "/attention?a=1"
    teacher.end()
    assert phone.state(4) == (410, {"error": "This class is over."}) == phone.answer(1, 1)


def test_no_response_has_the_truth_before_it_is_revealed(phone, teacher):
    secrets = (TRUTH.sentence, *TRUTH.feedback, "attention", "right", "counts", "near")

    def responses() -> str:
        paths = [f"/{phone.code}", *(f"/{phone.code}/state?v={known}" for known in range(12)), f"/{phone.code}/try"]
        texts = [phone.ask(path, participant=phone.number)[1].decode() for path in paths]
        for choice in (0, 1, 2, 9, None):
            body = json.dumps({"round": 1, "choice": choice})
            texts.append(phone.ask(f"/{phone.code}/answer", "POST", body, participant=phone.number)[1].decode())
        texts.append(phone.ask(f"/{phone.code}/answers.csv", "POST", authorization="Bearer x")[1].decode())
        return re.sub(r"<(script|style)>.*?</\1>|<body [^>]*>", "", "".join(texts), flags=re.DOTALL)

    for act in (lambda: None, lambda: teacher.ask(WORD, TRUTH), teacher.close_round, teacher.ask_again, teacher.wait):
        act()
        assert not [text for text in secrets if text in responses()], teacher.look().classroom.phase
    teacher.ask_again()
    teacher.reveal()
    assert all(text in responses() for text in ("sentence-told", "right", "counts"))
    classroom = teacher.ask_again()
    for known in (0, classroom.version - 1):
        assert not {"right", "feedback", "counts"} & state_of(classroom, "1", Tally(answered=1), known).keys()


def test_the_page_is_small_and_runs_nothing_but_itself(phone, address, teacher):
    for path, status, code in (("", 200, ""), (f"/{teacher.code}", 200, teacher.code), ("/22222", 404, "")):
        returned, body = phone.ask(path)
        page, policy = body.decode(), phone.response.headers["Content-Security-Policy"]
        assert returned == status and len(body) < PAGE_BYTES and f'data-code="{code}"' in page
        for tag, rule in (("style", "style-src"), ("script", "script-src")):
            (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"{rule} 'sha256-{digest}'" in policy
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert not re.findall(r'(?:src|href)="(?!data:,"|\?ui=..")[^"]+"|url\(|@import|\son\w+=|style="', page)
        assert phone.response.headers["Cache-Control"] == "no-store" and "{{" not in page


def test_the_page_and_refusals_are_in_the_language_of_the_address_or_the_browser(phone, teacher):
    for query, accepted, language in (
        ("?ui=fr", "de", "fr"),
        ("", "de-AT,en;q=0.5", "de"),
        ("", "es, fr;q=0.8", "fr"),
        ("?ui=xx", "", "en"),
        ("", "", "en"),
    ):
        with speaking(language):
            texts = texts_of(FOLDER / "texts.toml")
        headers = {"accept-language": accepted}
        page = phone.ask(f"/{teacher.code}{query}", **headers)[1].decode()
        assert f'<html lang="{language}">' in page and texts["page"]["join"] in page and texts["phone"]["lobby"] in page
        others = set(re.findall(r'href="\?ui=(..)"', page))
        assert others == {"en", "de", "fr"} - {language}
        refused = json.loads(phone.ask(f"/22222/state{query}", participant=phone.number, **headers)[1])
        assert refused["error"] == texts["refused"]["no_such_class"].format(code="22222")
    assert phone.ask(f"/{teacher.code.lower()}?ui=de")[0] == 303
    assert phone.response.headers["Location"] == f"/c/{teacher.code}?ui=de"


def test_a_typed_code_leads_to_its_class_and_an_unknown_one_to_a_sentence(phone, teacher):
    code = teacher.code
    for path in (f"/{code.lower()}", f"?code=+{code[:2]}-{code[2:].lower()}"):
        assert phone.ask(path)[0] == 303 and phone.response.headers["Location"] == f"/c/{code}"
    for path, sentence in (
        ("/22222", "There is no class 22222"),
        ("/%3Cb%3Ex", "A code has five letters"),
        (f"/{code}%00", "A code has five letters"),
        ("/%FF%E2%80%83", "A code has five letters"),
        ("/" + "x" * 5000, "A code has five letters"),
        (f"/{code}/", "There is no such page"),
        ("/a/b/c", "There is no such page"),
    ):
        status, body = phone.ask(path)
        assert status == 404 and f'role="alert">{sentence}' in body.decode(), path
    teacher.end()
    status, body = phone.ask(f"/{code}")
    assert status == 410 and b"This class is over." in body


@pytest.mark.parametrize("number", ["", "0123", "0" * 17, "G" * 16, "0123456789ABCDEF", "é" * 8])
def test_a_request_without_a_participant_or_with_a_version_that_is_no_number_is_refused(phone, teacher, number):
    teacher.ask(WORD)
    body = json.dumps({"round": 1, "choice": 0})
    headers = {"participant": number} if number else {}
    assert phone.ask(f"/{phone.code}/state?v=0", **headers)[0] == 400
    assert phone.ask(f"/{phone.code}/answer", "POST", body, **headers)[0] == 400
    assert teacher.look().tally.answered == 0 == teacher.look().here
    for known in ("x", "-1", "1.5", "", "٣", "9" * 10):
        assert phone.ask(f"/{phone.code}/state?v={quote(known)}", participant=phone.number)[0] == 400


CHOICES = ('"0"', "3", "-1", "NaN", '{"a": 1}', "9" * 900, f'"{"x" * 2000}"')
BODIES = ("", "{", "[]", "null", "1", '{"round": 1}', '{"round": "1", "choice": 0}', '{"round": true, "choice": 0}')


@pytest.mark.parametrize(
    "body", [*BODIES, *(f'{{"round": 1, "choice": {each}}}' for each in CHOICES), "[" * 900, "\ud800"]
)
def test_a_hostile_answer_is_refused_in_a_sentence_and_not_stored(phone, teacher, body):
    teacher.ask(WORD)
    encoded = body.encode(errors="surrogatepass")
    status, content = phone.ask(f"/{phone.code}/answer", "POST", encoded, participant=phone.number)
    assert status == (413 if len(encoded) > 1000 else 400) and json.loads(content)["error"].endswith(".")
    assert teacher.look().tally.answered == 0 and phone.answer(1, 1)[0] == 200, "the phone may go on"


def test_a_phone_that_knows_a_version_of_the_future_gets_the_whole_question(phone, teacher):
    """A file of classes that was put back to an older copy has such phones."""
    version = teacher.ask(WORD).version
    whole = phone.state()[1]
    assert whole["text"] == WORD.text
    assert [phone.state(version + ahead)[1] for ahead in (1, 2, 100)] == [whole] * 3


def test_an_answer_may_be_repeated_and_changed_until_it_is_closed_once_a_second(phone, teacher, clock, store):
    teacher.ask(WORD)
    assert [phone.answer(1, 0)[0] for _ in range(3)] == [200] * 3
    status, _ = phone.answer(1, 1)
    assert status == 429 and phone.response.headers["Retry-After"] == "1"
    clock.ahead += 1.1
    assert phone.answer(1, 1)[0] == 200 and phone.state()[1]["yours"] == 1
    assert teacher.look().tally.counts == (0, 1, 0)
    assert phone.answer(2, 1)[0] == 409 == phone.answer(0, 1)[0]
    (stored,) = store.answers(teacher.code, 1)
    assert phone.number not in repr(stored) + store.read(teacher.code).document()
    first, second = (store.read(open_class(store).code) for _ in range(2))
    assert hash_participant(first, phone.number) != hash_participant(second, phone.number), "another one in each class"


@pytest.mark.parametrize(
    "kind, options, choice",
    [(Kind.ONE, "ab", 1), (Kind.SEVERAL, "abc", [0, 2]), (Kind.SEVERAL, "ab", []), (Kind.NUMBER, "", -0.25)],
)
def test_answers_of_every_kind_come_back_as_they_were_sent(phone, teacher, kind, options, choice):
    version = teacher.ask(Question("?", tuple(options), kind)).version
    assert phone.answer(1, choice)[0] == 200 and phone.state()[1]["yours"] == choice
    teacher.reveal()
    assert phone.state(version)[1]["yours"] == choice


def hostile_questions() -> Iterator[tuple[Question, Truth]]:
    texts = awkward_texts(60, seed=3)
    for number in range(0, 60, 6):
        yield Question(texts[number] * 9, tuple(texts[number : number + 6])), Truth(texts[number] * 40, right=(1, 2))
    for sign in ("x", '"', "\\", "😀", "<", "\u0301"):
        options = (sign * 300,) * MOST_OPTIONS
        yield Question(sign * 900, options, Kind.SEVERAL), Truth(sign * 900, right=tuple(range(8)), link="x" * 1500)


def test_a_state_is_small_whatever_is_asked(phone, teacher):
    for question, truth in hostile_questions():
        classroom = teacher.ask(question, truth)
        choice = list(range(len(question.options))) if question.kind == Kind.SEVERAL else 1
        assert phone.answer(classroom.current.number, choice)[0] == 200
        for act in (lambda same=classroom: same, teacher.close_round, teacher.reveal):
            for known in (0, act().version - 1):
                status, body = phone.ask(f"/{phone.code}/state?v={known}", participant=phone.number)
                assert status == 200 and len(body) < MOST_BYTES and json.loads(body)


def test_a_phone_that_missed_the_question_gets_it_first_and_then_the_rest(phone, teacher):
    teacher.ask(WORD, TRUTH)
    teacher.reveal()
    status, first = phone.state()
    assert (first["phase"], first["text"], first["more"]) == ("closed", WORD.text, True) and "right" not in first
    status, rest = phone.state(first["v"])
    assert (rest["phase"], rest["right"], rest["feedback"], rest["yours"]) == ("revealed", [1], TRUTH.sentence, None)
    assert phone.state(rest["v"])[0] == 204


def test_after_ten_wrong_codes_an_address_waits_and_right_ones_never_do(phone, address, teacher):
    wrong = Phone(address, "22222")
    statuses = [wrong.state()[0] for _ in range(WRONG_CODES)]
    assert statuses == [404] * WRONG_CODES
    for path in ("/22222", "?code=22222", "/33333/state?v=0", "/22222/try"):
        status, body = wrong.ask(path, participant=wrong.number)
        assert status == 429 and b"wait a minute" in body
    assert wrong.answer(1, 0)[0] == 429
    assert phone.state()[0] == 200 and phone.ask(f"/{teacher.code}")[0] == 200
    assert Phone(address, teacher.code).state()[0] == 200, "a newcomer of the same school"


def test_addresses_of_one_household_are_one():
    same = network_of("2001:db8::1")
    assert network_of("2001:db8::2:3") == same != network_of("2001:db8:0:1::1")
    single = ("192.0.2.1", "192.0.2.2", "::ffff:192.0.2.1", "::ffff:192.0.2.2", "no address")
    assert len(set(map(network_of, single))) == len(single)


def test_only_the_teacher_gets_the_table(phone, teacher, store):
    teacher.ask(WORD, TRUTH)
    phone.answer(1, 1)
    path, other = f"/{teacher.code}/answers.csv", open_class(store).secret
    for secret in ("", "x", teacher.secret[:-1], other, store.read(teacher.code).teacher, "\xff"):
        status, body = phone.ask(path, "POST", authorization=f"Bearer {secret}")
        assert status == 403 and WORD.text.encode() not in body
    assert phone.ask(path)[0] in (404, 405) and phone.ask(f"{path}?secret={teacher.secret}", "POST")[0] == 403
    status, body = phone.ask(path, "POST", authorization=f"Bearer {teacher.secret}")
    assert status == 200 and body == teacher.csv() and b"dog" in body
    assert phone.response.headers["Content-Disposition"] == f'attachment; filename="class-{teacher.code}.csv"'


@pytest.mark.parametrize("link", ["what_if?text=a+b&present=1&lesson=mask.2", "decoding", "?text=%26%23"])
def test_a_question_is_tried_on_a_page_of_the_app_and_never_in_a_presentation(phone, teacher, link):
    teacher.ask(WORD, Truth(link=link))
    teacher.reveal()
    assert phone.ask(f"/{phone.code}/try")[0] == 303
    assert phone.response.headers["Location"] == f"/{link}".replace("present=1&", "")


def test_below_a_base_path_all_is_there_and_nothing_at_the_root(store, teacher, monkeypatch):
    get_option = config.get_option
    monkeypatch.setattr(
        config, "get_option", lambda name: "/school/app/" if name == "server.baseUrlPath" else get_option(name)
    )
    teacher.ask(WORD, TRUTH)
    teacher.reveal()
    with served(lambda: store) as address:
        phone = Phone(f"{address}/school/app", teacher.code)
        assert phone.state()[0] == 200
        assert phone.ask("")[1].count(b'action="/school/app/c"') == 1
        assert phone.ask(f"/{teacher.code.lower()}")[0] == 303
        assert phone.response.headers["Location"] == f"/school/app/c/{teacher.code}"
        assert phone.ask(f"/{teacher.code}/try")[0] == 303
        assert phone.response.headers["Location"] == "/school/app/attention?a=1"
        assert Phone(address, teacher.code).ask("")[0] == 404


class Stuck(SqliteStore):
    """A store on a disk that does not answer until it is `free`."""

    free: threading.Event

    def read(self, code: str):
        self.free.wait()
        return super().read(code)


def test_a_disk_that_does_not_answer_holds_up_no_other_request(tmp_path):
    store = Stuck(tmp_path / "classes.sqlite3")
    store.free = threading.Event()
    with served(lambda: store) as address, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(Phone(address, "22222").state)
        assert [Phone(address, "22222").ask("")[0] for _ in range(3)] == [200] * 3
        assert not waiting.done()
        store.free.set()
        assert waiting.result()[0] == 404


def test_without_a_store_every_request_is_refused_in_a_sentence():
    def fail() -> SqliteStore:
        raise StoreError("no file at this secret path")

    with served(fail) as address:
        phone = Phone(address, "22222")
        assert phone.state()[0] == phone.answer(1, 0)[0] == 503 and phone.response.headers["Retry-After"] == "1"
        status, page = phone.ask("/22222")
        assert status == 503 and b"cannot reach its classes" in page and b"secret path" not in page


def test_a_request_shows_that_a_participant_is_present(phone, teacher, clock):
    assert phone.state()[0] == 200 and teacher.look().here == 1
    clock.ahead += 40
    assert teacher.look().here == 0
    assert [phone.state(1)[0], phone.state(1)[0]] == [204, 204] and teacher.look().here == 1
