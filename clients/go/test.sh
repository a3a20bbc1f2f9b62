#!/bin/sh
# Starts the service of this checkout, checks the format and the code, runs the tests, and prints `N passed, M failed` last.
# With the argument `build` it only compiles what a run needs, which takes most of the time of a first one.
set -u
cd "$(dirname "$0")" || exit 1
tools="$PWD/.tools"
staticcheck_version=v0.8.2
folder=$(mktemp -d)
service=
passed=0
failed=0

finish() {
  if [ -n "$service" ]; then
    kill "$service" 2>/dev/null
    wait "$service" 2>/dev/null
  fi
  rm -rf "$folder"
}
trap finish EXIT
trap 'exit 1' INT TERM

fail() {
  echo "$1"
  echo "$passed passed, $((failed + 1)) failed"
  exit 1
}

# Runs a command and counts it. Its output is shown only when it fails.
check() {
  name=$1
  shift
  if "$@" >"$folder/check" 2>&1; then
    passed=$((passed + 1))
    echo "ok    $name"
  else
    failed=$((failed + 1))
    echo "FAIL  $name"
    cat "$folder/check"
  fi
}

is_formatted() {
  unformatted=$(gofmt -l .) && [ -z "$unformatted" ] || { echo "not formatted: $unformatted"; return 1; }
}

install_staticcheck() {
  [ -x "$tools/staticcheck-$staticcheck_version" ] && return
  mkdir -p "$tools"
  GOBIN="$tools" go install "honnef.co/go/tools/cmd/staticcheck@$staticcheck_version" >"$folder/install" 2>&1 &&
    mv "$tools/staticcheck" "$tools/staticcheck-$staticcheck_version"
}

command -v go >/dev/null || fail 'go is missing: install Go 1.23 or later'
command -v node >/dev/null || fail 'node is missing: install Node 20 or later'

race=-race
if ! command -v "$(go env CC)" >/dev/null; then
  race=
fi
if [ "${1-}" = build ]; then
  go test $race -run '^$' ./... >/dev/null 2>&1
  install_staticcheck
  exit
fi

# The service and the tests have only the settings that are given here.
for name in $(env | sed -n 's/^\(KEYSTILE_[A-Z0-9_]*\)=.*/\1/p'); do unset "$name"; done
export TEST_KEYSTILE_ROOT_KEY=root_of_the_go_client_tests_0001
KEYSTILE_ROOT_KEY=$TEST_KEYSTILE_ROOT_KEY KEYSTILE_PORT=0 KEYSTILE_METRICS_PORT=0 KEYSTILE_LOG_LEVEL=error KEYSTILE_MAX_CONNECTIONS=500 \
  node ../../bin/keystile.mjs serve --data "$folder/data" >"$folder/out" 2>"$folder/err" &
service=$!
waited=0
until grep -q '^Ctrl-C stops it' "$folder/out"; do
  kill -0 "$service" 2>/dev/null && [ "$waited" -lt 600 ] || fail "the service did not start: $(cat "$folder/out" "$folder/err")"
  waited=$((waited + 1))
  sleep 0.1
done
TEST_KEYSTILE_URL=$(sed -n 's/^  API *\(http:[^ ]*\).*/\1/p' "$folder/out")
export TEST_KEYSTILE_URL

check gofmt is_formatted
check 'go vet' go vet ./...
install_staticcheck
if [ -x "$tools/staticcheck-$staticcheck_version" ]; then
  check staticcheck "$tools/staticcheck-$staticcheck_version" ./...
else
  echo 'note  staticcheck cannot be installed here and was not run'
fi

[ -n "$race" ] || echo 'note  no C compiler: the tests run without the race detector'
go test $race -timeout 180s -count=1 -v ./... >"$folder/tests" 2>&1
code=$?
# Each leaf counts: a test with subtests is not counted beside them.
counts=$(awk '
  $1 == "---" && ($2 == "PASS:" || $2 == "FAIL:") { result[$3] = $2; name = $3; while (sub(/\/[^\/]*$/, "", name)) parent[name] = 1 }
  END { for (each in result) if (!(each in parent)) { if (result[each] == "PASS:") good++; else bad++ } print good + 0, bad + 0 }
' "$folder/tests")
passed=$((passed + ${counts% *}))
failed=$((failed + ${counts#* }))
if [ "$code" -ne 0 ]; then
  cat "$folder/tests"
  [ "${counts#* }" -gt 0 ] || failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
