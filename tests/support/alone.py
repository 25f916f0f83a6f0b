"""A component alone in an empty page, given data by the test; what it reports is kept in window.told."""

from playwright.sync_api import Page

from headlight.components.bundle import bundle, read_parts


def put_up(page: Page, entry: str, data: dict) -> None:
    """The component of an entry such as "replay_player/player", with its first data."""
    parts = read_parts(entry)
    page.set_content(f"<style>{parts.style}</style><div id=place>{parts.markup}</div>")
    page.evaluate(
        """async (script) => {
          const component = await import(URL.createObjectURL(new Blob([script], {type: "text/javascript"})));
          const parentElement = document.getElementById("place");
          window.told = [];
          const setTriggerValue = (name, value) => window.told.push([name, value]);
          window.receive = (data) => { component.default({ parentElement, data, setTriggerValue }); };
        }""",
        bundle(parts.module),
    )
    receive(page, data)


def receive(page: Page, data: dict) -> None:
    """The component is given other data, as after a run."""
    page.evaluate("data => window.receive(data)", data)
