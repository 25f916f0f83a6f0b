#!/usr/bin/env bash
# Install the requirements of the tests into a virtual environment, browsers included, and run the tests.
# VENV: the environment's folder (.venv); WORKERS: test processes (3); MARKER: `nightly` for the tests that need nginx.
# Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
marker=${MARKER:-not nightly}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
# Only imported modules are compiled: compiling all takes as long as their installation, 55 seconds.
"$venv/bin/python" -m pip install --quiet --no-compile --requirement requirements.txt --requirement tests/requirements.txt

# Install the first Debian package of a list that exists, where that is possible.
install() {
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return 1
  apt-get update -qq
  for package; do
    apt-get install -y -qq --no-install-recommends "$package" fonts-dejavu-core >/dev/null && return
  done
  return 1
}
# Debian's shell for headless use is Chromium's engine in fewer processes; else the system's Chromium, or Playwright's.
command -v chromium-headless-shell >/dev/null || install chromium-headless-shell chromium ||
  command -v chromium chromium-browser google-chrome >/dev/null || "$venv/bin/python" -m playwright install chromium
# The journeys of the one-file page also run in Firefox, and fail without it.
command -v firefox-esr firefox >/dev/null || install firefox-esr || echo "the tests need firefox: please install it" >&2
if [ "$marker" = nightly ] && ! PATH=$PATH:/usr/sbin command -v nginx >/dev/null; then
  install nginx-light || echo "the nightly tests need nginx: please install it" >&2
fi
# Some forty processes of the tests read the app's modules: they are compiled before the first starts.
unset PYTHONDONTWRITEBYTECODE
"$venv/bin/python" -m compileall -q -x '/(\.venv|node_modules|test_[^/]*)' .
# One thread per process: thread pools on the same cores wait for one another. One process more than two cores, because
# browsers and trainings are waited for.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
exec "$venv/bin/python" -m pytest -m "$marker" --numprocesses "${WORKERS:-3}" --dist loadfile --no-loadscope-reorder "$@"
