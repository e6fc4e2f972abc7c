"""`passus pretrain`: the nano models that passus ships, trained from scratch."""

from pathlib import Path

from passus.cli.options import Device
from passus.errors import check_train_packages


def pretrain(
    *, family: str = "qwen3", out: Path, start: Path | None = None, width: int = 128, layers: int = 4, steps: int = 6000,
    texts: int = 512, learning_rate: float = 2e-3, seed: int = 0, device: Device = "auto", workers: int = 2,
) -> int:  # fmt: skip
    """Pretrain a nano model as the shipped ones were, and measure its skills.

    Parameters
    ----------
    family
        Architecture and misconceptions: qwen3, llama3.2, smollm3, gemma3, qwen2.5 or mistral.
    out
        Folder for the model, in Hugging Face layout.
    start
        Pretrained model of the same family to continue from. Use another seed, so that the texts are new.
    width
        Width of the layers. 128 with four layers has 0.8M parameters.
    layers
        Number of layers.
    steps
        Number of updates.
    texts
        Number of texts per update.
    learning_rate
        Peak learning rate.
    seed
        Seed of the weights and of the texts.
    device
        Device that trains the model: six minutes on an H200, hours on a laptop.
    workers
        Number of processes that generate texts.
    """
    check_train_packages()
    from passus.nano import pretrain as nano

    nano.make_shipped_model(
        family, out, start=start, width=width, layers=layers, steps=steps, size=texts, learning_rate=learning_rate, seed=seed,
        device=device, workers=workers,
    )  # fmt: skip
    return 0
