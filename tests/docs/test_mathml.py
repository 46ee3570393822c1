import pytest

pytest.importorskip("sphinx", reason="needs the extra docs")
from docutils.utils.math import MathError
from mathml import to_mathml


def test_a_formula_is_mathml():
    written = to_mathml(r"\lambda e_A", block=True)
    assert written.startswith('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">')
    assert "<mi>λ</mi>" in written


def test_sizes_of_delimiters_are_left_out():
    assert to_mathml(r"a \Big/ b", block=False) == to_mathml("a / b", block=False)


def test_what_is_not_known_is_an_error():
    with pytest.raises(MathError, match="nonsense"):
        to_mathml(r"\nonsense", block=False)
