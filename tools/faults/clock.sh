#!/bin/sh
# Starts real servers with their clock set to 23:59:50 of several days, and verifies keys without credits over midnight. The
# refill must arrive at 00:00:00 and not before. Needs Debian's `faketime` and `curl`, and takes about a minute. It is not part
# of `npm test`, which tests the same on a virtual clock.
#
#   sh tools/faults/clock.sh
#
# The clocks of the server and of this script are moved by the same offset. A verification that is sent before midnight must be
# refused, and a valid answer must arrive after midnight.
set -eu
cd "$(dirname "$0")/../.."

library=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null | head -n 1) || true
[ -n "$library" ] || { echo 'libfaketime is not installed. Run: apt-get install faketime' >&2; exit 1; }
command -v curl >/dev/null || { echo 'curl is not installed. Run: apt-get install curl' >&2; exit 1; }
bun=$(node --input-type=module -e "import { findBun } from './tools/launch/runtime.mjs'; console.log(findBun())")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# moved OFFSET COMMAND...: replaces this process by the command, with the clock OFFSET seconds ahead. Call it only in a subshell
# (in the background, or for its output). Timers use the real clock.
moved() {
  offset=$1
  shift
  exec env LD_PRELOAD="$library" FAKETIME="+$offset" FAKETIME_DONT_FAKE_MONOTONIC=1 TZ=UTC "$@"
}

# The moved time in milliseconds.
clock() { moved "$1" date +%s%3N; }

post() { curl -s "$url/v1/$1" -H "Authorization: Bearer $root" -H 'Content-Type: application/json' -d "$2"; }

field() { sed "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/"; }

# spent_key REFILL: creates a key with one credit, spends it, and prints the key.
spent_key() {
  made=$(post keys.createKey "{\"apiId\":\"$api\",\"remaining\":1,\"refill\":$1}" | field key)
  post keys.verifyKey "{\"key\":\"$made\"}" >/dev/null
  echo "$made"
}

# show MILLISECONDS: prints a time, such as 1801439999990 as 23:59:59.990.
show() { date -u -d "@$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" +%T.%3N; }

# watch NAME KEY MIDNIGHT OFFSET EXPECTED: verifies until the key is valid, or until 1 s after midnight. EXPECTED is 1 when a
# refill is due at midnight.
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
    [ "$is_right" = 1 ] || { echo "$day $1: WRONG: $code for a request sent at $(show "$before") and answered at $(show "$after")"; return 1; }
    [ "$code" = USAGE_EXCEEDED ] || break
    last_refusal=$before
    [ "$before" -lt $(($3 + 1000)) ] || break
  done
  if [ "$code" = VALID ]; then
    echo "$day $1: refused $((asked - 1)) times, the last request at $(show "$last_refusal"); first valid answer at $(show "$after")"
  else
    echo "$day $1: refused $asked times, the last request at $(show "$last_refusal"); no refill was due, and none came"
  fi
}

# over_midnight DAY DAILY MONTHLY LAST_DAY: tests one midnight. Each of the three flags says whether that key has a refill due
# at the end of the day (1) or not (0).
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
# The days run one after the other: two cores cannot verify fifteen keys often enough at the same time.
for row in '2027-01-31 1 1 0' '2027-02-28 1 1 0' '2028-02-28 1 0 1' '2027-12-31 1 1 0' '2027-05-11 1 0 0'; do
  # shellcheck disable=SC2086
  (over_midnight $row) || failed=1
done
[ $failed = 0 ] && echo 'Every refill came at midnight, and none came before.'
exit $failed
