package keystile_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	keystile "github.com/keystile/keystile/clients/go"
)

func remainingOf(t *testing.T, client *keystile.Client, keyID string) int64 {
	t.Helper()
	key, err := client.GetKey(context.Background(), keyID)
	if err != nil {
		t.Fatal(err)
	}
	return *key.Remaining
}

func TestReservationIsSettledAndItsDeferredReleaseDoesNothing(t *testing.T) {
	ctx, client := context.Background(), serviceClient(t)
	made := newKey(t, client, keystile.CreateKeyRequest{Remaining: keystile.Int(100)})
	func() {
		reservation := client.Reserve(ctx, made.Key, 40, keystile.ReserveOptions{TTL: time.Minute})
		defer func() {
			if err := reservation.Release(ctx); err != nil {
				t.Error(err)
			}
		}()
		if !reservation.Verdict.Valid || reservation.ID == "" || time.Until(reservation.ExpiresAt.Time) <= 0 {
			t.Fatalf("got %+v", reservation.Verdict)
		}
		for range 2 {
			ended, err := reservation.Settle(ctx, 25)
			if err != nil || ended.Charged != 25 || ended.Returned != 15 || *ended.Remaining != 75 {
				t.Fatalf("got %+v, %v", ended, err)
			}
		}
	}()
	if left := remainingOf(t, client, made.KeyID); left != 75 {
		t.Fatalf("want 75 left, got %d", left)
	}
}

func TestReservationThatIsNotSettledIsReleased(t *testing.T) {
	ctx, client := context.Background(), serviceClient(t)
	made := newKey(t, client, keystile.CreateKeyRequest{Remaining: keystile.Int(100)})
	reservation := client.Reserve(ctx, made.Key, 40, keystile.ReserveOptions{OnExpiry: keystile.ChargeOnExpiry})
	if left := remainingOf(t, client, made.KeyID); left != 60 {
		t.Fatalf("want 60 left, got %d", left)
	}
	for range 2 {
		if err := reservation.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if left := remainingOf(t, client, made.KeyID); left != 100 {
		t.Fatalf("want 100 left, got %d", left)
	}
}

func TestReservationTakesMoreOnlyWhenThatIsAllowed(t *testing.T) {
	ctx, client := context.Background(), serviceClient(t)
	made := newKey(t, client, keystile.CreateKeyRequest{Remaining: keystile.Int(100)})
	reservation := client.Reserve(ctx, made.Key, 40, keystile.ReserveOptions{})
	_, err := reservation.Settle(ctx, 41)
	if failure := failureOf(t, err); failure.Code != "PRECONDITION_FAILED" || !strings.Contains(failure.Message, "holds 40 and cannot be settled with 41") {
		t.Fatal(err)
	}
	// The call has happened: it is not given away.
	if err := reservation.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if ended, err := reservation.SettleWithOverage(ctx, 41); err != nil || ended.Charged != 41 || *ended.Remaining != 59 {
		t.Fatalf("got %+v, %v", ended, err)
	}
}

func TestReservationThatIsRefusedHoldsNothing(t *testing.T) {
	ctx, client := context.Background(), serviceClient(t)
	made := newKey(t, client, keystile.CreateKeyRequest{Remaining: keystile.Int(10)})
	for key, code := range map[string]keystile.VerdictCode{made.Key: keystile.CodeUsageExceeded, "": keystile.CodeNotFound} {
		reservation := client.Reserve(ctx, key, 40, keystile.ReserveOptions{})
		if reservation.Verdict.Code != code || reservation.ID != "" {
			t.Fatalf("got %+v", reservation.Verdict)
		}
		if ended, err := reservation.Settle(ctx, 1); ended != nil || err != nil {
			t.Fatal(ended, err)
		}
		if err := reservation.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReservationWhoseAnswerIsLostIsAskedForAgainUnderOneIdempotencyKey(t *testing.T) {
	held := strings.Replace(validBody, "{", `{"reservationId":"rsv_1","expiresAt":1783037400000,`, 1)
	server := script(t, hangsUp, answers(http.StatusOK, held), hangsUp, answers(http.StatusOK, `{"charged":1,"returned":0}`))
	client := newClient(t, keystile.Options{URL: server.URL, RootKey: testRootKey, Timeout: longEnough, TotalTimeout: longEnough})
	reservation := client.Reserve(context.Background(), testKey, 1, keystile.ReserveOptions{})
	if ended, err := reservation.Settle(context.Background(), 1); err != nil || ended.Charged != 1 || ended.Remaining != nil {
		t.Fatalf("got %+v, %v", ended, err)
	}
	seen := server.seen()
	if len(seen) != 4 || seen[0] != seen[1] || seen[2] != seen[3] || !strings.Contains(seen[0], `"idempotencyKey":"`) {
		t.Fatalf("got %v", seen)
	}
}
