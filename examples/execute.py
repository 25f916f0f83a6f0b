"""Execute the notebooks of this folder and keep what they say: python -m examples.execute"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
SECONDS = 120  # for one cell

logger = logging.getLogger(__name__)


@contextmanager
def kernel() -> Iterator[KernelManager]:
    """A kernel of this Python, in which `transformer` is this repository's, whatever else is installed."""
    path = os.pathsep.join([str(FOLDER.parent), *sys.path])
    manager, client = start_new_kernel(env={**os.environ, "PYTHONPATH": path}, cwd=str(FOLDER))
    client.stop_channels()
    try:
        yield manager
    finally:
        manager.shutdown_kernel(now=True)


def execute(path: Path, manager: KernelManager) -> nbformat.NotebookNode:
    """The notebook with all its cells executed, beginning without a variable; what is imported stays imported.

    Raises nbclient's CellExecutionError with the cell that fails.
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    NotebookClient(notebook, km=manager, timeout=SECONDS).execute()
    notebook.cells.pop(0)
    for number, cell in enumerate((each for each in notebook.cells if each.cell_type == "code"), start=1):
        cell.execution_count = number
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
        cell.metadata.pop("execution", None)  # when it ran: different every time
    return notebook


def main() -> None:
    """Those that are named, or all."""
    with kernel() as manager:
        for path in map(Path, sys.argv[1:] or sorted(FOLDER.glob("*.ipynb"))):
            nbformat.write(execute(path, manager), path)
            logger.info("%s: %s kB", path.name, path.stat().st_size // 1000)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
