"""The way into a class: no link and no QR code of the computer's own name."""

import pytest

from headlight.classroom.door import Door, door_of, is_local, own_networks, qr_rows

PATH = "/c/K7MXR"
HOSTS = ("localhost", "127.0.0.1", "[::1]", "0.0.0.0", "a.localhost")


@pytest.mark.parametrize("url", ["http://192.168.1.5:8501", "https://head.example.org", "http://[fd00::5]:8501"])
def test_a_teacher_from_the_network_shares_their_own_address(url):
    assert door_of(url, PATH, "0.0.0.0", ("10.0.0.2",)) == Door(url + PATH)


@pytest.mark.parametrize("host", HOSTS)
def test_a_teacher_on_the_servers_computer_shares_an_address_of_its_network_if_the_app_listens_there(host):
    url, links = f"http://{host}:8501", tuple(f"http://{each}:8501{PATH}" for each in ("192.168.1.5", "10.8.0.2"))
    assert door_of(url, PATH, "0.0.0.0", ("192.168.1.5", "10.8.0.2")) == Door(links[0], links[1:])
    assert door_of(f"http://{host}", PATH, "", ("192.168.1.5",)).link == f"http://192.168.1.5{PATH}"
    assert door_of(url, PATH, "0.0.0.0", ()).link == "" == door_of("", PATH, "localhost", ()).link
    closed = door_of(url, PATH, "localhost", ("192.168.1.5",))
    assert (closed.link, closed.others) == ("", links[:1]) and "--server.address=0.0.0.0" in closed.problem
    assert not [each for each in own_networks() if is_local(each)]


def test_a_qr_code_is_square_and_has_its_three_corners():
    rows = qr_rows("http://192.168.1.5:8501/c/K7MXR")
    assert len(rows) >= 21 and {len(row) for row in rows} == {len(rows)}
    corner = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
    assert [row[:7] for row in rows[:7]] == [row[-7:] for row in rows[:7]] == [row[:7] for row in rows[-7:]] == corner
    assert qr_rows("") == () and qr_rows("http://other") != rows
