import base64
import json

from notebook_pages import notebook_page


def cell(source, *outputs):
    return {"cell_type": "code", "source": [source], "outputs": list(outputs)}


def test_cells_and_outputs_are_markdown(tmp_path):
    picture = base64.b64encode(b"png").decode()
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "Text."]},
        cell("print(1)", {"output_type": "stream", "text": ["\x1b[31m1\x1b[0m\n"]}),
        cell("show", {"output_type": "display_data", "data": {"image/png": picture}}),
        cell("!ls", {"output_type": "execute_result", "data": {"text/html": ["<b>x</b>"]}}),
    ]
    path = tmp_path / "short.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    page, pictures = notebook_page(path)
    assert page.startswith("# Title\n\n*This page is the notebook `examples/notebooks/short.ipynb`")
    assert "````python\nprint(1)\n````\n\n````text\n1\n````" in page
    assert "![Output of the cell above](short-0.png)" in page
    assert pictures == {"short-0.png": b"png"}
    assert "````ipython3\n!ls\n````" in page
    assert '````{raw} html\n<div class="table-wrapper"><b>x</b></div>\n````' in page
