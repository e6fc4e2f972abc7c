"""`passus show` prints what a model is fed, decoded from token ids."""

import json

from helpers.command import passus_in_process


def test_an_item_in_words_that_the_tokenizer_does_not_know(tmp_path):
    (tmp_path / "mine.jsonl").write_text(json.dumps({"problem": "1+2=?", "answer": "3"}) + "\n")
    shown = passus_in_process("show", str(tmp_path / "mine.jsonl"), "--model", "nano/qwen3", cwd=tmp_path)
    assert shown.returncode == 0 and "<q>1+2=?<pad><pad>" in shown.stdout and "Work step by step" not in shown.stdout
    assert "cannot represent 1 of 1 prompts" in shown.stderr
    bare = passus_in_process("show", str(tmp_path / "mine.jsonl"), "--prompt", "{question}", cwd=tmp_path)
    assert "<q>1+2=?<a>" in bare.stdout and not bare.stderr


def test_eval_warns_and_continues(tmp_path):
    (tmp_path / "mine.jsonl").write_text(json.dumps({"problem": "1+2=?", "answer": "3"}) + "\n")
    done = passus_in_process("eval", "nano/qwen3", "--suite", str(tmp_path / "mine.jsonl"), "--max-tokens", "4", cwd=tmp_path)
    assert done.returncode == 0 and "warning: " in done.stderr and "cannot represent 1 of 1 prompts" in done.stderr


def test_eval_items_of_a_run_have_their_prompts(small_run, tmp_path):
    """The prompts of the first and the last item of both benchmarks, from the tasks themselves."""
    from passus.tasks.lookup import benchmark_items

    shown = passus_in_process("show", str(small_run.path), "--step", "0", "--samples", "32", cwd=tmp_path).stdout
    for name in ("abacus/add2", "abacus/sub"):
        for item in benchmark_items(name, 8):
            assert f"prompt  <q>{item.question}<a>\n" in shown and f"gold  {item.gold}\n" in shown
    rows = small_run.read_rows("items", 0)
    assert shown.count("prompt  ") == len(rows) == 32
