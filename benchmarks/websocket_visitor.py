"""A visitor without a browser: Streamlit's own messages over its websocket, so that hundreds fit on one machine."""

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

FIELD = "Sentence to translate"
# In every sentence: whose it is. The pages show the sentence as its tokens, a digit each, in JSON or in a table.
_BETWEEN = rb'(?: |",\s?"|</t[dh]><t[dh][^>]*>|\\u2581|\xe2\x96\x81|\xc2\xb7|\xe2\x90\xa3)*'
_MARK = re.compile(rb"Ask((?:" + _BETWEEN + rb"\d){5,})")
_TITLE = re.compile(rb' title="[^"]*"')  # the same token again, to the letter
_ESCAPED_SPACE = b"\\u2581"
_TRIGGER = "$$STREAMLIT_INTERNAL_KEY_{}__events"  # the id of what a component reports, by its own
_CACHED_RUNS = 2  # until a browser forgets a large message (global.maxCachedMessageAge)


@dataclass
class Run:
    """One run of the page's script: its start and end (time.monotonic), and its messages."""

    started: float
    ended: float = 0.0
    exceptions: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)  # in boxes of information, warning and error
    marks: set[int] = field(default_factory=set)

    @property
    def seconds(self) -> float:
        """From the question to the last message of the answer."""
        return self.ended - self.started


@dataclass(frozen=True)
class Component:
    """One of ours on the page: its id, the part of the page that it is in, "" for none, and the data that it has."""

    id: str
    part: str
    data: dict


def marked(sentence: str, mark: int) -> str:
    """Return a sentence that no one else asks for, to be told from all others in whatever the server sends."""
    return f"{sentence} Ask {mark}."


