"""The Ray engine on a real cluster: a head without CPUs and two nodes with one each."""

import os
import signal
import sys
import time
from collections import Counter

import pytest

from ifmixup.errors import InputError, MissingExtraError
from ifmixup.study.engines import ray as ray_engine
from ifmixup.study.engines.local import LocalEngine
from ifmixup.study.engines.ray import RayEngine
from own_classes import Net, Noise

NODES = 2


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("ray", reason="ray is not installed (pip install 'ifmixup[ray]')")
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    small = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
    # A node that does not answer is given up soon, not only after half a minute.
    soon = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}
    head = {"num_cpus": 0, "_system_config": soon, **small}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1, **small) for _ in range(NODES)]
    cluster.wait_for_nodes()
    yield cluster, nodes
    cluster.shutdown()


def deadly():
    """A task that kills its worker in fold 1; defined here so that Ray sends it by its content."""

    def perform(message, arrays):
        from ifmixup.study.engines.ray import _perform

        if message["spec"]["fold"] == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return _perform(message, arrays)

    return perform


def endless_at_first(mark):
    """A task that trains without end in fold 1 when it is tried first, and says on which node."""

    def perform(message, arrays):
        import ray

        from ifmixup.study.engines.ray import _perform

        if message["spec"]["fold"] == 1 and not mark.exists():
            mark.with_suffix(".new").write_text(ray.get_runtime_context().get_node_id())
            mark.with_suffix(".new").rename(mark)
            message["spec"]["settings"]["epochs"] = 100_000
        return _perform(message, arrays)

    return perform


def test_on_a_connection_that_is_there(
    cluster, make_task, mutag, expected, numbers, log, monkeypatch
):
    import ray

    ray.init(address=cluster[0].address, log_to_driver=False, logging_level="ERROR")
    try:
        monkeypatch.setattr(ray_engine, "_perform", deadly())
        tasks = [
            make_task(0),
            make_task(1),
            make_task(2, learning_rate=1e30),
            make_task(3, Net, Noise),
        ]
        found = {o.spec.fold: o for o in RayEngine(retries=1).execute(tasks, mutag, log)}
        assert sorted(found) == [0, 1, 2, 3]
        assert numbers(found[0].result) == expected(tasks[0])
        assert numbers(found[3].result) == expected(tasks[3])
        assert found[1].error.startswith("WorkerCrashedError (tried 2 times): ")
        assert found[2].error.startswith("TrainingError: The training loss is nan")
        assert sorted(fold for what, fold in log.events if what == "started") == [0, 1, 1, 2, 3]
        assert sorted(fold for what, fold in log.events if what == "finished") == [0, 1, 2, 3]

        endless = [make_task(fold, epochs=100_000) for fold in range(10, 20)]
        runs = RayEngine().execute([make_task(0), *endless], mutag)
        next(runs)
        runs.close()
        assert ray.is_initialized()
        deadline = time.monotonic() + 90
        while ray.available_resources().get("CPU", 0) < NODES:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        ray.shutdown()


def test_the_runs_of_a_killed_node_go_elsewhere(
    cluster, make_task, mutag, numbers, log, tmp_path, monkeypatch
):
    import ray

    cluster, nodes = cluster
    mark = tmp_path / "node"
    monkeypatch.setattr(ray_engine, "_perform", endless_at_first(mark))
    tasks = [make_task(fold) for fold in range(8)]
    outcomes = []
    for outcome in RayEngine(cluster.address).execute(tasks, mutag, log):
        outcomes.append(outcome)
        if len(outcomes) == 1:
            deadline = time.monotonic() + 120
            while not mark.exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            (node,) = [node for node in nodes if node.node_id == mark.read_text()]
            cluster.remove_node(node, allow_graceful=False)
    assert not ray.is_initialized()
    assert [outcome.error for outcome in outcomes] == [None] * 8
    assert Counter(o.spec for o in outcomes) == Counter(spec for spec, _ in tasks)
    assert log.events.count(("started", 1)) == 2

    here = {o.spec: numbers(o.result) for o in LocalEngine().execute(tasks, mutag)}
    assert {o.spec: numbers(o.result) for o in outcomes} == here


def test_without_ray(monkeypatch, make_task, mutag):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ifmixup\[ray\]'"):
        list(RayEngine().execute([make_task(0)], mutag))


def test_arguments_are_checked():
    with pytest.raises(InputError, match="cpus_per_run=0 and gpus_per_run=0"):
        RayEngine(cpus_per_run=0, gpus_per_run=0)
    with pytest.raises(InputError, match="retries must be at least 0"):
        RayEngine(retries=-1)
    assert RayEngine().device == "cpu"
    assert RayEngine(gpus_per_run=0.5).device == "auto"


def test_nothing_to_do(mutag):
    assert list(RayEngine("nowhere").execute([], mutag)) == []
