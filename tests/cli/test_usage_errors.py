"""Command lines that are not understood: what was given, what was expected, what to write instead; exit code 2."""

import pytest

from helpers.command import passus_in_process

BAD = {
    ("rnu", "families"): ("passus has no command 'rnu'", "one of: ", "write: passus run"),
    ("--verison",): ("no command '--verison'", "write: passus --version"),
    ("run", "families", "--jbos", "2"): ("passus run has no option '--jbos'", "write: --jobs"),
    ("grade", "--inptu", "x", "--output", "y"): ("passus grade has no option '--inptu'", "write: --input"),
    ("grade", "--input", "x"): ("--output is missing", "expected: File for the same lines", "write: passus grade --help"),
    ("run",): ("EXPERIMENT is missing", "expected: A TOML file"),
    ("plot", "x", "--y"): ("--y has no value", "expected: Vertical axis"),
    ("benchmarks", "pul"): ("passus benchmarks has no command 'pul'", "write: passus benchmarks pull"),
    ("eval", "nano/qwen3", "--suite", "abacus/add2", "--extract", "boxd"): ("one of: any, boxed", "write: --extract boxed"),
    ("run", "families", "--jobs", "two"): ("--jobs 'two'", "expected: a whole number"),
    ("run", "families", "twice"): ("'twice' is one argument too many",),
    ("run", "families", "--jobs", "1", "--jobs", "2"): ("--jobs", "passus run --help"),
}


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_command_lines(arguments, tmp_path):
    done = passus_in_process(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and "Traceback" not in done.stderr
    assert all(part in done.stderr for part in BAD[arguments]), done.stderr


def test_no_hint_where_nothing_is_near(tmp_path):
    done = passus_in_process("banana", cwd=tmp_path)
    assert done.returncode == 2 and "write:" not in done.stderr
