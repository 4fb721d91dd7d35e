"""The programs of the page From Python run, in their order, and the cells of the notebook."""

import json
import re
import subprocess
import sys

from conftest import ROOT


def test_programs_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "guide" / "from_python.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(programs) >= 3
    scope = {}
    for k, program in enumerate(programs):
        exec(compile(program, f"from_python.md, program {k}", "exec"), scope)


def test_cells_of_the_notebook(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "python" / "polygrad" / "notebook.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    # The text does not change when it is run: it holds no outputs.
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    scope = {}
    for k, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"notebook.ipynb, cell {k}", "exec"), scope)


def test_what_to_do_without_jax():
    # A module that is None in this table is one that is not there.
    program = """
import sys
sys.modules["jax"] = None
import numpy as np, polygrad
for call in (lambda: polygrad.jit(abs)(np.ones(2)), lambda: polygrad.jit(abs)(1.0), lambda: polygrad.jit(abs, 1.0)):
    try:
        call()
    except ImportError as error:
        assert "pip install jax" in str(error), error
    else:
        raise AssertionError("there is a JAX")
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_program_is_loaded_without_jax():
    program = "import sys, polygrad; f = polygrad.load(polygrad.example); f.hessian([0.0, 0.0]); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
