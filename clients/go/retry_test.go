package keystile_test

import (
	"context"
	"encoding/json"
	"testing"

	keystile "github.com/keystile/keystile/clients/go"
)

func verify(t *testing.T, client *keystile.Client, options keystile.VerifyOptions) keystile.Verdict {
	t.Helper()
	return client.Verify(context.Background(), testKey, options)
}

func TestWhatWasCertainlyNotDoneIsTriedAgain(t *testing.T) {
	server := script(t, answers(503, failure("UNAVAILABLE")), answers(503, failure("UNAVAILABLE")), answers(200, validBody))
	if verdict := verify(t, clientOf(t, server.URL), keystile.VerifyOptions{}); !verdict.Valid || len(server.seen()) != 3 {
		t.Fatalf("got %+v after %d tries", verdict, len(server.seen()))
	}
}

func TestThereAreTwoRetries(t *testing.T) {
	server := script(t, answers(503, failure("UNAVAILABLE")))
	if verdict := verify(t, clientOf(t, server.URL), keystile.VerifyOptions{}); verdict.Valid || len(server.seen()) != 3 {
		t.Fatalf("got %+v after %d tries", verdict, len(server.seen()))
	}
}

func TestUnknownOutcomeIsTriedAgainOnlyWithAnIdempotencyKey(t *testing.T) {
	outcomes := map[string][2]int{"alone": {1, 0}, "idempotent": {2, 1}}
	for name, handler := range map[string]int{"hangs up": 0, "cut off": 1, "502": 2, "not JSON": 3, "outcome unknown": 4} {
		for mode, want := range outcomes {
			t.Run(name+", "+mode, func(t *testing.T) {
				bad := []func() *scripted{
					func() *scripted { return script(t, hangsUp, answers(200, validBody)) },
					func() *scripted { return script(t, cutsOff, answers(200, validBody)) },
					func() *scripted { return script(t, answers(502, "<html>"), answers(200, validBody)) },
					func() *scripted { return script(t, answers(200, "{"), answers(200, validBody)) },
					func() *scripted { return script(t, answers(503, failure("OUTCOME_UNKNOWN")), answers(200, validBody)) },
				}
				server := bad[handler]()
				verdict := verify(t, clientOf(t, server.URL), keystile.VerifyOptions{Idempotent: mode == "idempotent"})
				if seen := server.seen(); len(seen) != want[0] || verdict.Valid != (want[1] == 1) {
					t.Fatalf("got %+v after %d tries", verdict, len(seen))
				}
			})
		}
	}
}

func TestRetryHasTheSameIdempotencyKey(t *testing.T) {
	server := script(t, hangsUp, answers(200, validBody))
	verify(t, clientOf(t, server.URL), keystile.VerifyOptions{Idempotent: true})
	seen := server.seen()
	if len(seen) != 2 || seen[0] != seen[1] {
		t.Fatalf("got %q", seen)
	}
	var body struct{ IdempotencyKey string }
	if json.Unmarshal([]byte(seen[0]), &body) != nil || len(body.IdempotencyKey) != 32 {
		t.Fatalf("got %q", seen[0])
	}
}

func TestReadIsTriedAgainAndAChangeIsNot(t *testing.T) {
	server := script(t, hangsUp, answers(200, `{"id":"key_1"}`))
	if key, err := clientOf(t, server.URL).GetKey(context.Background(), "key_1"); err != nil || key.ID != "key_1" {
		t.Fatal(key, err)
	}
	server = script(t, hangsUp)
	_, err := clientOf(t, server.URL).CreateKey(context.Background(), keystile.CreateKeyRequest{APIID: "api_1"})
	if got := failureOf(t, err); got.Code != keystile.ErrorConnectionLost || len(server.seen()) != 1 {
		t.Fatalf("got %v after %d tries", got, len(server.seen()))
	}
}

func TestErrorOfARequestIsNotTriedAgain(t *testing.T) {
	server := script(t, answers(429, failure("RATE_LIMITED")))
	verify(t, clientOf(t, server.URL), keystile.VerifyOptions{Idempotent: true})
	if len(server.seen()) != 1 {
		t.Fatalf("%d tries", len(server.seen()))
	}
}

func TestEarlierTryThatMayHaveBeenDoneIsNotForgotten(t *testing.T) {
	server := script(t, hangsUp, answers(503, failure("UNAVAILABLE")))
	got := verify(t, clientOf(t, server.URL), keystile.VerifyOptions{Idempotent: true}).Cause
	if got.Code != keystile.ErrorUnavailable || got.IsCertainlyNotDone {
		t.Fatalf("got %+v", got)
	}
}
