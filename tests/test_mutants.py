"""Every fault of mutants.toml can still be planted."""

import pytest
from mutants import ROOT, Fault, Room, files_of, read_rooms

FAULTS = [(room, fault) for room in read_rooms() for fault in room.faults]


@pytest.mark.parametrize(("room", "fault"), FAULTS, ids=[fault.id for _, fault in FAULTS])
def test_a_fault_applies_once(room: Room, fault: Fault):
    assert fault.planted_in((ROOT / fault.file).read_text(encoding="utf-8")) is not None, f"{fault.old!r} is not unique"
    assert fault.old != fault.new and fault.file.startswith(f"{room.name}/")


def test_faults_have_unique_names_and_rooms_have_tests():
    assert len({fault.id for _, fault in FAULTS}) == len(FAULTS)
    assert all(files_of(ROOT, room.tests) for room in read_rooms())
