#!/bin/sh
# Starts real servers whose clock is moved to 23:59:50 of several days and watches keys with spent credits over
# midnight: the refill must be there at 00:00:00 and not before. Needs Debian's `faketime` and `curl`; takes about
# a minute. Not part of `npm test`: there the same is proved on a virtual clock.
#
#   sh tools/faults/clock.sh
#
# The clock of the server and the one that this script reads are moved by the same offset, so they agree: a verdict asked
# for before midnight must be a refusal, and one that was given after it must be valid.
set -eu
cd "$(dirname "$0")/.."

library=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null | head -n 1) || true
[ -n "$library" ] || { echo 'libfaketime is missing: apt-get install faketime' >&2; exit 1; }
command -v curl >/dev/null || { echo 'curl is missing' >&2; exit 1; }
bun=$(node --input-type=module -e "import { findBun } from './launch/runtime.mjs'; console.log(findBun())")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# moved OFFSET COMMAND...: becomes that command, with a clock OFFSET seconds ahead; so it is only called in a subshell
# (in the background, or for its output). Timers keep the real clock.
moved() {
  offset=$1
  shift
  exec env LD_PRELOAD="$library" FAKETIME="+$offset" FAKETIME_DONT_FAKE_MONOTONIC=1 TZ=UTC "$@"
}

# Milliseconds, as the service counts them.
clock() { moved "$1" date +%s%3N; }

post() { curl -s "$url/v1/$1" -H "Authorization: Bearer $root" -H 'Content-Type: application/json' -d "$2"; }

field() { sed "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/"; }

# spent_key REFILL: a key that had one credit and has spent it.
spent_key() {
  made=$(post keys.createKey "{\"apiId\":\"$api\",\"remaining\":1,\"refill\":$1}" | field key)
  post keys.verifyKey "{\"key\":\"$made\"}" >/dev/null
  echo "$made"
}

# 1801439999990 as 23:59:59.990.
show() { date -u -d "@$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" +%T.%3N; }

# watch NAME KEY MIDNIGHT OFFSET EXPECTED: asks until the answer changes, or until 1 s after midnight.
watch() {
  asked=0
  while :; do
    before=$(clock "$4")
    code=$(post keys.verifyKey "{\"key\":\"$2\"}" | field code)
    after=$(clock "$4")
    asked=$((asked + 1))
    case $code in
      VALID) is_right=$(($5 == 1 && after >= $3)) ;;
      USAGE_EXCEEDED) is_right=$(($5 == 0 || before < $3)) ;;
      *) is_right=0 ;;
    esac
    [ "$is_right" = 1 ] || { echo "$day $1: WRONG: $code, asked at $(show "$before"), answered at $(show "$after")"; return 1; }
    [ "$code" = USAGE_EXCEEDED ] || break
    last_refusal=$before
    [ "$before" -lt $(($3 + 1000)) ] || break
  done
  if [ "$code" = VALID ]; then
    echo "$day $1: refused $((asked - 1)) times, last asked at $(show "$last_refusal"); valid answer at $(show "$after")"
  else
    echo "$day $1: refused $asked times, last asked at $(show "$last_refusal"); no refill is due, and there was none"
  fi
}

# over_midnight DAY DAILY MONTHLY LAST_DAY: which of three keys are due at the end of that day (1) and which are not (0).
over_midnight() {
  day=$1
  midnight=$((($(date -u -d "$day" +%s) + 86400) * 1000))
  offset=$((midnight / 1000 - 10 - $(date +%s)))
  root=root_of_the_moved_clock_0001
  log=$work/$day.log
  : >"$log"
  moved "$offset" env KEYSTILE_PORT=0 KEYSTILE_METRICS_PORT=0 KEYSTILE_DATA="$work/$day" KEYSTILE_ROOT_KEY=$root \
    "$bun" --no-env-file --no-install src/main.ts serve >"$log" 2>&1 &
  server=$!
  trap 'kill $server 2>/dev/null; wait $server || true' EXIT
  until grep -q 'Ctrl-C stops it' "$log"; do
    kill -0 $server 2>/dev/null || { cat "$log" >&2; return 1; }
    sleep 0.1
  done
  url=$(sed -n 's/^  API *\(http[^ ]*\).*/\1/p' "$log")
  api=$(post apis.createApi '{"name":"moved clock"}' | field apiId)
  daily=$(spent_key '{"interval":"daily","amount":1}')
  monthly=$(spent_key '{"interval":"monthly","amount":1}')
  last_day=$(spent_key '{"interval":"monthly","amount":1,"refillDay":31}')
  watch 'daily          ' "$daily" $midnight $offset "$2" &
  first=$!
  watch 'monthly        ' "$monthly" $midnight $offset "$3" &
  second=$!
  watch 'monthly on 31st' "$last_day" $midnight $offset "$4" &
  third=$!
  wait $first && wait $second && wait $third
}

failed=0
# One after the other: two cores cannot watch fifteen keys closely at once.
for row in '2027-01-31 1 1 0' '2027-02-28 1 1 0' '2028-02-28 1 0 1' '2027-12-31 1 1 0' '2027-05-11 1 0 0'; do
  # shellcheck disable=SC2086
  (over_midnight $row) || failed=1
done
[ $failed = 0 ] && echo 'Every refill came at midnight and not before.'
exit $failed
