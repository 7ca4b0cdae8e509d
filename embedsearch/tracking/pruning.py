"""Which checkpoints stay in the store, so that it stays small."""

from __future__ import annotations

from embedsearch.tracking import runs
from embedsearch.tracking.artifacts import CHECKPOINT_FOLDER, Artifacts
from embedsearch.tracking.ledger import to_trial
from embedsearch.tracking.ranking import rank
from embedsearch.tracking.store import Store


def prune(store: Store, method: str, keep: int) -> None:
    """Delete all checkpoints but those of the ``keep`` best points of each comparable group.

    The tag goes first: what says it has a checkpoint has it, whenever this is stopped.
    """
    found = store.search(method, kind="trial")
    trials = [to_trial(store, run) for run in found]
    stay = {
        entry.leader.run_id
        for key in {trial.group.key for trial in trials}
        for entry in rank(trials, key).entries[:keep]
    }
    for run in found:
        state = run.tags.get(runs.CHECKPOINT)
        if state == runs.KEPT and run.run_id not in stay:
            store.log(run.run_id, tags={runs.CHECKPOINT: runs.PRUNED})
            Artifacts(store, run).delete(CHECKPOINT_FOLDER)
        elif state == runs.PRUNED and store.artifacts:  # it was stopped here
            Artifacts(store, run).delete(CHECKPOINT_FOLDER)
