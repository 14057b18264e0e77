"""Which ranks share a recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from r3cc.record.job import current_job
from r3cc.store.recordings import Recordings

OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_MCA_orte_precondition_transports": "be6053143610b05b"}
SLURM = {"SLURM_PROCID": "3", "SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0"}


def test_a_process_of_its_own_is_in_no_job() -> None:
    assert current_job({"SLURM_JOB_ID": "17"}) is None


@pytest.mark.parametrize(
    ("environment", "other_rank", "other_job"),
    [
        (OPEN_MPI, {"OMPI_COMM_WORLD_RANK": "1"}, {"OMPI_MCA_orte_precondition_transports": "b6a8f1ece37bd4cb"}),
        (SLURM, {"SLURM_PROCID": "4"}, {"SLURM_STEP_ID": "1"}),
        (SLURM, {"SLURM_PROCID": "4"}, {"SLURM_JOB_ID": "18"}),
    ],
)
def test_ranks_of_a_job_have_one_name(
    environment: dict[str, str], other_rank: dict[str, str], other_job: dict[str, str]
) -> None:
    job, sibling, stranger = (current_job(environment | change) for change in ({}, other_rank, other_job))
    assert job is not None and sibling is not None and stranger is not None
    assert job.name == sibling.name != stranger.name
    assert job.rank != sibling.rank


def test_without_a_name_the_launcher_s_process_is_the_job() -> None:
    first, second = current_job({"PMI_RANK": "0"}), current_job({"PMI_RANK": "1"})
    assert first is not None and second is not None
    assert first.name == second.name


def test_the_first_rank_makes_the_recording(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path / "recordings")
    made, leads = recordings.join("a", "1")
    assert leads
    assert recordings.join("a", "0") == (made, False)
    other, leads = recordings.join("b", "0")
    assert leads and other != made
    assert sorted(each.id for each in recordings.all()) == sorted({made, other})


def test_a_removed_recording_is_made_anew(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path / "recordings")
    made, _ = recordings.join("a", "0")
    recordings.remove(made)
    again, leads = recordings.join("a", "1")
    assert leads and again != made


def test_a_job_script_s_second_run_is_a_recording_of_its_own(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path / "recordings")
    runs = [[recordings.join("script", rank) for rank in ("0", "1")] for _ in range(3)]
    assert [leads for run in runs for _, leads in run] == [True, False] * 3
    assert [len({name for name, _ in run}) for run in runs] == [1, 1, 1]
    assert len({name for run in runs for name, _ in run}) == 3
