import json

import pytest

from ifmixup.report.chart import Grid
from ifmixup.report.html import (
    Entry,
    Html,
    Section,
    element,
    escape,
    json_script,
    legend,
    notes,
    plot,
    slug,
    table,
)


def test_text_is_escaped_once():
    assert escape("<a & 'b'>") == "&lt;a &amp; &#x27;b&#x27;&gt;"
    assert escape(Html("<b>x</b>")) == "<b>x</b>"
    assert element("p", "<", element("b", ">")) == "<p>&lt;<b>&gt;</b></p>"
    assert notes(["<i>"]) == '<p class="note">&lt;i&gt;</p>'


def test_an_attribute_cannot_be_left():
    made = element("p", class_='x" onclick="y', aria_label="a", id=None)
    assert made == '<p class="x&quot; onclick=&quot;y" aria-label="a"></p>'


def test_a_script_cannot_be_closed_from_inside():
    value = {"name": "</script><!--<script>&\u2028"}
    made = json_script(value, id="x")
    inner = made.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert not set("<>&\u2028") & set(inner)
    assert json.loads(inner) == value


def test_what_json_does_not_have_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        json_script({"x": float("nan")})


def test_a_legend_and_a_plot():
    assert legend([("<b>", "#ff0000")]) == (
        '<ul class="legend"><li><i style="background:#ff0000"></i>&lt;b&gt;</li></ul>'
    )
    made = plot("a < b", "x", Html("<hr>"), wide=True, aria_label="A")
    assert made == (
        '<figure class="panel wide"><figcaption>a &lt; b</figcaption>'
        '<div class="plot" id="x" role="img" aria-label="A"></div><hr></figure>'
    )


def test_a_table():
    rows = [[Entry("D", "name", columns=2)], [Entry("v", "name"), Entry("1", "higher", tint=0.5)]]
    made = table([Entry("variant"), Entry("ours")], [rows], "What")
    assert '<th scope="col">variant</th>' in made
    assert '<th class="name" scope="rowgroup" colspan="2">D</th>' in made
    assert '<th class="name" scope="row">v</th>' in made
    assert '<td class="higher" style="--tint:0.50">1</td>' in made
    assert 'class="scroll" tabindex="0"' in made


def test_a_name_for_links_and_files():
    assert slug("GCN: in ../the study!") == "gcn-in-the-study"
    assert slug("λ") == "unnamed"


def test_the_charts_of_a_section():
    grid = Grid("g", "", [])
    assert Section("s", "S", [Html("<p></p>"), grid, grid]).grids == [grid, grid]
