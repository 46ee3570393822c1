from ifmixup.paper.estimate import estimate


def test_more_runs_take_longer_and_more_workers_less(gcn_plan):
    study = gcn_plan.trials[0].study
    tasks = [(spec, study.splits.fold(spec.repeat, spec.fold)) for spec in gcn_plan.specs()]
    one = estimate(tasks[:4], gcn_plan.data, 1)
    assert 0 < one < 60
    assert estimate([], gcn_plan.data, 1) == 0
    # the same short measurement, so that only the noise of timing differs
    assert estimate(tasks, gcn_plan.data, 1) > one
    assert estimate(tasks, gcn_plan.data, 1000) < one
