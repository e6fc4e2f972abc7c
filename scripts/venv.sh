#!/bin/sh
# Create the virtual environment with the first Python that is new enough, and say what is missing if that fails.
set -eu
venv=$1
[ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 && exit 0

for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if command -v "$name" >/dev/null 2>&1 && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$name
        break
    fi
done
if [ -z "${python:-}" ]; then
    echo "passus needs Python 3.11 or later, and none is on the PATH (python3 is $(python3 --version 2>&1 || echo absent))." >&2
    echo "Install one: 'apt-get install python3.11 python3.11-venv' on Debian and Ubuntu, 'brew install python' on macOS." >&2
    exit 1
fi
if ! "$python" -m venv "$venv"; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    rm -rf "$venv"
    echo "$python could not create $venv: the system package python$version-venv is probably missing." >&2
    echo "Install it: 'apt-get install python$version-venv' on Debian and Ubuntu." >&2
    exit 1
fi
