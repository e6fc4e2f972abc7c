"""The rehearsal of a run on CUDA: the largest micro-batch before the first step, then CUDA graphs.

A layout that does not fit the GPU shows now and not in the middle of a run, and most of the compiling happens here.
"""

import torch

from passus.engine import packing
from passus.engine.packing import MicroBatchShape
from passus.training.rows import TrainingRows
from passus.training.state import PolicyRun
from passus.training.update import accumulate


def rehearse(run: PolicyRun) -> None:
    """Runs the largest micro-batch on meaningless tokens and captures graphs. A CPU needs neither."""
    if not run.policy.uses_fixed_shapes:
        return
    rows = largest_rows(run)
    run.within_memory(lambda: accumulate(run, [(rows, list(range(len(rows.completions_N))))], 0))
    run.optimizer.zero_grad()
    if run.cuda.captures_graphs:
        try:
            for shape in dict.fromkeys(packing.micro_batch_shapes(run.micro_tokens, run.cuda.longest)):
                capture_graph(run, shape)
        except torch.OutOfMemoryError:  # the run works without graphs
            run.make_room()


def largest_rows(run: PolicyRun) -> TrainingRows:
    """Returns as many rows of the longest kind as fit one micro-batch."""
    count, device = max(2, run.micro_tokens // run.cuda.longest), run.policy.model.device
    completion = run.config.train.max_tokens
    prompts, completions = [[0] * (run.cuda.longest - completion)] * count, [[0] * completion] * count
    ones_N = torch.ones(count, device=device)
    return TrainingRows(
        "policy", prompts, completions, [0] * count, ones_N, ones_N, torch.zeros(count, completion, device=device)
    )


def capture_graph(run: PolicyRun, shape: MicroBatchShape) -> None:
    from passus.engine import compile  # loads the compiler, which takes seconds

    tokens_1T = torch.zeros(1, shape.tokens, dtype=torch.long, device=run.policy.model.device)
    plan = shape.plan([], tokens_1T.device)
    run.cuda.graphs[shape] = compile.capture_decoder(run.policy.decoder, tokens_1T, tokens_1T.clone(), plan)
