"""The files of deploy/: the container is complete, and the compose file sets every variable and right."""

import re

from support.deployment import CONTAINER, DEPLOY, ROOT, TEMPLATE
from support.source_files import BELOW

from headlight.app.model_queue import SWITCH
from headlight.classroom import FILE_VARIABLE

COMPOSE = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
REPLICA, SERVICES = COMPOSE.split("\nservices:")


def test_the_container_has_every_room_of_the_app_its_settings_and_checkpoints():
    copied = {source for source, _ in re.findall(r"^COPY (\S+) (\S+)$", CONTAINER, re.MULTILINE)}
    rooms = {"app.py" if name == "app" else name.split(".")[0] for name in BELOW}
    assert copied == rooms | {"requirements.txt", ".streamlit", "checkpoints"}
    assert all((ROOT / source).exists() for source in copied)
    assert "STREAMLIT_SERVER_ADDRESS=0.0.0.0" in CONTAINER


def test_the_compose_file_sets_every_variable_of_the_template_and_lists_every_replica():
    variables = set(re.findall(r"\$\{(\w+)\}", TEMPLATE)) - {"request_time"}
    assert len(variables) == 5 and variables == set(re.findall(r"^      (HEADLIGHT_\w+):", COMPOSE, re.MULTILINE))
    addresses = re.findall(r"ipv4_address: ([\d.]+)", COMPOSE)
    assert len(addresses) == COMPOSE.count("<<: *replica") == 2
    assert re.findall(r"server ([\d.]+):8501 max_fails=3 fail_timeout=5s;", COMPOSE) == addresses


def test_replicas_of_one_core_have_one_process_and_share_the_file_of_the_classes():
    assert "cpus: 1.0" in REPLICA and f'{SWITCH}: "0"' in REPLICA
    assert f"{FILE_VARIABLE}: /classes/classes.sqlite3" in REPLICA and 'volumes: ["classes:/classes"]' in REPLICA
    (user,) = re.findall(r"^USER ([1-9]\d*):[1-9]\d*$", CONTAINER, re.MULTILINE)
    assert re.search(rf"^RUN install --directory .*--owner={user} .*/classes$", CONTAINER, re.MULTILINE)
    (subnet,) = re.findall(r"subnet: (\S+?)}", SERVICES)
    assert f"FORWARDED_ALLOW_IPS: {subnet}" in REPLICA


def test_containers_are_read_only_without_rights_and_no_secret_is_shipped():
    for words in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "tmpfs:", "mem_limit:"):
        assert COMPOSE.count(words) == 2, words  # of the replicas and of nginx
    assert "COOKIE_SECRET:?" in COMPOSE
