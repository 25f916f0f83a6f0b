#!/usr/bin/env bash
# Installs what the tests need into a virtual environment, browsers and nginx included, and runs them.
# VENV names the environment's folder (.venv otherwise), WORKERS how many run side by side (3); arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
# What is imported is compiled then: all that is installed would take as long again as the installation, 55 seconds.
"$venv/bin/python" -m pip install --quiet --no-compile --requirement requirements.txt --requirement tests/requirements.txt

# The journeys through the pages need a Chromium: the system's, Debian's, or the one that Playwright brings.
# Debian's shell for headless use is the same engine in fewer processes.
if ! command -v chromium-headless-shell chromium chromium-browser google-chrome >/dev/null; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    for package in chromium-headless-shell chromium; do
      apt-get install -y -qq --no-install-recommends "$package" fonts-dejavu-core >/dev/null && break
    done
  else
    "$venv/bin/python" -m playwright install chromium
  fi
fi
# The live model in one file is for a Firefox, too. Without one its journey fails.
if ! command -v firefox-esr firefox >/dev/null; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends firefox-esr >/dev/null
  else
    echo "the tests need firefox: please install it" >&2
  fi
fi
# nginx stands before several servers of the app. Without it the tests of that fail.
if ! PATH=$PATH:/usr/sbin command -v nginx >/dev/null; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    # The tests start their own, on ports of their own.
    apt-get install -y -qq --no-install-recommends nginx-light >/dev/null
  else
    echo "the tests need nginx: please install it" >&2
  fi
fi
# Some forty processes of the tests read the app's modules: what Python compiled of them is there before the first, and
# kept also where the environment says otherwise.
unset PYTHONDONTWRITEBYTECODE
"$venv/bin/python" -m compileall -q -x '/(\.venv|node_modules|test_[^/]*)' .
# Several files at a time, the longest first, each process with one thread: several of PyTorch's thread pools on the same
# cores only wait for one another. One process more than two cores, because a browser and a training are waited for.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
exec "$venv/bin/python" -m pytest --numprocesses "${WORKERS:-3}" --dist loadfile --no-loadscope-reorder "$@"
