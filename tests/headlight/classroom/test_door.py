"""The way into a class: no link and no QR code of the computer's own name."""

import pytest

from headlight.classroom.door import Door, door_of, is_local, own_networks, qr_rows

PATH = "/c/K7MXR"
LOCAL = [
    "http://localhost:8501",
    "http://127.0.0.1:8501/",
    "http://[::1]:8501",
    "http://0.0.0.0:8501",
    "http://a.localhost:8501",
]


@pytest.mark.parametrize("url", ["http://192.168.1.5:8501", "https://head.example.org", "http://[fd00::5]:8501"])
def test_where_the_teacher_came_in_by_the_network_so_do_phones(url):
    assert door_of(url, PATH, "0.0.0.0", ("10.0.0.2",)) == Door(url + PATH)


@pytest.mark.parametrize("url", LOCAL)
def test_on_the_teachers_own_computer_the_link_is_of_its_network(url):
    door = door_of(url, PATH, "0.0.0.0", ("192.168.1.5", "10.8.0.2"))
    assert door == Door(f"http://192.168.1.5:8501{PATH}", (f"http://10.8.0.2:8501{PATH}",))
    assert door_of(url, PATH, "0.0.0.0", ()).link == ""


@pytest.mark.parametrize("url", LOCAL)
def test_an_app_that_listens_to_its_computer_alone_has_no_link_and_says_how_to_start_it(url):
    door = door_of(url, PATH, "localhost", ("192.168.1.5",))
    assert door.link == "" and door.others == (f"http://192.168.1.5:8501{PATH}",)
    assert "--server.address=0.0.0.0" in door.problem


def test_without_a_port_or_an_address_there_is_still_no_local_link():
    assert door_of("http://localhost", PATH, "", ("192.168.1.5",)).link == f"http://192.168.1.5{PATH}"
    assert door_of("", PATH, "localhost", ()).link == ""


def test_addresses_of_this_computer_are_none_that_only_it_can_reach():
    assert not [each for each in own_networks() if is_local(each)]


def test_a_qr_code_is_square_and_has_its_three_corners():
    rows = qr_rows("http://192.168.1.5:8501/c/K7MXR")
    size = len(rows)
    assert size >= 21 and {len(row) for row in rows} == {size}
    corner = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
    assert [row[:7] for row in rows[:7]] == [row[-7:] for row in rows[:7]] == [row[:7] for row in rows[-7:]] == corner
    assert qr_rows("") == () and qr_rows("http://other") != rows
