"""What deploy/ says of itself: nothing that the app needs is left out, and nothing is left to be guessed."""

import re

from support.deployment import CONTAINER, DEPLOY, ROOT, TEMPLATE
from support.source_files import BELOW

from headlight.app.model_queue import SWITCH
from headlight.classroom import FILE_VARIABLE

COMPOSE = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")


def test_the_container_has_every_room_of_the_app_and_its_settings_and_checkpoints():
    copied = {source for source, _ in re.findall(r"^COPY (\S+) (\S+)$", CONTAINER, re.MULTILINE)}
    rooms = {"app.py" if name == "app" else name.split(".")[0] for name in BELOW}
    assert copied == rooms | {"requirements.txt", ".streamlit", "checkpoints"}
    assert all((ROOT / source).exists() for source in copied)


def test_the_container_is_not_the_superusers_and_listens_to_the_network():
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", CONTAINER, re.MULTILINE)
    assert "STREAMLIT_SERVER_ADDRESS=0.0.0.0" in CONTAINER


def test_every_variable_of_the_template_is_given_by_the_compose_file():
    variables = set(re.findall(r"\$\{(\w+)\}", TEMPLATE)) - {"request_time"}
    assert len(variables) == 5 and all(name.startswith("HEADLIGHT_") for name in variables)
    given = set(re.findall(r"^      (HEADLIGHT_\w+):", COMPOSE, re.MULTILINE))
    assert given == variables


def test_every_replica_of_the_compose_file_is_behind_nginx():
    addresses = re.findall(r"ipv4_address: ([\d.]+)", COMPOSE)
    assert len(addresses) == 2
    assert re.findall(r"server ([\d.]+):8501 max_fails=3 fail_timeout=5s;", COMPOSE) == addresses
    assert COMPOSE.count("<<: *replica") == len(addresses)


def test_replicas_share_the_file_of_the_classes_in_a_volume_that_they_may_write():
    replica, services = COMPOSE.split("\nservices:")
    assert f"{FILE_VARIABLE}: /classes/classes.sqlite3" in replica and 'volumes: ["classes:/classes"]' in replica
    assert "\nvolumes:\n  classes:\n" in services
    (user,) = re.findall(r"^USER (\d+):\d+$", CONTAINER, re.MULTILINE)
    assert re.search(rf"^RUN install --directory .*--owner={user} .*/classes$", CONTAINER, re.MULTILINE)
    (subnet,) = re.findall(r"subnet: (\S+?)}", COMPOSE)
    assert f"FORWARDED_ALLOW_IPS: {subnet}" in replica


def test_a_replica_of_one_core_has_one_process():
    replica = COMPOSE.split("\nservices:")[0]
    assert "cpus: 1.0" in replica and f'{SWITCH}: "0"' in replica


def test_no_container_may_write_or_has_a_superusers_rights():
    anchors = 2  # the replicas' common part, and nginx
    for words in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "tmpfs:", "mem_limit:"):
        assert COMPOSE.count(words) == anchors, words
    assert "COOKIE_SECRET:?" in COMPOSE, "no secret is shipped"
