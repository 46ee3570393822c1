"""The runs of a study that can be read; one that cannot is set aside, and the rest works."""

from __future__ import annotations

from ifmixup.errors import InputError, StoreError
from ifmixup.study.protocols import needs_validation
from ifmixup.study.record import Record, check_result
from ifmixup.study.store import Store
from ifmixup.study.study import Study

DAMAGED = "Damaged"  # how the error of a run begins that was set aside


def usable_runs(store: Store, study: Study) -> list[Record]:
    """What became of the runs of a study.

    A run that is damaged, or whose curves the protocols of the study cannot read, counts as failed:
    in a store that can be written it is stored so, and ``retry_failed`` runs it again.
    """
    specs = {spec.key: spec for spec in study.specs()}
    found = store.get(sorted(study.keys), specs=specs)
    bad = {key: why for key, why in store.damaged.items() if key in study.keys - found.keys()}
    validated = {
        key
        for trial in study.trials
        if needs_validation(trial.protocol)
        for keys in trial.keys
        for key in keys
    }
    for key, record in found.items():
        try:
            if record.spec.key != key:
                raise StoreError("its key is not that of its spec")
            check_result(record, validated=key in validated)
        except (StoreError, InputError) as error:
            bad[key] = str(error)
    for key, reason in bad.items():
        found.pop(key, None)
        if key in specs:  # else it is of an older version of ifmixup, and counts as missing
            found[key] = Record(specs[key], error=f"{DAMAGED}: {reason}")
            if not store.read_only:
                store.set_aside(found[key])
    return list(found.values())


def check_name(name: str) -> str:
    """``name``, if a study can be called so: it is also the name of a folder."""
    if not name.strip() or not name.isprintable() or {"/", "\\"} & {*name} or name[0] == ".":
        raise InputError(
            f"{name[:60]!r} is not a name for a study: use letters, digits, spaces, _ and -, no / "
            f"and no dot in front. To write elsewhere, give the folder."
        )
    return name
