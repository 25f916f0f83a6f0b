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
from support.deployment import CONTAINER, ROOT, Deployment, Replica, container_folder, cookies_of, deployed, replica_for
from support.server import until
from support.visitors import aside, talking

from benchmarks.websocket_visitor import WebsocketVisitor

PAGES = ["", *sorted(path.stem for path in (ROOT / "pages").glob("*.py") if path.stem != "home")]
STUDENTS, FILES, ASKED = 30, 120, 8  # a first visit's requests, and those of them that reach a replica
SENTENCE = "Where is my cat?"
BASE = "/school/headlight"


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """What the container holds."""
    return container_folder(tmp_path_factory.mktemp("container") / "app")


@pytest.fixture(scope="module")
def at_root(app, tmp_path_factory) -> Iterator[Deployment]:
    with deployed(app, tmp_path_factory.mktemp("root")) as found:
        yield found


@pytest.fixture(scope="module")
def below(app, tmp_path_factory) -> Iterator[Deployment]:
    with deployed(app, tmp_path_factory.mktemp("base"), BASE) as found:
        yield found


@pytest.fixture(params=["at_root", "below"])
def either(request) -> Deployment:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def window(browser, below) -> Page:
    """A visitor's deep link below the base path, kept from test to test."""
    page = browser.new_page(reduced_motion="reduce", viewport={"width": 1440, "height": 1000})
    page.goto(f"{below.address}/inside?text=Where+is+my+cat%3F&head=cross.2.4")
    return page


def home(deployment: Deployment, page: Page) -> Replica:
    """The replica of a browser's cookie."""
    (value,) = (cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "headlight")
    upstream = replica_for(deployment, f"headlight={value}")
    return next(replica for replica in deployment.replicas if replica.upstream == upstream)


def script_of(deployment: Deployment) -> str:
    """The path of Streamlit's largest script."""
    return "/" + re.search(r'src="\./(static/js/[^"]+)"', deployment.get("/")[2].decode())[1]


async def titles(address: str) -> list[str]:
    """The title of every page, each asked for by a visitor of its own, who brings no cookie."""

    async def title(page: str) -> str:
        async with WebsocketVisitor(address, page) as visitor:
            assert not (await visitor.arrive(text=SENTENCE)).exceptions
            return visitor.title

    return await asyncio.gather(*map(title, PAGES))


def test_every_page_answers_also_where_all_are_asked_of_fresh_replicas_at_once(either):
    for page in PAGES:
        status, headers, body = either.get(f"/{page}")
        assert status == 200 and b"<title>" in body and headers["Cache-Control"] == "no-cache"
    found = aside(titles(either.address)).result()
    assert len(set(found)) == len(PAGES)
    for page, title in zip(PAGES, found, strict=True):
        assert title.lower().replace(" ", "_") == (page or "headlight")


def test_a_deep_link_at_the_root_arrives_with_its_view_drawn_all_from_one_replica(browser, at_root):
    page, failed = browser.new_page(reduced_motion="reduce"), []
    page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
    before = len(at_root.log.splitlines())
    page.goto(f"{at_root.address}/attention?text=Where+is+my+cat%3F&head=cross.2.4")
    expect(page.locator(".heads_name")).to_have_text("Cross-attention: layer 2, head 4")
    expect(page.get_by_label("Sentence to translate")).to_have_value(SENTENCE)
    wait_until_idle(page)
    assert page.locator("canvas").first.evaluate("canvas => canvas.width * canvas.height") > 0
    # Streamlit looks for its server below the page's address first, and finds it above.
    assert not [url for url in failed if "/attention/_stcore/" not in url]
    logged = [line for line in at_root.log.splitlines()[before:] if not re.search("/(static|modules)/", line)]
    lines = [line.rsplit(" ", 2)[1:] for line in logged]
    page.close()
    assert len({upstream for _, upstream in lines}) == 1
    assert 60 < len(at_root.log.splitlines()) - before <= FILES and len(lines) <= ASKED


def test_a_deep_link_below_a_base_path_arrives_with_its_view_drawn(window):
    expect(window.locator("li.step.split .formula")).to_contain_text("h = 4")
    expect(window.get_by_label("Sentence to translate")).to_have_value(SENTENCE)


