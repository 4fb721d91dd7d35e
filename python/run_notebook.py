"""Runs the cells of a notebook, one after the other, as a program: python run_notebook.py FILE

The notebook keeps no outputs, so that its text does not change when it is run. The value of the last line of a cell is
printed, as in a notebook. An error ends the run.
"""

import ast
import json
import pathlib
import sys


def run(source, scope, name):
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), scope)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), name, "eval"), scope)
        if value is not None:
            print(repr(value))


def main(path):
    notebook = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if not cells:
        raise SystemExit(f"{path} must have cells of code, but it has none")
    scope = {"__name__": "__main__"}
    for k, cell in enumerate(cells):
        run("".join(cell["source"]), scope, f"{path}, cell {k}")


main(sys.argv[1])
