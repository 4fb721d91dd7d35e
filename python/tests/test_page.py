"""The programs of the page From Python run, in their order."""

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


def test_a_program_is_loaded_without_jax():
    program = "import sys, polygrad; f = polygrad.load(polygrad.example); f.hessian([0.0, 0.0]); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
