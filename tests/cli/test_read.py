"""`passus read`: what it recommends depends on what it found."""

from helpers.command import passus_in_process

WITHOUT = "## Line Chart: A\n### Detailed Analysis\n* **Alpha:** rises quickly.\n### Key Observations\n* Alpha is above Beta.\n"
WITH = WITHOUT.replace("rises quickly.", "\n* Step 0: 0.25\n* Step 10: 0.5")


def test_a_text_without_points_is_not_sent_to_commands_that_would_refuse_it(tmp_path):
    (tmp_path / "text.txt").write_text(WITHOUT)
    done = passus_in_process("read", "text.txt", "--out", "curves.json", cwd=tmp_path)
    assert done.returncode == 0 and "0 points" in done.stdout and "next:" not in done.stdout
    assert "nothing to draw or to test" in done.stdout and "expected: points" in done.stdout
    assert passus_in_process("analyse", "curves.json", cwd=tmp_path).returncode == 2


def test_what_is_recommended_works(tmp_path):
    (tmp_path / "text.txt").write_text(WITH)
    done = passus_in_process("read", "text.txt", "--out", "curves.json", cwd=tmp_path)
    assert "2 points" in done.stdout
    recommended = [line.split()[1:] for line in done.stdout.partition("next:\n")[2].splitlines()]
    assert [command[0] for command in recommended] == ["analyse", "plot"]
    assert all(passus_in_process(*command, cwd=tmp_path).returncode == 0 for command in recommended)
