"""What the app imports when it starts: nothing that only the training of a model needs."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
TRAINING = {"training", "trainer", "updates", "loading", "parallel", "events", "resume"}
HEAVY = ("tensorboard", "torch.utils.tensorboard", "torch._dynamo", "torch.utils.flop_counter")


def imported(path: Path) -> set[str]:
    """Every module that is imported when this one is, not within its functions."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            module = "transformer." * node.level + (node.module or "") if node.level else node.module
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


def test_the_app_starts_without_what_trains_models():
    app = [
        ROOT / "app.py",
        ROOT / "session.py",
        *ROOT.glob("pages/*.py"),
        *ROOT.rglob("components/**/*.py"),
        *ROOT.rglob("browser/**/*.py"),
    ]
    waiting = {ROOT / "transformer" / "__init__.py"} | set(app)
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        names = {name.removeprefix("transformer.") for name in imported(path) if name.startswith("transformer.")}
        modules = {ROOT / "transformer" / f"{name.split('.')[0]}.py" for name in names}
        waiting |= {module for module in modules if module.exists()} - seen
    engine = {path.stem for path in seen if path.parent.name == "transformer"}
    assert {"translator", "film", "model"} <= engine, "the search finds what the app surely imports"
    assert not engine & TRAINING


def test_the_engine_imports_what_is_heavy_only_where_it_is_used():
    for path in (ROOT / "transformer").glob("*.py"):
        assert not [name for name in imported(path) if name.startswith(HEAVY)], path.name
