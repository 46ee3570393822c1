import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ifmixup.config_files import MAX_BYTES, read_config, to_toml
from ifmixup.errors import InputError

EXPECTED = {"epochs": 350, "learning_rate": 5e-4, "models": ["gcn", "gin"], "gin": {"jk": "sum"}}


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.toml",
            'epochs = 350\nlearning_rate = 5e-4\nmodels = ["gcn", "gin"]\n[gin]\njk = "sum"',
        ),
        ("a.yaml", "epochs: 350\nlearning_rate: 5.0e-4\nmodels: [gcn, gin]\ngin: {jk: sum}"),
        ("a.YML", "epochs: 350\nlearning_rate: 5.0e-4\nmodels:\n- gcn\n- gin\ngin:\n  jk: sum\n"),
    ],
)
def test_the_same_values_from_both(write, name, text, start):
    path = write(name, start + text.encode())
    assert read_config(path) == EXPECTED
    assert read_config(str(path)) == EXPECTED


def test_nothing_is_no_values(write):
    assert read_config(write("a.toml", "")) == {}
    assert read_config(write("a.yaml", "# nothing\n")) == {}
    assert read_config(write("b.yaml", "seed: null\n")) == {"seed": None}


def test_an_alias_repeats_a_value(write):
    path = write("a.yaml", "small: &s {epochs: 5, seed: 1}\nlarge: {<<: *s, epochs: 50}\n")
    assert read_config(path)["large"] == {"epochs": 50, "seed": 1}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{}", r"is \.toml, \.yaml or \.yml; got 'a\.json'"),
        ("a.toml", "epochs 350", r"a\.toml cannot be used as TOML: .*line 1"),
        ("a.yaml", "epochs: [1", r"a\.yaml cannot be used as YAML: .*"),
        ("a.toml", b"x = '\xff'", "cannot be used as TOML: 'utf-8' codec"),
        ("a.yaml", "- 1\n- 2", r"it holds \[1, 2\]; values with names .* epochs: 350"),
        ("a.yaml", "350", "it holds 350; values with names"),
        ("a.yaml", "a: 1\n---\nb: 2", "expected a single document"),
        ("a.yaml", "on: 1", "the name True is not a text"),
        ("a.yaml", "a: {1: 2}", "the name 1 is not a text"),
        ("a.yaml", "a: {b: 2024-01-31}", r"'a\.b' is datetime\.date\(.*quotation marks"),
        ("a.toml", "a = [[07:30:00]]", "'a' is datetime.time"),
        ("a.yaml", "a: 2024-99-99", "cannot be used as YAML"),
        ("a.yaml", "a: !!binary aGVsbG8=", "'a' is b'hello'"),
        ("a.yaml", "a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("a.toml", "a = " + "9" * 5000, "cannot be used as TOML"),
        ("a.toml", "a = " + "[" * 50_000, "cannot be used as TOML: .*recursion"),
        ("a.yaml", "a: " + "[" * 50_000, "cannot be used as YAML: .*recursion"),
        ("a.toml", "#" * (MAX_BYTES + 1), "larger than the 1000000 bytes allowed"),
    ],
)
def test_files_that_cannot_be_used(write, name, content, message):
    with pytest.raises(InputError, match=message):
        read_config(write(name, content))


def test_no_file(tmp_path):
    with pytest.raises(InputError, match=r"none\.toml cannot be read"):
        read_config(tmp_path / "none.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InputError, match=r"folder\.toml cannot be read"):
        read_config(tmp_path / "folder.toml")


LISTS = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30))
TABLES = "\n".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, 30))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"a0: &a0 [x]\n{LISTS}", "more than the 100000 values allowed"),
        (f"a0: &a0 {{x: 1}}\n{TABLES}", "more than the 100000 values allowed"),
        ("a: &a [*a]", "an alias refers to a value that contains it"),
        ("a: &a {b: *a}", "an alias refers to a value that contains it"),
        ("a: &a {<<: *a}", "an alias refers to a value that contains it"),
    ],
)
def test_a_few_lines_do_not_expand_without_end(write, text, message):
    with pytest.raises(InputError, match=message):
        read_config(write("a.yaml", text))


def test_toml():
    values = {
        **EXPECTED,
        "quiet": True,
        "none": None,
        "empty": [],
        "a b": {"c": None, "d": (1, "")},
    }
    assert to_toml(values).splitlines() == [
        "epochs = 350",
        "learning_rate = 0.0005",
        'models = ["gcn", "gin"]',
        'gin = {jk = "sum"}',
        "quiet = true",
        "empty = []",
        '"a b" = {d = [1, ""]}',
    ]
    assert to_toml({}) == ""


@pytest.mark.parametrize("value", [{1, 2}, [None], b"x", object()])
def test_what_toml_does_not_have(value):
    with pytest.raises(InputError, match="which TOML does not have"):
        to_toml({"a": value})


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
VALUES = st.recursive(
    st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("toml") / "a.toml"
    path.write_bytes(to_toml(values).encode())
    assert read_config(path) == values


def test_numbers_that_are_not_finite(write):
    found = read_config(write("a.toml", to_toml({"a": math.inf, "b": -math.inf, "c": math.nan})))
    assert (found["a"], found["b"]) == (math.inf, -math.inf)
    assert math.isnan(found["c"])


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_any_file_is_values_or_our_error(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("any")
    for name in ("a.toml", "a.yaml"):
        path = folder / name
        path.write_bytes(
            content if isinstance(content, bytes) else content.encode("utf-8", "replace")
        )
        try:
            assert isinstance(read_config(path), dict)
        except InputError:
            continue


@given(st.dictionaries(TEXTS.filter(str.isalpha), VALUES, max_size=4))
def test_yaml_that_others_wrote(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("yaml") / "a.yaml"
    path.write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    assert read_config(path) == yaml.safe_load(yaml.safe_dump(values, allow_unicode=True))
