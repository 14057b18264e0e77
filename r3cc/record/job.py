"""Which parallel job a process belongs to, so that the `r3 record` of each of its ranks write one recording."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

JOB_VARIABLES = (
    "OMPI_MCA_orte_precondition_transports",  # Open MPI 4: a random number of the job
    "OMPI_MCA_orte_hnp_uri",
    "PMIX_NAMESPACE",
)
"""Variables that have one value in all ranks of a job, and another one in every other job."""

RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
"""As the recorder reads them; the first one that is set counts."""


class Job(msgspec.Struct, frozen=True):
    """A parallel job as its ranks see it."""

    name: str
    """Equal in all ranks that can find one another: of a job, or, where the launcher names none, of a node."""
    rank: str


def current_job(environment: Mapping[str, str]) -> Job | None:
    """The job that this process is a rank of; None outside of one."""
    rank = next((environment[name] for name in RANK_VARIABLES if environment.get(name)), None)
    if rank is None:
        return None
    return Job(name=_name(environment), rank=rank)


def _name(environment: Mapping[str, str]) -> str:
    for variable in JOB_VARIABLES:
        if environment.get(variable):
            return _digest(variable, environment[variable])
    if environment.get("SLURM_JOB_ID") and environment.get("SLURM_STEP_ID"):
        cluster = environment.get("SLURM_CLUSTER_NAME", "")
        return _digest("SLURM", cluster, environment["SLURM_JOB_ID"], environment["SLURM_STEP_ID"])
    return _digest("parent", os.uname().nodename, *_parent())


def _parent() -> tuple[str, str]:
    """The launcher's process on this node and its start, which tells it from a later one of that number."""
    parent = os.getppid()
    try:
        fields = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        fields = []
    return str(parent), fields[19] if len(fields) > 19 else ""


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
