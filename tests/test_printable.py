from ifmixup.printable import printable, printable_lines


def test_a_terminal_obeys_nothing():
    assert printable("a\x1b[2Jb\nc\u202ed é λ") == "a?[2Jb?c?d é λ"


def test_long_texts_are_cut():
    assert printable("abcdef", 4) == "abc…"
    assert printable("abcd", 4) == "abcd"


def test_anything_has_a_text():
    assert printable(None) == "None"
    assert printable(["a"]) == "['a']"


def test_all_of_it():
    assert printable("x" * 500, None) == "x" * 500


def test_lines_stay_lines():
    assert printable_lines("a\x1b[2J\nb\rc\n") == "a?[2J\nb?c\n"