def test_a_base_path_without_its_slash_is_led_there(below):
    status, headers, _ = below.get("")
    assert (status, headers["Location"]) == (301, f"{BASE}/")
    assert Deployment(below.port, "", below.replicas, below.folder).get("/")[0] == 404, "nothing else is served"


def test_a_download_comes_from_whichever_replica_made_it(window, below):
    with window.expect_download() as caught:
        window.get_by_role("button", name="Download program and arrays").click()
    assert caught.value.path().read_bytes()[:2] == b"PK"
    path = caught.value.url.removeprefix(below.address)
    assert path.startswith("/media/")
    for replica in below.replicas:
        assert below.get(path, Cookie=cookies_of(below, replica, 1)[0])[0] == 200
    assert below.get("/media/nobody-made-this.zip")[0] == 404


def test_who_comes_without_a_cookie_gets_one_that_leads_to_the_replica_that_answered(either):
    upstreams = set()
    for _ in range(24):
        path = f"/{uuid.uuid4().hex}"
        given = either.get(path)[1].get_all("Set-Cookie")
        assert len(given) == 1 and given[0].endswith("; Path=/; HttpOnly; SameSite=Lax")
        upstreams.add(either.served(path))
        assert replica_for(either, given[0].split(";")[0]) == either.served(path)
    assert upstreams == {replica.upstream for replica in either.replicas}, "newcomers are spread"


def test_who_has_a_cookie_stays_with_its_replica_and_gets_no_other(at_root):
    for replica in at_root.replicas:
        (cookie,) = cookies_of(at_root, replica, 1)
        assert {replica_for(at_root, cookie) for _ in range(5)} == {replica.upstream}
        assert at_root.get("/", Cookie=cookie)[1].get_all("Set-Cookie") is None
    assert "headlight=" in at_root.get("/", Cookie="headlight=made-up")[1]["Set-Cookie"]


def test_the_websockets_of_a_cookie_go_where_its_files_come_from(at_root):
    for replica, other in (at_root.replicas, at_root.replicas[::-1]):
        (cookie,) = cookies_of(at_root, replica, 1)
        until(lambda: sum(one.sessions for one in at_root.replicas) == 0)

        async def three(cookie=cookie, replica=replica, other=other) -> None:
            visitors = [WebsocketVisitor(at_root.address, cookie=cookie) for _ in range(3)]
            for visitor in visitors:
                await visitor.__aenter__()
            assert (replica.sessions, other.sessions) == (3, 0)
            for visitor in visitors:
                await visitor.__aexit__()

        aside(three()).result()


def test_the_cookie_is_for_https_alone_where_the_proxy_in_front_speaks_it(at_root):
    assert at_root.get("/", **{"X-Forwarded-Proto": "https"})[1]["Set-Cookie"].endswith("; Secure")


def test_a_websocket_from_a_foreign_page_is_refused(either):
    async def status(origin: str) -> int:
        url = either.address.replace("http", "ws") + "/_stcore/stream"
        try:
            async with websockets.connect(url, subprotocols=["streamlit"], origin=origin):
                return 101
        except websockets.exceptions.InvalidStatus as error:
            return error.response.status_code

    assert aside(status(f"http://localhost:{either.port}")).result() == 101
    assert aside(status("https://elsewhere.example")).result() == 403


def test_too_large_a_body_is_refused_before_a_replica_sees_it(either):
    path = "/_stcore/upload_file/a/b"
    status, _, _ = either.get(path, "PUT", **{"Content-Length": str(2_000_000)})
    assert status == 413 and either.served(path) == "-"


def test_scripts_are_kept_by_nginx_and_compressed_and_may_be_kept_by_the_browser(either):
    path = script_of(either)
    plain = either.get(path)[2]
    until(lambda: either.served(path))
    before = either.log.count(path)
    status, headers, body = either.get(path, **{"Accept-Encoding": "gzip"})
    until(lambda: either.log.count(path) > before)
    assert [line for line in either.log.splitlines() if path in line][-1].endswith(" -"), "no replica was asked"
    assert status == 200 and headers["Content-Encoding"] == "gzip" and len(body) < len(plain) / 2
    assert "immutable" in headers["Cache-Control"] and headers["Set-Cookie"] is None


