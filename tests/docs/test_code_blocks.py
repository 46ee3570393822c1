import pytest
from code_blocks import Block, commands, file_of, find_blocks, matches

PAGE = """# A page

```python
a = 1
```

Words.

  ```python
  print(a)
  ```

```text
1
```

```text
on its own
```

````text
```python
not a block
```
````

:::{note}
```sh
ls
```
:::

```{toctree}
one
```
"""


def test_blocks_come_in_order_with_language_line_and_text():
    found = [(block.language, block.text, block.line) for block in find_blocks(PAGE)]
    assert found == [
        ("python", "a = 1", 4),
        ("python", "print(a)", 10),
        ("text", "on its own", 18),
        ("text", "```python\nnot a block\n```", 22),
        ("sh", "ls", 29),
        ("{toctree}", "one", 34),
    ]


def test_a_text_right_under_a_block_is_what_it_prints():
    first, second, alone, *_ = find_blocks(PAGE)
    assert (first.output, second.output, alone.output) == (None, "1", None)


def test_words_between_a_block_and_a_text_keep_them_apart():
    (block, text) = find_blocks("```python\n1\n```\nsuch as\n```text\n1\n```\n")
    assert (block.output, text.language) == (None, "text")


def test_a_block_without_an_end_is_an_error():
    with pytest.raises(ValueError, match="line 3 has no end"):
        find_blocks("a\n\n```python\n1\n")


def test_commands_of_a_shell_without_comments():
    text = "# first\nifmixup audit MUTAG   # why\n\nifmixup show MUTAG 3 \\\n  17\n"
    assert commands(Block("sh", text, 1)) == ["ifmixup audit MUTAG", "ifmixup show MUTAG 3 17"]


def test_commands_of_a_console_are_the_lines_with_a_prompt():
    assert commands(Block("console", "$ ifmixup datasets\nMUTAG\n$ ls", 1)) == [
        "ifmixup datasets",
        "ls",
    ]


def test_a_block_may_be_a_file():
    assert file_of(Block("toml", "# study.toml\nepochs = 3", 1)) == ("study.toml", "epochs = 3\n")
    assert file_of(Block("toml", "epochs = 3", 1)) is None
    assert file_of(Block("python", "# a.py\n1", 1)) == ("a.py", "1\n")
    assert file_of(Block("python", "# a comment\n1", 1)) is None
    assert file_of(Block("sh", "# a.sh\nls", 1)) is None


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\nb", "a  \nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("loss ...\nend", "loss 0.31\nend\n", True),
        ("a\n...\nz", "a\nb\nc\nz\n", True),
        ("1.5", "125", False),
    ],
)
def test_what_is_printed_against_the_page(expected, printed, same):
    assert matches(expected, printed) is same
