"""A component alone in an empty page, given data by the test; what it reports is kept in window.told."""

from playwright.sync_api import Page

from headlight.components.bundle import FOLDER, bundle


def put_up(page: Page, entry: str, data: dict) -> None:
    """The component of an entry such as "replay_player/player", with its first data."""
    path = FOLDER / entry
    style = (FOLDER / "lib" / "controls.css").read_text() + path.with_suffix(".css").read_text()
    page.set_content(f"<style>{style}</style><div id=place>{path.with_suffix('.html').read_text()}</div>")
    page.evaluate(
        """async (script) => {
          const component = await import(URL.createObjectURL(new Blob([script], {type: "text/javascript"})));
          const parentElement = document.getElementById("place");
          window.told = [];
          const setTriggerValue = (name, value) => window.told.push([name, value]);
          window.receive = (data) => { component.default({ parentElement, data, setTriggerValue }); };
        }""",
        bundle(path.with_suffix(".js")),
    )
    receive(page, data)


def receive(page: Page, data: dict) -> None:
    """The component is given other data, as after a run."""
    page.evaluate("data => window.receive(data)", data)
