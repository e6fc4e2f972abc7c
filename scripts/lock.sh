#!/bin/sh
# Writes requirements.lock and requirements-test.lock: every package that `make` installs, with the hashes of its files.
# Run it after a change of requirements.txt or requirements-test.txt. pip-compile stands in an environment of its own.
#
# torch is installed by a line of the Makefile, because TORCH=cpu chooses another build of it. It and the packages that only it
# brings are therefore left out.
set -eu
cd "$(dirname "$0")/.."
venv=.venv-lock
[ -x $venv/bin/pip-compile ] || { python3 -m venv $venv && $venv/bin/python -m pip install --quiet pip-tools==7.6.2; }
unsafe="torch triton pip wheel cuda-bindings cuda-pathfinder cuda-toolkit
nvidia-cublas nvidia-cuda-cupti nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile nvidia-curand
nvidia-cusolver nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx"
options="--generate-hashes --strip-extras --no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --quiet"
for name in $unsafe; do options="$options --unsafe-package $name"; done

constraints=$(mktemp)
trap 'rm -f "$constraints"' EXIT
grep -o 'torch==[^ ]*' Makefile >"$constraints"
for name in requirements requirements-test; do
    $venv/bin/pip-compile $options --constraint "$constraints" --output-file $name.lock $name.txt
    # pip-compile names what it left out, with advice that does not apply here, and the path of the temporary file.
    sed -i -e '/^# WARNING: The following packages were not pinned/,$d' -e "\|$constraints|d" $name.lock
    grep -o '^[A-Za-z0-9_.-]*==[^ ]*' $name.lock >>"$constraints"
    if grep -i '^nvidia\|^cuda\|^triton\|://' $name.lock; then
        echo "$name.lock names a package that only torch brings, or an address: add it to the list in $0" >&2
        exit 1
    fi
done
