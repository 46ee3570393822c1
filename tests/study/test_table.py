import csv
import io
import json
import math
from dataclasses import replace

from rich.console import Console

from ifmixup.study.statistics import Difference
from ifmixup.study.table import Row, rich_table, to_csv, to_json, to_latex, to_markdown

NAN = math.nan
NO = "no difference that these folds can show"
NONE = Row("MUTAG", "gcn", "none", "holdout", 0.894, NAN, 0.063, 0.881, None, None, 10, 0, False)
MIXED = Row(
    dataset="MUTAG",
    model="gcn",
    method="ifmixup",
    protocol="holdout",
    mean=0.902,
    std_repeats=NAN,
    std_folds=0.0551,
    last=0.89,
    difference=Difference(0.008, -0.011, 0.027, 0.3, 10),
    verdict=NO,
    runs=9,
    failed=1,
    optimistic=False,
    adjusted_p=0.6,
)
PAPER = replace(MIXED, protocol="paper", optimistic=True, verdict="helps", failed=0, runs=10)


def printed(rows, width=80):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(rich_table(rows))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_on_the_terminal():
    assert printed([NONE, MIXED, PAPER]) == [
        "           accuracy      last  difference to",
        "method     ± folds      epoch  none [95 %]       verdict",
        "─" * 80,
        "MUTAG gcn  holdout",
        "none       89.4 ± 6.3    88.1",
        "ifmixup    90.2 ± 5.5    89.0  +0.8 [−1.1, 2.7]  no difference that these folds",
        "                                                 can show",
        "",
        "MUTAG gcn  paper",
        "ifmixup    90.2 ± 5.5*   89.0  +0.8 [−1.1, 2.7]  helps",
        "Accuracy in %, differences in points.",
        "* optimistic: the paper's protocol chooses the epoch, and the setting where",
        "there are several, on the test folds themselves, so that these numbers tend to",
        "be too good.",
        "MUTAG gcn ifmixup (holdout): 1 of 10 runs failed and are not in these numbers.",
    ]


def test_nothing_compared_nothing_repeated():
    lines = printed([NONE])
    assert lines[1] == "method     ± folds     epoch"
    assert lines[4] == "none       89.4 ± 6.3   88.1"
    assert not any("optimistic" in line for line in lines)


def test_repeats_have_a_column():
    lines = printed([replace(NONE, std_repeats=0.0123)])
    assert lines[1] == "method     ± folds     repeats  epoch"
    assert lines[4] == "none       89.4 ± 6.3      1.2   88.1"


def test_the_widest_row_is_whole_at_80_columns():
    row = replace(
        MIXED,
        dataset="IMDB-BINARY",
        model="gatv2",
        method="attribute_masking",
        std_repeats=0.1,
        std_folds=0.1,
        optimistic=True,
        difference=Difference(-0.108, -0.211, 0.1, 0.3, 30),
    )
    lines = printed([row])
    assert all(len(line) <= 80 for line in lines)
    text = " ".join(" ".join(lines).split())
    for cell in ("IMDB-BINARY gatv2", "attribute_masking", "90.2 ± 10.0*", "−10.8 [−21.1, 10.0]"):
        assert cell in text
    verdict = [line[70:].strip() for line in lines[4:9]]
    assert " ".join(verdict) == NO


def test_names_are_not_read_as_markup():
    assert printed([replace(NONE, dataset="[red]x[/red]")])[3].startswith("[red]x[/red] gcn")


def test_json():
    found = json.loads(to_json([NONE, MIXED]))
    assert found[0]["std_repeats"] is None
    assert found[0]["difference"] is None
    assert found[1] == {
        "dataset": "MUTAG",
        "model": "gcn",
        "method": "ifmixup",
        "protocol": "holdout",
        "mean": 0.902,
        "std_repeats": None,
        "std_folds": 0.0551,
        "last": 0.89,
        "difference": 0.008,
        "low": -0.011,
        "high": 0.027,
        "p_value": 0.3,
        "pairs": 10,
        "adjusted_p": 0.6,
        "verdict": NO,
        "runs": 9,
        "failed": 1,
        "optimistic": False,
        "metric": "accuracy",
        "undefined": 0,
    }


