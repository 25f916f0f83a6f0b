"""Replicas of the container's content behind nginx, as a department serves the app."""

import contextlib
import http.client
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.server import ROOT, free_port, start, until, wait_for

DEPLOY = ROOT / "deploy"
TEMPLATE = (DEPLOY / "nginx.conf.template").read_text(encoding="utf-8")
CONTAINER = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
# As compose.yaml has it, but for the address.
SERVER = "server 127.0.0.1:{port} max_fails=3 fail_timeout=5s;"


class Replica:
    """One server of the app on a port of its own; `base` is the base path, "" or such as "/path"."""

    def __init__(self, folder: Path, base: str, **environment: str):
        self.port, self._folder, self._base = free_port(), folder, base
        self.environment = {
            "OMP_NUM_THREADS": "1",
            "HEADLIGHT_MODEL_PROCESS": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "STREAMLIT_SERVER_ADDRESS": "127.0.0.1",
            "STREAMLIT_SERVER_PORT": str(self.port),
            "STREAMLIT_SERVER_BASE_URL_PATH": base,
            "STREAMLIT_SERVER_COOKIE_SECRET": "of all replicas",
            **environment,
        }
        self.start()

    @property
    def upstream(self) -> str:
        """Return its address in nginx's configuration."""
        return f"127.0.0.1:{self.port}"

    @property
    def sessions(self) -> int:
        """Return its own count of visitors."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("GET", f"{self._base}/_stcore/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return int(re.search(r"^active_sessions (\d+)", text, re.MULTILINE)[1])

    def start(self) -> None:
        """Start it, also again; `wait` says when it answers."""
        self.process = start(self.port, self._folder, **self.environment)

    def wait(self) -> None:
        """Until it answers."""
        wait_for(f"http://{self.upstream}{self._base}/_stcore/health", self.process)

    def kill(self) -> None:
        """As a machine dies: at once, and nobody is told."""
        self.process.kill()
        self.process.wait(timeout=300)


@dataclass
class Deployment:
    """Replicas behind nginx. `address` is what a visitor types, with the base path."""

    port: int
    base: str
    replicas: list[Replica]
    folder: Path

    @property
    def address(self) -> str:
        """Without a slash at its end."""
        return f"http://localhost:{self.port}{self.base}"

    @property
    def log(self) -> str:
        """The access log, all of it."""
        return (self.folder / "access.log").read_text(encoding="utf-8")

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status, headers and body of what stands at a path below the base path."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        with contextlib.closing(connection):
            connection.request(method, self.base + path, headers={"Host": f"localhost:{self.port}"} | headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()

    def served(self, path: str) -> str:
        """Return the `upstream` that answered the only request for a path, "-" for none."""
        line = rf'^\S+ \S+ "{re.escape(self.base + path)}" .* (\S+)$'
        return until(lambda: re.search(line, self.log, re.MULTILINE))[1]


def cookies_of(deployment: Deployment, replica: Replica, count: int) -> list[str]:
    """So many cookies that lead to this replica."""
    cookies = []
    while len(cookies) < count:
        name = uuid.uuid4().hex
        if replica_for(deployment, f"headlight={name}") == replica.upstream:
            cookies.append(f"headlight={name}")
    return cookies


def replica_for(deployment: Deployment, cookie: str) -> str:
    """Return the replica that answers requests with a cookie."""
    path = f"/{uuid.uuid4().hex}"
    assert deployment.get(path, Cookie=cookie)[0] == 200
    return deployment.served(path)


def container_folder(folder: Path) -> Path:
    """A folder with what the container has of the repository, with what Python compiled of it, and nothing else."""
    for source, target in re.findall(r"^COPY (\S+) (\S+)$", CONTAINER, re.MULTILINE):
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, folder / target, ignore=shutil.ignore_patterns("*.pyc.*"))  # half written
        else:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / source, folder / target)
    return folder


def filled_in(template: str, values: dict[str, str]) -> str:
    """The template as envsubst leaves it; a variable without a value is an error."""
    return re.sub(r"\$\{(HEADLIGHT_\w+)\}", lambda match: values[match[1]], template)


@contextmanager
def deployed(app: Path, folder: Path, base: str = "", count: int = 2, **environment: str) -> Iterator[Deployment]:
    """So many replicas of the app in a folder, with these variables, behind nginx, which writes into the other one."""
    replicas = [Replica(app, base, **environment) for _ in range(count)]
    deployment = Deployment(free_port(), base, replicas, folder)
    values = {
        "HEADLIGHT_LISTEN": f"127.0.0.1:{deployment.port}",
        "HEADLIGHT_LOG": "access.log",
        "HEADLIGHT_BASE_PATH": base,
        "HEADLIGHT_TRUSTED_PROXY": "127.0.0.1",
        "HEADLIGHT_REPLICAS": " ".join(SERVER.format(port=replica.port) for replica in replicas),
    }
    (folder / "nginx.conf").write_text(filled_in(TEMPLATE, values), encoding="utf-8")
    # A superuser's nginx becomes someone else, who may not look into a test's folder.
    more = "daemon off;" + ("user root;" if os.getuid() == 0 else "")
    command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", more]
    # Debian keeps it where only the superuser looks for programs.
    proxy = subprocess.Popen(command, env=os.environ | {"PATH": f"{os.environ['PATH']}:/usr/sbin"})
    try:
        for replica in replicas:
            replica.wait()
        wait_for(f"{deployment.address}/_stcore/health", proxy)
        yield deployment
    finally:
        for process in (proxy, *(replica.process for replica in replicas)):
            process.terminate()
        for process in (proxy, *(replica.process for replica in replicas)):
            process.wait(timeout=300)