def test_the_numbers_about_the_server_are_not_for_visitors(either):
    assert either.get("/_stcore/metrics")[0] == 404


def test_a_class_behind_one_address_is_let_in_and_a_flood_is_not(at_root):
    path = script_of(at_root)

    def statuses(address: str, paths: list[str]) -> list[int]:
        connection, found = HTTPConnection("127.0.0.1", at_root.port, timeout=300), []
        for path in paths:
            connection.request("HEAD", path, headers={"X-Forwarded-For": address, "Connection": "keep-alive"})
            response = connection.getresponse()
            response.read()
            found.append(response.status)
        connection.close()
        return found

    visit = ["/favicon.png"] * ASKED + [path] * (FILES - ASKED)
    with ThreadPoolExecutor(STUDENTS) as students:
        school = [students.submit(statuses, "192.0.2.1", visit) for _ in range(STUDENTS)]
        assert {status for visit in school for status in visit.result()} == {200}
        for flooded, least in ((path, 300), ("/_stcore/stream", 100)):
            flood = [students.submit(statuses, "192.0.2.2", [flooded] * 170) for _ in range(STUDENTS)]
            seen = [status for part in flood for status in part.result()]
            assert seen.count(429) > least and seen[0] != 429
    assert statuses("192.0.2.1", visit[:1]) == [200], "others are not refused for it"


def test_what_the_container_asks_for_its_health_succeeds_while_the_app_lives_and_only_then(either):
    command = re.search(r"HEALTHCHECK .*? CMD (.*?\")\n", CONTAINER, re.DOTALL)[1].replace("\\\n", "")
    replica = either.replicas[0]
    for port, expected in ((replica.port, 0), (1, 1)):
        environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            **replica.environment,
            "STREAMLIT_SERVER_PORT": str(port),
        }
        ran = subprocess.run(["sh", "-c", command], env=environment, capture_output=True)
        assert ran.returncode == expected, ran.stderr


def test_a_killed_replicas_visitors_go_on_with_the_other_and_the_others_notice_nothing(window, below):
    dying = home(below, window)
    (living,) = (replica for replica in below.replicas if replica is not dying)
    address = window.url
    cookies = cookies_of(below, dying, 3) + cookies_of(below, living, 3)
    with talking(below.address, cookies) as talks:
        until(lambda: all(talk.answered >= 2 for talk in talks))
        dying.kill()
        counted = [talk.answered for talk in talks]
        until(lambda: all(talk.answered >= count + 3 for talk, count in zip(talks, counted, strict=True)))
        until(lambda: living.sessions == len(talks) + 1)
        wait_until_idle(window)
    assert [talk.broken for talk in talks] == [1, 1, 1, 0, 0, 0]
    assert not [wrong for talk in talks for wrong in talk.wrong]

    # The browser has its address, its sentence, its view, and goes on.
    assert window.url == address
    expect(window.get_by_label("Sentence to translate")).to_have_value(SENTENCE)
    expect(window.locator("li.step.split .formula")).to_contain_text("h = 4")
    window.get_by_label("Sentence to translate").fill("I love my teacher.")
    window.get_by_label("Sentence to translate").press("Enter")
    window.wait_for_url("**head=cross.*.4**")
    expect(window.get_by_role("group", name="Key").get_by_role("button").nth(1)).to_contain_text("love")

    # The replica comes back, and takes those of its cookies who come now; who went away misses nothing.
    dying.start()
    dying.wait()
    until(lambda: home(below, window) is dying)
    with window.expect_download() as caught:
        window.get_by_role("button", name="Download program and arrays").click()
    assert caught.value.path().read_bytes()[:2] == b"PK"


def test_no_sentence_stands_in_the_log_and_no_replica_wrote_into_its_folder(either, app, window):
    assert "/_stcore/stream" in either.log
    assert "cat" not in either.log and "?" not in either.log and "192.0.2." not in either.log
    ours = {path.relative_to(app) for path in app.rglob("*") if path.is_file()}
    assert not [path for path in ours if not (ROOT / path).is_file()]