def test_csv():
    text = to_csv([replace(NONE, dataset='a,"b"'), MIXED])
    assert text.splitlines() == [
        "dataset,model,method,protocol,mean,std_repeats,std_folds,last,verdict,runs,failed,"
        "optimistic,adjusted_p,metric,undefined,difference,low,high,p_value,pairs",
        '"a,""b""",gcn,none,holdout,0.894,,0.063,0.881,,10,0,False,,accuracy,0,,,,,',
        f"MUTAG,gcn,ifmixup,holdout,0.902,,0.0551,0.89,{NO},9,1,False,0.6,accuracy,0,"
        f"0.008,-0.011,0.027,0.3,10",
    ]
    assert next(csv.DictReader(io.StringIO(text)))["dataset"] == 'a,"b"'
    assert to_csv([]) == ""


def test_markdown():
    assert to_markdown([NONE, replace(PAPER, dataset="a|b", method="drop_edge")]) == (
        "| dataset | model | method | protocol | accuracy ± folds | ± repeats | last epoch "
        "| difference to none \\[95 %\\] | verdict | runs |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| MUTAG | gcn | none | holdout | 89.4 ± 6.3 | – | 88.1 |  |  | 10 |\n"
        "| a\\|b | gcn | drop\\_edge | paper | 90.2 ± 5.5\\* | – | 89.0 "
        "| +0.8 \\[−1.1, 2.7\\] | helps | 10 |\n"
        "\nAccuracy in %, differences in points.\n"
        "\n\\* optimistic: the paper's protocol chooses the epoch, and the setting where there are "
        "several, on the test folds themselves, so that these numbers tend to be too good.\n"
    )


def test_latex():
    assert to_latex([NONE, replace(MIXED, dataset=r"A_1&\~^{", optimistic=True)]).splitlines() == [
        r"\begin{tabular}{llllllllll}",
        r"\toprule",
        r"dataset & model & method & protocol & accuracy $\pm$ folds & $\pm$ repeats & last epoch "
        r"& difference to none [95 \%] & verdict & runs \\",
        r"\midrule",
        r"MUTAG & gcn & none & holdout & 89.4 $\pm$ 6.3 & -- & 88.1 &  &  & 10 \\",
        r"A\_1\&\textbackslash{}\textasciitilde{}\textasciicircum{}\{ & gcn & ifmixup & holdout "
        r"& 90.2 $\pm$ 5.5$^*$ & -- & 89.0 & +0.8 [$-$1.1, 2.7] & " + NO + r" & 9 (1 failed) \\",
        r"\bottomrule",
        r"\multicolumn{10}{p{\linewidth}}{\footnotesize Accuracy in \%, differences in points.} \\",
        r"\multicolumn{10}{p{\linewidth}}{\footnotesize $^*$ optimistic: the paper's protocol "
        r"chooses the epoch, and the setting where there are several, on the test folds "
        r"themselves, so that these numbers tend to be too good.} \\",
        r"\multicolumn{10}{p{\linewidth}}{\footnotesize A\_1\&\textbackslash{}\textasciitilde{}"
        r"\textasciicircum{}\{ gcn ifmixup (holdout): 1 of 10 runs failed and are not in these "
        r"numbers.} \\",
        r"\end{tabular}",
    ]


def test_an_error_is_a_number_and_other_fractions_are_named():
    rows = [
        replace(row, metric="mae", mean=12.34, std_folds=0.5, last=1234.5) for row in (NONE, MIXED)
    ]
    assert printed(rows)[:6] == [
        "           MAE           last  difference to",
        "method     ± folds      epoch  none [95 %]     verdict",
        "─" * 80,
        "MUTAG gcn  holdout",
        "none       12.3 ± 0.5  1234.5",
        "ifmixup    12.3 ± 0.5  1234.5  0.0 [0.0, 0.0]  no difference that these folds",
    ]
    text = to_markdown(rows)
    assert "| MAE ± folds |" in text
    assert "MAE in the units of the target; lower is better." in text
    ranked = to_markdown([replace(NONE, metric="average_precision", undefined=2)])
    assert "on 2 folds the average precision is not defined" in ranked
    assert "| average precision ± folds |" in ranked
    assert "| 89.4 ± 6.3 |" in ranked
    assert "Average precision in %, differences in points." in ranked
