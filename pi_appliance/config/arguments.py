"""Keys that one run is given in place of those that its job has under `with:`; checked as those are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pi_appliance import registry
from pi_appliance.config import yaml_tree
from pi_appliance.config.load import read
from pi_appliance.config.structure import structure
from pi_appliance.config.yaml_tree import Tree
from pi_appliance.errors import Problem, WrongArgument
from pi_appliance.model.config import Config, Job


def options(config: Config, job: Job, given: Mapping[str, object]) -> Any:
    """Return the Options of JOB with the GIVEN keys in place of its own; a key that is given as None is taken out.

    Raises WrongArgument, in one line, for a key or a value that the kind of job does not take.
    """
    if not given:
        return job.with_
    merged = {key: value for key, value in {**_written(config, job), **given}.items() if value is not None}
    tree, kind = _Words(job.name), registry.load("jobs", job.kind)
    made, problems = structure(tree, (), merged, kind.Options, config.path.parent)
    if made is not None and hasattr(made, "check"):
        problems = [tree.problem(where, wrong, right) for where, wrong, right in made.check()]
    if problems:
        raise WrongArgument(f"{job.name} is not run so: " + "; also ".join(_line(each) for each in problems))
    return made


def _written(config: Config, job: Job) -> Mapping[str, object]:
    """Return what stands under `with:` in the file."""
    data: Any = read(config.path).data
    try:
        return dict(data["jobs"][job.name]["with"] or {})
    except (KeyError, TypeError):  # nothing does
        return {}


@dataclass(slots=True)
class _Words(Tree):
    """A tree that was never a file: its problems name the key in place of line and column."""

    def problem(self, path: yaml_tree.Path, wrong: str, right: str = "", *, at_key: bool = False) -> Problem:
        named = "" if at_key or not path else f"{'.'.join(map(str, path))}: "
        return Problem(self.file, 0, 0, named + wrong, right)


def _line(problem: Problem) -> str:
    return problem.wrong + (f"; {problem.right}" if problem.right else "")
