"""What test_atlas_on_ray.py runs in a process of its own: an atlas on two actors of Ray, one of which is killed; then
heads, whose corpus is gone when the actors look for it.

python -m support.ray_atlas GRAVE OUT ARGUMENTS: GRAVE is a file that is there once the actor is dead, OUT what heads
would write; ARGUMENTS are the atlas', of which heads shares the first six.
"""

import sys
from dataclasses import replace

from support.atlases import Dying

from transformer.__main__ import main
from transformer.data import engines


def elsewhere(work):
    """The work with a corpus at a path where none is."""
    return replace(work, plan=replace(work.plan, files=replace(work.plan.files, paths=("gone.tsv",))))


if __name__ == "__main__":
    grave, out, *arguments = sys.argv[1:]
    run = engines.Ray.run
    engines.Ray.run = lambda self, work, tasks: run(self, Dying(work, grave), tasks)
    status = main(arguments)
    engines.Ray.run = lambda self, work, tasks: run(self, elsewhere(work), tasks)
    refused = main(["heads", *arguments[1:7], "--out", out, "--engine", "ray", "--workers", "1"])
    sys.exit(status or refused != 1)