class WebsocketVisitor:
    """One visitor's session on one page of the app, or of any Streamlit app.

    It keeps large messages as a browser does, and the server sends these again by name: the page's style, scripts.

    address: of the server, with its base path where it has one; page: its address below that, "" for the first.
    """

    def __init__(self, address: str, page: str = "", cookie: str = ""):
        self._address, self._page, self._cookie = address.rstrip("/"), page, cookie
        self._field = ""  # the text field's id, from the first run
        self._buttons: dict[str, str] = {}  # label -> id
        self.components: dict[str, Component] = {}  # by their keys
        self._sent: dict[str, Component] = {}  # by the hash of the message in which it came
        self._script = ""  # the page's hash
        self._pages: dict[str, str] = {}  # address -> hash
        self._again: tuple[str, float] | None = None  # a part that is to run again, and after how many seconds
        self._cached: dict[str, int] = {}  # large messages by their hash -> the run in which they last came
        self._runs = 0
        self._unfinished = False  # a run has begun and is not over, also one that nobody waits for any more
        self.title = ""  # of the page that came

    async def __aenter__(self) -> "WebsocketVisitor":
        parts = urlsplit(self._address)
        scheme = {"http": "ws", "https": "wss"}[parts.scheme]
        self._socket = await websockets.connect(
            f"{scheme}://{parts.netloc}{parts.path}/_stcore/stream",
            subprotocols=["streamlit"],
            origin=f"{parts.scheme}://{parts.netloc}",
            additional_headers={"Cookie": self._cookie} if self._cookie else None,
            max_size=None,
            compression=None,
            open_timeout=120,
            ping_interval=None,
        )
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._socket.close()

    async def arrive(self, **parameters: str) -> Run:
        """Open the page, with these parameters in its address."""
        return await self.open(urlencode(parameters))

    async def open(self, query: str) -> Run:
        """Open the page with whatever stands behind the "?" of its address."""
        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_name = self._page
        return await self._run(message)

    async def ask(self, text: str) -> Run:
        """Type another text into the field, send it, and wait for the end of the run."""
        return await self._run(self._question(text))

    async def press(self, label: str) -> Run:
        """Press a button that the page has shown, by its label."""
        message = BackMsg()
        message.CopyFrom(self._last)
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.trigger_value = self._buttons[label], True
        return await self._run(message)

    async def report(self, key: str, event: str, value: object) -> Run:
        """Report something from a component of the page, by its key, as a browser does."""
        component, message = self.components[key], BackMsg()
        message.CopyFrom(self._last)
        message.rerun_script.fragment_id, message.rerun_script.page_script_hash = component.part, self._script
        state = message.rerun_script.widget_states.widgets.add()
        state.id = _TRIGGER.format(component.id)
        state.json_trigger_value = json.dumps([{"event": event, "value": value}])
        return await self._run(message)

    async def go(self, page: str) -> Run:
        """Follow the link to another page, by its address."""
        message = BackMsg()
        message.rerun_script.page_script_hash = self._pages[page]
        return await self._run(message)

    @property
    def is_whole(self) -> bool:
        """True once the page has all its parts; some come later where many wait."""
        return self._again is None

    async def look_again(self) -> Run:
        """Run a part that is still to come again, as a browser does, after the time that the server named.

        Whoever asks for something else meanwhile may cancel it.
        """
        part, seconds = self._again
        await asyncio.sleep(seconds)
        message = BackMsg()
        message.CopyFrom(self._last)
        message.rerun_script.fragment_id, message.rerun_script.page_script_hash = part, self._script
        message.rerun_script.is_auto_rerun = True
        return await self._run(message)

    async def send(self, text: str) -> None:
        """Send a text as `ask` does, without waiting."""
        await self._socket.send(self._question(text).SerializeToString())

    def _question(self, text: str) -> BackMsg:
        message = BackMsg()
        message.rerun_script.query_string = urlencode({"text": text})
        message.rerun_script.page_script_hash = self._script
        if self._field:
            state = message.rerun_script.widget_states.widgets.add()
            state.id, state.string_value = self._field, text
        return message

    async def _run(self, message: BackMsg) -> Run:
        run = Run(time.monotonic())
        self._of_part = bool(message.rerun_script.fragment_id)
        self._of_another = self._unfinished
        if not self._of_part:
            self._last, self._again = message, None
            self._runs += 1
            self._cached = {name: last for name, last in self._cached.items() if self._runs - last <= _CACHED_RUNS}
        del message.rerun_script.cached_message_hashes[:]
        message.rerun_script.cached_message_hashes.extend(self._cached)
        await self._socket.send(message.SerializeToString())
        while not self._over(await self._socket.recv(), run):
            pass
        run.ended = time.monotonic()
        return run

    def _over(self, data: bytes, run: Run) -> bool:
        """Note what a message says; True when it ends the run."""
        for mark in _MARK.findall(_TITLE.sub(b"", data)):
            digits = re.sub(rb"\D", b"", mark.replace(_ESCAPED_SPACE, b""))
            run.marks.add(int(digits))
        message = ForwardMsg.FromString(data)
        kind = message.WhichOneof("type")
        if message.metadata.cacheable or message.ref_hash:
            self._cached[message.hash or message.ref_hash] = self._runs
        if message.WhichOneof("type") == "navigation":
            self._script = message.navigation.page_script_hash
            self._pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        if kind == "page_info_changed":
            self._last.rerun_script.query_string = message.page_info_changed.query_string
        self._note_component(message.hash or message.ref_hash, message.delta)
        self._note_element(message.delta.new_element, run)
        finished = message.script_finished
        if kind in ("new_session", "script_finished"):
            self._unfinished = kind == "new_session"
        if kind == "script_finished" and self._of_another:
            self._of_another = False
            run.marks.clear()
            return False
        if kind == "auto_rerun":
            self._again = message.auto_rerun.fragment_id, message.auto_rerun.interval
        if kind != "script_finished":
            return False
        if finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY:
            return self._of_part
        if finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:  # a part asked for the whole page
            self._again, self._of_part = None, False
        if finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            run.exceptions.append("the script could not be compiled")
        return finished in (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR)

    def _note_component(self, name: str, delta: Delta) -> None:
        """Note a component with its data, also where the message comes again by its name."""
        shown = delta.new_element.bidi_component
        component = self._sent.get(name)
        if shown.WhichOneof("data") == "json":
            component = Component(shown.id, delta.fragment_id, json.loads(shown.json))
        if component:
            self.components[component.id.rpartition("-")[2]] = component
            if name:
                self._sent[name] = component

    def _note_element(self, element: Element, run: Run) -> None:
        if element.HasField("heading") and element.heading.tag == "h1":
            self.title = element.heading.body
        if element.HasField("exception"):
            run.exceptions.append(element.exception.message)
        if element.HasField("alert"):
            run.messages.append(element.alert.body)
        if element.HasField("button"):
            self._buttons[element.button.label] = element.button.id
        if element.HasField("text_input") and element.text_input.label == FIELD:
            self._field = element.text_input.id
