"""Two replicas of the app behind nginx, as deploy/ has them: at the root, and below a base path."""

import asyncio
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest
import websockets
from playwright.sync_api import Page, expect
from support.browser import wait_until_idle
from support.deployment import (
    CONTAINER,
    ROOT,
    Deployment,
    Replica,
    container_folder,
    cookies_of,
    deployed,
    replica_for,
)
from support.server import until
from support.visitors import aside

from benchmarks.websocket_visitor import WebsocketVisitor

PAGES = ["", *sorted(path.stem for path in (ROOT / "pages").glob("*.py") if path.stem != "home")]
STUDENTS, FILES, REQUESTS = 30, 120, 8  # a first visit's requests, and those of them that reach a replica
SENTENCE = "Where is my cat?"
BASE = "/school/headlight"


@pytest.fixture(scope="module")
def app(tmp_path_factory) -> Path:
    """The contents of the container."""
    return container_folder(tmp_path_factory.mktemp("container") / "app")


@pytest.fixture(scope="module")
def at_root(app, tmp_path_factory) -> Iterator[Deployment]:
    with deployed(app, tmp_path_factory.mktemp("root")) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def below(app, tmp_path_factory) -> Iterator[Deployment]:
    with deployed(app, tmp_path_factory.mktemp("base"), BASE) as deployment:
        yield deployment


@pytest.fixture(params=["at_root", "below"])
def either(request) -> Deployment:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def window(browser, below) -> Page:
    """A deep link below the base path, open during all tests."""
    page = browser.new_page(reduced_motion="reduce", viewport={"width": 1440, "height": 1000})
    page.goto(f"{below.address}/inside?text=Where+is+my+cat%3F&head=cross.2.4")
    return page


def replica_of(deployment: Deployment, page: Page) -> Replica:
    """Return the replica of a browser's cookie."""
    (value,) = (cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "headlight")
    upstream = replica_for(deployment, f"headlight={value}")
    return next(replica for replica in deployment.replicas if replica.upstream == upstream)


def largest_script(deployment: Deployment) -> str:
    """Return the path of Streamlit's largest script."""
    return "/" + re.search(r'src="\./(static/js/[^"]+)"', deployment.get("/")[2].decode())[1]


def expect_inside(window: Page) -> None:
    expect(window.get_by_label("Sentence to translate")).to_have_value(SENTENCE)
    expect(window.locator("li.step.split .formula")).to_contain_text("h = 4")


def test_fresh_replicas_answer_for_every_page_at_once(either):
    async def title(page: str) -> str:
        async with WebsocketVisitor(either.address, page) as visitor:
            assert not (await visitor.arrive(text=SENTENCE)).exceptions
            return visitor.title

    async def titles() -> list[str]:
        return await asyncio.gather(*map(title, PAGES))

    for page in PAGES:
        status, headers, body = either.get(f"/{page}")
        assert status == 200 and b"<title>" in body and headers["Cache-Control"] == "no-cache"
    names = [title.lower().replace(" ", "_") for title in aside(titles()).result()]
    assert names == [page or "headlight" for page in PAGES]


def test_a_deep_link_at_the_root_comes_from_one_replica(browser, at_root):
    page, failed = browser.new_page(reduced_motion="reduce"), []
    page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
    before = len(at_root.log.splitlines())
    page.goto(f"{at_root.address}/attention?text=Where+is+my+cat%3F&head=cross.2.4")
    expect(page.locator(".heads_name")).to_have_text("Cross-attention: layer 2, head 4")
    wait_until_idle(page)
    # Streamlit looks for its server below the page's address first, and finds it above.
    assert not [url for url in failed if "/attention/_stcore/" not in url]
    logged = at_root.log.splitlines()[before:]
    upstreams = [line.rsplit(" ", 1)[1] for line in logged if not re.search("/(static|modules)/", line)]
    page.close()
    assert len(set(upstreams)) == 1 and len(upstreams) <= REQUESTS and 60 < len(logged) <= FILES


def test_the_base_path_without_its_slash_is_redirected_and_nothing_above_is_served(below):
    status, headers, _ = below.get("")
    assert (status, headers["Location"]) == (301, f"{BASE}/")
    assert Deployment(below.port, "", below.replicas, below.folder).get("/")[0] == 404


def test_a_download_is_served_by_every_replica(window, below):
    expect_inside(window)
    with window.expect_download() as download:
        window.get_by_role("button", name="Download program and arrays").click()
    assert download.value.path().read_bytes()[:2] == b"PK"
    path = download.value.url.removeprefix(below.address)
    assert path.startswith("/media/")
    for replica in below.replicas:
        assert below.get(path, Cookie=cookies_of(below, replica, 1)[0])[0] == 200
    assert below.get("/media/nobody-made-this.zip")[0] == 404


