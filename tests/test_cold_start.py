"""What the app imports when it starts: nothing that only the training of a model needs."""

from support.house import files, imports, modules

HEAVY = ("tensorboard", "torch.utils.tensorboard", "torch._dynamo", "torch.utils.flop_counter")
TRAINERS = ("run", "trainer", "updates", "loader", "distributed", "monitoring", "state")
TRAINING = {f"transformer.training.{name}" for name in TRAINERS}


def test_the_app_starts_without_what_trains_models():
    ours = modules()
    names = {path: name for name, path in ours.items()}
    rooms = ("app", "session", "pages", "views", "ui", "plots", "browser")
    waiting = {names[path] for room in rooms for path in files(room)} | {"transformer"}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        waiting |= {found for found in imports(ours[name], at_the_top=True) if found in ours} - seen
    expected = {"transformer.translator", "transformer.training.replay", "transformer.model.transformer"}
    assert expected <= seen, "the search finds what the app surely imports"
    assert ours.keys() >= TRAINING
    assert sorted(seen & TRAINING) == []


def test_the_engine_imports_what_is_heavy_only_where_it_is_used():
    for path in files("transformer"):
        assert not [name for name in imports(path, at_the_top=True) if name.startswith(HEAVY)], path.name
