import pytest

from ifmixup.cli.engine_options import EngineOptions
from ifmixup.errors import InputError
from ifmixup.study.engines.local import LocalEngine


def test_the_local_engine_takes_workers_and_device():
    engine = EngineOptions(workers=3).make()
    assert isinstance(engine, LocalEngine)
    assert (engine.workers, engine.device) == (3, "cpu")


def test_an_engine_that_is_not_known():
    with pytest.raises(InputError, match=r"'rey'.*ray"):
        EngineOptions(engine="rey").make()