def test_a_visitor_without_a_cookie_gets_one_of_the_replica_that_answered(either):
    upstreams = set()
    for _ in range(24):
        path = f"/{uuid.uuid4().hex}"
        (cookie,) = either.get(path)[1].get_all("Set-Cookie")
        assert cookie.endswith("; Path=/; HttpOnly; SameSite=Lax")
        upstreams.add(either.served(path))
        assert replica_for(either, cookie.split(";")[0]) == either.served(path)
    assert upstreams == {replica.upstream for replica in either.replicas}
    assert either.get("/", **{"X-Forwarded-Proto": "https"})[1]["Set-Cookie"].endswith("; Secure")
    assert either.get("/", Cookie=cookie)[1]["Set-Cookie"] is None
    assert "headlight=" in either.get("/", Cookie="headlight=made-up")[1]["Set-Cookie"]


def test_foreign_websockets_large_bodies_and_metrics_are_refused(either):
    async def status(origin: str) -> int:
        url = either.address.replace("http", "ws") + "/_stcore/stream"
        try:
            async with websockets.connect(url, subprotocols=["streamlit"], origin=origin):
                return 101
        except websockets.exceptions.InvalidStatus as error:
            return error.response.status_code

    assert aside(status(f"http://localhost:{either.port}")).result() == 101
    assert aside(status("https://elsewhere.example")).result() == 403
    path = "/_stcore/upload_file/a/b"
    assert either.get(path, "PUT", **{"Content-Length": str(2_000_000)})[0] == 413 and either.served(path) == "-"
    assert either.get("/_stcore/metrics")[0] == 404


def test_scripts_are_compressed_and_cached_by_nginx_and_browser(either):
    path = largest_script(either)
    plain = either.get(path)[2]
    until(lambda: either.served(path))
    before = either.log.count(path)
    status, headers, body = either.get(path, **{"Accept-Encoding": "gzip"})
    until(lambda: either.log.count(path) > before)
    assert [line for line in either.log.splitlines() if path in line][-1].endswith(" -"), "no replica was asked"
    assert status == 200 and headers["Content-Encoding"] == "gzip" and len(body) < len(plain) / 2
    assert "immutable" in headers["Cache-Control"] and headers["Set-Cookie"] is None


def test_a_class_behind_one_address_is_admitted_and_a_flood_is_refused(at_root):
    path = largest_script(at_root)

    def statuses(address: str, paths: list[str]) -> list[int]:
        connection, statuses = HTTPConnection("127.0.0.1", at_root.port, timeout=300), []
        for path in paths:
            connection.request("HEAD", path, headers={"X-Forwarded-For": address, "Connection": "keep-alive"})
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
        connection.close()
        return statuses

    visit = ["/favicon.png"] * REQUESTS + [path] * (FILES - REQUESTS)
    with ThreadPoolExecutor(STUDENTS) as students:
        school = [students.submit(statuses, "192.0.2.1", visit) for _ in range(STUDENTS)]
        assert {status for visit in school for status in visit.result()} == {200}
        for flooded, least in ((path, 300), ("/_stcore/stream", 100)):
            flood = [students.submit(statuses, "192.0.2.2", [flooded] * 170) for _ in range(STUDENTS)]
            answers = [status for part in flood for status in part.result()]
            assert answers.count(429) > least and answers[0] != 429
    assert statuses("192.0.2.1", visit[:1]) == [200], "other addresses are not refused"


@pytest.mark.parametrize("is_alive", [True, False])
def test_the_health_check_of_the_container(either, is_alive):
    command = re.search(r"HEALTHCHECK .*? CMD (.*?\")\n", CONTAINER, re.DOTALL)[1].replace("\\\n", "")
    replica, path = either.replicas[0], f"{Path(sys.executable).parent}:/usr/bin:/bin"
    port = str(replica.port) if is_alive else "1"
    environment = {"PATH": path, **replica.environment, "STREAMLIT_SERVER_PORT": port}
    run = subprocess.run(["sh", "-c", command], env=environment, capture_output=True)
    assert run.returncode == (not is_alive), run.stderr


def test_the_visitor_of_a_killed_replica_goes_on_with_the_other(window, below):
    dying = replica_of(below, window)
    (living,) = (replica for replica in below.replicas if replica is not dying)
    address = window.url
    dying.kill()
    until(lambda: living.sessions == 1)
    wait_until_idle(window)
    assert window.url == address
    expect_inside(window)
    window.get_by_label("Sentence to translate").fill("I love my teacher.")
    window.get_by_label("Sentence to translate").press("Enter")
    window.wait_for_url("**head=cross.*.4**")
    expect(window.get_by_role("group", name="Key").get_by_role("button").nth(1)).to_contain_text("love")
    dying.start()  # and takes the visitors of its cookies again
    dying.wait()
    until(lambda: replica_of(below, window) is dying)


def test_the_log_has_no_sentences_and_replicas_write_no_files(either, app, window):
    assert "/_stcore/stream" in either.log
    assert "cat" not in either.log and "?" not in either.log and "192.0.2." not in either.log
    files = {path.relative_to(app) for path in app.rglob("*") if path.is_file()}
    assert not [path for path in files if not (ROOT / path).is_file()]
