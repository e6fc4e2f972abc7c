"""Exit codes: calls a command, and turns its errors into a message and a code (1 failed, 2 bad usage, 130 Ctrl-C)."""

import os
import sys
from collections.abc import Callable

from passus.errors import TRAIN_PACKAGES, PassusError, is_out_of_memory, missing_package_error, out_of_memory_error


def exit_code_of(command: Callable[[], object]) -> int:
    """Calls a command and returns its exit code. An error of passus itself, which no user can act on, is raised."""
    try:
        code = command()
    except PassusError as error:
        return report_error(error)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in TRAIN_PACKAGES:
            raise
        return report_error(missing_package_error(package))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (nobody reads the output any more, so exit silently)
        return 0
    except OSError as error:
        if is_out_of_memory(error):
            return report_error(out_of_memory_error(error))
        return report_error(PassusError(f"{error.filename}: {error.strerror}" if error.filename else str(error)))
    except (MemoryError, ImportError, RuntimeError, SystemError) as error:
        if not is_out_of_memory(error):
            raise
        return report_error(out_of_memory_error(error))
    return code if isinstance(code, int) else 0


def report_error(error: PassusError) -> int:
    """Prints an error and returns its exit code."""
    print(f"error: {error}", file=sys.stderr)
    return error.exit_code
