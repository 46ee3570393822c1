from ifmixup.study.markdown_table import markdown_table


def test_names_to_the_left_and_numbers_to_the_right():
    found = markdown_table(("name", "a", "b"), [("x", "1", "2"), ("y", "", "3")], names=1)
    assert found.splitlines() == [
        "| name | a | b |",
        "| :-- | --: | --: |",
        "| x | 1 | 2 |",
        "| y |  | 3 |",
    ]
    assert found.endswith("\n")


def test_a_table_without_rows_is_its_head():
    assert markdown_table(("a",), [], names=1) == "| a |\n| :-- |\n"
