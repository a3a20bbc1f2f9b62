#!/bin/sh
# All checks and tests of the Python client. The last line is `N passed, M failed`.
cd "$(dirname "$0")" || exit 1
python=.venv/bin/python

if [ ! -x $python ]; then
  "${PYTHON:-python3}" -m venv .venv || { echo "0 passed, 1 failed"; exit 1; }
fi
$python -m pip install --quiet --disable-pip-version-check --editable '.[fastapi]' build hatchling mypy pytest ruff uvicorn ||
  { echo "0 passed, 1 failed"; exit 1; }

passed=0
failed=0
check() {
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "failed: $*"; fi
}
check $python -m ruff format --quiet --check .
check $python -m ruff check --quiet .
check $python -m mypy
check $python -m build --no-isolation --outdir .venv/dist --quiet .

report=.venv/report.xml
rm -f $report
$python -m pytest --junit-xml=$report "$@"
counts=$($python - $report <<'PYTHON'
import sys
import xml.etree.ElementTree as tree

try:
    suite = tree.parse(sys.argv[1]).find("testsuite").attrib
    failed = int(suite["failures"]) + int(suite["errors"])
    print(int(suite["tests"]) - failed - int(suite["skipped"]), failed)
except (OSError, tree.ParseError):
    print(0, 1)
PYTHON
)
passed=$((passed + ${counts% *}))
failed=$((failed + ${counts#* }))
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
