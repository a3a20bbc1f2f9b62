#!/bin/sh
# Makes an api and a key with 5 credits and a limit of 3 requests in 30 days, and uses the key until it is refused.
url=${KEYSTILE_URL:-http://127.0.0.1:7878}
root=${KEYSTILE_ROOT_KEY:?Set it to the root key that the first start has shown.}

call() { # endpoint, body
  answer=$(curl -sS --fail-with-body "$url/v1/$1" -H "Authorization: Bearer $root" -H 'Content-Type: application/json' -d "$2") ||
    { echo "$answer" >&2; exit 1; }
}
field() { # name
  echo "$answer" | sed 's/.*"'"$1"'":"\([^"]*\)".*/\1/'
}

call apis.createApi '{"name":"curl"}'
call keys.createKey '{"apiId":"'"$(field apiId)"'","remaining":5,"ratelimit":{"limit":3,"duration":2592000000}}'
key=$(field key)

verify() { # cost
  call keys.verifyKey '{"key":"'"$key"'","remaining":{"cost":'"$1"'}}'
  echo "cost $1: $(field code)"
}
verify 2 # 3 credits are left
verify 2 # 1 credit is left
verify 2 # too few credits; a refusal takes none
verify 1 # no credit is left
verify 0 # three requests have passed: the limit

# The same question with the answer in the status, as gateways ask it.
ask() {
  curl -sS -o /dev/null -w '%{http_code}' "$url/v1/keys.forwardAuth" "$@"
}
echo "with the key: $(ask -H "Authorization: Bearer $key")"
echo "without a key: $(ask)"
