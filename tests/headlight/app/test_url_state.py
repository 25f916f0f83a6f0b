"""The register of what stands in an address: all widgets take from it, and every address that was ever kept opens."""

import ast
import inspect
import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from support.pages import open_page
from support.source_files import files, tree

from headlight.app import choices, url_state
from headlight.app.url_state import PARAMETERS, default_of
from headlight.views.attention import page as attention_page
from headlight.views.attention.explorer_content import OPTIONS
from headlight.views.inside import page as inside_page
from headlight.views.positions import page as positions_page
from headlight.views.research import page as research_page
from headlight.views.training import page as training_page
from headlight.views.what_if import page as what_if_page

PACKAGES = ("app", "pages", "headlight.views", "headlight.lessons", "headlight.app")
LINES = (Path(__file__).parent / "addresses.txt").read_text(encoding="utf-8").splitlines()
ADDRESSES = [line for line in LINES if not line.startswith("#")]
FUNCTIONS = {
    name: inspect.signature(function)
    for module in (choices, url_state)
    for name, function in vars(module).items()
    if inspect.isfunction(function) and not name.startswith("_") and "key" in inspect.signature(function).parameters
}


def query_of(address: str) -> dict[str, list[str]]:
    return parse_qs(address.partition("?")[2], keep_blank_values=True)


def calls() -> list[tuple[str, ast.Call, inspect.BoundArguments]]:
    """Every call that names a key of an address, with the file it stands in and its arguments by name."""
    found = []
    for path in (path for package in PACKAGES for path in files(package)):
        for node in ast.walk(tree(path)):
            name = ast.unparse(node.func).split(".")[-1] if isinstance(node, ast.Call) else ""
            if name in FUNCTIONS and not any(isinstance(argument, ast.Starred) for argument in node.args):
                keywords = {keyword.arg: keyword.value for keyword in node.keywords}
                try:
                    found.append((path.name, node, FUNCTIONS[name].bind(*node.args, **keywords)))
                except TypeError:  # another function of this name, such as a file's `write`
                    continue
    return found


def registered(key: ast.expr) -> list[str]:
    """The registered names that an argument stands for: a text, or an f-string with any letters in its gaps."""
    if isinstance(key, ast.Constant):
        return [key.value] if key.value in PARAMETERS else []
    if isinstance(key, ast.JoinedStr):
        parts = [re.escape(part.value) if isinstance(part, ast.Constant) else "[a-z0-9_]+" for part in key.values]
        return [name for name in PARAMETERS if re.fullmatch("".join(parts), name)]
    return []


def test_no_widget_is_bound_to_the_address_but_by_the_register():
    for path in (path for package in PACKAGES for path in files(package)):
        bound = [
            node.lineno
            for node in ast.walk(tree(path))
            if isinstance(node, ast.keyword)
            and node.arg == "bind"
            or isinstance(node, ast.Attribute)
            and node.attr == "query_params"
            and path.stem not in ("url_state",)
            and path.stem != "explorer"  # which reads what links from other pages ask for
        ]
        assert path.stem == "choices" or not bound, f"{path.name}: {bound}"


def test_every_key_of_a_widget_is_registered_and_every_registered_one_is_used():
    used = set()
    for name, call, arguments in calls():
        key = arguments.arguments["key"]
        if isinstance(key, ast.Name):  # a function that hands on a key it is given: its own callers are looked at
            continue
        assert registered(key), f"{name}, line {call.lineno}: {ast.unparse(key)} is not in the register"
        used |= set(registered(key))
    # Passed on in a single file: the names of trainings, the selection of Inside, the options of the explorer.
    assert PARAMETERS.keys() - used - OPTIONS.keys() == {"at_dimension", "at_step", "job", "jobs"}


def test_a_default_stands_in_the_register_and_nowhere_else():
    for name, call, arguments in calls():
        if "start" not in arguments.arguments or isinstance(arguments.arguments["key"], ast.Name):
            continue
        for key in registered(arguments.arguments["key"]):
            assert PARAMETERS[key].default is None, f"{name}, line {call.lineno}: a second default of {key}"
    with pytest.raises(ValueError, match="'layer'|'beam' has the default 5"):
        default_of("beam", 4)
    with pytest.raises(KeyError):
        default_of("unheard_of")


SUBJECTS = {
    "attention": attention_page,
    "inside": inside_page,
    "positions": positions_page,
    "research": research_page,
    "training": training_page,
    "what_if": what_if_page,
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_page_begins_with_its_default_view(subject):
    assert next(iter(SUBJECTS[subject].VIEWS)) == PARAMETERS[subject].default


def test_a_default_is_one_of_the_options():
    for name, call, arguments in calls():
        options, keys = arguments.arguments.get("options"), registered(arguments.arguments["key"])
        if keys and isinstance(options, ast.Tuple) and PARAMETERS[keys[0]].default is not None:
            assert PARAMETERS[keys[0]].default in ast.literal_eval(options), f"{name}, line {call.lineno}"
    for name, options in OPTIONS.items():
        assert PARAMETERS[name].default == options[0], name


def test_every_parameter_says_what_it_means():
    assert not [name for name, parameter in PARAMETERS.items() if not parameter.meaning]


def test_the_list_of_addresses_has_every_name_and_every_page():
    assert {name for address in ADDRESSES for name in query_of(address)} == set(PARAMETERS)
    pages = {address.partition("?")[0] for address in ADDRESSES}
    assert pages == {path.stem for path in files("pages")}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_someone_has_kept_opens_and_stays(address):
    """What an address asks for is what the page then has: a value that it did not know would have left the address.

    What the page has by default by now may leave it, too.
    """
    query = {name: values if len(values) > 1 else values[0] for name, values in query_of(address).items()}
    app = open_page(f"pages/{address.partition('?')[0]}.py", **query)
    for name, value in query.items():
        assert app.query_params.get(name, PARAMETERS[name].default) == value, name
    assert not app.exception and not app.error
