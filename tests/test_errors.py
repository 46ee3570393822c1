import pytest

from ifmixup import errors
from ifmixup.errors import IfmixupError, MissingExtraError, import_extra, unknown_name


def test_every_error_is_of_the_family_and_of_a_builtin_kind():
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, IfmixupError) and kind is not IfmixupError
    ]
    assert kinds
    for kind in kinds:
        assert issubclass(kind, (ValueError, TypeError, ImportError)), kind


def test_a_missing_package_names_its_extra():
    with pytest.raises(
        MissingExtraError, match=r"'no_such_package'.*pip install 'ifmixup\[plot\]'"
    ):
        import_extra("no_such_package.sub", "plot")


def test_an_extra_that_is_there_is_imported():
    assert import_extra("json.decoder", "plot").JSONDecoder


@pytest.mark.parametrize("given", ["ifmixpu", "IfMixUp"])
def test_the_nearest_name_is_offered(given):
    error = unknown_name("method", given, ["none", "ifmixup"])
    assert str(error) == f"Unknown method {given!r}. Did you mean 'ifmixup'? Known: none, ifmixup."


def test_no_name_is_offered_where_none_is_near():
    assert str(unknown_name("method", "zzz", ["none"])) == "Unknown method 'zzz'. Known: none."


def test_a_name_is_listed_once():
    assert str(unknown_name("metric", "x", ["f1", "r2", "f1"])).endswith("Known: f1, r2.")
