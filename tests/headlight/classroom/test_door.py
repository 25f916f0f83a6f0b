"""The way into a class: no link and no QR code of the computer's own name."""

import socket

import pytest
from support.classes import Phone
from support.server import until

from headlight.classroom import PORT_VARIABLE, Question, Truth, open_class
from headlight.classroom.door import Door, door_of, is_local, own_networks, qr_rows
from headlight.classroom.phones import _IDLE_LOOKS, PhonesServer

PATH = "/c/K7MXR"
LAN = ("192.168.1.5", "10.8.0.2")
HOSTS = ("localhost", "127.0.0.1", "[::1]", "0.0.0.0", "a.localhost")


def refuse() -> int:
    raise AssertionError("phones reach the app itself: no other port is opened")


@pytest.mark.parametrize("url", ["http://192.168.1.5:8501", "https://head.example.org", "http://[fd00::5]:8501"])
def test_a_teacher_from_the_network_shares_their_own_address(url):
    assert door_of(url, PATH, "0.0.0.0", ("10.0.0.2",), refuse) == Door(url + PATH)


@pytest.mark.parametrize("host", HOSTS)
def test_a_teacher_on_the_servers_computer_shares_an_address_of_its_network(host):
    url = f"http://{host}:8501"
    first, second = (f"http://{each}:8501{PATH}" for each in LAN)
    assert door_of(url, PATH, "0.0.0.0", LAN, refuse) == Door(first, (second,))
    assert door_of(f"http://{host}", PATH, "", LAN, refuse).link == f"http://{LAN[0]}{PATH}"
    assert "in no network" in door_of(url, PATH, "0.0.0.0", (), refuse).problem
    own_port = door_of(url, PATH, "localhost", LAN, lambda: 8601)
    assert own_port == Door(f"http://{LAN[0]}:8601{PATH}", (f"http://{LAN[1]}:8601{PATH}",))
    closed = door_of(url, PATH, "localhost", LAN, lambda: 0)
    assert (closed.link, closed.others) == ("", ()) and PORT_VARIABLE in closed.problem
    assert not [each for each in own_networks() if is_local(each)]


@pytest.fixture
def phones(store) -> PhonesServer:
    return PhonesServer(lambda: store, "127.0.0.1", looks=0.01)


def test_phones_have_a_port_of_their_own_while_there_is_a_class_and_reach_nothing_else(phones, store):
    teacher = open_class(store)
    teacher.ask(Question("Same?", ("yes", "no")), Truth("Yes.", right=(0,), link="decoding"))
    port = phones.open()
    assert phones.open() == port > 0
    phone = Phone(f"http://127.0.0.1:{port}", teacher.code)
    until(lambda: phone.ask(f"/{teacher.code}")[0] == 200)
    assert phone.answer(1, 0)[0] == 200
    teacher.reveal()
    assert phone.state(teacher.look().classroom.version - 1)[1]["try"] is False
    outside = ("/../", "/../_stcore/health", f"/{teacher.code}/try")
    assert {phone.ask(path)[0] for path in outside} == {404} == {phone.ask(f"/{teacher.code}/answers.csv", "POST")[0]}
    teacher.end()
    until(lambda: not is_open(port), seconds=60)


def test_the_next_class_has_a_port_whatever_a_phone_of_the_last_one_left_unfinished(phones, store, monkeypatch):
    teacher, looks = open_class(store), []
    port = phones.open()
    until(lambda: is_open(port))
    with socket.create_connection(("127.0.0.1", port)) as phone:
        request = f"POST /c/{teacher.code}/answer HTTP/1.1\r\nHost: a\r\nparticipant: {'0' * 16}\r\n"
        phone.sendall(f"{request}Content-Length: 500\r\n\r\n{{".encode())
        monkeypatch.setattr(store, "has_classes", lambda: looks.append("none"))
        until(lambda: not is_open(port), seconds=60)
        assert len(looks) == _IDLE_LOOKS, "phones have time to learn that the class is over"
        assert is_open(phones.open())


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("chosen", ["0", "off", "99999999"])
def test_an_administrator_keeps_phones_out(phones, store, chosen, monkeypatch):
    monkeypatch.setenv(PORT_VARIABLE, chosen)
    open_class(store)
    assert phones.open() == 0


def test_a_qr_code_is_square_and_has_its_three_corners():
    rows = qr_rows("http://192.168.1.5:8501/c/K7MXR")
    assert len(rows) >= 21 and {len(row) for row in rows} == {len(rows)}
    corner = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
    assert [row[:7] for row in rows[:7]] == [row[-7:] for row in rows[:7]] == [row[:7] for row in rows[-7:]] == corner
    assert qr_rows("") == () and qr_rows("http://other") != rows
