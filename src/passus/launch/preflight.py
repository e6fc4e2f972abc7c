"""Checks every arm of an experiment before the first one trains: a mistake in the last arm does not wait for the others.

A dry run checks in its own process. A run checks in a process that ends afterwards, because the checks import torch and the
runner stays free of it. Both call `check_arms`, and so they refuse the same arms with the same message.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from passus.config.experiment import Arm
from passus.config.tables import Config, EvalTable, OptimizerTable
from passus.errors import PassusError, UsageError
from passus.launch import arm_process
from passus.runs.run_folder import RunFolder

ANSWER = "passus preflight: "
"""Beginning of the line with which the process of the checks answers."""
SHOWN_ARMS = 5
"""Arms that a message names."""


@dataclass(frozen=True)
class ArmGroup:
    """Arms with the same inputs, which are checked together."""

    config: Config
    names: tuple[str, ...]
    needs: tuple[str, ...] = ()


def arms_to_run(arms: Sequence[Arm], out: Path) -> list[Arm]:
    """Returns the arms that are not complete, and refuses those that cannot be resumed with this config."""
    waiting = []
    for arm in arms:
        folder = RunFolder(out / arm.name)
        arm_process.check_resumable(folder, arm.config)
        if not folder.exists() or not arm_process.is_complete(folder, arm_process.adopt_recorded(arm.config, folder)):
            waiting.append(arm)
    return waiting


def check_arms(arms: Sequence[Arm], out: Path) -> list[str]:
    """Checks arms in this process. Returns remarks for the user, each once. Imports torch."""
    return _check_groups(group_arms(arms, out), out)


def check_arms_apart(arms: Sequence[Arm], out: Path) -> list[str]:
    """Checks arms in a process of its own. Returns the same remarks as `check_arms`, and raises the same errors."""
    groups = [
        {"config": group.config.model_dump(), "names": group.names, "needs": group.needs} for group in group_arms(arms, out)
    ]
    # -P: a file in the working directory must not shadow a module.
    command = [sys.executable, "-P", "-c", "from passus.launch.preflight import main; main()"]
    done = subprocess.run(command, input=json.dumps({"out": str(out), "groups": groups}).encode(), capture_output=True)
    errors = done.stderr.decode(errors="replace")
    try:  # a reward function that is imported may print, also when the process ends
        marked = [line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith(ANSWER)]
        answer = json.loads(marked[-1].removeprefix(ANSWER))
    except (ValueError, IndexError):
        raise PassusError(f"the check of the arms ended with code {done.returncode}:\n{errors[-2000:]}") from None
    if "error" in answer:
        raise (UsageError if answer["exit_code"] == UsageError.exit_code else PassusError)(answer["error"])
    return list(answer["remarks"])


def main() -> None:
    """Checks the groups on standard input, and answers with one marked line of JSON."""
    asked = json.load(sys.stdin)
    groups = [ArmGroup(Config.model_validate(g["config"]), tuple(g["names"]), tuple(g["needs"])) for g in asked["groups"]]
    answer: dict[str, object]
    try:
        answer = {"remarks": _check_groups(groups, Path(asked["out"]))}
    except PassusError as error:
        answer = {"error": str(error), "exit_code": error.exit_code}
    print(f"\n{ANSWER}{json.dumps(answer)}")


def group_arms(arms: Sequence[Arm], out: Path) -> list[ArmGroup]:
    """Groups arms whose inputs are equal. Arms that differ only in their seed are checked with the first seed."""
    groups: dict[tuple[str, ...], list[Arm]] = {}
    for arm in arms:
        begun = arm.name if RunFolder(out / arm.name).exists() else ""
        groups.setdefault((_inputs(arm.config), begun, *arm.needs), []).append(arm)
    return [ArmGroup(found[0].config, tuple(arm.name for arm in found), found[0].needs) for found in groups.values()]


def _inputs(config: Config) -> str:
    """Returns the part of a config that the checks read."""
    method = config.method
    train = config.train.model_copy(
        update={"learning_rate": 0.0, "steps": 1, "temperature": 1.0, "optimizer": OptimizerTable()}
    )
    kept = EvalTable(suite=config.eval.suite).model_copy(
        update={name: getattr(config.eval, name) for name in ("limit", "max_tokens", "readers")}
    )
    of_method = [method.loss, method.lessons, method.old_logprobs, method.ratio, bool(method.kl_coef)]
    parts = (config.model, config.task, config.reward, train, kept, config.judge, config.candidates, config.run)
    return "\n".join([repr(of_method), *(part.model_dump_json() for part in parts)])


def _check_groups(groups: Sequence[ArmGroup], out: Path) -> list[str]:
    from passus.training.input_checks import check_arm

    total, remarks = sum(len(group.names) for group in groups), dict[str, None]()
    failures: dict[str, tuple[PassusError, list[str]]] = {}
    for group in groups:
        folder = RunFolder(out / group.names[0])
        try:
            remarks |= dict.fromkeys(check_arm(arm_process.adopt_recorded(group.config, folder), folder, group.needs))
        except PassusError as error:
            failures.setdefault(str(error), (error, []))[1].extend(group.names)
    if failures:
        first, _ = next(iter(failures.values()))
        error_type = UsageError if isinstance(first, UsageError) else PassusError  # others are made from other arguments
        raise error_type("\n".join(text + _in_arms(names, total) for text, (_, names) in failures.items()))
    return list(remarks)


def _in_arms(names: Sequence[str], total: int) -> str:
    """Says which arms a message is about, unless it is about all."""
    if len(names) == total:
        return ""
    more = ", ..." if len(names) > SHOWN_ARMS else ""
    return f"\n  in {len(names)} of {total} arms: {', '.join(names[:SHOWN_ARMS])}{more}"
